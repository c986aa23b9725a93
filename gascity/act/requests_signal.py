"""A signal of an agent's own hook: heard at once, fenced by the instance token.

Nothing waits for it and nothing is promised: a hook is told that it was heard, or why not. The
first of a run is noted, so that a session whose hooks speak is known for it after a restart.

Source: DESIGN §8 (R15, R63, R79)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from gascity.act.operate import Desk, Reply, find
from gascity.act.ports import Refused
from gascity.act.requests_talk import plain
from gascity.beads.store import StoreBroken, StoreUnavailable
from gascity.model.events import Event
from gascity.model.session import Session
from gascity.model.signals import Signal, SignalKind

WORDS_MOST: Final = 200


async def signal(desk: Desk, said: str, told: Mapping[str, Any]) -> Reply:
    """Take one signal of a session's run.

    Raises:
        Refused: the session has another run by now, or the word is unknown.
    """
    session = find(desk.snapshot(), said)
    token = str(told.get("token", ""))
    if not token or session.instance_token != token:
        raise Refused(f"{session.name} has another run by now", "its hooks speak for it")
    try:
        kind = SignalKind(told.get("kind", ""))
    except ValueError:
        words = ", ".join(SignalKind)
        raise Refused(f"no signal {told.get('kind')!r}", f"the words are {words}", 2) from None
    items = told.get("items")
    heard = desk.hear(
        session.id,
        Signal(
            token=token,
            kind=kind,
            at=desk.clock.now(),
            seq=int(told.get("seq", 0)),
            what=_line(told.get("what")),
            question=_line(told.get("question")),
            items=tuple(map(_line, items)) if items is not None else None,
            source=_line(told.get("source")),
            conversation=_line(told.get("conversation")),
            is_sub=bool(told.get("sub", False)),
        ),
    )
    if session.heard_from != token:
        await _note(desk, session, token)
    return {"session": session.name, "turn": str(heard.turn), "asked": heard.asked}


async def _note(desk: Desk, session: Session, token: str) -> None:
    """Write down that hooks of this run speak; a store that takes nothing loses a note."""

    def noted(now_is: Session, _: datetime) -> tuple[Session, tuple[Event, ...]]:
        if now_is.instance_token != token:
            return now_is, ()
        return replace(now_is, heard_from=token), ()

    try:
        await desk.change(session.id, noted)
    except StoreBroken:
        raise
    except StoreUnavailable:
        return


def _line(value: Any) -> str:
    return " ".join(plain(str(value or "")).split())[:WORDS_MOST]
