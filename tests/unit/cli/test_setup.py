"""`gc init` and `gc config`: a first city, what is wrong with one, where a window comes from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Gc = Callable[..., Any]


@pytest.mark.parametrize("starter", ["full", "timed-only"])
def test_a_new_city_is_valid(starter: str, tmp_path: Path, city: Path, gc: Gc) -> None:
    """What `gc init` writes loads without a problem (CFG-19, CFG-20)."""
    folder = tmp_path / "my-city"
    assert gc("init", str(folder), "--starter", starter).code == 0
    ran = gc("config", "validate", "--city", str(folder))
    assert (ran.code, ran.err) == (0, "")
    assert (folder / ".gc").stat().st_mode & 0o777 == 0o700
    assert (folder / ".gc" / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_nothing_is_overwritten(city: Path, gc: Gc) -> None:
    """A city that is there stays as it is, exit 3."""
    before = (city / "city.toml").read_text(encoding="utf-8")
    ran = gc("init", str(city))
    assert ran.code == 3
    assert (city / "city.toml").read_text(encoding="utf-8") == before


def test_every_problem_shows_at_once(city: Path, gc: Gc) -> None:
    """All errors with file and remedy on stderr, exit 2; the same as objects (R5)."""
    (city / "city.toml").write_text(
        '[workspace]\nname = "demo"\n[session_sleep]\nnoninteractive = "1d"\n'
        'interactive_resume = ""\n',
        encoding="utf-8",
    )
    ran = gc("config", "validate")
    assert ran.code == 2
    assert ran.err.count("error: city.toml:") == 2
    assert '"24h"' in ran.err
    as_json = gc("config", "validate", "--json")
    assert as_json.code == 2
    assert len([one for one in as_json.json["problems"] if one["severity"] == "error"]) == 2


def test_explain_names_the_layers(city: Path, gc: Gc) -> None:
    """The winner and the losing layers of one agent; near names for a slip (POL-02, R6b)."""
    with (city / "city.toml").open("a", encoding="utf-8") as file:
        file.write('sleep_after_idle = "5m"\n[session_sleep]\ninteractive_resume = "60s"\n')
    ran = gc("config", "explain", "mayor")
    assert "sleep=5m (source=agent)" in ran.out
    assert "workspace_default" in ran.out
    slip = gc("config", "explain", "mayr")
    assert slip.code == 2
    assert "mayor" in slip.err


def test_show_is_a_city_again(city: Path, tmp_path: Path, gc: Gc) -> None:
    """The effective configuration loads, and as JSON it is the same."""
    shown = gc("config", "show").out
    again = tmp_path / "city.toml"
    again.write_text(shown, encoding="utf-8")
    assert gc("config", "validate", "--city", str(tmp_path)).code == 0
    assert gc("config", "show", "--json").json["workspace"]["name"] == "demo"


def test_show_hides_what_looks_secret(city: Path, gc: Gc) -> None:
    """Values of env that look secret are hidden unless asked for."""
    with (city / "city.toml").open("a", encoding="utf-8") as file:
        file.write('env = { API_TOKEN = "sesame" }\n')
    assert "sesame" not in gc("config", "show").out
    assert "sesame" in gc("config", "show", "--secrets").out
