"""The controller of a real city: without a policy, its end and its sessions, a second one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.city import RealCity, agent, city_toml, needs_tmux, running_city, types_of

pytestmark = [*needs_tmux, pytest.mark.slow]


@pytest.fixture(scope="module")
def city() -> Iterator[RealCity]:
    """A city without any sleep policy: one of each class."""
    toml = city_toml(
        agent("mayor"), agent("poet", wake_mode="fresh"), agent("worker", attach=False)
    )
    with running_city(toml) as one:
        for name in ("mayor", "poet", "worker"):
            one.wait_up(name)
        yield one


def test_without_a_policy_nobody_ever_sleeps(city: RealCity) -> None:
    """No `[session_sleep]`, no agent key: a hundred patrols drain nobody (ROLL-01, POL-17, S9)."""
    before = {name: set(city.tree(name)) for name in ("mayor", "poet", "worker")}
    city.patrol(100)
    for name, pids in before.items():
        entry = city.session(name)
        assert (entry["state"], entry["policy"]["source"]) == ("awake", "legacy_off")
        assert pids
        assert pids <= set(city.tree(name))
    assert types_of(city.events("session.draining", "session.stopped")) == []


def test_a_second_controller_is_refused(city: RealCity) -> None:
    """Exit 3 with the pid of the first, which goes on undisturbed (R36, C1)."""
    pid = city.pid()
    for words in (["start"], ["start", "--foreground"]):
        ran = city.gc(*words)
        assert ran.code == 3
        assert str(pid) in ran.err
    assert city.pid() == pid
    assert city.status()["controller"]["pid"] == pid


def test_its_end_alone_leaves_sessions_running(city: RealCity) -> None:
    """`gc stop --controller-only`: the sessions go on and the next one adopts them (R37)."""
    pids = city.tree()
    seen = city.seq()
    assert city.gc("stop", "--controller-only").code == 0
    assert city.pid() == 0
    assert city.tree() == pids
    city.start()
    city.patrol(5)
    assert city.tree() == pids
    kinds = types_of(city.events(after=seen))
    assert [one for one in kinds if one.startswith("session.")] == []
    assert {"controller.stopped", "controller.started"} <= set(kinds)


def test_the_city_stops_and_comes_back(city: RealCity) -> None:
    """`gc stop` records `city-stop`, which the next `gc start` ends (R64, R65)."""
    assert city.gc("stop").code == 0
    assert city.tree() == {}
    assert (city.pid(), city.hosted()) == (0, [])
    stopped = city.gc("status", "--json").json["sessions"]
    assert {one["sleep_reason"] for one in stopped} == {"city-stop"}
    city.start()
    for name in ("mayor", "poet", "worker"):
        city.wait_up(name)
    assert types_of(city.events("session.crashed")) == []
