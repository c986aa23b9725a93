"""An announced turn: for as long as whoever announced it stays, its session is in a turn.

Fenced by the instance token (R63). Before the announcement is answered the record says that a turn
is open, so that a controller which dies now leaves that behind for the next one. The note is taken
away by a patrol, never here: the end of this request may be the end of the controller.

Source: DESIGN §7 (R48, R63, R75)
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final

from gascity.act.operate import Desk, Reply, Say, find
from gascity.act.ports import Refused
from gascity.act.requests_talk import plain
from gascity.beads.store import StoreBroken, StoreUnavailable
from gascity.model.events import Event
from gascity.model.session import Session
from gascity.model.world import OpenTurn

TURN_MOST_S: Final = 25 * 3600.0
"""A longer turn has to be announced again: whoever holds it may have frozen."""
WHAT_MOST: Final = 80


async def turn(desk: Desk, said: str, *, token: str, what: str = "", say: Say) -> Reply:
    """Count as a turn of the session until the client leaves; it is told once that it does.

    Args:
        token: The instance token of the run the client belongs to.
        what: What goes on, for people.

    Raises:
        Refused: the session has another run by now, or too many turns.
    """
    session = find(desk.snapshot(), said)
    line = " ".join(plain(what).split())[:WHAT_MOST]
    opened = OpenTurn(token=token, what=line, since=desk.clock.now())

    def noted(now_is: Session, _: datetime) -> tuple[Session, tuple[Event, ...]]:
        if now_is.instance_token != token:
            raise Refused(f"{now_is.name} has another run by now", "this one's turns are over")
        return (now_is if now_is.open_turn == token else replace(now_is, open_turn=token)), ()

    with desk.in_turn(session.id, opened):
        try:
            await desk.change(session.id, noted)
        except StoreBroken:
            raise
        except StoreUnavailable:
            pass  # nobody is put to sleep meanwhile, and the next patrol that can writes it
        await say({"open": True, "session": session.name})
        await desk.clock.sleep_until(desk.clock.monotonic() + TURN_MOST_S)
    return {"open": False, "session": session.name}
