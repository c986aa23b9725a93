"""Agents of a real city that end by themselves: counted, held back, quarantined, told apart."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from tests.integration.city import RealCity, agent, city_toml, needs_tmux, running_city

pytestmark = [*needs_tmux, pytest.mark.slow]


@pytest.fixture(scope="module")
def city() -> Iterator[RealCity]:
    """One exits soon after each start, one cannot start, one ends well, one is good."""
    toml = city_toml(
        agent("crasher", "--first", "exit 1"),
        '[[agent]]\nname = "stillborn"\nstart_command = "exit 7"\n',
        agent("quitter", attach=False, sleep_after_idle="1h"),
        agent("good"),
        daemon="max_restarts = 3",
    )
    with running_city(toml) as one:
        yield one


def test_one_that_keeps_exiting_is_quarantined(city: RealCity) -> None:
    """Each exit is counted once, with growing pauses, then it is held and says until when (R41)."""
    city.wait_state("crasher", "quarantined", within_s=30)
    crashed = city.events("session.crashed", session="crasher")
    assert [one["payload"]["exit_intent"] for one in crashed] == ["unexpected_exit"] * 3
    assert [one["payload"]["count"] for one in crashed] == [1, 2, 3]
    [held] = city.events("session.quarantined", session="crasher")
    assert held["payload"]["until"]
    city.patrol(10)
    assert city.session("crasher")["state"] == "quarantined"
    assert city.tree("crasher") == {}
    refused = city.gc("wake", "crasher")
    assert refused.code == 3
    assert "gc resume crasher" in refused.err


def test_one_that_cannot_start_is_counted_apart(city: RealCity) -> None:
    """A failed start is no crash of a running session, and ends in the same hold (R41)."""
    city.wait_state("stillborn", "quarantined", within_s=30)
    events = city.events("session.crashed", session="stillborn")
    assert {one["payload"]["exit_intent"] for one in events} == {"failed_start"}
    assert len(events) == 3


def test_one_that_leaves_by_itself_goes_cold(city: RealCity) -> None:
    """A headless session nobody needs may end itself: asleep, not crashed (CRASH-03, R56)."""
    city.wait_up("quitter")
    city.type("quitter", "exit 0")
    city.wait_cold("quitter")
    assert city.events("session.crashed", session="quitter") == []


def test_a_killed_agent_is_a_crash_and_comes_back(city: RealCity) -> None:
    """SIGKILL from outside counts once; config starts it again (CRASH-04, R78)."""
    city.wait_up("good")
    seen = city.seq()
    for pid in city.tree("good"):
        os.kill(pid, signal.SIGKILL)
    crashed = city.wait_event("session.crashed", "good", after=seen)
    assert crashed["payload"]["exit_intent"] == "unexpected_exit"
    city.wait_event("session.woke", "good", after=seen)
    city.wait_up("good")
    assert len(city.events("session.crashed", session="good", after=seen)) == 1


def test_an_operators_kill_is_no_crash(city: RealCity) -> None:
    """`gc session kill` restarts it and counts nothing (R41)."""
    city.wait_up("good")
    seen, before = city.seq(), city.tree("good")
    assert city.gc("session", "kill", "good").code == 0
    city.wait_event("session.woke", "good", after=seen)
    assert not city.tree("good").keys() & before.keys()
    assert city.events("session.crashed", session="good", after=seen) == []
