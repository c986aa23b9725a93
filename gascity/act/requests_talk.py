"""Peek: read a session's screen without warming it; what talking to a session has in common.

Source: DESIGN §12 (R13, R44, R63)
"""

from __future__ import annotations

import re
from typing import Final

from gascity.act.operate import (
    LOOK_S,
    Desk,
    Reply,
    find,
    hold_of,
    seen_now,
)
from gascity.act.ports import Refused
from gascity.model.reading import Known
from gascity.model.session import Session
from gascity.model.world import Sighting, Truth
from gascity.runtimes.base import Ability, Runtime, RuntimeUnreachable

PEEK_LINES: Final = 40
PEEK_MOST: Final = 2000

# Operating system commands, control sequences, other escapes, then single control characters.
_CONTROLS: Final = re.compile(
    r"\x1b[\]P^_X][^\n]*?(?:\x07|\x1b\\|(?=\n)|$)|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|\x1b[ -/]*[0-~]?"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]|[\u202a-\u202e\u2066-\u2069]",
)


async def peek(desk: Desk, said: str, *, lines: int = PEEK_LINES) -> Reply:
    """The last visible lines as plain text; moves no clock and wakes nobody (R44)."""
    session = find(desk.snapshot(), said)
    runtime = able(desk, session, Ability.PEEK, "shows nothing of what it prints")
    await running(desk, session, screen=False)
    try:
        text = await runtime.peek(session.name, lines=min(max(lines, 1), PEEK_MOST))
    except RuntimeUnreachable as problem:
        raise no_answer(session, str(problem)) from None
    return {"text": plain(text), "session": session.name}


async def screen(desk: Desk, said: str) -> Reply:
    """What a running session shows now, judged afresh, by which rule (R15, R44)."""
    session = find(desk.snapshot(), said)
    sight = await running(desk, session, screen=True)
    if sight.screen is None:
        raise Refused(f"nobody judges the screen of {session.name}", "its runtime shows none")
    asked = sight.pending.value if isinstance(sight.pending, Known) else None
    return {
        "session": session.name,
        "verdict": str(sight.screen),
        "rule": sight.screen_rule,
        "kind": asked.kind if asked else "",
        "question": asked.question if asked else "",
    }


def plain(text: str) -> str:
    """Text without control sequences, titles, clipboard writes or direction marks (E11)."""
    return _CONTROLS.sub("", text.replace("\r\n", "\n"))


def able(desk: Desk, session: Session, ability: Ability, lack: str, do: str = "") -> Runtime:
    """The runtime of a session, if it can do that.

    Raises:
        Refused: it never does; `lack` says so after "it runs in KIND, which".
    """
    runtime = desk.runtime_of(session)
    if ability not in runtime.abilities:
        raise Refused(f"{session.name} runs in {runtime.kind}, which {lack}", do)
    return runtime


async def running(desk: Desk, session: Session, *, screen: bool) -> Sighting:
    """How a session that runs looks.

    Raises:
        Refused: it does not run, or nobody can tell.
    """
    sight = await seen_now(desk, session, screen=screen)
    if sight.truth is Truth.STOPPED:
        hold = hold_of(session, desk.snapshot().city, desk.clock.now())
        if hold is not None:
            raise hold
        asleep = session.sleep_reason.value or session.state.value
        raise Refused(
            f"{session.name} is not running ({asleep})", f"wake it: gc wake {session.name}"
        )
    if sight.truth is Truth.UNKNOWN:
        raise no_answer(session, sight.why)
    return sight


def no_answer(session: Session, why: str) -> Refused:
    """The refusal for a runtime that does not say how the session is."""
    return Refused(
        f"{session.name}: its runtime gives no certain answer: {why or f'within {LOOK_S:g}s'}",
        "try again; gc doctor looks at runtimes",
        exit=1,
    )
