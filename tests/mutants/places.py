"""Putting a mutant in place of the real thing, in a process that is thrown away afterwards.

Three ways, the fastest that fits: a body's live function gets other code; a table's statement is
run again and the new table goes wherever the old one is named; and the module is imported afresh,
with all that imports it, which is slow and misses nothing.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tests.mutants.draw import Mutant


def _module(mutant: Mutant) -> ModuleType:
    return sys.modules[f"gascity.{mutant.module}"]


def _compiled(mutant: Mutant) -> CodeType:
    return compile(mutant.source(), str(mutant.file), "exec")


def change_body(mutant: Mutant) -> None:
    """Give the live function the mutant's code; whoever imported it has the same function."""
    found: Any = _module(mutant)
    code = _compiled(mutant)
    for name in mutant.function.split("."):
        found = found.__dict__[name]
        code = next(
            one for one in code.co_consts if isinstance(one, CodeType) and one.co_name == name
        )
    found = getattr(found, "fget", found)
    found = getattr(found, "__func__", found)
    while hasattr(found, "__wrapped__"):
        found = found.__wrapped__
    assert isinstance(found, FunctionType)
    found.__code__ = code


def change_table(mutant: Mutant) -> bool:
    """Run the changed statement again and put what it makes wherever the old value is named.

    False when the statement is not a plain assignment. What was made from the table before, such
    as the parameters of a test, keeps the old value: who survives this is imported afresh.

    Raises:
        Exception: Whatever the changed statement raises; importing it would too.
    """
    statement = next(
        (
            node
            for node in ast.parse(mutant.source()).body
            if node.lineno <= mutant.line <= (node.end_lineno or node.lineno)
        ),
        None,
    )
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return False
    live = _module(mutant).__dict__
    before = dict(live)
    made = dict(live)
    exec(compile(ast.Module([statement], []), str(mutant.file), "exec"), made)
    for name, value in made.items():
        old = before.get(name)
        if name == "__builtins__" or value is old:
            continue
        for module in list(sys.modules.values()):
            names = getattr(module, "__dict__", {})
            if names.get(name) is old:
                names[name] = value
    return True


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from the text of a mutant."""

    def __init__(self, mutant: Mutant) -> None:
        self.name = f"gascity.{mutant.module}"
        self.file = str(mutant.file)
        self.code = _compiled(mutant)

    def find_spec(self, name: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        """Only the one module."""
        return importlib.util.spec_from_loader(name, self) if name == self.name else None

    def exec_module(self, module: ModuleType) -> None:
        """Run the changed text."""
        module.__file__ = self.file
        exec(self.code, module.__dict__)


def change_import(mutant: Mutant) -> None:
    """Forget everything of ours that was imported; the next import of the module is the mutant."""
    for name in list(sys.modules):
        if name.partition(".")[0] in ("gascity", "tests") and not name.startswith("tests.mutants"):
            del sys.modules[name]
    sys.meta_path.insert(0, _Changed(mutant))
