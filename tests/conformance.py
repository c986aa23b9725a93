"""`make conformance`: which test proves which requirement, read from what tests say of themselves.

A test proves a requirement when its docstring names the id, or when the id stands in one of its
parametrised ids. A class or a file that names an id stands for it as a whole, which is shown only
where no single test does. `POL-09..14` and `POL-09..POL-14` are ranges. Ids and short titles are in
`requirements.txt`; the result is `docs/conformance.md`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
TESTS: Final = ROOT / "tests"
REQUIREMENTS: Final = TESTS / "requirements.txt"
PAGE: Final = ROOT / "docs" / "conformance.md"
MISSING: Final = "not yet"

AREAS: Final = {
    "CFG": "configuration surface",
    "POL": "policy resolution",
    "CLS": "session class",
    "CAP": "capability",
    "WAKE": "wake reasons and suppression",
    "NORM": "stages and normalisation",
    "FP": "fingerprint",
    "DEP": "dependencies",
    "IDLE": "idle reference",
    "PROBE": "safe boundary",
    "POOL": "pools",
    "DRAIN": "drains",
    "REC": "recovery",
    "CRASH": "exits",
    "META": "metadata",
    "EVT": "events",
    "STAT": "status",
    "BLK": "blockers",
    "ATT": "attach",
    "VAL": "validation",
    "COEX": "idle_timeout beside sleep",
    "ROLL": "roll-out",
    "HARN": "test harness",
    "RACE": "interleavings",
    "TEST": "coverage asked for",
    "TOOL": "the sleep tool",
}

_CITED: Final = re.compile(rf"\b({'|'.join(AREAS)})-(\d\d)(?:\s*(?:\.\.|…)\s*(?:\1-)?(\d\d))?\b")


# Speaks of ids as examples, and proves none.
EXAMPLES: Final = "test_conformance.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a test, or a class or file as a whole, says it proves; `test` is a node id."""

    test: str
    requirements: frozenset[str]
    is_whole: bool = False


def requirements() -> dict[str, str]:
    """{id: short title}, in the order of the list."""
    lines = REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    return dict(line.split(" ", 1) for line in lines if line.strip())


def cited_in(text: str) -> frozenset[str]:
    """Every requirement id in the text, ranges written out."""
    return frozenset(
        f"{area}-{number:02d}"
        for area, first, last in _CITED.findall(text)
        for number in range(int(first), int(last or first) + 1)
    )


def claims_of(path: Path, *, root: Path = TESTS) -> Iterator[Claim]:
    """What a file, its classes and its tests claim; nothing when there is no test in it."""
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    name = path.relative_to(root).as_posix()
    yield from _within(name, tree)
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from _within(f"{name}::{node.name}", node)


def _within(where: str, scope: ast.Module | ast.ClassDef) -> Iterator[Claim]:
    tests = [
        node
        for node in scope.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
    ]
    if tests:
        whole = cited_in(ast.get_docstring(scope) or "")
        yield Claim(test=where, requirements=whole, is_whole=True)
    for test in tests:
        said = [ast.get_docstring(test) or ""]
        said += [text for decorator in test.decorator_list for text in _strings(decorator)]
        yield Claim(test=f"{where}::{test.name}", requirements=cited_in("\n".join(said)))


def _strings(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value


def all_claims() -> list[Claim]:
    """The claims of every test file, in the order of their paths."""
    files = sorted(path for path in TESTS.rglob("test_*.py") if path.name != EXAMPLES)
    return [claim for path in files for claim in claims_of(path)]


def page(claims: Iterable[Claim], known: dict[str, str]) -> str:
    """The whole of docs/conformance.md."""
    proofs: dict[str, list[str]] = {one: [] for one in known}
    for claim in sorted(claims, key=lambda claim: claim.is_whole):
        for one in claim.requirements & known.keys():
            if not (claim.is_whole and proofs[one]):
                proofs[one].append(claim.test)
    lines = [
        "# Conformance",
        "",
        "Which test proves which requirement. Written by `make conformance` from the docstrings of",
        "the tests; a test fails when this page is not current. Paths are below `tests/`.",
        "",
        *_summary(proofs),
    ]
    for area, title in AREAS.items():
        lines += [
            "",
            f"## {area}: {title}",
            "",
            "| id | requirement | proven by |",
            "|---|---|---|",
        ]
        lines += [
            f"| {one} | {known[one]} | {_cell(proofs[one])} |"
            for one in known
            if one.startswith(f"{area}-")
        ]
    return "\n".join(lines) + "\n"


def _summary(proofs: dict[str, list[str]]) -> Iterator[str]:
    yield "| area | proven | of |"
    yield "|---|---:|---:|"
    for area in AREAS:
        of_area = [tests for one, tests in proofs.items() if one.startswith(f"{area}-")]
        yield f"| {area} | {sum(map(bool, of_area))} | {len(of_area)} |"
    yield f"| all | {sum(map(bool, proofs.values()))} | {len(proofs)} |"


def _cell(tests: list[str], *, shown: int = 4) -> str:
    if not tests:
        return MISSING
    more = f"<br>and {len(tests) - shown} more" if len(tests) > shown else ""
    return "<br>".join(f"`{test}`" for test in tests[:shown]) + more


if __name__ == "__main__":
    PAGE.write_text(page(all_claims(), requirements()), encoding="utf-8")
    print(f"conformance: wrote {PAGE.relative_to(ROOT)}")
