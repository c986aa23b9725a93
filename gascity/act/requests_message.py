"""Nudge: say a line to a session, now or once it is at its prompt; nothing said is lost silently.

A session at its prompt is told at once. For one that sleeps the sender chooses: `wake` wakes it and
holds it until it was told, `queue` lies there until something else wakes it. Both are durable.

Source: DESIGN §5, §12 (R13, R26, R63, R66); F26
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from gascity.act.deliver import notice_event
from gascity.act.operate import (
    Desk,
    Reply,
    current,
    find,
    hold_of,
    is_leaving,
    next_progress,
    seen_last,
)
from gascity.act.ports import Refused
from gascity.act.requests_talk import able, no_answer, plain, running
from gascity.act.requests_work import free_id
from gascity.beads.bead import CLOSED, MESSAGE, Bead
from gascity.beads.notices import Delivery, Mode, delivery_of, end_delivery, new_message
from gascity.beads.store import Batch, Query
from gascity.beads.times import time_text
from gascity.model.events import Event, EventType
from gascity.model.reading import known_or
from gascity.model.session import Session, State
from gascity.model.world import ScreenVerdict, Sighting, Truth
from gascity.runtimes.base import Ability, RuntimeUnreachable

TEXT_MOST: Final = 8000
TOLD_S: Final = 3.0  # how long the sender waits to hear that a session that is up was told

# Screens a line must not be typed into, with what would happen.
_UNSAFE: Final = {
    ScreenVerdict.PENDING: "a question is open, and the line would answer it",
    ScreenVerdict.DRAFT: "somebody has typed something there, and the line would send it",
    ScreenVerdict.PAGER: "a full-screen program would read the line as keys",
    ScreenVerdict.SHELL: "the agent has left, and a shell would run the line",
}


async def nudge(desk: Desk, said: str, text: str, *, mode: str = "", by: str = "operator") -> Reply:
    """Say a line to a session; `outcome` is `sent`, `delivered`, `waking`, `queued` or `unclear`.

    Raises:
        Refused: it is held; or it sleeps or shows what a line would answer, send or run, and no
            mode says what to do then.
    """
    line = _line(text)
    if mode not in ("", "send", "wake", "queue"):
        raise Refused(f"there is no nudge mode {mode!r}", "use send, wake or queue", exit=2)
    session = find(desk.snapshot(), said)
    hold = hold_of(session, desk.snapshot().city, desk.clock.now())
    if hold is not None:
        raise hold
    able(desk, session, Ability.SEND, "takes no text", "give it work instead: gc sling")
    if mode in ("wake", "queue"):
        return await _stored(desk, session, line, mode=Mode(mode), by=by)
    if _is_up(desk, session) and (is_leaving(session) or await _undelivered(desk, session)):
        # Typed now it would overtake what was said before, or be lost with an idle stop.
        return await _stored(desk, session, line, mode=Mode.QUEUE, by=by)
    return await _typed(desk, session, line)


def _line(text: str) -> str:
    line = plain(text).replace("\n", " ").strip()
    if not line:
        raise Refused("there is nothing to say", "give a text", exit=2)
    if len(line) > TEXT_MOST:
        raise Refused(
            f"the text has {len(line)} characters", f"say it in at most {TEXT_MOST}", exit=2
        )
    return line


def _is_up(desk: Desk, session: Session) -> bool:
    running_now = seen_last(desk.snapshot(), session).truth is Truth.RUNNING
    return session.state is State.AWAKE and session.stop_note is None and running_now


async def _undelivered(desk: Desk, session: Session) -> bool:
    """Whether an earlier message still waits to be said."""
    query = Query(type=MESSAGE, metadata={"session_id": session.id})
    return bool(await desk.store.query(query))


async def _typed(desk: Desk, session: Session, line: str) -> Reply:
    """Type it now, into a session that shows nothing the line would harm."""
    sight = await _awake(desk, session)
    pending = known_or(sight.pending, None) if sight.pending is not None else None
    verdict = ScreenVerdict.PENDING if pending is not None else sight.screen
    if verdict in _UNSAFE:
        raise Refused(
            f"{session.name}: {_UNSAFE[verdict]}",
            f"look at it with gc attach {session.name}, or add --queue to say it afterwards",
        )
    try:
        await desk.runtime_of(session).send(session.name, line, token=session.instance_token)
    except RuntimeUnreachable as problem:
        raise no_answer(session, str(problem)) from None
    return {"outcome": "sent", "session": session.name}


async def _awake(desk: Desk, session: Session) -> Sighting:
    """How it looks, if it runs.

    Raises:
        Refused: it sleeps; says which flags decide what is to happen.
    """
    try:
        return await running(desk, session, screen=True)
    except Refused as refused:
        if refused.exit != 3:
            raise
        do = "add --wake to wake it for this, or --queue to say it at its next wake"
        raise Refused(refused.what, do) from None


async def _stored(desk: Desk, session: Session, line: str, *, mode: Mode, by: str) -> Reply:
    """Keep it durably; if the session is up, wait a moment to hear that it was told."""
    bead_id = await free_id(desk)
    new = replace(new_message(session, line, mode=mode, by=by), id=bead_id)
    event = Event(
        type=EventType.BEAD_CREATED,
        ts=desk.clock.now(),
        subject=bead_id,
        message=f"message for {session.name}",
        actor=by,
        payload={"kind": "message", "session": session.name, "mode": mode.value},
    )
    up = _is_up(desk, session)
    made = await desk.apply(Batch(creates=(new,), events=(event,)))
    stored = await _heard(desk, bead_id) if up else made.beads[bead_id]
    return {"session": session.name, "id": bead_id, **_outcome(desk, session, stored, mode)}


async def _heard(desk: Desk, bead_id: str) -> Bead:
    """The message once it is over, or as it is after a few seconds."""
    until = desk.clock.monotonic() + TOLD_S
    while True:
        seen = desk.progress
        found = await desk.store.get(bead_id)
        assert found is not None, "records are closed, never lost"
        if found.status == CLOSED or desk.clock.monotonic() >= until:
            return found
        await next_progress(desk, seen, until=until)


def _outcome(desk: Desk, session: Session, stored: Bead, mode: Mode) -> Reply:
    how = delivery_of(stored)
    if how is Delivery.DELIVERED:
        return {"outcome": "delivered"}
    if how is Delivery.UNCLEAR:
        return {
            "outcome": "unclear",
            "exit": 1,
            "what": f"{session.name} may or may not have been told",
            "do": f"look at gc session peek {session.name}",
        }
    if _is_up(desk, current(desk.snapshot(), session)):
        return {"outcome": "queued", "text": "stored; it is told when it is at its prompt"}
    if mode is Mode.WAKE:
        return {"outcome": "waking", "text": "stored; it is woken and told when it is ready"}
    return {"outcome": "queued", "text": "stored; it is told at its next wake, this wakes nobody"}


async def messages(desk: Desk, said: str = "", *, all: bool = False) -> Reply:
    """Messages not delivered yet, oldest first; `all`: those that are over too."""
    session = find(desk.snapshot(), said) if said else None
    where = {"session_id": session.id} if session is not None else {}
    found = await desk.store.query(Query(type=MESSAGE, metadata=where, include_closed=all))
    return {"messages": [message_object(one) for one in found]}


async def unsend(desk: Desk, bead_id: str, *, by: str = "operator") -> Reply:
    """Take back a message that was not delivered yet.

    Raises:
        Refused: there is none, or it is too late.
    """
    found = await desk.store.get(bead_id)
    if found is None or found.type != MESSAGE:
        raise Refused(f"no message {bead_id!r}", "gc session messages shows them", exit=2)
    if found.status == CLOSED or delivery_of(found) is not Delivery.QUEUED:
        raise Refused(f"{bead_id} is {delivery_of(found)}", "it cannot be taken back")
    name = found.metadata.get("session_name", "")
    event = notice_event(found, Delivery.CANCELED.value, name, now=desk.clock.now())
    change = end_delivery(found, Delivery.CANCELED)
    await desk.apply(Batch(updates=(change,), events=(replace(event, actor=by),)))
    return {"id": bead_id, "outcome": "taken back", "session": name}


def message_object(message: Bead) -> dict[str, Any]:
    """The message as the JSON object that commands print."""
    return {
        "id": message.id,
        "session": message.metadata.get("session_name", ""),
        "state": delivery_of(message).value,
        "mode": message.metadata.get("mode", ""),
        "by": message.metadata.get("by", ""),
        "text": message.metadata.get("text", ""),
        "created_at": time_text(message.created_at),
        "closed_at": time_text(message.closed_at) if message.closed_at else None,
    }
