"""Work and waits as records: when they are ready, whose they are, and the writes that move them.

Everything here is a pure function over records. Wherever a mapping `live` is asked for, it holds
every record that is not closed: a blocker that is missing from it blocks no more.

Source: DESIGN §5 (R19, R20, R68, R80); surface "Work beads"
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final

from gascity.beads.bead import CLOSED, IN_PROGRESS, OPEN, TASK, WAIT, Bead
from gascity.beads.store import NewBead, Update
from gascity.beads.times import time_of, time_text
from gascity.model.roster import session_name
from gascity.model.session import Session

ROUTE: Final = "gc.routed_to"
DEFER: Final = "defer_until"
WAIT_LABEL: Final = "gc:wait"


class Refused(Exception):
    """The record does not allow this now; the text says why."""


class WaitState(StrEnum):
    """Where a wait stands."""

    PENDING = "pending"
    READY = "ready"  # wakes its session until the note is delivered (R66)
    CLOSED = "closed"
    CANCELED = "canceled"
    EXPIRED = "expired"
    FAILED = "failed"


def is_ready(bead: Bead, live: Mapping[str, Bead], now: datetime) -> bool:
    """Whether a worker could take it up now: an open task, not blocked, not deferred."""
    return bead.status == OPEN and is_actionable(bead, live, now)


def is_actionable(bead: Bead, live: Mapping[str, Bead], now: datetime) -> bool:
    """Whether somebody could act on it now: ready, or in progress and not blocked (R19)."""
    return (
        bead.type == TASK
        and bead.status in {OPEN, IN_PROGRESS}
        and not open_blockers(bead, live)
        and not is_deferred(bead, now)
    )


def open_blockers(bead: Bead, live: Mapping[str, Bead]) -> tuple[str, ...]:
    """The ids of the records that it still waits for."""
    return tuple(
        other for other in bead.blocked_by if other in live and live[other].status != CLOSED
    )


def is_deferred(bead: Bead, now: datetime) -> bool:
    """Whether it was put off to later. A date that cannot be read puts nothing off."""
    until = due_at(bead, DEFER)
    return until is not None and until > now


def due_at(bead: Bead, key: str) -> datetime | None:
    """The instant under a metadata key; None when it is missing or cannot be read."""
    text = bead.metadata.get(key, "")
    try:
        return time_of(text) if text else None
    except ValueError:
        return None


def is_assigned_to(bead: Bead, session: Session) -> bool:
    """Whether the assignee means this one session: its id, its name, or its agent (R19).

    The name of a pool means the pool, not a slot of it; `<pool>-<n>` is the slot.
    """
    if not bead.assignee:
        return False
    return (
        bead.assignee == session.id
        or session_name(bead.assignee) == session.name
        or (session.slot is None and bead.assignee == session.template)
    )


def works_for(bead: Bead, session: Session) -> bool:
    """Whether it is this session's work: assigned to it, or nobody's and routed to its agent.

    What is routed to a pool is the pool's (R20), see `pool_of`.
    """
    if bead.assignee:
        return is_assigned_to(bead, session)
    return session.slot is None and bead.metadata.get(ROUTE) == session.template


def pool_of(bead: Bead, pools: Collection[str]) -> str:
    """The pool that may take it up, or "" when it belongs to one session or to nobody."""
    wanted = bead.assignee or bead.metadata.get(ROUTE, "")
    return wanted if wanted in pools else ""


def next_work(session: Session, live: Mapping[str, Bead], now: datetime) -> Bead | None:
    """What the session should do next, or None.

    Its own work in progress first, then what is assigned to it, then what its agent or pool may
    take; within each by priority (0 is the most urgent), then oldest first.
    """

    def rank(bead: Bead) -> int | None:
        if works_for(bead, session):
            return 0 if bead.status == IN_PROGRESS else 1 if bead.assignee else 2
        shared = pool_of(bead, (session.template,))
        return 2 if session.slot is not None and shared and bead.status == OPEN else None

    ranked = [
        (place, bead.priority, order, bead)
        for order, bead in enumerate(live.values())
        if is_actionable(bead, live, now) and (place := rank(bead)) is not None
    ]
    return min(ranked, key=lambda each: each[:3])[3] if ranked else None


def new_task(
    title: str,
    *,
    assignee: str = "",
    routed_to: str = "",
    blocked_by: tuple[str, ...] = (),
    priority: int = 2,
    defer_until: datetime | None = None,
) -> NewBead:
    """A piece of work, assigned to one session or routed to an agent."""
    deferred = time_text(defer_until) if defer_until else ""
    return NewBead(
        type=TASK,
        title=title,
        assignee=assignee,
        priority=priority,
        blocked_by=blocked_by,
        metadata={ROUTE: routed_to, DEFER: deferred},
    )


def claim(bead: Bead, session: Session, live: Mapping[str, Bead], now: datetime) -> Update:
    """Take it up in the session's name; the same session may ask twice. Checked by version.

    Raises:
        Refused: closed, blocked, deferred, or somebody else's.
    """
    mine = is_assigned_to(bead, session)
    if bead.type != TASK or bead.status == CLOSED:
        raise Refused(f"{bead.id} is closed" if bead.type == TASK else f"{bead.id} is no task")
    if blockers := open_blockers(bead, live):
        raise Refused(f"{bead.id} is blocked by {', '.join(blockers)}")
    if is_deferred(bead, now):
        raise Refused(f"{bead.id} is deferred until {bead.metadata[DEFER]}")
    free = not bead.assignee or bead.assignee == session.template
    if not mine and (bead.status != OPEN or not free):
        raise Refused(f"{bead.id} is held by {bead.assignee or 'nobody'} ({bead.status})")
    return Update(
        id=bead.id, expect_version=bead.version, status=IN_PROGRESS, assignee=session.name
    )


def close(bead: Bead, *, reason: str = "") -> Update:
    """Declare it done; closing twice changes nothing."""
    return Update(
        id=bead.id,
        expect_version=bead.version,
        status=CLOSED,
        metadata={"close_reason": reason} if reason else {},
    )


def release(bead: Bead, session: Session) -> Update:
    """Give work in progress of a session that is gone back to its agent (R68)."""
    route = bead.metadata.get(ROUTE) or session.template
    return Update(
        id=bead.id,
        expect_version=bead.version,
        status=OPEN,
        assignee="",
        metadata={ROUTE: route, "work_released_from": session.name},
    )


def new_wait(
    session: Session,
    *,
    until: datetime | None = None,
    bead_ids: tuple[str, ...] = (),
    any_of: bool = False,
    note: str = "",
    tells_elapsed: bool = False,
    expires_at: datetime | None = None,
) -> NewBead:
    """A durable wait of the session for an instant, or for records to be closed.

    Args:
        tells_elapsed: The note is told with the time that really passed.
    """
    assert (until is None) == bool(bead_ids), "a wait is for a time or for beads"
    return NewBead(
        type=WAIT,
        title=f"{session.name} waits",
        labels=(WAIT_LABEL, f"session:{session.id}"),
        metadata={
            "session_id": session.id,
            "session_name": session.name,
            "kind": "beads" if until is None else "time",
            "state": WaitState.PENDING.value,
            "due_at": "" if until is None else time_text(until),
            "dep_ids": ",".join(bead_ids),
            "dep_mode": "any" if any_of else "",
            "note": note,
            "elapsed": "true" if tells_elapsed else "",
            "expires_at": "" if expires_at is None else time_text(expires_at),
        },
    )


def wait_state(bead: Bead, live: Mapping[str, Bead], now: datetime) -> WaitState:
    """Where the wait stands now, whether or not that was written yet.

    One whose condition cannot be read is ready: waking once too often loses nothing, never waking
    does.
    """
    try:
        kept = WaitState(bead.metadata.get("state") or WaitState.PENDING)
    except ValueError:
        kept = WaitState.PENDING
    if bead.status == CLOSED and kept in {WaitState.PENDING, WaitState.READY}:
        return WaitState.CLOSED
    if kept is not WaitState.PENDING:
        return kept
    if _is_met(bead, live, now):
        return WaitState.READY
    expiry = due_at(bead, "expires_at")
    return WaitState.EXPIRED if expiry is not None and expiry <= now else WaitState.PENDING


def _is_met(bead: Bead, live: Mapping[str, Bead], now: datetime) -> bool:
    if bead.metadata.get("kind") == "time":
        due = due_at(bead, "due_at")
        return due is None or due <= now
    names = [name.strip() for name in bead.metadata.get("dep_ids", "").split(",") if name.strip()]
    done = [name not in live or live[name].status == CLOSED for name in names]
    return not done or (any(done) if bead.metadata.get("dep_mode") == "any" else all(done))


def settle_wait(bead: Bead, state: WaitState) -> Update:
    """Write where the wait stands; all but pending and ready close the record."""
    going_on = state in {WaitState.PENDING, WaitState.READY}
    return Update(
        id=bead.id,
        expect_version=bead.version,
        status=None if going_on else CLOSED,
        metadata={"state": state.value},
    )


def next_moment(beads: Iterable[Bead], now: datetime) -> datetime | None:
    """The next instant at which time alone changes a task or wait, for the timer (R80)."""
    moments = [
        at
        for bead in beads
        for key in (("due_at", "expires_at") if bead.type == WAIT else (DEFER,))
        if (at := due_at(bead, key)) is not None and at > now
    ]
    return min(moments, default=None)
