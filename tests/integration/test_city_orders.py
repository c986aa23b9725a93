"""What an operator orders in a real city: suspend, resume, pin, sleep."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.city import (
    PATROL_S,
    SLACK_S,
    RealCity,
    agent,
    city_toml,
    needs_tmux,
    running_city,
    seconds_between,
)

pytestmark = [*needs_tmux, pytest.mark.slow]


@pytest.fixture(scope="module")
def city() -> Iterator[RealCity]:
    """A session for each order; only `pinned` would go to sleep by itself."""
    toml = city_toml(
        agent("held"),
        agent("pinned", sleep_after_idle="1s"),
        agent("told", sleep_after_idle="1h"),
        agent("busy", "--first", "work 600", sleep_after_idle="1h"),
        agent("warm"),
    )
    with running_city(toml) as one:
        yield one


def test_a_pin_blocks_sleep_until_it_expires(city: RealCity) -> None:
    """While pinned it stays; soon after the pin ends it sleeps (R18, R78, R80)."""
    city.wait_state("pinned", "awake")
    ran = city.gc("pin", "pinned", "--for", "4s", "--reason", "demo", "--json")
    expires_at = (
        ran.json["expires_at"] if "expires_at" in ran.json else ran.json["pin"]["expires_at"]
    )
    city.wait("pinned", lambda one: one["blockers"] == ["pin"], what="held by its pin alone")
    stopped = city.wait_event("session.stopped", "pinned")
    late_s = seconds_between(expires_at, stopped)
    assert 0 <= late_s <= 2 * PATROL_S + SLACK_S


def test_suspended_it_stops_and_resumed_it_runs(city: RealCity) -> None:
    """A held session is down, is not woken, and comes back when the hold is lifted (R26)."""
    city.wait_up("held")
    assert city.gc("suspend", "held").code == 0
    entry = city.wait_state("held", "suspended")
    assert entry["sleep_reason"] == "suspended"
    assert city.tree("held") == {}
    refused = city.gc("wake", "held")
    assert refused.code == 3
    assert "gc resume held" in refused.err
    city.gc("sling", "held", "work", "for", "it")
    city.patrol(10)
    assert city.session("held")["state"] == "suspended"
    assert city.gc("resume", "held").code == 0
    city.wait_up("held")


def test_told_to_sleep_it_sleeps_now(city: RealCity) -> None:
    """`gc sleep` closes the window and ends as `idle` (R64)."""
    city.wait_up("told")
    assert city.gc("sleep", "told").code == 0
    city.wait_cold("told")
    assert city.tree("told") == {}


def test_a_busy_one_is_not_told_but_forced(city: RealCity) -> None:
    """Refused with the blocker's name; `--force` overrules it (R64)."""
    city.wait_up("busy")
    refused = city.gc("sleep", "busy")
    assert refused.code == 3
    assert "idle_boundary" in refused.err
    assert city.session("busy")["state"] == "awake"
    assert city.gc("sleep", "busy", "--force").code == 0
    city.wait_cold("busy")
    assert city.tree("busy") == {}


def test_without_a_policy_it_sleeps_as_operator(city: RealCity) -> None:
    """With policy `off` it ends as `operator`, which masks config until it is woken (R64, R65)."""
    city.wait_up("warm")
    assert city.gc("sleep", "warm").code == 0
    entry = city.wait_state("warm", "asleep")
    assert entry["sleep_reason"] == "operator"
    city.patrol(10)
    assert city.session("warm")["state"] == "asleep"
    assert city.gc("attach", "warm").code == 3
    assert city.gc("wake", "warm").code == 0
    city.patrol(10)
    assert city.session("warm")["state"] == "awake"
