"""A city, a stand-in for its controller, and a way to run `gc` inside the test."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gascity.cli.main import main
from tests.control_stand_in import StandIn, a_city, controlled


@dataclass
class Ran:
    """How one `gc` command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, read as JSON."""
        return json.loads(self.out)


@pytest.fixture
def city(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A city without a controller, and an environment that names no other."""
    for name in ("GC_SESSION_ID", "GC_SESSION_NAME", "GC_BEADS", "TMUX", "TMUX_PANE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("USER", "operator")
    with a_city() as path:
        monkeypatch.setenv("GC_CITY", str(path))
        yield path


@pytest.fixture
def controller(city: Path) -> Iterator[StandIn]:
    """A controller that answers from a script and holds the city's lock."""
    with controlled(city) as stand_in:
        yield stand_in


@pytest.fixture
def gc(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run `gc WORDS...` in this process."""

    def run(*words: str) -> Ran:
        capsys.readouterr()
        code = main(list(words))
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return run
