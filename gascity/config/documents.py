"""The TOML documents of a city: its own file and the fragments it includes, read and parsed.

Every limit is checked before a parser runs, and every way a parser fails becomes one problem.

Source: DESIGN §1 (R6a)
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import tomli

from gascity.config.files import Unreadable, distrust, read_fragment, read_root, subfolders
from gascity.config.outline import BeyondLimits, outline
from gascity.config.problems import Problem, Problems, Severity, Where

MOST_FRAGMENTS: Final = 64
_FAR: Final = 3  # steps up from the city after which a path is shown from the root
_BOM: Final = b"\xef\xbb\xbf"
_REMOTE: Final = ("http:", "https:", "git:", "ssh:", "file:", "git@", "github.com/")

Table = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One parsed file; `name` is how problems call it, relative to the city."""

    name: str
    data: Table
    lines: dict[tuple[str | int, ...], int]

    def where(self, table: str, *path: str | int) -> Where:
        """A place in this document."""
        return Where(file=self.name, table=table, path=path, lines=self.lines)


@dataclass(slots=True)
class Reading:
    """The documents read so far, the root first, and what they add up to."""

    city: Path
    problems: Problems
    check_owner: bool = True
    documents: list[Document] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    is_incomplete: bool = False
    _includes: int = 0
    _watched: set[str] = field(default_factory=set)
    _shared: set[Path] = field(default_factory=set)  # packs whose group was spoken of
    _hash: Any = field(default_factory=hashlib.sha256)

    @property
    def revision(self) -> str:
        """Twelve hex digits that change with any byte of any file."""
        return str(self._hash.hexdigest()[:12])

    def read(self, path: Path) -> None:
        """Read the city's file and all it includes; `files` keeps what was tried, good or not."""
        self.watch(path)
        try:
            data, status = read_root(path)
        except Unreadable as fault:
            what = fault.what if not fault.is_missing else f"no {path.name} in {path.parent}"
            remedy = "run gc init there, or name the city with --city"
            self._error(path.name, what, remedy if fault.is_missing else fault.remedy)
            return
        if not self._is_trusted(path.name, status, path.parent):
            return
        document = self._parse(path.name, data)
        if document is not None:
            self.documents.append(document)
            real = Path(os.path.realpath(path))
            self._include(document, path.parent, trail=(real,))

    def beside(self, path: Path) -> Document | None:
        """A file that need not be there: one of the city's own, or one the operator named."""
        label = self.watch(path)
        try:
            data, status = read_root(path)
        except Unreadable as fault:
            self._refuse(label, path, fault)
            return None
        return self._parse(label, data) if self._is_trusted(label, status, path.parent) else None

    def has(self, name: str) -> bool:
        """Whether the city has a file of this name, good or bad; noted for a later look."""
        self.watch(self.city / name)
        return os.path.lexists(self.city / name)

    def of_pack(self, pack: Path, name: str) -> Document | None:
        """A file of a pack, which must lie inside its folder; None if it is missing or no good."""
        label = self.watch(pack / name)
        try:
            data, status, real = read_fragment(pack, name, pack, whole="pack")
        except Unreadable as fault:
            self._refuse(label, pack / name, fault)
            return None
        trusted = self._is_trusted(label, status, real.parent, whole=pack)
        return self._parse(label, data) if trusted else None

    def folders_of_pack(self, pack: Path, name: str) -> list[str]:
        """The folders inside a folder of a pack; none if there is none, or it is no good."""
        label = self.watch(pack / name)
        try:
            found, status = subfolders(pack, name)
        except Unreadable as fault:
            self._refuse(label, pack / name, fault)
            return []
        self._hash.update("\0".join((label, *found)).encode("utf-8", "surrogatepass"))
        return found if self._is_trusted(label, status, pack, whole=pack) else []

    def _refuse(self, label: str, path: Path, fault: Unreadable) -> None:
        """Say why a file is not read; one that is simply not there needs no word."""
        if not fault.is_missing:
            self._error(label, fault.what, fault.remedy)
        elif os.path.lexists(path):
            self._error(label, "a link that leads nowhere", "mend it or remove it")

    def watch(self, path: Path) -> str:
        """Note a file or folder, so that a later look sees it appear or change; its name."""
        away = os.path.relpath(path, self.city)
        name = away if away.count("..") <= _FAR else str(path)
        if name not in self._watched:
            self._watched.add(name)
            self.files.append(name)
        return name

    def _include(self, document: Document, folder: Path, trail: tuple[Path, ...]) -> None:
        """Read what a document includes, depth first, in the order written."""
        names = document.data.get("include", [])
        where = document.where("include", "include")
        if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
            remedy = 'write an array of paths: include = ["parts/agents.toml"]'
            self.problems.add(where.error("include is no array of texts", remedy, value=names))
            return
        for name in names:
            # Every attempt counts: one bad file named a thousand times is read as often.
            if self._includes >= MOST_FRAGMENTS:
                what = f"more than {MOST_FRAGMENTS} included files"
                self.problems.add(where.error(what, "put several tables into one file"))
                return
            self._includes += 1
            self._include_one(where, name, folder, trail)

    def _include_one(self, where: Where, name: str, folder: Path, trail: tuple[Path, ...]) -> None:
        """Read one fragment, unless it is remote, missing, untrusted or part of a circle."""
        if name.startswith(_REMOTE):
            self.is_incomplete = True
            what = "a remote file is not fetched; the city is incomplete"
            self.problems.add(where.warning(what, "copy it into the city", value=name))
            return
        try:
            data, status, real = read_fragment(self.city, name, folder)
        except Unreadable as fault:
            tried = self.city / name[2:] if name.startswith("//") else folder / name
            # Never a pipe: who watches the file would wait for its other end.
            if fault.is_missing or os.path.isfile(tried):  # noqa: PTH113 - answers, never raises
                self._try(tried)
            if fault.is_missing:
                self.is_incomplete = True
                what = "there is no such file; the rest is loaded and the city is incomplete"
                self.problems.add(where.warning(what, "restore it or drop it", value=name))
            else:
                self.problems.add(where.error(fault.what, fault.remedy, value=name))
            return
        if real in trail:
            circle = " → ".join(path.name for path in (*trail[trail.index(real) :], real))
            self.problems.add(where.error(f"a circle of includes: {circle}", "drop one of them"))
            return
        label = self._try(real)
        if not self._is_trusted(label, status, real.parent):
            return
        document = self._parse(label, data)
        if document is not None:
            self.documents.append(document)
            self._include(document, real.parent, (*trail, real))

    def _try(self, path: Path) -> str:
        """Note a file if it is inside the city; its name."""
        name = os.path.relpath(path, self.city)
        return name if name.startswith("..") else self.watch(path)

    def _is_trusted(
        self, name: str, status: os.stat_result, folder: Path, *, whole: Path | None = None
    ) -> bool:
        """Whether a file may tell us what to run; says so if not, of a pack's group once."""
        if not self.check_owner:
            return True
        try:
            what, remedy, is_refused = distrust(status, folder.stat())
        except OSError as fault:
            what, remedy, is_refused = f"its folder is not readable: {fault.strerror}", "", True
        if what and (is_refused or whole is None or whole not in self._shared):
            severity = Severity.ERROR if is_refused else Severity.WARNING
            self.problems.add(Problem(severity=severity, file=name, what=what, remedy=remedy))
        if what and whole is not None:
            self._shared.add(whole)
        return not is_refused

    def _parse(self, name: str, data: bytes) -> Document | None:
        """A document, or None after one problem."""
        self._hash.update(name.encode("utf-8", "surrogatepass") + b"\0" + data + b"\0")
        try:
            text = data.removeprefix(_BOM).decode("utf-8").replace("\r\n", "\n")
        except UnicodeDecodeError as fault:
            line = data.count(b"\n", 0, fault.start) + 1
            self._error(name, "not UTF-8 text", "save it as UTF-8", line)
            return None
        try:
            lines = outline(text)
            return Document(name=name, data=tomli.loads(text), lines=lines)
        except BeyondLimits as fault:
            self._error(name, f"beyond what a configuration needs: {fault.what}", "", fault.line)
        except tomli.TOMLDecodeError as fault:
            what = f"not TOML: {getattr(fault, 'msg', '') or fault}"
            self._error(name, what, "", getattr(fault, "lineno", 0) or 0)
        except (ValueError, RecursionError, OverflowError, MemoryError) as fault:
            self._error(name, f"not TOML: {type(fault).__name__} while parsing")
        return None

    def _error(self, name: str, what: str, remedy: str = "", line: int = 0) -> None:
        """One problem of a whole file."""
        self.problems.add(
            Problem(severity=Severity.ERROR, file=name, what=what, remedy=remedy, line=line)
        )


def tables(documents: list[Document], key: str) -> Iterator[tuple[Document, Any]]:
    """Each document that has the top-level key, with its value, the root first."""
    for document in documents:
        if key in document.data:
            yield document, document.data[key]


def is_folder(path: Path) -> bool:
    """Whether there is a folder; no error whatever the path."""
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (OSError, ValueError):
        return False
