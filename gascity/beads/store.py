"""The store protocol: what every keeper of beads and events promises.

Every implementation passes `tests/integration/test_store_contract.py`.

Source: DESIGN §11 (R38, R42, R43, R73..R75)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from gascity.beads.bead import Bead
from gascity.model.events import Event

CREATED_SUBJECT: Final = "\x00created:"


class StoreUnavailable(Exception):
    """The store could not be read or written; nothing of the call took effect."""


class StoreBroken(StoreUnavailable):
    """An fsync or integrity error: do not use the handle again, end the process (R75)."""


class Conflict(Exception):
    """Somebody wrote first: a version, or the demand revision, is not the expected one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBead:
    """A record to create. `id` empty: the store makes one with `prefix`."""

    type: str
    prefix: str = "gc"
    id: str = ""
    title: str = ""
    status: str = "open"
    labels: tuple[str, ...] = ()
    assignee: str = ""
    priority: int = 2
    blocked_by: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """A change of one record. `expect_version` 0 writes without looking. None leaves a field alone.

    `metadata` is merged key by key; the value "" clears a key. `status="closed"` stamps
    `closed_at`. An update after which nothing differs writes nothing and keeps the version (R42).
    """

    id: str
    expect_version: int = 0
    metadata: Mapping[str, str] = field(default_factory=dict)
    status: str | None = None
    title: str | None = None
    assignee: str | None = None
    priority: int | None = None
    labels: tuple[str, ...] | None = None
    blocked_by: tuple[str, ...] | None = None


def created(index: int) -> str:
    """The subject of an event about the batch's own `index`-th new record, whose id is yet unknown.

    The store puts the id in its place, so that a record and the event that reports it can be
    written together (R43).
    """
    return f"{CREATED_SUBJECT}{index}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Changes and the events that report them: all durable or none.

    `expect_demand` insists that no task or wait was written since that revision (S2).
    """

    creates: tuple[NewBead, ...] = ()
    updates: tuple[Update, ...] = ()
    events: tuple[Event, ...] = ()
    expect_demand: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether applying it would write nothing."""
        return not (self.creates or self.updates or self.events)


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What a batch became: new and changed records by id, events with their numbers."""

    beads: Mapping[str, Bead]
    created: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Which records are wanted. Empty fields do not restrict; `metadata` is matched exactly.

    Closed records are left out unless `include_closed` or the status `closed` asks for them.
    """

    type: str = ""
    statuses: tuple[str, ...] = ()
    label: str = ""
    assignee: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    include_closed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EventQuery:
    """Which events are wanted, oldest first. `limit` 0 is all; `types` and `subject` filter."""

    after: int = 0
    types: tuple[str, ...] = ()
    subject: str = ""
    since: datetime | None = None
    limit: int = 0


class Store(Protocol):
    """A keeper of beads and events. Acknowledged means on disk.

    Raises everywhere: StoreUnavailable; `StoreBroken` when the process must end.
    """

    async def get(self, bead_id: str) -> Bead | None:
        """One record, closed ones included, or None."""
        ...

    async def query(self, query: Query) -> Sequence[Bead]:
        """Matching records, oldest first. Open records are answered without touching the disk."""
        ...

    async def apply(self, batch: Batch, *, now: datetime) -> Applied:
        """Write the whole batch in one durable transaction, or nothing.

        Raises:
            Conflict: a version or the demand revision moved, or a new record's id is taken.
            KeyError: an update names a record that does not exist.
        """
        ...

    async def events(self, query: EventQuery) -> Sequence[Event]:
        """Stored events, oldest first."""
        ...

    async def oldest_seq(self) -> int:
        """The number of the oldest kept event; 0 when there is none (R74)."""
        ...

    async def last_seq(self) -> int:
        """The number of the newest event ever written; never restarts."""
        ...

    @property
    def demand_revision(self) -> int:
        """A number that changes with every write to a task or wait."""
        ...

    async def get_note(self, key: str) -> str:
        """One fact about the city itself (not about a session), or ""."""
        ...

    async def set_note(self, key: str, value: str) -> None:
        """Durably keep one fact about the city itself; "" forgets it."""
        ...

    async def prune_events(self, *, before: datetime, max_bytes: int) -> int:
        """Forget the oldest events; how many went (R74).

        Those before the first one as young as `before` go, then what exceeds `max_bytes` (0: no
        limit).
        """
        ...

    async def close(self) -> None:
        """Flush and release the file."""
        ...
