"""A store without a disk, for tests and the fake city: the same contract, failures on demand.

Source: DESIGN §11 (HARN-01)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from gascity.beads.bead import CLOSED, Bead
from gascity.beads.ledger import Change, Ledger, matches, wants_closed
from gascity.beads.store import (
    Applied,
    Batch,
    EventQuery,
    Query,
    StoreBroken,
    StoreUnavailable,
)
from gascity.model.events import Event


class MemoryStore:
    """The `Store` protocol over dictionaries; ids are `<prefix>-1`, `<prefix>-2`, ... in base 36.

    `fail_next` is raised once by the next write and then forgotten; `full` fails every write,
    reads go on; `broken` fails every call. None of them leaves a trace of the failed write.
    `commits` counts the transactions that really wrote something.
    """

    def __init__(self) -> None:
        self.fail_next: Exception | None = None
        self.full = False
        self.broken = False
        self.commits = 0
        self._closed = False
        self._ledger = Ledger()
        self._closed_beads: dict[str, tuple[int, Bead]] = {}
        self._events: list[Event] = []

    def reopened(self) -> MemoryStore:
        """A new store over what this one kept, as after a restart; this one answers no more."""
        other = MemoryStore()
        other._ledger = Ledger(
            open=dict(self._ledger.open),
            ordinals=dict(self._ledger.ordinals),
            notes=dict(self._ledger.notes),
            ordinal=self._ledger.ordinal,
            seq=self._ledger.seq,
            demand=self._ledger.demand,
        )
        other._closed_beads = dict(self._closed_beads)
        other._events = list(self._events)
        self._closed = True
        return other

    async def get(self, bead_id: str) -> Bead | None:
        """One record, closed ones included, or None."""
        self._check()
        found = self._find(bead_id)
        return found[1] if found else None

    async def query(self, query: Query) -> Sequence[Bead]:
        """Matching records, oldest first."""
        self._check()
        if not wants_closed(query):
            return self._ledger.query(query)
        placed = [each for each in self._closed_beads.values() if matches(each[1], query)]
        placed += [(self._ledger.ordinals[b.id], b) for b in self._ledger.query(query)]
        return [bead for _, bead in sorted(placed, key=lambda each: each[0])]

    async def apply(self, batch: Batch, *, now: datetime) -> Applied:
        """Apply the whole batch, or nothing."""
        self._check()
        change = self._ledger.prepare(batch, now=now, find=self._find)
        if not change.is_empty:
            self._may_write()
            self._keep(change)
        return change.applied

    async def events(self, query: EventQuery) -> Sequence[Event]:
        """Stored events, oldest first."""
        self._check()
        found = [
            event
            for event in self._events
            if event.seq > query.after
            and (not query.types or str(event.type) in {str(kind) for kind in query.types})
            and (not query.subject or event.subject == query.subject)
            and (query.since is None or event.ts >= query.since)
        ]
        return found[: query.limit] if query.limit else found

    async def oldest_seq(self) -> int:
        """The number of the oldest kept event; 0 when there is none (R74)."""
        self._check()
        return self._events[0].seq if self._events else 0

    async def last_seq(self) -> int:
        """The number of the newest event ever written; never restarts."""
        self._check()
        return self._ledger.seq

    @property
    def demand_revision(self) -> int:
        """A number that changes with every write to a task or wait."""
        return self._ledger.demand

    async def get_note(self, key: str) -> str:
        """One fact about the city itself (not about a session), or ""."""
        self._check()
        return self._ledger.notes.get(key, "")

    async def set_note(self, key: str, value: str) -> None:
        """Keep one fact about the city itself; "" forgets it."""
        self._check()
        if self._ledger.notes.get(key, "") == value:
            return
        self._may_write()
        self._ledger.notes[key] = value
        if not value:
            del self._ledger.notes[key]

    async def prune_events(self, *, before: datetime, max_bytes: int) -> int:
        """Forget the oldest events; how many went (R74). Sizes are those of the texts."""
        self._check()
        kept = list(self._events)
        while kept and kept[0].ts < before:
            kept.pop(0)
        held = sum(map(_size, kept))
        while kept and max_bytes > 0 and held > max_bytes:
            held -= _size(kept.pop(0))
        gone = len(self._events) - len(kept)
        if gone:
            self._may_write()
            self._events = kept
        return gone

    async def close(self) -> None:
        """Answer no more."""
        self._closed = True

    def _find(self, bead_id: str) -> tuple[int, Bead] | None:
        bead = self._ledger.get(bead_id)
        if bead is not None:
            return self._ledger.ordinals[bead_id], bead
        return self._closed_beads.get(bead_id)

    def _keep(self, change: Change) -> None:
        for bead_id, bead in change.written.items():
            self._closed_beads.pop(bead_id, None)
            if bead.status == CLOSED:
                self._closed_beads[bead_id] = (change.ordinals[bead_id], bead)
        self._ledger.commit(change)
        self._events += [replace(event) for event in change.events]

    def _check(self) -> None:
        if self.broken:
            raise StoreBroken("the store is told to be broken")
        if self._closed:
            raise StoreUnavailable("the store is closed")

    def _may_write(self) -> None:
        failure, self.fail_next = self.fail_next, None
        if failure is not None:
            raise failure
        if self.full:
            raise StoreUnavailable("no space left; nothing was written")
        self.commits += 1


def _size(event: Event) -> int:
    return len(event.message) + len(event.subject) + len(str(event.payload)) + 100
