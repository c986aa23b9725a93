"""What is wrong with a configuration: one value per problem, collected so that all show at once.

Source: DESIGN §W (R5)
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Final

from gascity.model.city import City, Origin

MOST_PROBLEMS: Final = 500
# Names compared in one load to suggest near ones: about a second of work at the very most.
_MOST_COMPARISONS: Final = 40_000
_MOST_CHARACTERS: Final = 80


class Severity(StrEnum):
    """Whether a city loads in spite of the problem."""

    ERROR = "error"  # the configuration is refused
    WARNING = "warning"  # it loads; the operator should look


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing to fix: where it stands, what is wrong, what to write instead.

    `line` is 0 where it is not known; `value` is the offending value as written, "" if there is
    none or if it may be a secret.
    """

    severity: Severity
    file: str
    table: str = ""
    key: str = ""
    value: str = ""
    line: int = 0
    what: str
    remedy: str = ""

    def __str__(self) -> str:
        """One line: `city.toml:12 [[agent]] mayor: sleep_after_idle = "1d": what; remedy`."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        said = f"{self.key} = {self.value}" if self.key and self.value else self.key
        where = " ".join(part for part in (place, self.table) if part)
        head = f"{where}: {said}" if said else where
        text = f"{head}: {self.what}; {self.remedy}" if self.remedy else f"{head}: {self.what}"
        return printable(text)

    def as_dict(self) -> dict[str, object]:
        """The same, for `--json`."""
        return {
            "severity": self.severity.value,
            "file": self.file,
            "table": self.table,
            "key": self.key,
            "value": self.value,
            "line": self.line,
            "what": self.what,
            "remedy": self.remedy,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadResult:
    """A composed city and every problem found on the way; `city` is None if one is an error.

    `files` are the names of everything that was tried, good, bad or missing, folders of agents
    included: what to watch for a change. They are relative to the city, or absolute if far from it.
    `passed_over` are keys of other tools: (kind of table, "" for a file's own; key; how often).
    """

    city: City | None
    problems: tuple[Problem, ...] = ()
    files: tuple[str, ...] = ()
    passed_over: tuple[tuple[str, str, int], ...] = ()

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that keep the city from loading."""
        return tuple(p for p in self.problems if p.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """The problems it loads in spite of."""
        return tuple(p for p in self.problems if p.severity is Severity.WARNING)


class Problems:
    """A list that grows while a configuration is read, without ever stopping the reader."""

    def __init__(self) -> None:
        self._found: dict[Severity, list[Problem]] = {s: [] for s in Severity}
        self._counts = dict.fromkeys(Severity, 0)
        self._said: set[Problem] = set()
        self._passed: Counter[tuple[str, str]] = Counter()
        self._patience = _MOST_COMPARISONS

    def add(self, problem: Problem) -> None:
        """Keep one problem; past `MOST_PROBLEMS` of a severity they are only counted.

        What is said already is not said again: one agent of a pack may be in twenty rigs.
        """
        kept = self._found[problem.severity]
        if problem in self._said:
            return
        if len(kept) < MOST_PROBLEMS:
            self._said.add(problem)
        self._counts[problem.severity] += 1
        if len(kept) < MOST_PROBLEMS:
            kept.append(problem)

    def pass_over(self, kind: str, key: str) -> None:
        """Count a key that is another tool's, and not read here."""
        self._passed[kind, key] += 1

    @property
    def passed_over(self) -> tuple[tuple[str, str, int], ...]:
        """(kind of table, key, how often), in order."""
        return tuple((*one, count) for one, count in sorted(self._passed.items()))

    @property
    def has_errors(self) -> bool:
        """Whether the city will be refused."""
        return self._counts[Severity.ERROR] > 0

    def nearest(self, word: str, known: Collection[str]) -> str:
        """The known word most like this one, or "" if none is near."""
        return next(iter(self._close(word, known, 1, 0.6)), "")

    def near_names(self, word: str, known: Collection[str]) -> str:
        """A remedy that lists up to three names like this one, else the first few there are."""
        if not known:
            return "there are none to choose from"
        near = self._close(word, known, 3, 0.5)
        if near:
            return "did you mean " + " or ".join(f'"{name}"' for name in near) + "?"
        some = ", ".join(f'"{name}"' for name in islice(known, 5))
        return f"there is {some}" + (", …" if len(known) > 5 else "")

    def _close(self, word: str, known: Collection[str], most: int, cutoff: float) -> list[str]:
        """Close matches, as long as there is patience left for looking."""
        if len(known) > self._patience or len(word) > _MOST_CHARACTERS:
            return []
        self._patience -= len(known)
        return difflib.get_close_matches(word, known, n=most, cutoff=cutoff)

    def __iter__(self) -> Iterator[Problem]:
        """Every kept problem, errors first, in the order found; then what was only counted."""
        for severity, kept in self._found.items():
            yield from kept
            more = self._counts[severity] - len(kept)
            if more:
                what = f"and {more} more {severity.value}s"
                yield Problem(severity=severity, file=kept[-1].file, what=what)


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """A table of a file, able to say on which line each of its keys stands."""

    file: str
    table: str
    path: tuple[str | int, ...]
    lines: dict[tuple[str | int, ...], int]

    def line(self, key: str = "") -> int:
        """The line of a key, else of the table, else 0."""
        return self.lines.get((*self.path, key)) or self.lines.get(self.path, 0)

    def origin(self, key: str) -> Origin:
        """The provenance of a value of this table."""
        return Origin(self.file, self.table, self.line(key))

    def below(self, table: str, *path: str | int) -> Where:
        """A table inside this one."""
        return Where(file=self.file, table=table, path=(*self.path, *path), lines=self.lines)

    def error(self, what: str, remedy: str = "", *, key: str = "", value: object = None) -> Problem:
        """A problem of this table that refuses the city."""
        return self._problem(Severity.ERROR, what, remedy, key, value)

    def warning(
        self, what: str, remedy: str = "", *, key: str = "", value: object = None
    ) -> Problem:
        """A problem of this table that lets the city load."""
        return self._problem(Severity.WARNING, what, remedy, key, value)

    def _problem(
        self, severity: Severity, what: str, remedy: str, key: str, value: object
    ) -> Problem:
        return Problem(
            severity=severity,
            file=self.file,
            table=self.table,
            key=key,
            value="" if value is None else shown(value),
            line=self.line(key),
            what=what,
            remedy=remedy,
        )


def at(
    origin: Origin,
    severity: Severity,
    what: str,
    remedy: str = "",
    *,
    key: str = "",
    value: str = "",
) -> Problem:
    """A problem of a composed value, placed where the value was written."""
    return Problem(
        severity=severity,
        file=origin.file,
        table=origin.table,
        key=key,
        value=value,
        line=origin.line,
        what=what,
        remedy=remedy,
    )


def shown(value: object) -> str:
    """A value as TOML would write it, shortened, without control characters."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if abs(value) < 10**40 else "a very large number"
    if isinstance(value, str):
        text = '"' + value[: _MOST_CHARACTERS + 1] + '"'
    elif isinstance(value, dict):
        return "{…}"
    elif isinstance(value, list):
        return "[…]"
    else:
        text = str(value)
    text = printable(text)
    return text if len(text) <= _MOST_CHARACTERS else text[:_MOST_CHARACTERS] + "…"


def printable(text: str) -> str:
    """The text on one line, with `?` for what hides or moves a cursor; file names may hold it."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)
