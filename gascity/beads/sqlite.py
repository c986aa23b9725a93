"""The embedded store: one SQLite file, one opener, acknowledged means on disk.

`SqliteBeads` is the synchronous core, which the command line uses when no controller runs.
`SqliteStore` is the same behind the `Store` protocol: each whole transaction is one function on one
worker thread, so that a cancelled caller never leaves one half done. Records that are not closed
are kept in memory, for there is no second writer; only closed ones and events are read from disk.

Source: DESIGN §11 (R38, R42, R43, R73..R75)
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from gascity.beads import sqlite_rows as rows
from gascity.beads.bead import Bead
from gascity.beads.ledger import Change, matches, wants_closed
from gascity.beads.sqlite_schema import judged, open_file, roll_back
from gascity.beads.store import Applied, Batch, EventQuery, Query, StoreBroken, StoreUnavailable
from gascity.beads.times import time_text
from gascity.model.events import Event

if TYPE_CHECKING:
    import anyio

    from gascity.beads.mirror import EventMirror

T = TypeVar("T")

_LOG_BYTES: Final = 4 * 1024 * 1024  # the write-ahead log is folded in when it is longer


class SqliteBeads:
    """The store as plain calls. Safe to call from several threads; calls take turns.

    Raises everywhere: StoreUnavailable, and `StoreBroken` once an fsync or integrity error was
    seen, from then on always: the process must end and read again (R75).
    """

    def __init__(self, path: Path, *, mirror: EventMirror | None = None) -> None:
        self.path = path
        self._log = path.with_name(f"{path.name}-wal")
        self._turn = threading.Lock()
        self._mirror = mirror
        self._broken = ""
        self._db: sqlite3.Connection | None = open_file(path)
        try:
            with judged(path):
                self._ledger = rows.load(self._db)
            self._mirror_new(())
        except BaseException:
            self._db.close()
            raise

    def get(self, bead_id: str) -> Bead | None:
        """One record, closed ones included, or None."""
        bead = self.get_open(bead_id)
        if bead is not None:
            return bead
        with self._reading() as db:
            found = rows.find(db, bead_id)
        return found[1] if found else None

    def get_open(self, bead_id: str) -> Bead | None:
        """One record that is not closed, from memory alone: waits for nobody."""
        self._check()
        return self._ledger.get(bead_id)

    def query(self, query: Query) -> list[Bead]:
        """Matching records, oldest first."""
        if not wants_closed(query):
            return self.query_open(query)
        with self._reading() as db:
            placed = [
                (ordinal, bead)
                for ordinal, bead in rows.closed(db, query.type)
                if matches(bead, query)
            ]
            order = self._ledger.ordinals
            placed += [(order[bead.id], bead) for bead in self._ledger.query(query)]
        return [bead for _, bead in sorted(placed, key=lambda each: each[0])]

    def query_open(self, query: Query) -> list[Bead]:
        """Matching records that are not closed, from memory alone: waits for nobody."""
        self._check()
        return self._ledger.query(query)

    def apply(self, batch: Batch, *, now: datetime) -> Applied:
        """Write the whole batch durably, or nothing. A batch that changes nothing is not written.

        Raises:
            Conflict: a version or the demand revision moved, or a new record's id is taken.
            KeyError: an update names a record that does not exist.
        """
        with self._turn:
            db = self._check()
            with self._watched():
                change = self._ledger.prepare(batch, now=now, find=lambda key: rows.find(db, key))
                if change.is_empty:
                    return change.applied
                with self._transaction(db):
                    rows.write(db, change)
            self._ledger.commit(change)
            self._after_commit(db, change)
        return change.applied

    def events(self, query: EventQuery) -> list[Event]:
        """Stored events, oldest first."""
        with self._reading() as db:
            return rows.events(db, query)

    def oldest_seq(self) -> int:
        """The number of the oldest kept event; 0 when there is none."""
        with self._reading() as db:
            return rows.oldest_seq(db)

    @property
    def last_seq(self) -> int:
        """The number of the newest event ever written."""
        return self._ledger.seq

    @property
    def demand_revision(self) -> int:
        """A number that changes with every write to a task or wait, over restarts too."""
        return self._ledger.demand

    def get_note(self, key: str) -> str:
        """One fact about the city itself, or ""."""
        self._check()
        return self._ledger.notes.get(key, "")

    def set_note(self, key: str, value: str) -> None:
        """Durably keep one fact; "" forgets it. An unchanged one is not written again."""
        with self._turn:
            db = self._check()
            if self._ledger.notes.get(key, "") == value:
                return
            with self._watched(), self._transaction(db):
                rows.set_note(db, key, value)
            self._ledger.notes[key] = value

    def prune_events(self, *, before: datetime, max_bytes: int) -> int:
        """Forget the oldest events: all older than `before`, then what exceeds `max_bytes`.

        `max_bytes` 0 sets no limit. Returns how many went. Numbers are never used again (R74).
        """
        with self._turn:
            db = self._check()
            with self._watched():
                cut = rows.prune_cut(db, time_text(before), max_bytes)
                if not cut:
                    return 0
                with self._transaction(db):
                    return rows.forget_events(db, cut)

    def close(self) -> None:
        """Release the file; a second time does nothing."""
        with self._turn:
            db, self._db = self._db, None
            if db is not None:
                with suppress(sqlite3.Error):
                    db.close()
            if self._mirror is not None:
                self._mirror.close()

    def _check(self) -> sqlite3.Connection:
        if self._broken:
            raise StoreBroken(self._broken)
        if self._db is None:
            raise StoreUnavailable(f"{self.path} is closed")
        return self._db

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._turn:
            db = self._check()
            with self._watched():
                yield db

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """`judged`, and remember when the file must not be touched again."""
        try:
            with judged(self.path):
                yield
        except StoreBroken as failure:
            self._broken = str(failure)
            raise

    @contextmanager
    def _transaction(self, db: sqlite3.Connection) -> Iterator[None]:
        db.execute("BEGIN IMMEDIATE")
        try:
            yield
            db.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                roll_back(db)
            if db.in_transaction:
                self._broken = f"{self.path}: a failed write could not be taken back"
            raise

    def _after_commit(self, db: sqlite3.Connection, change: Change) -> None:
        """What may fail without undoing the commit: the mirror and folding in the log."""
        self._mirror_new(change.events)
        # A full disk only postpones it; a broken one is reported by the next call.
        with suppress(StoreUnavailable), self._watched():
            if self._log.stat().st_size > _LOG_BYTES:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def _mirror_new(self, events: Sequence[Event]) -> None:
        db = self._db
        if self._mirror is None or db is None:
            return

        def kept_after(seq: int) -> Iterable[Event]:
            return rows.events(db, EventQuery(after=seq, limit=1000))

        with suppress(sqlite3.Error):
            self._mirror.follow(events, self._ledger.seq, kept_after)


class SqliteStore:
    """`SqliteBeads` behind the `Store` protocol."""

    def __init__(self, beads: SqliteBeads) -> None:
        self.beads = beads
        self._limiter: anyio.CapacityLimiter | None = None

    @classmethod
    async def open(cls, path: Path, *, mirror: EventMirror | None = None) -> SqliteStore:
        """Open or create the file. Raises StoreUnavailable when it is open elsewhere."""
        import anyio.to_thread

        return cls(await anyio.to_thread.run_sync(lambda: SqliteBeads(path, mirror=mirror)))

    async def get(self, bead_id: str) -> Bead | None:
        """One record, closed ones included, or None."""
        bead = self.beads.get_open(bead_id)
        return bead or await self._run(lambda: self.beads.get(bead_id))

    async def query(self, query: Query) -> Sequence[Bead]:
        """Matching records, oldest first. Open records are answered without touching the disk."""
        if not wants_closed(query):
            return self.beads.query_open(query)
        return await self._run(lambda: self.beads.query(query))

    async def apply(self, batch: Batch, *, now: datetime) -> Applied:
        """Write the whole batch in one durable transaction, or nothing."""
        return await self._run(lambda: self.beads.apply(batch, now=now))

    async def events(self, query: EventQuery) -> Sequence[Event]:
        """Stored events, oldest first."""
        return await self._run(lambda: self.beads.events(query))

    async def oldest_seq(self) -> int:
        """The number of the oldest kept event; 0 when there is none (R74)."""
        return await self._run(self.beads.oldest_seq)

    async def last_seq(self) -> int:
        """The number of the newest event ever written; never restarts."""
        return self.beads.last_seq

    @property
    def demand_revision(self) -> int:
        """A number that changes with every write to a task or wait."""
        return self.beads.demand_revision

    async def get_note(self, key: str) -> str:
        """One fact about the city itself, or ""."""
        return self.beads.get_note(key)

    async def set_note(self, key: str, value: str) -> None:
        """Durably keep one fact about the city itself; "" forgets it."""
        await self._run(lambda: self.beads.set_note(key, value))

    async def prune_events(self, *, before: datetime, max_bytes: int) -> int:
        """Forget events older than `before` or beyond `max_bytes`; how many went (R74)."""
        return await self._run(lambda: self.beads.prune_events(before=before, max_bytes=max_bytes))

    async def close(self) -> None:
        """Flush and release the file, even while being cancelled."""
        import anyio

        with anyio.CancelScope(shield=True):
            await self._run(self.beads.close)

    async def _run(self, work: Callable[[], T]) -> T:
        """Do it on a worker thread, one at a time, to its end whatever becomes of the caller."""
        import anyio.to_thread  # not above: the command line uses the core without a framework

        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(1)
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)
