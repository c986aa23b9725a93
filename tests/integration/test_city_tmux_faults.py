"""A real city whose tmux server hangs, loses its socket or dies: doubt is not death."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest

from tests.integration.city import RealCity, agent, city_toml, needs_tmux, running_city, types_of
from tests.polling import wait_until

pytestmark = [*needs_tmux, pytest.mark.slow]

ENDINGS = ("session.stopped", "session.crashed", "session.draining", "session.removed")
ANSWER_S = 0.5  # generous: it never waits for the host


@pytest.fixture(scope="module")
def troubled() -> Iterator[RealCity]:
    """One city for all the trouble of this file."""
    toml = city_toml(
        agent("cold", sleep_after_idle="1s"), agent("up", sleep_after_idle="3s"), agent("warm")
    )
    with running_city(toml) as one:
        yield one


@pytest.fixture
def city(troubled: RealCity) -> RealCity:
    """One session that is asleep, one whose window closes while its host is in trouble."""
    troubled.wait_cold("cold")
    assert troubled.gc("wake", "up").code == 0
    troubled.wait_up("warm")
    return troubled


def wait_unknown(city: RealCity) -> None:
    """Until the controller has noticed that it cannot tell."""
    for name in ("up", "warm"):
        city.wait(name, lambda one: "runtime_unknown" in one["blockers"], what="in doubt")


def test_a_server_that_hangs_holds_everything_as_it_is(city: RealCity) -> None:
    """Stopped by a signal: status answers at once, nobody is slept, stopped or counted (S7, L7).

    Afterwards it goes on as if nothing had been; a wake asked for meanwhile is honoured (R10, R34).
    """
    server, seen = city.server_pid(), city.seq()
    os.kill(server, signal.SIGSTOP)
    try:
        wait_unknown(city)
        slowest, until = 0.0, time.monotonic() + 4.0
        while time.monotonic() < until:  # longer than the window of `up`
            began = time.monotonic()
            states = {name: one["state"] for name, one in city.sessions().items()}
            slowest = max(slowest, time.monotonic() - began)
            assert states == {"cold": "asleep", "up": "awake", "warm": "awake"}
            time.sleep(0.05)
        assert slowest < ANSWER_S
        assert city.gc("wake", "cold", "--no-wait").code == 0
        assert [*types_of(city.events(*ENDINGS, after=seen))] == []
    finally:
        os.kill(server, signal.SIGCONT)
    city.wait_event("session.woke", "cold", after=seen)
    city.wait_cold("up")
    assert city.session("warm")["state"] == "awake"
    assert city.events("session.crashed", after=seen) == []


def test_a_lost_socket_is_doubt_until_it_is_back(city: RealCity) -> None:
    """Nobody listens, yet the server lives: unknown, with the remedy told (R10, R67)."""
    server, seen, pids = city.server_pid(), city.seq(), city.tree()
    city.socket.unlink()
    wait_unknown(city)
    city.patrol(10)
    assert city.tree() == pids
    assert types_of(city.events(*ENDINGS, after=seen)) == []
    assert f"kill -USR1 {server}" in city.gc("doctor").out
    assert city.session("cold")["state"] == "asleep"
    os.kill(server, signal.SIGUSR1)
    wait_until(lambda: city.socket.exists())
    city.wait_up("warm")
    assert set(pids) >= set(city.tree())
    city.wait_cold("up")


def test_a_killed_server_is_no_crash_of_its_sessions(city: RealCity) -> None:
    """The host went: its sessions start again, nobody is counted, the sleeper sleeps on (R41)."""
    seen, server = city.seq(), city.server_pid()
    os.kill(server, signal.SIGKILL)
    for name in ("up", "warm"):
        city.wait_event("session.woke", name, after=seen)
        city.wait_up(name)
    assert city.server_pid() not in (0, server)
    assert city.events("session.crashed", after=seen) == []
    assert city.events(session="cold", after=seen) == []
    agents = [line for line in city.tree("warm").values() if not line.startswith("/bin/sh")]
    assert len(agents) == 1, "what ran on the old server is gone"
