"""Give back the work of a session that is gone, once, and cancel what it was still to be told.

Source: DESIGN §5 (R68); F26
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from gascity.act.deliver import notice_event
from gascity.act.save import TRIES, apply, read
from gascity.beads.bead import IN_PROGRESS, MESSAGE, TASK, WAIT, Bead
from gascity.beads.notices import Delivery, delivery_of, end_delivery
from gascity.beads.store import Batch, Conflict, Query, Store, Update
from gascity.beads.work import is_assigned_to, release
from gascity.decide.release import may_release
from gascity.model.events import Event, EventType
from gascity.model.session import Session
from gascity.observe.ports import Ports
from gascity.observe.world import Lookout


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Changes with their events, and the demand revision they were worked out at."""

    updates: tuple[Update, ...]
    events: tuple[Event, ...]
    revision: int


async def given_back(
    session: Session, why: str, store: Store, *, now: datetime, for_good: bool
) -> Given:
    """What a session leaves behind: its work in progress to its agent; `for_good`, its notices too.

    Args:
        for_good: Its record is closed, so nobody will ever hear what it was to be told.
    """
    revision = store.demand_revision
    tasks = await store.query(Query(type=TASK, statuses=(IN_PROGRESS,)))
    held = [bead for bead in tasks if is_assigned_to(bead, session)]
    updates = [release(bead, session) for bead in held]
    events = [_released(bead, session, why, now) for bead in held]
    if for_good:
        waits = await store.query(Query(type=WAIT))
        messages = await store.query(Query(type=MESSAGE))
        for notice, how in _unheard((*waits, *messages), session):
            updates.append(end_delivery(notice, how))
            said = f"{session.name} was removed"
            events.append(notice_event(notice, how.value, session.name, now=now, why=said))
    return Given(updates=tuple(updates), events=tuple(events), revision=revision)


def _unheard(notices: Iterable[Bead], session: Session) -> list[tuple[Bead, Delivery]]:
    """The session's open notices, and how each ends with it."""
    found = []
    for notice in notices:
        if notice.metadata.get("session_id") == session.id:
            begun = delivery_of(notice) is not Delivery.QUEUED
            gone = Delivery.CANCELED if notice.type == WAIT else Delivery.FAILED
            found.append((notice, Delivery.UNCLEAR if begun else gone))
    return found


def _released(bead: Bead, session: Session, why: str, now: datetime) -> Event:
    update = release(bead, session)
    return Event(
        type=EventType.BEAD_RELEASED,
        ts=now,
        subject=bead.id,
        message=bead.title,
        payload={
            "session": session.name,
            "reason": why,
            "routed_to": update.metadata["gc.routed_to"],
        },
    )


async def release_quarantined(session_id: str, ports: Ports, lookout: Lookout) -> bool:
    """Release what a quarantined session holds, after one more certain look; whether it did."""
    for _ in range(TRIES):
        world = await lookout.session(session_id)
        session = world.sessions.get(session_id)
        if session is None or not may_release(session, world):
            return False
        _, session = await read(ports, session_id)
        given = await given_back(
            session, "quarantined", ports.store, now=ports.clock.now(), for_good=False
        )
        if not given.updates:
            return False
        still = Update(id=session.id, expect_version=session.version)
        try:
            await apply(
                ports,
                Batch(
                    updates=(*given.updates, still),
                    events=given.events,
                    expect_demand=given.revision,
                ),
            )
        except Conflict:
            continue
        return True
    return False
