"""Waits on request: add, list, declare ready, cancel. Durable facts, with or without a controller.

A wait is ready when its instant has come or its beads are closed; then it wakes its session until
its note is delivered. Whether it is ready is derived at every look and never stored by itself.

Source: DESIGN §5 (R66, R71, R76, R80); F15
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from gascity.act.deliver import notice_event
from gascity.act.operate import Desk, Reply, find
from gascity.act.ports import Refused
from gascity.act.requests_talk import plain
from gascity.act.requests_work import free_id
from gascity.beads import work
from gascity.beads.bead import SESSION, WAIT, Bead
from gascity.beads.notices import Delivery, delivery_of, tells_elapsed
from gascity.beads.store import Batch, Conflict, Query, Update
from gascity.beads.times import time_of, time_text
from gascity.beads.work import WaitState
from gascity.model.events import Event, EventType

TRIES: Final = 4
NOTE_MOST: Final = 2000


async def add(
    desk: Desk,
    said: str,
    *,
    for_s: float | None = None,
    until: str = "",
    bead_ids: Sequence[str] = (),
    any_of: bool = False,
    note: str = "",
    elapsed: bool = False,
    expires_s: float | None = None,
    by: str = "operator",
) -> Reply:
    """Have a session woken at an instant, or once beads are closed.

    Args:
        until: An RFC 3339 time with a zone.
        elapsed: The note is typed with the time that really passed.
        expires_s: Seconds after which it gives up if it is not ready.

    Raises:
        Refused: not exactly one condition, a bead nobody knows, an expiry before the instant.
    """
    session = find(desk.snapshot(), said)
    if sum((for_s is not None, bool(until), bool(bead_ids))) != 1:
        raise Refused("a wait is for a time or for beads", "say one of them", exit=2)
    if any_of and not bead_ids:
        raise Refused("any of nothing", "name the beads", exit=2)
    now = desk.clock.now()
    due = _instant(until) if until else _later(now, for_s)
    expires_at = _later(now, expires_s)
    if due is not None and expires_at is not None and expires_at <= due:
        raise Refused("it would expire before it is ready", "let it expire later", exit=2)
    await _check_beads(desk, bead_ids)
    new = work.new_wait(
        session,
        until=due,
        bead_ids=tuple(dict.fromkeys(bead_ids)),
        any_of=any_of,
        note=_one_line(note),
        tells_elapsed=elapsed,
        expires_at=expires_at,
    )
    bead_id = await free_id(desk)
    event = Event(
        type=EventType.BEAD_CREATED,
        ts=now,
        subject=bead_id,
        message=f"wait for {session.name}",
        actor=by,
        payload={"kind": "wait", "session": session.name, "due_at": new.metadata["due_at"]},
    )
    made = await desk.apply(Batch(creates=(replace(new, id=bead_id),), events=(event,)))
    return {"wait": await _shown(desk, made.beads[bead_id])}


def _later(now: datetime, seconds: float | None) -> datetime | None:
    if seconds is None:
        return None
    try:
        return now + timedelta(seconds=seconds)
    except OverflowError:
        raise Refused("that is outside the calendar", "name a nearer time", exit=2) from None


def _instant(text: str) -> datetime:
    try:
        return time_of(text)
    except ValueError:
        raise Refused(f"until is {text!r}", "write an RFC 3339 time with a zone", exit=2) from None


def _one_line(note: str) -> str:
    line = " ".join(plain(note).split())
    if len(line) > NOTE_MOST:
        raise Refused(
            f"the note has {len(line)} characters", f"say it in at most {NOTE_MOST}", exit=2
        )
    return line


async def _check_beads(desk: Desk, bead_ids: Sequence[str]) -> None:
    """Every bead is there and can be closed by somebody."""
    for bead_id in bead_ids:
        found = await desk.store.get(bead_id)
        if found is None:
            raise Refused(f"no bead {bead_id!r}", "gc bead list shows them", exit=2)
        if found.type == SESSION:
            raise Refused(f"{bead_id} is a session record", "wait for work instead", exit=2)


async def waits(desk: Desk, said: str = "", *, all: bool = False) -> Reply:
    """The waits that are not over, oldest first; `all`: those that are over too."""
    session = find(desk.snapshot(), said) if said else None
    found = await desk.store.query(
        Query(
            type=WAIT,
            metadata={"session_id": session.id} if session is not None else {},
            include_closed=all,
        )
    )
    live = await _live(desk)
    now = desk.clock.now()
    return {"waits": [wait_object(one, live, now) for one in found]}


async def ready(desk: Desk, bead_id: str, *, by: str = "operator") -> Reply:
    """Declare a wait ready now."""
    return await _move(desk, bead_id, WaitState.READY, by=by)


async def cancel(desk: Desk, bead_id: str, *, by: str = "operator") -> Reply:
    """End a wait; it wakes nobody."""
    return await _move(desk, bead_id, WaitState.CANCELED, by=by)


async def _move(desk: Desk, bead_id: str, to: WaitState, *, by: str) -> Reply:
    """Write where a wait stands, with its event.

    Raises:
        Refused: there is no such wait, or it is over.
    """
    for _ in range(TRIES):
        found = await desk.store.get(bead_id)
        if found is None or found.type != WAIT:
            raise Refused(f"no wait {bead_id!r}", "gc wait list shows them", exit=2)
        live = await _live(desk)
        state = work.wait_state(found, live, desk.clock.now())
        if state not in (WaitState.PENDING, WaitState.READY):
            raise Refused(f"{bead_id} is over ({state})", "add another with gc wait add")
        if delivery_of(found) is not Delivery.QUEUED:
            raise Refused(f"the note of {bead_id} is being delivered", "look at gc wait list")
        change = work.settle_wait(found, to)
        event = _moved(found, to, by, desk.clock.now())
        if await _written(desk, change, event):
            return {"wait": await _shown(desk, await _again(desk, bead_id))}
    raise Refused(f"{bead_id} kept changing", "try again", exit=1)


def _moved(found: Bead, to: WaitState, by: str, now: datetime) -> Event:
    session = found.metadata.get("session_name", "")
    ended = notice_event(found, to.value, session, now=now)
    kind = EventType.BEAD_UPDATED if to is WaitState.READY else EventType.BEAD_CLOSED
    return replace(ended, type=kind, actor=by)


async def _written(desk: Desk, change: Update, event: Event) -> bool:
    try:
        await desk.apply(Batch(updates=(change,), events=(event,)))
    except Conflict:
        return False
    return True


async def _again(desk: Desk, bead_id: str) -> Bead:
    found = await desk.store.get(bead_id)
    assert found is not None, "records are closed, never lost"
    return found


async def _live(desk: Desk) -> dict[str, Bead]:
    return {one.id: one for one in await desk.store.query(Query())}


async def _shown(desk: Desk, wait: Bead) -> dict[str, Any]:
    return wait_object(wait, await _live(desk), desk.clock.now())


_SHOWN: Final = ("due_at", "expires_at", "note", "delivery")


def wait_object(wait: Bead, live: Mapping[str, Bead], now: datetime) -> dict[str, Any]:
    """The wait as the JSON object that commands print; `state` is where it stands now."""
    ids = [one for one in wait.metadata.get("dep_ids", "").split(",") if one]
    return {
        "id": wait.id,
        "session": wait.metadata.get("session_name", ""),
        "state": work.wait_state(wait, live, now).value,
        "kind": "beads" if ids else "time",
        "beads": ids,
        "mode": wait.metadata.get("dep_mode") or "all",
        "elapsed": tells_elapsed(wait),
        **{key: wait.metadata.get(key, "") for key in _SHOWN},
        "created_at": time_text(wait.created_at),
    }
