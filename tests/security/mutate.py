"""One change to one file of a city: a value dropped, doubled, retyped, moved, or a text cut off.

Unlike `fuzz.mutated` the result is mostly TOML still, so that it gets past the parser and into
composition. A seed makes the very change again.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import tomli
import tomli_w

from gascity.config.problems import LoadResult, Severity

KINDS: Final = ("drop", "double", "retype", "reorder", "cut")
_OTHERS: Final[tuple[Any, ...]] = (
    "", "x", "a.b", "../x", "//x", "off", -1, 0, 2**70, 1.5, True, False,
    [], [1], ["x"], [[]], [{}], {}, {"x": 1}, {"name": "x"}, {"source": "x"},
)  # fmt: skip


def toml_files(city: Path) -> list[Path]:
    """Every TOML file of a city, its packs included."""
    return sorted(path for path in city.rglob("*.toml") if path.is_file())


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every key and element."""
    inner: Any = value.items() if isinstance(value, dict) else ()
    inner = enumerate(value) if isinstance(value, list) else inner
    for key, one in inner:
        yield (*path, key)
        yield from places(one, (*path, key))


def mutated(text: str, chance: random.Random) -> tuple[str, str]:
    """(what was done, the text after it)."""
    kind = chance.choice(KINDS)
    data = tomli.loads(text)
    found = list(places(data))
    if kind == "cut" or not found:
        at = chance.randint(0, len(text))
        return f"cut at {at}", text[:at]
    path = chance.choice(found)
    owner = data
    for step in path[:-1]:
        owner = owner[step]
    _change(kind, owner, path[-1], chance)
    if kind == "reorder":
        data = _shuffled(data, chance)
    return f"{kind} {'.'.join(map(str, path))}", tomli_w.dumps(data)


def _change(kind: str, owner: Any, key: Any, chance: random.Random) -> None:
    if kind == "drop":
        del owner[key]
    elif kind == "double" and isinstance(owner, list):
        owner.append(owner[key])
    elif kind == "double":
        owner[f"{key}{chance.choice(('2', '_', 's'))}"] = owner[key]
        owner[key] = [owner[key], owner[key]]
    elif kind == "retype":
        owner[key] = chance.choice(_OTHERS)


def _shuffled(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict):
        items = [(key, _shuffled(one, chance)) for key, one in value.items()]
        chance.shuffle(items)
        return dict(items)
    if isinstance(value, list):
        return chance.sample([_shuffled(one, chance) for one in value], len(value))
    return value


def judge(result: LoadResult, city: Path, done: str) -> None:
    """A city or errors; each problem on one line, with a file that exists and a place in it."""
    assert (result.city is None) is bool(result.errors), done
    for problem in result.problems:
        text = str(problem)
        assert "\n" not in text, (done, text)
        assert len(text) < 2000, (done, text)
        assert (city / problem.file).exists() or problem.what.startswith("and "), (done, text)
        if problem.severity is Severity.ERROR:
            whole = problem.what.startswith(("not TOML", "not a city", "beyond what"))
            assert problem.key or whole or (problem.table and problem.line), (done, text)
