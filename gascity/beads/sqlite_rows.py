"""Rows of the embedded store to records and events, and back. Statements only, no policy.

Every function runs inside the caller's transaction, on the caller's thread.

Source: DESIGN §11
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from gascity.beads.bead import Bead
from gascity.beads.formats import coerced
from gascity.beads.ledger import Change, Ledger, event_type
from gascity.beads.store import EventQuery
from gascity.beads.times import time_of, time_text
from gascity.model.events import Event

_BEAD: Final = (
    "ordinal, id, type, status, title, labels, assignee, priority, blocked_by, metadata, "
    "created_at, updated_at, closed_at, version"
)
_EVENT: Final = "seq, ts, type, actor, subject, message, payload"
_PER_EVENT: Final = 100  # what an event's numbers and names take besides its texts


def load(db: sqlite3.Connection) -> Ledger:
    """Everything that is kept in memory."""
    ledger = Ledger()
    counters = dict(db.execute("SELECT name, value FROM counters"))
    ledger.ordinal, ledger.seq, ledger.demand = (
        counters["ordinal"],
        counters["seq"],
        counters["demand"],
    )
    ledger.notes.update(db.execute("SELECT key, value FROM notes"))
    for row in db.execute(f"SELECT {_BEAD} FROM beads WHERE status <> 'closed' ORDER BY ordinal"):
        ordinal, bead = _bead(row)
        ledger.open[bead.id] = bead
        ledger.ordinals[bead.id] = ordinal
    return ledger


def find(db: sqlite3.Connection, bead_id: str) -> tuple[int, Bead] | None:
    """One record with its place in the order of creation."""
    row = db.execute(f"SELECT {_BEAD} FROM beads WHERE id = ?", (bead_id,)).fetchone()
    return _bead(row) if row else None


def closed(db: sqlite3.Connection, kind: str) -> Iterator[tuple[int, Bead]]:
    """Closed records, of one type unless `kind` is ""."""
    statement = f"SELECT {_BEAD} FROM beads WHERE status = 'closed' AND (? = '' OR type = ?)"
    for row in db.execute(statement, (kind, kind)):
        yield _bead(row)


def write(db: sqlite3.Connection, change: Change) -> None:
    """Put records, events and counters of a change in."""
    marks = ", ".join("?" * 14)
    db.executemany(
        f"INSERT INTO beads ({_BEAD}) VALUES ({marks}) ON CONFLICT (ordinal) DO UPDATE SET "
        "status = excluded.status, title = excluded.title, labels = excluded.labels, "
        "assignee = excluded.assignee, priority = excluded.priority, "
        "blocked_by = excluded.blocked_by, metadata = excluded.metadata, "
        "updated_at = excluded.updated_at, closed_at = excluded.closed_at, "
        "version = excluded.version",
        [_bead_row(change.ordinals[key], bead) for key, bead in change.written.items()],
    )
    db.executemany(
        f"INSERT INTO events ({_EVENT}, bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [_event_row(event) for event in change.events],
    )
    db.executemany(
        "UPDATE counters SET value = ? WHERE name = ? AND value <> ?",
        [
            (value, name, value)
            for name, value in (
                ("ordinal", change.ordinal),
                ("seq", change.seq),
                ("demand", change.demand),
            )
        ],
    )


def set_note(db: sqlite3.Connection, key: str, value: str) -> None:
    """Keep or, with "", forget one note."""
    if value:
        db.execute("INSERT OR REPLACE INTO notes (key, value) VALUES (?, ?)", (key, value))
    else:
        db.execute("DELETE FROM notes WHERE key = ?", (key,))


def events(db: sqlite3.Connection, query: EventQuery) -> list[Event]:
    """Matching events, oldest first."""
    wanted, values = ["seq > ?"], [query.after]  # type: tuple[list[str], list[Any]]
    if query.types:
        wanted.append(f"type IN ({', '.join('?' * len(query.types))})")
        values += [str(kind) for kind in query.types]
    if query.subject:
        wanted.append("subject = ?")
        values.append(query.subject)
    if query.since is not None:
        wanted.append("ts >= ?")
        values.append(time_text(query.since))
    statement = f"SELECT {_EVENT} FROM events WHERE {' AND '.join(wanted)} ORDER BY seq LIMIT ?"
    values.append(query.limit or -1)
    return [_event(row) for row in db.execute(statement, values)]


def oldest_seq(db: sqlite3.Connection) -> int:
    """The number of the oldest kept event, or 0."""
    return int(db.execute("SELECT ifnull(min(seq), 0) FROM events").fetchone()[0])


def prune_cut(db: sqlite3.Connection, before: str, max_bytes: int) -> int:
    """The last number to forget; 0 for none.

    Only a run of old events from the start goes by age, so that a clock that once stood wrong
    takes no young ones with it.
    """
    young = db.execute("SELECT min(seq) FROM events WHERE ts >= ?", (before,)).fetchone()[0]
    oldest, newest = db.execute("SELECT min(seq), max(seq) FROM events").fetchone()
    if oldest is None:
        return 0
    cut = newest if young is None else young - 1
    cut = cut if cut >= oldest else 0
    if max_bytes <= 0:
        return int(cut)
    held = db.execute("SELECT sum(bytes) FROM events WHERE seq > ?", (cut,)).fetchone()[0] or 0
    if held > max_bytes:
        rows = db.execute("SELECT seq, bytes FROM events WHERE seq > ? ORDER BY seq", (cut,))
        for seq, size in rows:
            cut, held = seq, held - size
            if held <= max_bytes:
                break
    return int(cut)


def forget_events(db: sqlite3.Connection, up_to: int) -> int:
    """Delete events up to a number; how many went."""
    return db.execute("DELETE FROM events WHERE seq <= ?", (up_to,)).rowcount


@contextmanager
def _readable(what: object) -> Iterator[None]:
    """A row that somebody else wrote is a fault of the database, by name, and never another."""
    try:
        yield
    except (ValueError, TypeError, AttributeError, RecursionError) as fault:
        raise sqlite3.DatabaseError(f"{what} is not readable: {fault}") from None


def _bead(row: tuple[Any, ...]) -> tuple[int, Bead]:
    with _readable(f"record {row[1]}"):
        return row[0], _read_bead(row)


def _read_bead(row: tuple[Any, ...]) -> Bead:
    return Bead(
        id=row[1],
        type=row[2],
        status=row[3],
        title=row[4],
        labels=tuple(json.loads(row[5])),
        assignee=row[6],
        priority=row[7],
        blocked_by=tuple(json.loads(row[8])),
        metadata=coerced(json.loads(row[9])),
        created_at=time_of(row[10]),
        updated_at=time_of(row[11]),
        closed_at=time_of(row[12]) if row[12] else None,
        version=row[13],
    )


def _bead_row(ordinal: int, bead: Bead) -> tuple[Any, ...]:
    return (
        ordinal,
        bead.id,
        bead.type,
        bead.status,
        bead.title,
        _json(bead.labels),
        bead.assignee,
        bead.priority,
        _json(bead.blocked_by),
        _json(bead.metadata),
        time_text(bead.created_at),
        time_text(bead.updated_at),
        time_text(bead.closed_at) if bead.closed_at else "",
        bead.version,
    )


def _event(row: tuple[Any, ...]) -> Event:
    with _readable(f"event {row[0]}"):
        return _read_event(row)


def _read_event(row: tuple[Any, ...]) -> Event:
    return Event(
        seq=row[0],
        ts=time_of(row[1]),
        type=event_type(row[2]),
        actor=row[3],
        subject=row[4],
        message=row[5],
        payload=json.loads(row[6]),
    )


def _event_row(event: Event) -> tuple[Any, ...]:
    texts = (event.actor, event.subject, event.message, _json(event.payload))
    size = sum(len(text.encode()) for text in texts) + _PER_EVENT
    return (event.seq, time_text(event.ts), str(event.type), *texts, size)


def _json(value: object) -> str:
    # ASCII, so that half characters from a screen survive as escapes.
    return json.dumps(value, separators=(",", ":"))
