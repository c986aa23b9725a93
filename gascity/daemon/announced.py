"""What sessions announce about themselves: open turns, and the signals of their own hooks.

Source: DESIGN §8, §14 (R15, R48, R63)
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from gascity.act.ports import Refused
from gascity.decide.signals import hear
from gascity.model.signals import Heard, Signal
from gascity.model.world import OpenTurn
from gascity.observe.ports import Ports
from gascity.observe.recollection import TURNS_MOST


@contextlib.contextmanager
def in_turn(ports: Ports, session_id: str, turn: OpenTurn) -> Iterator[None]:
    """While this lasts, the session counts as being in that turn, in looks from now on.

    Raises:
        Refused: too many turns of it are open.
    """
    memory = ports.memory
    if len(memory.turns.get(session_id, ())) >= TURNS_MOST:
        raise Refused(f"{TURNS_MOST} turns of it are open", "end one of them", exit=1)
    memory.open_turn(session_id, turn)
    try:
        yield
    finally:
        memory.close_turn(session_id, turn)
        ports.poke()


def take_signal(ports: Ports, session_id: str, said: Signal) -> Heard:
    """Remember what a hook said; a patrol follows where that changes more than a clock."""
    before = ports.memory.heard.get(session_id)
    after = hear(before, said)
    ports.memory.heard[session_id] = after
    if _told(before) != _told(after):
        ports.poke()
    return after


def _told(heard: Heard | None) -> tuple[object, ...]:
    if heard is None:
        return ()
    return (heard.token, heard.turn, heard.asked, heard.question, heard.work)
