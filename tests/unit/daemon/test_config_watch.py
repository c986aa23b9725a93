"""The config on disk: taken when good, kept when bad, told once."""

from __future__ import annotations

from pathlib import Path

import pytest

from gascity.config.apart import load_apart
from gascity.daemon.config_watch import ConfigWatch, Reloaded
from gascity.model.city import City
from gascity.model.events import EventType
from gascity.testing.builders import NOON

pytestmark = pytest.mark.anyio
GOOD = '[workspace]\nname = "c"\n[[agent]]\nname = "mayor"\nstart_command = "sh"\n'
SLEEPS = GOOD + '[session_sleep]\ninteractive_resume = "60s"\n'


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def write(folder: Path, text: str) -> None:
    (folder / "city.toml").write_text(text, encoding="utf-8")


def watched(folder: Path) -> tuple[ConfigWatch, City]:
    write(folder, GOOD)
    result = load_apart(folder)
    assert result.city is not None
    watch = ConfigWatch(folder)
    watch.remember(result)
    return watch, result.city


async def reread(watch: ConfigWatch, city: City) -> Reloaded | None:
    assert watch.has_changed()
    found = await watch.read(city, now=NOON)
    assert not watch.has_changed()
    return found


async def test_good_bad_good_is_followed_step_by_step(tmp_path: Path) -> None:
    """A bad file keeps the last good city, a later good one is taken (R6, F48)."""
    watch, city = watched(tmp_path)
    write(tmp_path, SLEEPS.replace("60s", "1d"))
    bad = await reread(watch, city)
    assert bad is not None
    assert bad.city is None
    assert bad.event.type is EventType.CONFIG_REJECTED
    assert "1d" in watch.problem
    write(tmp_path, SLEEPS)
    good = await reread(watch, city)
    assert good is not None
    assert good.city is not None
    [changed] = good.event.payload["changed"]
    assert changed.startswith("mayor: ")
    assert "60s" in changed
    assert watch.problem == ""


async def test_the_same_fault_is_told_once(tmp_path: Path) -> None:
    """One rejection event a change of the fault, not one a look (R6)."""
    watch, city = watched(tmp_path)
    write(tmp_path, GOOD + "[daemon]\npatrol_interval = 5\n")
    assert await reread(watch, city) is not None
    write(tmp_path, GOOD + "[daemon]\npatrol_interval = 5\n\n")
    assert await reread(watch, city) is None
    assert watch.problem


async def test_a_comment_changes_nothing(tmp_path: Path) -> None:
    """A file that means what it meant reloads nothing, wherever its lines moved (F31)."""
    watch, city = watched(tmp_path)
    write(tmp_path, "# a comment\n\n" + GOOD)
    assert await reread(watch, city) is None


async def test_a_renamed_workspace_needs_a_restart(tmp_path: Path) -> None:
    """The running city keeps its name (R6)."""
    watch, city = watched(tmp_path)
    write(tmp_path, GOOD.replace('"c"', '"d"'))
    found = await reread(watch, city)
    assert found is not None
    assert found.city is None
    assert "restart" in found.problem


async def test_a_deleted_file_is_a_rejection(tmp_path: Path) -> None:
    """A city does not vanish because its file did."""
    watch, city = watched(tmp_path)
    (tmp_path / "city.toml").unlink()
    found = await reread(watch, city)
    assert found is not None
    assert found.city is None


async def test_an_included_file_is_watched_too(tmp_path: Path) -> None:
    """Every file that took part is looked at."""
    (tmp_path / "more.toml").write_text('[session_sleep]\ninteractive_resume = "60s"\n')
    write(tmp_path, 'include = ["more.toml"]\n' + GOOD)
    result = load_apart(tmp_path)
    assert result.city is not None
    watch = ConfigWatch(tmp_path)
    watch.remember(result)
    (tmp_path / "more.toml").write_text('[session_sleep]\ninteractive_resume = "5m"\n')
    found = await reread(watch, result.city)
    assert found is not None
    assert found.city is not None


async def test_every_file_a_city_is_composed_of_is_watched(tmp_path: Path) -> None:
    """An agent of a pack, a new folder of one, what holds on this machine (R6)."""
    pack = tmp_path / "p"
    (pack / "agents/a").mkdir(parents=True)
    (pack / "pack.toml").write_text('[pack]\nname = "p"\n', encoding="utf-8")
    (pack / "agents/a/agent.toml").write_text('start_command = "sh"\n', encoding="utf-8")
    write(tmp_path, GOOD + '[[rigs]]\nname = "r"\n[imports.p]\nsource = "p"\n')
    result = load_apart(tmp_path)
    city = result.city
    assert city is not None
    watch = ConfigWatch(tmp_path)
    watch.remember(result)
    (pack / "agents/b").mkdir()
    (pack / "agents/b/prompt.md").write_text("work", encoding="utf-8")
    added = await reread(watch, city)
    assert added is not None
    assert added.event.payload["added"] == ["p.b", "r/p.b"]
    (tmp_path / ".gc").mkdir()
    (tmp_path / ".gc/site.toml").write_text('[[rig]]\nname = "r"\npath = "/srv"\n')
    assert added.city is not None
    placed = await reread(watch, added.city)
    assert placed is not None
    assert placed.city is not None
    assert placed.city.rigs["r"].path == "/srv"
    (pack / "agents/a/agent.toml").write_text('start_command = "sh"\nattach = false\n')
    changed = await reread(watch, placed.city)
    assert changed is not None
    assert len(changed.event.payload["changed"]) == 2


def test_loading_apart_gives_what_loading_here_gives(tmp_path: Path) -> None:
    """The child's answer is the same city, problems included (R6)."""
    from gascity.config.load import load_city

    write(tmp_path, SLEEPS + 'colour = "blue"\n')
    assert load_apart(tmp_path) == load_city(tmp_path)
