"""Mutants: every small edit that mutmut's operators make, in every line of a package.

mutmut brings the operators. Its own runner leaves what stands outside functions alone, and that is
where this project keeps its rules: the tables. So the edits are found here, tables included.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import libcst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.file_mutation import MutationVisitor
from mutmut.mutation.mutators import mutation_operators
from mutmut.mutation.pragma_handling import IgnoredCode

ROOT: Final = Path(__file__).resolve().parents[2]
CONTEXT: Final = 24
"""Characters shown on each side of an edit that is part of something long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One edit: characters `start` to `end` of `file` become `new`.

    `function` is the top-level function or `Class.method` around it, empty for a table; `lines`
    are those that a test must run to meet it. `nth` tells equal edits of one function apart.
    """

    file: Path
    function: str
    line: int
    lines: range
    start: int
    end: int
    old: str
    new: str
    is_in_body: bool
    nth: int = 0

    @property
    def module(self) -> str:
        """`decide.wake`."""
        return f"{self.file.parent.name}.{self.file.stem}"

    @property
    def name(self) -> str:
        """What it is called in reports, the same wherever its line stands."""
        return f"{self.module} {self.function or 'table'}: {shown(self.old, self.new)}"

    def source(self) -> str:
        """The whole file with the edit made."""
        text = self.file.read_text(encoding="utf-8")
        return text[: self.start] + self.new + text[self.end :]

    def lot(self, seed: int) -> bytes:
        """Its place in a drawing; an edit elsewhere does not move it."""
        return hashlib.sha256(f"{seed} {self.name} {self.nth}".encode()).digest()


def shown(old: str, new: str) -> str:
    """`old → new` on one line; of two long texts only where they differ."""
    old, new = " ".join(old.split()), " ".join(new.split())
    if max(len(old), len(new)) <= 2 * CONTEXT:
        return f"{old} → {new}"
    start = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), len(new))
    rest = list(zip(reversed(old[start:]), reversed(new[start:]), strict=False))
    tail = next((i for i, (a, b) in enumerate(rest) if a != b), len(rest))
    before = old[max(0, start - CONTEXT) : start]
    after = old[len(old) - tail :][:CONTEXT]
    was, now = _short(old[start : len(old) - tail]), _short(new[start : len(new) - tail])
    return f"…{before}[{was} → {now}]{after}…"


def _short(text: str) -> str:
    return text if len(text) <= 2 * CONTEXT else f"{text[:CONTEXT]}…{text[-CONTEXT:]}"


def mutants_of(file: Path) -> list[Mutant]:
    """Every mutant of one file, in the order of the file."""
    text = file.read_text(encoding="utf-8")
    wrapper = MetadataWrapper(libcst.parse_module(text))
    visitor = MutationVisitor(mutation_operators, IgnoredCode(set(), set(), set()))
    wrapper.visit(visitor)
    places = wrapper.resolve(PositionProvider)
    tree = ast.parse(text)
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: list[Mutant] = []
    around: dict[int, tuple[str, bool, range]] = {}
    seen: dict[str, int] = {}
    for mutation in visitor.mutations:
        place = places[mutation.original_node]
        start = starts[place.start.line - 1] + place.start.column
        end = starts[place.end.line - 1] + place.end.column
        new = wrapper.module.code_for_node(mutation.mutated_node)
        if isinstance(mutation.original_node, libcst.Match):
            continue  # a case taken out; the rest comes back indented as if it stood alone
        line = place.start.line
        if line not in around:
            around[line] = (*_function(tree, line), _lines(tree, line))
        function, is_in_body, lines = around[line]
        mutant = Mutant(
            file=file,
            function=function,
            line=line,
            lines=lines,
            start=start,
            end=end,
            old=text[start:end],
            new=new,
            is_in_body=is_in_body,
        )
        nth = seen[mutant.name] = seen.get(mutant.name, -1) + 1
        found.append(replace(mutant, nth=nth) if nth else mutant)
    return found


def _function(tree: ast.Module, line: int) -> tuple[str, bool]:
    """(top-level function or method that holds the line, whether the line is in its body)."""
    places = [("", node) for node in tree.body]
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            places += [(f"{node.name}.", inner) for inner in node.body]
    for prefix, node in places:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if node.lineno <= line <= (node.end_lineno or node.lineno):
            return prefix + node.name, line >= node.body[0].lineno
    return "", False


def _lines(tree: ast.Module, line: int) -> range:
    """The lines of the innermost statement around `line`; of a block only its head."""
    best = range(line, line + 1)
    size = None
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt):
            continue
        body = getattr(node, "body", None)
        end = (node.end_lineno or node.lineno) if not body else max(node.lineno, body[0].lineno - 1)
        if node.lineno <= line <= end and (size is None or end - node.lineno < size):
            best, size = range(node.lineno, end + 1), end - node.lineno
    return best


def package_mutants(packages: Iterable[str]) -> list[Mutant]:
    """Every mutant of the named packages, or of single modules such as `decide/wake`."""
    found: list[Mutant] = []
    for name in packages:
        place = ROOT / "gascity" / name
        files = sorted(place.glob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
        for file in files:
            found += mutants_of(file)
    return found


def sample(mutants: Sequence[Mutant], count: int, seed: int) -> list[Mutant]:
    """`count` of them, drawn by `seed`."""
    return sorted(mutants, key=lambda mutant: mutant.lot(seed))[:count]


def one_a_line(mutants: Sequence[Mutant], count: int, seed: int) -> list[Mutant]:
    """One mutant each of `count` lines: first the line is drawn, then the edit."""
    by_line: dict[tuple[Path, int], list[Mutant]] = {}
    for mutant in mutants:
        by_line.setdefault((mutant.file, mutant.line), []).append(mutant)

    def lot(line: tuple[Path, int]) -> bytes:
        first = by_line[line][0]
        text = first.file.read_text(encoding="utf-8").splitlines()[first.line - 1].strip()
        return hashlib.sha256(f"{seed} {first.module} {first.function} {text}".encode()).digest()

    lines = sorted(by_line, key=lot)[:count]
    return [min(by_line[line], key=lambda mutant: mutant.lot(seed)) for line in lines]
