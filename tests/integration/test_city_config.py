"""The config of a running city changes: bad files, removed agents, new commands."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gascity.api import client
from tests.integration.city import (
    RealCity,
    agent,
    city_toml,
    needs_tmux,
    running_city,
    seconds_between,
    types_of,
)
from tests.polling import wait_until

pytestmark = [*needs_tmux, pytest.mark.slow]

MAYOR = agent("mayor")
GUEST = agent("guest")


def drifter(colour: str) -> str:
    """An agent whose environment is part of what it was started with."""
    return agent("drifter", env={"COLOUR": colour}).replace('env = {"COLOUR": ', "env = {COLOUR = ")


def reload(city: RealCity, *tables: str) -> None:
    """Write the config and have it read now."""
    city.configure(city_toml(*tables))
    assert client.word(str(city.path), "reload") == "ok"


@pytest.fixture(scope="module")
def city() -> Iterator[RealCity]:
    """A city of three."""
    with running_city(city_toml(MAYOR, GUEST, drifter("red"))) as one:
        for name in ("mayor", "guest", "drifter"):
            one.wait_up(name)
        yield one


def test_a_bad_config_changes_nothing_and_is_told_once(city: RealCity) -> None:
    """Good, bad, good: the last good one stays in force and nobody is touched (R6, F48)."""
    pids, seen = city.tree(), city.seq()
    city.configure("[workspace]\nname = 3\n")
    client.word(str(city.path), "reload")
    city.wait_event("controller.config_rejected", after=seen)
    client.word(str(city.path), "reload")
    city.patrol(5)
    assert any("config rejected" in one for one in city.status()["warnings"])
    reload(city, MAYOR, GUEST, drifter("red"))
    wait_until(lambda: not any("config rejected" in one for one in city.status()["warnings"]))
    city.patrol(3)
    assert city.tree() == pids
    kinds = types_of(city.events(after=seen))
    assert kinds == ["controller.config_rejected"]


def test_missing_from_one_reading_removes_nobody(city: RealCity) -> None:
    """An agent that is back before a second reading was never gone (R21, S8)."""
    pids, seen = city.tree("guest"), city.seq()
    reload(city, MAYOR, drifter("red"))
    gone = city.wait_event("controller.config_reloaded", after=seen)
    reload(city, MAYOR, GUEST, drifter("red"))
    city.wait_event("controller.config_reloaded", after=gone["seq"])
    city.patrol(10)
    assert city.tree("guest") == pids
    assert types_of(city.events("session.removed", after=seen)) == []


def test_missing_twice_it_is_removed(city: RealCity) -> None:
    """A second complete reading, a second later, still misses it: it goes, tree and all (R21)."""
    seen = city.seq()
    reload(city, MAYOR, drifter("red"))
    read = city.wait_event("controller.config_reloaded", after=seen)
    removed = city.wait_event("session.removed", after=seen)
    assert removed["subject"] == "guest"
    assert seconds_between(read, removed) >= 0.9
    assert city.tree("guest") == {}
    assert city.session("guest") == {}
    assert set(city.hosted()) == {"mayor", "drifter"}


def test_a_drifted_session_waits_for_whoever_is_attached(city: RealCity) -> None:
    """The restart under the new environment waits, says so, and happens after they left (R32)."""
    seen = city.seq()
    pids = city.tree("drifter")
    person = city.attach_directly("drifter")
    city.wait("drifter", lambda one: "attached" in one["blockers"], what="attached")
    reload(city, MAYOR, drifter("blue"))
    city.wait(
        "drifter", lambda one: "draining:config-drift" in one["blockers"], what="waiting to restart"
    )
    city.patrol(20)
    assert city.tree("drifter") == pids
    person.type("\x02d")
    assert person.end() == 0
    city.wait_event("session.woke", "drifter", after=seen)
    assert not city.tree("drifter").keys() & pids.keys()
    city.wait_up("drifter")
    assert types_of(city.events("session.crashed", after=seen)) == []
