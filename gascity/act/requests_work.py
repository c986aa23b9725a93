"""Work beads on request: create, list, claim, close, change, and what a session is to do next.

The rules are `beads/work.py`'s; here they become one durable batch with the event that reports it.

Source: DESIGN §12 (R19, R20, R43); surface "Work beads"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from secrets import token_hex
from typing import Any, Final

from gascity.act.operate import Desk, Look, Reply, find
from gascity.act.ports import Refused
from gascity.beads import work
from gascity.beads.bead import CLOSED, STATUSES, TASK, Bead
from gascity.beads.store import Batch, Conflict, Query, Update
from gascity.beads.times import time_text
from gascity.model.events import Event, EventType
from gascity.model.session import Session

TRIES: Final = 4
PRIORITIES: Final = range(10)


def bead_object(bead: Bead) -> dict[str, Any]:
    """The bead as the JSON object that commands print."""
    return {
        "id": bead.id,
        "type": bead.type,
        "status": bead.status,
        "title": bead.title,
        "labels": list(bead.labels),
        "assignee": bead.assignee,
        "priority": bead.priority,
        "blocked_by": list(bead.blocked_by),
        "metadata": dict(bead.metadata),
        "created_at": time_text(bead.created_at),
        "updated_at": time_text(bead.updated_at),
        "closed_at": time_text(bead.closed_at) if bead.closed_at else None,
        "version": bead.version,
    }


async def sling(
    desk: Desk, target: str, title: str, *, priority: int = 2, by: str = "operator"
) -> Reply:
    """Create work: routed to an agent or pool of that name, else assigned to that session.

    Raises:
        Refused: nobody is called that, or several are.
    """
    if not title.strip():
        raise Refused("work needs a title", "say what is to be done", exit=2)
    _check_priority(priority)
    look = desk.snapshot()
    route = _agent(look, target)
    assignee = "" if route else find(look, target).name
    new = work.new_task(title, assignee=assignee, routed_to=route, priority=priority)
    bead_id = await free_id(desk)
    event = Event(
        type=EventType.BEAD_CREATED,
        ts=desk.clock.now(),
        subject=bead_id,
        message=title,
        actor=by,
        payload={"assignee": assignee, "routed_to": route},
    )
    made = await desk.apply(Batch(creates=(replace(new, id=bead_id),), events=(event,)))
    return {"bead": bead_object(made.beads[bead_id])}


async def free_id(desk: Desk) -> str:
    """An id of our own choice, so that the bead and its event are one write (R43)."""
    while True:
        bead_id = f"gc-{token_hex(3)}"
        if await desk.store.get(bead_id) is None:
            return bead_id


def _agent(look: Look, target: str) -> str:
    """The identity of the agent the word means, or "" when it means none."""
    identities = list(look.city.agents)
    if target in identities:
        return target
    hits = [one for one in identities if look.city.agents[one].name == target]
    if len(hits) > 1:
        raise Refused(f"{target!r} may be any of {', '.join(hits)}", "name one of them", exit=2)
    return hits[0] if hits else ""


async def beads(desk: Desk, *, type: str = "", status: str = "", assignee: str = "") -> Reply:
    """Beads that are not closed, unless closed ones are asked for."""
    _check_status(status)
    query = Query(
        type=type,
        statuses=(status,) if status else (),
        assignee=assignee,
        include_closed=status == CLOSED,
    )
    return {"beads": [bead_object(one) for one in await desk.store.query(query)]}


async def bead(desk: Desk, bead_id: str) -> Reply:
    """One bead, closed ones included."""
    return {"bead": bead_object(await _get(desk, bead_id))}


async def claim(desk: Desk, bead_id: str, *, assignee: str) -> Reply:
    """Take work up in a session's name, or in that of a person who is none (R19)."""
    who = _session_or_none(desk.snapshot(), assignee)

    def take(found: Bead, live: Mapping[str, Bead]) -> Update:
        if who is not None:
            return _refusable(lambda: work.claim(found, who, live, desk.clock.now()))
        if found.assignee not in ("", assignee) or not work.is_actionable(
            found, live, desk.clock.now()
        ):
            raise Refused(
                f"{found.id} cannot be claimed: {found.status}, {found.assignee or 'free'}",
                f"look at gc bead show {found.id}",
            )
        return Update(
            id=found.id, expect_version=found.version, status="in_progress", assignee=assignee
        )

    return await _write(desk, bead_id, take, kind=EventType.BEAD_UPDATED, by=assignee)


async def close(desk: Desk, bead_id: str, *, reason: str = "", by: str = "operator") -> Reply:
    """Declare work done; closing twice changes nothing."""

    def end(found: Bead, live: Mapping[str, Bead]) -> Update | None:
        return None if found.status == CLOSED else work.close(found, reason=reason)

    return await _write(desk, bead_id, end, kind=EventType.BEAD_CLOSED, by=by)


async def update(desk: Desk, bead_id: str, *, by: str = "operator", **said: Any) -> Reply:
    """Change fields of a work bead; what is not said stays."""
    status, blocked_by = said.get("status"), said.get("blocked_by")
    if status is not None:
        _check_status(status)
    if (priority := said.get("priority")) is not None:
        _check_priority(priority)
    for other in blocked_by or ():
        if other == bead_id:
            raise Refused(f"{bead_id} cannot block itself", "name another bead", exit=2)
        await _get(desk, other)

    def change(found: Bead, live: Mapping[str, Bead]) -> Update:
        return Update(
            id=found.id,
            expect_version=found.version,
            status=status or None,
            title=said.get("title"),
            assignee=said.get("assignee"),
            priority=priority,
            metadata=said.get("metadata") or {},
            blocked_by=None if blocked_by is None else tuple(blocked_by),
        )

    kind = EventType.BEAD_CLOSED if status == CLOSED else EventType.BEAD_UPDATED
    return await _write(desk, bead_id, change, kind=kind, by=by)


async def hook(desk: Desk, session_id: str, *, claim_it: bool = False) -> Reply:
    """The next bead a session could act on, taken in its name with `claim_it`; None without."""
    session = find(desk.snapshot(), session_id)
    for _ in range(TRIES):
        now = desk.clock.now()
        live = await _live(desk)
        found = work.next_work(session, live, now)
        if found is None:
            return {"bead": None}
        if not claim_it:
            return {"bead": bead_object(found)}
        change = _refusable(lambda: work.claim(found, session, live, now))  # noqa: B023
        event = _event(desk, EventType.BEAD_UPDATED, found, by=session.name)
        try:
            applied = await desk.apply(Batch(updates=(change,), events=(event,)))
        except Conflict:
            continue  # somebody else was quicker: look for the next one
        return {"bead": bead_object(applied.beads[found.id])}
    raise Refused("the work kept being taken by others", "ask again", exit=1)


async def _write(
    desk: Desk,
    bead_id: str,
    fn: Callable[[Bead, Mapping[str, Bead]], Update | None],
    *,
    kind: EventType,
    by: str,
) -> Reply:
    """Change one work bead by compare and set, with its event; None changes nothing."""
    for _ in range(TRIES):
        found = await _task(desk, bead_id)
        change = fn(found, await _live(desk))
        if change is None:
            return {"bead": bead_object(found)}
        try:
            applied = await desk.apply(
                Batch(updates=(change,), events=(_event(desk, kind, found, by=by),))
            )
        except Conflict:
            continue
        return {"bead": bead_object(applied.beads[bead_id])}
    raise Refused(f"{bead_id} kept changing", "try again", exit=1)


def _event(desk: Desk, kind: EventType, found: Bead, *, by: str) -> Event:
    now = desk.clock.now()
    return Event(type=kind, ts=now, subject=found.id, message=found.title, actor=by)


def _refusable(fn: Callable[[], Update]) -> Update:
    try:
        return fn()
    except work.Refused as why:
        raise Refused(str(why), "gc bead list shows what is free") from None


async def _live(desk: Desk) -> dict[str, Bead]:
    return {one.id: one for one in await desk.store.query(Query())}


async def _get(desk: Desk, bead_id: str) -> Bead:
    found = await desk.store.get(bead_id)
    if found is None:
        raise Refused(f"no bead {bead_id!r}", "gc bead list shows them", exit=2)
    return found


async def _task(desk: Desk, bead_id: str) -> Bead:
    """A bead that people may change; session records are the controller's."""
    found = await _get(desk, bead_id)
    if found.type != TASK:
        raise Refused(f"{bead_id} is a {found.type} record", "see gc wait, and gc session")
    return found


def _session_or_none(look: Look, said: str) -> Session | None:
    try:
        return find(look, said)
    except Refused:
        return None


def _check_status(status: str) -> None:
    if status and status not in STATUSES:
        raise Refused(f"no status {status!r}", f"one of {', '.join(STATUSES)}", exit=2)


def _check_priority(priority: int) -> None:
    if priority not in PRIORITIES:
        raise Refused(f"no priority {priority}", "0 (most urgent) to 9", exit=2)
