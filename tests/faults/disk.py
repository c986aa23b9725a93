"""A disk between SQLite and the real one: it fails on request, and remembers what was written.

A VFS in Python, through apsw: the product's store runs on it unchanged, for `on_disk` stands where
`sqlite3.connect` is. apsw brings an SQLite of its own; whatever is read back afterwards is read by
the interpreter's own `sqlite3`, as the product does.
"""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from unittest import mock

import apsw

_NAMES: Final = itertools.count()

# What an error of the kernel becomes in SQLite's own VFS, by the operation that met it.
EIO: Final = {
    "open": apsw.SQLITE_CANTOPEN,
    "read": apsw.SQLITE_IOERR_READ,
    "write": apsw.SQLITE_IOERR_WRITE,
    "sync": apsw.SQLITE_IOERR_FSYNC,
    "truncate": apsw.SQLITE_IOERR_TRUNCATE,
    "delete": apsw.SQLITE_IOERR_DELETE,
    "size": apsw.SQLITE_IOERR_FSTAT,
}
FULL: Final = {"write": apsw.SQLITE_FULL, "truncate": apsw.SQLITE_IOERR_TRUNCATE}
FSYNC: Final = {"sync": apsw.SQLITE_IOERR_FSYNC}
SHORT: Final = {"write": apsw.SQLITE_FULL}
FAULTS: Final = {"EIO": EIO, "ENOSPC": FULL, "short write": SHORT, "fsync": FSYNC}


@dataclass(frozen=True, slots=True)
class Op:
    """One thing that reached the disk, or a remark: `ack` with the number of steps acknowledged."""

    kind: str
    file: str = ""
    at: int = 0
    data: bytes = b""


@dataclass
class Disk:
    """`fault` strikes at operation number `at`, and with `stays` at every later one it may strike.

    `ops` is what reached the disk, in order; `seen` names every operation asked for.
    """

    fault: str = ""
    at: int = -1
    stays: bool = False
    ops: list[Op] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    struck: int = 0

    def __post_init__(self) -> None:
        self.vfs = _Vfs(self)

    def ask(self, kind: str) -> int:
        """Count one operation; the SQLite code it fails with, or 0."""
        number = len(self.seen)
        self.seen.append(kind)
        codes = FAULTS.get(self.fault, {})
        due = number == self.at or (self.stays and number > self.at >= 0)
        if not due or kind not in codes:
            return 0
        self.struck += 1
        return codes[kind]


def _failure(code: int) -> apsw.Error:
    kinds = {apsw.SQLITE_FULL: apsw.FullError, apsw.SQLITE_CANTOPEN: apsw.CantOpenError}
    failure = kinds.get(code & 0xFF, apsw.IOError)("injected")
    failure.extendedresult = code  # type: ignore[attr-defined]
    return failure


class _Vfs(apsw.VFS):
    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.name = f"disk-{next(_NAMES)}"
        super().__init__(self.name, "")

    def xOpen(self, name: Any, flags: list[int]) -> Any:  # noqa: N802
        if code := self.disk.ask("open"):
            raise _failure(code)
        return _File(self.disk, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        if code := self.disk.ask("delete"):
            raise _failure(code)
        super().xDelete(filename, syncdir)
        self.disk.ops.append(Op("delete", Path(filename).name))


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        self.disk = disk
        shown = name if isinstance(name, str) or name is None else name.filename()
        self.file = Path(shown).name if shown else ""
        super().__init__("", name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        if code := self.disk.ask("read"):
            raise _failure(code)
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        if code := self.disk.ask("write"):
            if self.disk.fault == "short write":
                half = bytes(data)[: len(data) // 2]
                super().xWrite(half, offset)
                self.disk.ops.append(Op("write", self.file, offset, half))
            raise _failure(code)
        super().xWrite(data, offset)
        self.disk.ops.append(Op("write", self.file, offset, bytes(data)))

    def xSync(self, flags: int) -> None:  # noqa: N802
        if code := self.disk.ask("sync"):
            raise _failure(code)
        self.disk.ops.append(Op("sync", self.file))  # what a real one costs is of no interest

    def xTruncate(self, size: int) -> None:  # noqa: N802
        if code := self.disk.ask("truncate"):
            raise _failure(code)
        super().xTruncate(size)
        self.disk.ops.append(Op("truncate", self.file, size))

    def xFileSize(self) -> int:  # noqa: N802
        if code := self.disk.ask("size"):
            raise _failure(code)
        return super().xFileSize()


class Rows:
    """What a statement gave, like the cursor of `sqlite3`."""

    def __init__(self, rows: Sequence[Any], changed: int) -> None:
        self._rows = iter(rows)
        self.rowcount = changed

    def fetchone(self) -> Any:
        return next(self._rows, None)

    def __iter__(self) -> Iterator[Any]:
        return self._rows


class Connection:
    """An apsw connection that answers and fails as one of `sqlite3` does."""

    def __init__(self, path: Path, disk: Disk) -> None:
        with _translated():
            self._db = apsw.Connection(str(path), vfs=disk.vfs.name)
            self._db.set_busy_timeout(0)

    @property
    def in_transaction(self) -> bool:
        return bool(self._db.in_transaction)

    def execute(self, statement: str, values: Sequence[Any] = ()) -> Rows:
        with _translated():
            found = self._db.cursor().execute(statement, tuple(values)).fetchall()
            return Rows(found, self._db.changes())

    def executemany(self, statement: str, values: Iterable[Sequence[Any]]) -> Rows:
        with _translated():
            self._db.cursor().executemany(statement, [tuple(one) for one in values])
            return Rows((), self._db.changes())

    def close(self) -> None:
        with contextlib.suppress(apsw.Error):  # the last folding in of the log; `sqlite3` is silent
            self._db.close(force=True)


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except apsw.Error as problem:
        failure = sqlite3.OperationalError(str(problem))
        failure.sqlite_errorcode = getattr(problem, "extendedresult", 0) or problem.result
        raise failure from problem


@contextlib.contextmanager
def on_disk(disk: Disk) -> Iterator[None]:
    """The product's store opens its file on this disk."""

    def connect(path: Path, **_: object) -> Connection:
        return Connection(path, disk)

    with mock.patch.object(sqlite3, "connect", connect):
        yield


def _do(files: dict[str, bytearray], ops: Iterable[Op]) -> None:
    """Let these operations happen to the contents of files."""
    for op in ops:
        if op.kind == "write":
            held = files.setdefault(op.file, bytearray())
            if len(held) < op.at:
                held.extend(bytes(op.at - len(held)))
            held[op.at : op.at + len(op.data)] = op.data
        elif op.kind == "truncate":
            held = files.setdefault(op.file, bytearray())
            del held[op.at :]
        elif op.kind == "delete":
            files.pop(op.file, None)


def images(ops: Sequence[Op]) -> Iterator[tuple[int, str, dict[str, bytes]]]:
    """Every state a power cut may leave: (steps acknowledged by then, how it came about, files).

    After each operation: every prefix of what was not synced; all of it but one; all of it with one
    write torn at each 512 bytes. What was synced, and deletions, which SQLite syncs, is there.
    """
    acked = 0
    safe: dict[str, bytearray] = {}

    def after(kept: Sequence[Op]) -> dict[str, bytes]:
        files = {name: bytearray(held) for name, held in safe.items()}
        _do(files, kept)
        return {name: bytes(held) for name, held in files.items()}

    loose: list[Op] = []
    for number, op in enumerate(ops):
        if op.kind == "ack":
            acked = op.at
        elif op.kind == "sync":
            _do(safe, [one for one in loose if one.file == op.file])
            loose = [one for one in loose if one.file != op.file]
        elif op.kind == "delete":
            _do(safe, [op])
            loose = [one for one in loose if one.file != op.file]
        else:
            loose.append(op)
        for kept in range(len(loose)):
            yield acked, f"{number}: first {kept} of {len(loose)}", after(loose[:kept])
        yield acked, f"{number}: all", after(loose)
        for lost in range(len(loose) - 1):
            rest = loose[:lost] + loose[lost + 1 :]
            yield acked, f"{number}: without {lost} of {len(loose)}", after(rest)
        for place, one in enumerate(loose):
            for cut in range(512, len(one.data), 512):
                torn = Op("write", one.file, one.at, one.data[:cut])
                rest = [*loose[:place], torn, *loose[place + 1 :]]
                yield acked, f"{number}: {place} torn at {cut}", after(rest)
