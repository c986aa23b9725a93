"""Peek and nudge: read a session's screen without warming it, type a line into it on purpose.

Source: DESIGN §12 (R13, R44, R63)
"""

from __future__ import annotations

import re
from typing import Final

from gascity.act.operate import (
    LOOK_S,
    Desk,
    Reply,
    Say,
    find,
    hold_of,
    seen_now,
)
from gascity.act.ports import Refused
from gascity.act.requests_wake import wake
from gascity.model.reading import known_or
from gascity.model.session import Session
from gascity.model.world import ScreenVerdict, Sighting, Truth
from gascity.runtimes.base import RuntimeUnreachable

PEEK_LINES: Final = 40
PEEK_MOST: Final = 2000

# Operating system commands, control sequences, other escapes, then single control characters.
_CONTROLS: Final = re.compile(
    r"\x1b[\]P^_X][^\n]*?(?:\x07|\x1b\\|(?=\n)|$)|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|\x1b[ -/]*[0-~]?"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]|[\u202a-\u202e\u2066-\u2069]",
)

# Screens a line must not be typed into, with what would happen.
_UNSAFE: Final = {
    ScreenVerdict.PENDING: "a question is open, and the line would answer it",
    ScreenVerdict.DRAFT: "somebody has typed something there, and the line would send it",
    ScreenVerdict.PAGER: "a full-screen program would read the line as keys",
    ScreenVerdict.SHELL: "the agent has left, and a shell would run the line",
}


async def peek(desk: Desk, said: str, *, lines: int = PEEK_LINES) -> Reply:
    """The last visible lines as plain text; moves no clock and wakes nobody (R44)."""
    session = find(desk.snapshot(), said)
    await _running(desk, session, screen=False)
    try:
        text = await desk.runtime_of(session).peek(
            session.name, lines=min(max(lines, 1), PEEK_MOST)
        )
    except RuntimeUnreachable as problem:
        raise _no_answer(session, str(problem)) from None
    return {"text": plain(text), "session": session.name}


def plain(text: str) -> str:
    """Text without control sequences, titles, clipboard writes or direction marks (E11)."""
    return _CONTROLS.sub("", text.replace("\r\n", "\n"))


async def nudge(desk: Desk, said: str, text: str, *, say: Say, mode: str = "") -> Reply:
    """Type a line into a session that runs; with mode `wake` it is woken for that first.

    Raises:
        Refused: it sleeps, is held, or shows what a typed line would answer, send or run.
    """
    if mode not in ("", "send", "wake"):
        raise Refused(f"there is no nudge mode {mode!r}", "use send or wake", exit=2)
    line = plain(text).replace("\n", " ").strip()
    if not line:
        raise Refused("there is nothing to say", "give a text", exit=2)
    if mode == "wake":
        woken = await wake(desk, said, say=say, by="nudge")
        if woken.get("exit"):
            return woken
    session = find(desk.snapshot(), said)
    sight = await _running(desk, session, screen=True)
    pending = known_or(sight.pending, None) if sight.pending is not None else None
    verdict = ScreenVerdict.PENDING if pending is not None else sight.screen
    if verdict in _UNSAFE:
        raise Refused(
            f"{session.name}: {_UNSAFE[verdict]}", f"look at it: gc attach {session.name}"
        )
    try:
        await desk.runtime_of(session).send(session.name, line, token=session.instance_token)
    except RuntimeUnreachable as problem:
        raise _no_answer(session, str(problem)) from None
    return {"outcome": "sent", "session": session.name}


async def _running(desk: Desk, session: Session, *, screen: bool) -> Sighting:
    """How a running session looks.

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
        raise _no_answer(session, sight.why)
    return sight


def _no_answer(session: Session, why: str) -> Refused:
    return Refused(
        f"{session.name}: its runtime gives no certain answer: {why or f'within {LOOK_S:g}s'}",
        "try again; gc doctor looks at runtimes",
        exit=1,
    )
