"""A real city falls asleep and wakes: when it sleeps, what is left of it, what brings it back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gascity.api import client
from tests.integration.city import (
    PATROL_S,
    SLACK_S,
    RealCity,
    agent,
    city_toml,
    needs_tmux,
    running_city,
    seconds_between,
    types_of,
)
from tests.polling import wait_until

pytestmark = needs_tmux

WINDOW_S = 1.0
PROBE_S = 1.0
NAMES = ("timed", "stubborn", "visited", "called", "changed")
GRACE = 'shutdown_timeout = "1s"'
STORIES = ("session.draining", "session.stopped", "session.woke", "session.crashed")


def sleepers(*, comment: str = "", changed: str = "1s") -> str:
    """Interactive stand-ins that may sleep after a second; `changed` has a window of its own."""
    agents = [agent(name) for name in NAMES[:-1]]
    agents.append(agent(NAMES[-1], sleep_after_idle=changed))
    return f"# {comment}\n" + city_toml(*agents, sleep={"interactive_resume": "1s"}, daemon=GRACE)


@pytest.fixture(scope="module")
def warm() -> Iterator[RealCity]:
    """One running city for this file; each test has a session of its own in it."""
    with running_city(sleepers()) as one:
        yield one


@pytest.fixture
def city(warm: RealCity) -> RealCity:
    """The city with every session cold."""
    for name in NAMES:
        warm.wait_cold(name)
    return warm


def test_a_settled_city_writes_nothing(city: RealCity) -> None:
    """Fifty patrols over a cold city: it stays cold, no event, no write (WAKE-07, R42, L5)."""
    city.patrol(3)
    before = (city.seq(), city.store_files(), city.sessions())
    patrols = city.status()["controller"]["patrols"]
    city.patrol(50)
    assert city.status()["controller"]["patrols"] >= patrols + 50
    assert (city.seq(), city.store_files(), city.sessions()) == before
    assert city.hosted() == []


def test_an_idle_session_sleeps_in_time(city: RealCity) -> None:
    """Not before its window, not after window + patrol + probe (IDLE-10, L2, R14)."""
    seen = city.seq()
    ran = city.gc("wake", "timed", "--json")
    assert (ran.code, ran.json["outcome"]) == (0, "woke")
    stopped = city.wait_event("session.stopped", "timed", after=seen)
    woke = city.wait_event("session.woke", "timed", after=seen)
    draining = city.wait_event("session.draining", "timed", after=seen)
    assert "operator" in woke["payload"]["reasons"]
    assert draining["payload"]["reason"] == stopped["payload"]["reason"] == "idle"
    assert stopped["payload"]["suppressed"] is True
    slept_after_s = seconds_between(woke, stopped)
    assert WINDOW_S <= slept_after_s <= WINDOW_S + 2 * PATROL_S + 2 * PROBE_S + SLACK_S


def test_its_whole_process_tree_is_gone(city: RealCity) -> None:
    """So is a child in a session of its own that ignores TERM and HUP (R28, S4)."""
    seen = city.seq()
    city.gc("wake", "stubborn")
    assert city.gc("pin", "stubborn").code == 0
    city.type("stubborn", "setsid 600")
    wait_until(lambda: any("trap" in line for line in city.tree("stubborn").values()))
    assert city.gc("unpin", "stubborn").code == 0
    # A child is work, so this sleep is forced; the stop must reach all of it the same.
    assert city.gc("sleep", "stubborn", "--force").code == 0
    city.wait_event("session.stopped", "stubborn", after=seen)
    assert city.tree("stubborn") == {}
    assert "stubborn" not in city.hosted()


def test_a_person_who_attaches_wakes_it(city: RealCity) -> None:
    """`gc attach` on a real terminal brings it back and keeps it; leaving lets it sleep.

    ATT-01..04, ATT-13, WAKE-17, IDLE-02.
    """
    seen = city.seq()
    terminal = city.terminal("attach", "visited")
    terminal.wait_for("waking visited... (timeout 60s)")
    terminal.wait_for("❯")
    woke = city.wait_event("session.woke", "visited", after=seen)
    assert woke["payload"]["previous_sleep_reason"] == "idle"
    city.wait("visited", lambda one: one["blockers"] == ["attached"], what="attached")
    terminal.type("\x02d")
    assert terminal.end() == 0
    left = city.seq()
    stopped = city.wait_event("session.stopped", "visited", after=left)
    assert stopped["payload"]["reason"] == "idle"


def test_a_restart_keeps_it_cold(city: RealCity) -> None:
    """A new controller after a graceful end and after kill -9 wakes nobody (WAKE-08, REC-04)."""
    for end in (lambda: city.gc("stop", "--controller-only"), city.kill9):
        end()
        city.start()
        seen = city.seq()
        city.patrol(10)
        for entry in city.sessions().values():
            assert (entry["state"], entry["sleep_reason"]) == ("asleep", "idle")
            assert entry["config_wake_suppressed"] is True
        assert (city.seq(), city.hosted()) == (seen, [])


def test_config_alone_never_wakes(city: RealCity) -> None:
    """A config that means the same, read again over and over, wakes nobody (WAKE-06, L4)."""
    seen = city.seq()
    for n in range(3):
        city.configure(sleepers(comment=str(n)))
        assert client.word(str(city.path), "reload") == "ok"
        city.patrol(10)
    assert types_of(city.events(*STORIES, after=seen)) == []
    assert city.hosted() == []


def test_a_changed_policy_wakes_it_and_it_sleeps_again(city: RealCity) -> None:
    """Another window is another fingerprint: config wakes that one, once (FP-02, WAKE-21, R24)."""
    seen = city.seq()
    city.configure(sleepers(changed="2s"))
    woke = city.wait_event("session.woke", after=seen)
    assert (woke["subject"], woke["payload"]["reason"]) == ("changed", "config")
    assert woke["payload"]["previous_sleep_reason"] == "idle"
    city.wait_event("session.stopped", "changed", after=woke["seq"])
    city.patrol(10)
    assert types_of(city.events("session.woke", after=woke["seq"])) == []


def test_nothing_of_the_store_is_open_to_others(city: RealCity) -> None:
    """Every file of a city that lived is its owner's alone (E9)."""
    state = city.path / ".gc"
    found = [state, *(path for path in state.rglob("*") if path.name != ".gitignore")]
    assert [path.name for path in found if path.lstat().st_mode & 0o077] == []
    assert (state / "controller.sock").is_socket()
