"""Every city at hand loads, and is composed as somebody else composed it.

Where the two differ, `docs/compatibility.md` says who is right and why.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from gascity.config.load import load_city
from gascity.config.requested import requested
from gascity.config.write import effective_toml
from gascity.model.city import Agent, City
from tests.field.cities import NAMES, VIEWS, entry, expected, needed

pytestmark = [needed, pytest.mark.slow]

REFUSED: Final = {
    "12-not-a-city-agents-array",
    "26-not-a-city-contract",
    "30-not-a-city-default-agent",
    "23-docs-kitchen-sink",
}
HELD_BY_OVERRIDE: Final = {"choices/oversight-rig.project-lead", "mem/oversight-rig.project-lead"}
MOST_S: Final = 1.0
MOST_GROWN_KIB: Final = 64 * 1024


def facts(city: City, agent: Agent) -> dict[str, Any]:
    """What the second opinion says of an agent, as this loader sees it."""
    window, source = requested(city, agent)
    rig = city.rigs.get(agent.rig)
    return {
        "cls": agent.session_class.value,
        "wake": agent.wake_mode.value,
        "policy": getattr(window, "text", "off"),
        "source": source.value,
        "idle_timeout": agent.idle_timeout.text if agent.idle_timeout else None,
        "named": [one.mode.value for one in city.named_sessions if one.template == agent.identity],
        "suspended": agent.suspended or city.suspended or bool(rig and rig.suspended),
        "scale": bool(agent.pool and agent.pool.check),
        "min": agent.pool.min if agent.pool else None,
        "max": agent.pool.max if agent.pool else None,
    }


def differences(city: City, wanted: list[dict[str, Any]]) -> Iterator[tuple[str, str, Any, Any]]:
    """(agent, what, here, there) wherever the two opinions differ."""
    there = {one["name"]: one for one in wanted if not one["template_only"]}
    for name in sorted(there.keys() ^ city.agents.keys()):
        yield name, "exists", name in city.agents, name in there
    for name, other in there.items():
        if name not in city.agents:
            continue
        agent = city.agents[name]
        for key, here in facts(city, agent).items():
            said = other[key]
            if key in ("min", "max"):
                if agent.pool is None:  # there, one session is a pool of at most one
                    continue
                said = 0 if key == "min" and said is None else said
            if here != said:
                yield name, key, here, said


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", NAMES)
def test_a_real_city_is_composed_as_somebody_else_composed_it(name: str, view: str) -> None:
    """Agents, names, class, window, source, pools, named sessions, holds, rigs (R3, R4, R6a-c)."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    result = load_city(entry(name), pack_map=VIEWS[view])
    assert time.process_time() - started < MOST_S
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_GROWN_KIB
    wanted = expected()[name][view]
    assert (result.city is None) is (name in REFUSED)
    if result.city is None:
        if not wanted["gas_city"]:
            assert ["not a city" in str(problem) for problem in result.problems] == [True]
        return
    assert result.city.incomplete is bool(wanted["unresolved"])
    assert sorted(result.city.rigs) == sorted(wanted.get("rigs", []))
    known = {(one, "suspended", True, False) for one in HELD_BY_OVERRIDE}
    found = set(differences(result.city, wanted["agents"]))
    assert found - known == set()
    assert found <= known


@pytest.mark.parametrize("name", [name for name in NAMES if name not in REFUSED])
def test_a_real_city_written_out_is_one_file_that_means_the_same(name: str, tmp_path: Path) -> None:
    """`gc config show` is the city in force: the same agents, windows and sessions (CFG-14)."""
    city = load_city(entry(name), pack_map=VIEWS["with_remote_packs"]).city
    assert city is not None
    (tmp_path / "city.toml").write_text(effective_toml(city), encoding="utf-8")
    again = load_city(tmp_path).city
    assert again is not None
    assert again.named_sessions == city.named_sessions
    assert list(again.agents) == list(city.agents)
    for identity, agent in city.agents.items():
        assert facts(again, again.agents[identity]) == facts(city, agent)


@pytest.mark.parametrize("name", NAMES)
def test_each_pack_that_is_not_here_is_named_once(name: str) -> None:
    """As many warnings as sources that somebody else could not resolve either (R6a)."""
    unresolved = {source for _, source in expected()[name]["as_is"]["unresolved"]}
    result = load_city(entry(name))
    told = [problem.value.strip('"') for problem in result.problems if "incomplete" in problem.what]
    assert len(told) == len(set(told))
    assert set(told) == unresolved


def test_the_second_opinion_is_of_these_cities() -> None:
    """Nobody compares with the wrong list."""
    assert set(expected()) == set(NAMES)
    assert all(Path(one["entry"]).name == "city.toml" for one in expected().values())
