"""The tables of `.gc/gascity.db`, how an older file becomes a current one, and how it is opened.

The order of the first statements is the point. `locking_mode=EXCLUSIVE` comes before
`journal_mode=WAL`, so that the index of the log lives in our memory and a second process is
refused. Nothing in this process may open and close the file by other means: that would drop the
lock. Copies therefore go through the connection.

Source: DESIGN §11 (R73, R75)
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from gascity.beads.store import StoreBroken, StoreUnavailable

_VERSION_1: Final = (
    """CREATE TABLE beads (
        ordinal INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        type TEXT NOT NULL,
        status TEXT NOT NULL,
        title TEXT NOT NULL,
        labels TEXT NOT NULL,
        assignee TEXT NOT NULL,
        priority INTEGER NOT NULL,
        blocked_by TEXT NOT NULL,
        metadata TEXT NOT NULL,
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL,
        closed_at TEXT NOT NULL,
        version INTEGER NOT NULL
    ) STRICT""",
    "CREATE INDEX beads_open ON beads (ordinal) WHERE status <> 'closed'",
    """CREATE TABLE events (
        seq INTEGER PRIMARY KEY,
        ts TEXT NOT NULL,
        type TEXT NOT NULL,
        actor TEXT NOT NULL,
        subject TEXT NOT NULL,
        message TEXT NOT NULL,
        payload TEXT NOT NULL
    ) STRICT""",
    "CREATE TABLE notes (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    "CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT",
    "INSERT INTO counters VALUES ('ordinal', 0), ('seq', 0), ('demand', 0)",
)
# Size is asked for at every pruning; without a column each row would be read for it (R74).
_VERSION_2: Final = (
    "ALTER TABLE events ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0",
    """UPDATE events SET bytes = length(CAST(actor AS BLOB)) + length(CAST(subject AS BLOB))
        + length(CAST(message AS BLOB)) + length(CAST(payload AS BLOB)) + 100""",
)

# Step n leads from version n to n + 1; a new file takes them all.
MIGRATIONS: Final = (_VERSION_1, _VERSION_2)
VERSION: Final = len(MIGRATIONS)

_BESIDE: Final = ("-wal", "-journal", ".trial")
_NO_ROOM: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_BROKEN: Final = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_BUSY: Final = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def open_file(path: Path) -> sqlite3.Connection:
    """The only connection to the file, current and exclusive; the file is made when missing.

    Raises:
        StoreUnavailable: open elsewhere, made by a newer program, not ours, or not readable.
        StoreBroken: damaged.
    """
    _make_private(path)
    with judged(path):
        db = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        with judged(path):
            db.execute("PRAGMA locking_mode=EXCLUSIVE")
            version = _checked_version(db, path)
            (mode,) = db.execute("PRAGMA journal_mode=WAL").fetchone()
            if mode != "wal":
                raise StoreUnavailable(f"{path}: no write-ahead log here (journal is {mode})")
            db.execute("PRAGMA synchronous=FULL")
            # We checkpoint ourselves: the automatic one hides a failed fsync (R75).
            db.execute("PRAGMA wal_autocheckpoint=0")
            if 0 < version < VERSION:
                _keep_copy(db, path, version)
            for step in range(version, VERSION):
                _migrate(db, step)
            # Takes the lock now rather than at the first write.
            db.execute("BEGIN IMMEDIATE")
            db.execute("COMMIT")
    except BaseException:
        db.close()
        raise
    return db


def _make_private(path: Path) -> None:
    """Folder 0700 and file 0600. Only a missing file is opened: see the charter about locks.

    A link is refused: SQLite would follow it, and so would the change of its mode (E9). So is a
    file of somebody else.
    """
    names = (path, *(path.with_name(f"{path.name}{end}") for end in _BESIDE))
    if link := next((one for one in names if one.is_symlink()), None):
        raise StoreUnavailable(f"{link} is a link; move it away")
    if other := next((one for one in names if _is_anothers(one)), None):
        raise StoreUnavailable(f"{other} belongs to another user; give it back or move it away")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.parent.stat().st_mode & 0o077:
            path.parent.chmod(0o700)
        if path.exists():
            if path.stat().st_mode & 0o177:
                path.chmod(0o600)
        else:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        pass  # another process was faster; the lock decides
    except OSError as failure:
        raise StoreUnavailable(f"{path}: {failure.strerror or failure}") from failure


def _is_anothers(file: Path) -> bool:
    """Whether somebody else owns it: he could read and write what we keep there (R70, E9)."""
    try:
        return file.stat().st_uid != os.geteuid()
    except OSError:
        return False


def _checked_version(db: sqlite3.Connection, path: Path) -> int:
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    if version > VERSION:
        raise StoreUnavailable(
            f"{path} has schema {version}, this gascity knows {VERSION} and older; "
            f"use the gascity that wrote it, or a newer one"
        )
    if version == 0 and db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
        raise StoreUnavailable(f"{path} is a database of another program")
    return version


def _keep_copy(db: sqlite3.Connection, path: Path, version: int) -> None:
    """Copy the file as it is to `<name>.v<version>.bak` before anything is changed."""
    draft = path.with_name(f"{path.name}.v{version}.bak.tmp")
    draft.unlink(missing_ok=True)
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    copy = sqlite3.connect(draft)
    try:
        db.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")
    finally:
        copy.close()
    handle = os.open(draft, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    draft.replace(path.with_name(f"{path.name}.v{version}.bak"))


def _migrate(db: sqlite3.Connection, step: int) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        for statement in MIGRATIONS[step]:
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {step + 1}")
        db.execute("COMMIT")
    except BaseException:
        roll_back(db)
        raise


def roll_back(db: sqlite3.Connection) -> None:
    """End a transaction that failed; SQLite may have ended it already."""
    if db.in_transaction:
        db.execute("ROLLBACK")


@contextmanager
def judged(path: Path) -> Iterator[None]:
    """Turn what SQLite raises into what the protocol promises."""
    try:
        yield
    except sqlite3.Error as failure:
        raise judge(failure, path) from failure
    except OSError as failure:
        raise StoreUnavailable(f"{path}: {failure.strerror or failure}") from failure


def judge(failure: sqlite3.Error, path: Path) -> StoreUnavailable:
    """Whether the store is merely not available now, or must not be touched again."""
    code = getattr(failure, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    primary = code & 0xFF
    if primary in _BUSY:
        return StoreUnavailable(f"{path} is open in another process; stop that one first")
    if primary == sqlite3.SQLITE_FULL or (
        code == sqlite3.SQLITE_IOERR_WRITE and _has_no_room(path)
    ):
        return StoreUnavailable(f"{path}: no space left for it; nothing was written")
    if primary in _BROKEN:
        return StoreBroken(f"{path}: {failure}")
    return StoreUnavailable(f"{path}: {failure}")


def _has_no_room(path: Path) -> bool:
    """Whether a page as far out as ours cannot be written: a quota looks like a broken disk."""
    trial = path.with_name(f"{path.name}.trial")
    log = path.with_name(f"{path.name}-wal")
    try:
        reach = max(each.stat().st_size for each in (path, log) if each.exists())
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
        trial.unlink(missing_ok=True)
        with os.fdopen(os.open(trial, flags, 0o600), "wb", buffering=0) as handle:
            handle.seek(reach)
            handle.write(bytes(4096))
    except OSError as failure:
        return failure.errno in _NO_ROOM
    finally:
        with suppress(OSError):
            trial.unlink(missing_ok=True)
    return False
