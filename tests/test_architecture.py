"""The structure of the program, held by a table: layers, purity, sizes, charters, citations.

A package that does not exist yet has nothing to check, and one that is not in MAY_IMPORT fails the
run: whoever adds a package decides here what it may know.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[1]
SOURCE: Final = ROOT / "gascity"
DESIGN: Final = ROOT / "docs" / "DESIGN.md"
REQUIREMENTS: Final = ROOT / "tests" / "requirements.txt"

_NOUNS: Final = {"model"}
_MIDDLE: Final = {"decide", "config", "beads", "runtimes", "report"}

# Module or package -> what of ours it may import besides itself. The longest name that fits wins.
# cli -> api -> daemon -> act -> observe -> (decide, config, beads, runtimes, report) -> model
MAY_IMPORT: Final[dict[str, set[str]]] = {
    "model": set(),
    "decide": _NOUNS,
    "config": _NOUNS,
    "beads": _NOUNS,
    "runtimes": _NOUNS,
    "report": _NOUNS,
    "observe": _NOUNS | _MIDDLE,
    "act": _NOUNS | _MIDDLE | {"observe"},
    "daemon": _NOUNS | _MIDDLE | {"observe", "act"},
    "api": _NOUNS | _MIDDLE | {"observe", "act", "daemon"},
    # What the hot commands load: the standard library and the nouns, nothing else.
    "api.client": {"model", "api.holder", "api.protocol"},
    "api.holder": {"model", "api.protocol"},
    "api.announce": {"model", "api.client", "api.protocol"},
    "api.protocol": {"model"},
    "cli": _NOUNS | _MIDDLE | {"observe", "act", "daemon", "api", "tools"},
    # Knows nothing of the rest.
    "tools": set(),
    # Fakes ship, but no product code may lean on them.
    "testing": _NOUNS | _MIDDLE | {"observe", "act", "daemon", "api", "tools"},
}

# Adapters are wired where processes are made; everybody else knows the protocols only.
CONCRETE: Final = {
    "beads.memory",
    "beads.sqlite",
    "runtimes.acp",
    "runtimes.exec",
    "runtimes.k8s",
    "runtimes.subprocess",
    "runtimes.tmux",
}
KNOWS_CONCRETE: Final = {"daemon", "cli", "testing"}

# Module or package -> the packages of others that are at home there. The longest name wins.
THIRD_PARTY: Final[dict[str, set[str]]] = {
    "act": {"anyio"},
    "api": {"anyio"},
    "api.announce": set(),
    "api.client": set(),
    "api.holder": set(),
    "api.protocol": set(),
    "beads": {"anyio"},
    "cli": {"argcomplete", "tomli_w"},
    "cli.surroundings": {"anyio"},
    "config": {"pydantic", "pydantic_core", "tomli", "tomli_w"},
    "daemon": {"anyio"},
    "observe": {"anyio"},
    "report.log": {"structlog"},
    "runtimes": {"anyio"},
    "runtimes.acp": {"acp", "anyio"},
    "testing": {"anyio", "hypothesis", "pytest"},
    "tools": {"anyio", "mcp", "mcp_types", "uvicorn"},
}

PURE: Final = {"model", "decide"}
PURE_STDLIB: Final = {
    "__future__", "abc", "bisect", "collections", "contextlib", "copy", "dataclasses", "datetime",
    "enum", "functools", "graphlib", "hashlib", "heapq", "itertools", "json", "math", "operator",
    "pathlib", "re", "string", "textwrap", "types", "typing",
}  # fmt: skip
IMPURE_CALLS: Final = {
    "exists", "input", "is_dir", "is_file", "iterdir", "mkdir", "now", "open", "print",
    "read_bytes", "read_text", "today", "unlink", "utcnow", "write_bytes", "write_text",
}  # fmt: skip
ASYNC: Final = (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)

MODULE_LINES: Final = 300
FUNCTION_LINES: Final = 60
# Module -> why its length is a virtue: tables and lists that are read side by side.
LONG_BY_DESIGN: Final[dict[str, str]] = {}

MODULES: Final = sorted(SOURCE.rglob("*.py"))


def name_of(path: Path) -> str:
    """The module's name below the package: `decide.tick`; `decide` for the package itself."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_within(module: str, package: str) -> bool:
    """True when the module is the package or stands below it."""
    return module == package or module.startswith(f"{package}.")


def entry_for(table: dict[str, set[str]], module: str) -> tuple[str, set[str]] | None:
    """The entry of the longest name in the table that the module stands under."""
    fits = [name for name in table if is_within(module, name)]
    return (max(fits, key=len), table[max(fits, key=len)]) if fits else None


def parsed(path: Path) -> ast.Module:
    """The module's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imports(tree: ast.AST) -> Iterator[str]:
    """Every absolute name that is imported anywhere in the module, lazily or for types included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module.startswith("gascity"):
                yield from (resolved(node.module, alias.name) for alias in node.names)
            else:
                yield node.module


def resolved(module: str, name: str) -> str:
    """`from gascity.decide import tick` names a module; `from gascity.decide.tick import x` not."""
    path = ROOT.joinpath(*module.split("."), name)
    return f"{module}.{name}" if path.is_dir() or path.with_suffix(".py").is_file() else module


def our_imports(path: Path) -> set[str]:
    """What the module imports of ours, named below the package; the bare package is left out."""
    return {
        name.removeprefix("gascity.")
        for name in imports(parsed(path))
        if is_within(name, "gascity")
    } - {"gascity", "__init__"}


def foreign_imports(path: Path) -> set[str]:
    """Top names the module imports that are not ours."""
    return {name.split(".")[0] for name in imports(parsed(path))} - {"gascity"}


def in_modules(test: object) -> object:
    """Run the test once for every module of the package."""
    return pytest.mark.parametrize("path", MODULES, ids=[name_of(p) or "gascity" for p in MODULES])(
        test
    )


@in_modules
def test_imports_go_down_only(path: Path) -> None:
    """A module imports what stands below it, never what stands above or beside it."""
    module = name_of(path)
    if module in {"", "__main__"}:
        return
    placed = entry_for(MAY_IMPORT, module)
    assert placed, f"{module}: not in MAY_IMPORT; decide what it may know"
    home, allowed = placed
    own = home.split(".")[0] if home == module.split(".")[0] else home
    wrong = [
        other
        for other in our_imports(path)
        if not any(is_within(other, package) for package in {own, *allowed})
    ]
    assert not wrong, f"{module} may not import {sorted(wrong)}"


@in_modules
def test_adapters_are_known_only_where_they_are_wired(path: Path) -> None:
    """Concrete runtimes and stores are named by the process wiring, not by observe, act or api."""
    module = name_of(path)
    package = module.split(".")[0]
    if package in KNOWS_CONCRETE:
        return
    wrong = [
        other
        for other in our_imports(path)
        if any(is_within(other, adapter) for adapter in CONCRETE) and other.split(".")[0] != package
    ]
    assert not wrong, f"{module} names the adapters {sorted(wrong)}; use the protocol"


@in_modules
def test_every_package_of_others_has_one_home(path: Path) -> None:
    """Third-party packages are imported only where THIRD_PARTY says."""
    import sys

    module = name_of(path)
    entry = entry_for(THIRD_PARTY, module)
    wrong = foreign_imports(path) - set(sys.stdlib_module_names) - (entry[1] if entry else set())
    assert not wrong, f"{module} may not import {sorted(wrong)}"


@in_modules
def test_nouns_and_decisions_are_pure(path: Path) -> None:
    """`model` and `decide` read no clock and no disk, never wait, and print nothing."""
    module = name_of(path)
    if module.split(".")[0] not in PURE:
        return
    wrong = foreign_imports(path) - PURE_STDLIB
    assert not wrong, f"{module} imports {sorted(wrong)}"
    for node in ast.walk(parsed(path)):
        assert not isinstance(node, ASYNC), f"{module}:{node.lineno} waits"  # type: ignore[attr-defined]
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            assert name not in IMPURE_CALLS, f"{module}:{node.lineno} calls {name}"


@in_modules
def test_every_module_has_a_charter(path: Path) -> None:
    """Each module says in its docstring what it is for."""
    assert ast.get_docstring(parsed(path)), f"{name_of(path)} has no docstring"


@in_modules
def test_modules_and_functions_stay_short(path: Path) -> None:
    """A module has at most 300 lines, a function at most 60 besides its docstring."""
    module = name_of(path)
    length = len(path.read_text(encoding="utf-8").splitlines())
    if module not in LONG_BY_DESIGN:
        assert length <= MODULE_LINES, f"{module} has {length} lines"
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = body_lines(node)
            assert lines <= FUNCTION_LINES, f"{module}.{node.name} has {lines} lines"


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the function, its docstring left out."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is not None:
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def docstrings(tree: ast.Module) -> Iterator[str]:
    """Every docstring of the module, its classes and its functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


@in_modules
def test_citations_name_what_exists(path: Path) -> None:
    """A `DESIGN §n` is a section of docs/DESIGN.md; a requirement or ruling id is in our lists."""
    text = "\n".join(docstrings(parsed(path)))
    design = DESIGN.read_text(encoding="utf-8")
    sections = set(re.findall(r"^## §(\d+)", design, flags=re.MULTILINE))
    rulings = set(re.findall(r"^- \*\*(R\d+[a-z]?)\*\*", design, flags=re.MULTILINE))
    known = {line.split()[0] for line in REQUIREMENTS.read_text(encoding="utf-8").splitlines()}
    areas = "|".join(sorted({one.split("-")[0] for one in known}))
    cited = set(re.findall(rf"\b(?:{areas})-\d\d\b", text))
    assert set(re.findall(r"DESIGN §(\d+)", text)) <= sections
    assert set(re.findall(r"\bR\d{1,2}[a-c]?\b", text)) <= rulings
    assert cited <= known


def test_every_package_is_placed() -> None:
    """Each package and top module has a line in MAY_IMPORT, so that nothing grows beside it."""
    packages = {name_of(path).split(".")[0] for path in MODULES} - {"", "__main__"}
    assert packages <= set(MAY_IMPORT)


def test_the_layers_have_no_circle() -> None:
    """The table itself goes down only: nothing reaches itself through what it may import."""
    for start in MAY_IMPORT:
        seen: set[str] = set()
        todo = set(MAY_IMPORT[start])
        while todo:
            seen |= todo
            todo = {other for name in todo for other in MAY_IMPORT[name]} - seen
        assert start not in seen
