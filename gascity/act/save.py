"""The one way to write: every durable change of a session or of work goes through here.

Save first, then do. A write that meets another one is refused by the store and tried again on the
new record, never laid over it (F43).

Source: DESIGN §11 "The store" (R43, R75)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, TypeAlias

from gascity.beads.bead import Bead
from gascity.beads.record import session_of, to_update
from gascity.beads.store import (
    Applied,
    Batch,
    Conflict,
    StoreBroken,
    StoreUnavailable,
    Update,
)
from gascity.model.events import Event
from gascity.model.session import Session
from gascity.observe.ports import Ports

Change: TypeAlias = Callable[[Session, datetime], tuple[Session, tuple[Event, ...]]]

TRIES: Final = 8


class Gone(Exception):
    """The session has no open record any more."""


async def apply(ports: Ports, batch: Batch) -> Applied:
    """Write a batch, and keep `ports.writable` true to what the store says (R75).

    Raises:
        Conflict: somebody wrote first.
        StoreUnavailable: nothing was written.
        StoreBroken: the process must end.
    """
    if batch.is_empty:
        return Applied(beads={})
    try:
        applied = await ports.store.apply(batch, now=ports.clock.now())
    except StoreBroken:
        ports.writable = False
        raise
    except StoreUnavailable:
        ports.writable = False
        raise
    ports.writable = True
    ports.written(applied)
    return applied


async def read(ports: Ports, session_id: str) -> tuple[Bead, Session]:
    """The open record of a session as it is now.

    Raises:
        Gone: it was closed or never was.
    """
    bead = await ports.store.get(session_id)
    if bead is None or bead.status == "closed":
        raise Gone(session_id)
    return bead, session_of(bead)


@dataclass(frozen=True, slots=True, kw_only=True)
class Besides:
    """Changes of other records, with their events, that belong into the same write."""

    updates: tuple[Update, ...] = ()
    events: tuple[Event, ...] = ()


NOTHING: Final = Besides()


async def _nothing() -> Besides:
    return NOTHING


async def change(
    ports: Ports,
    session_id: str,
    fn: Change,
    *,
    besides: Callable[[], Awaitable[Besides]] = _nothing,
) -> Session:
    """Change one record: read, let `fn` say what it becomes and which events report it, write.

    `fn` returning the record unchanged without events writes nothing; whatever it raises is raised.

    Args:
        besides: What else is written with it, worked out anew at each try.
    """
    for _ in range(TRIES):
        bead, session = await read(ports, session_id)
        after, events = fn(session, ports.clock.now())
        if after is session and not events:
            return session
        try:
            return await write(ports, bead, session, after, events, besides=await besides())
        except Conflict:
            continue
    raise Conflict(f"{session_id} kept changing")


def noting(why: str) -> Change:
    """The change that shows what went wrong; none when it is shown already (R42)."""

    def noted(session: Session, _: datetime) -> tuple[Session, tuple[Event, ...]]:
        return (session if session.last_error == why else replace(session, last_error=why)), ()

    return noted


async def write(
    ports: Ports,
    bead: Bead,
    before: Session,
    after: Session,
    events: tuple[Event, ...] = (),
    *,
    expect_demand: int | None = None,
    expect: Iterable[Session] = (),
    besides: Besides = NOTHING,
) -> Session:
    """Write one record that was read as `bead`, with its events.

    Args:
        expect: Other records that must still be as they were read.
        besides: Changes of other records in the same batch.

    Raises:
        Conflict: the record, one of `expect`, or demand when insisted on, changed since.
    """
    update = to_update(before, after, bead.metadata)
    still = (Update(id=one.id, expect_version=one.version) for one in expect)
    updates = (update, *still) if update.metadata else (*still,)
    applied = await apply(
        ports,
        Batch(
            updates=(*updates, *besides.updates),
            events=(*events, *besides.events),
            expect_demand=expect_demand,
        ),
    )
    stored = applied.beads.get(before.id)
    return session_of(stored) if stored is not None else after


def since_state(before: Session, after: Session, now: datetime) -> Session:
    """The record with `since` moved when its state did."""
    return after if after.state is before.state else replace(after, since=now)
