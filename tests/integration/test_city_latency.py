"""How soon a real city answers: a wake and an attach never wait for a patrol."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from tests.integration.city import (
    SLACK_S,
    RealCity,
    agent,
    city_toml,
    needs_tmux,
    running_city,
    seconds_between,
)

pytestmark = [*needs_tmux, pytest.mark.slow]

PATROL_S = 300.0


@pytest.fixture(scope="module")
def city() -> Iterator[RealCity]:
    """Two sleepers in a city that patrols every five minutes."""
    toml = city_toml(
        agent("woken"), agent("visited"), patrol="300s", sleep={"interactive_resume": "3s"}
    )
    with running_city(toml) as one:
        yield one


def test_a_window_that_closes_is_a_patrol_of_its_own(city: RealCity) -> None:
    """Nobody waits five minutes to sleep after three (R80)."""
    for name in ("woken", "visited"):
        city.wait_cold(name)


def test_a_wake_starts_the_runtime_at_once(
    city: RealCity, record_property: Callable[[str, object], None]
) -> None:
    """From the request to the start there is no patrol; the event says how long it took (L1)."""
    city.wait_cold("woken")
    seen, began = city.seq(), time.monotonic()
    city.ask("wake", session="woken", wait=False)
    asked_s = time.monotonic() - began
    woke = city.wait_event("session.woke", "woken", after=seen)
    total_s = time.monotonic() - began
    record_property("wake_asked_ms", round(asked_s * 1000))
    record_property("wake_total_ms", round(total_s * 1000))
    record_property("start_ms", round(woke["payload"]["start_seconds"] * 1000))
    assert woke["payload"]["start_seconds"] <= total_s
    assert total_s < SLACK_S < PATROL_S


def test_an_attach_is_in_at_once(
    city: RealCity, record_property: Callable[[str, object], None]
) -> None:
    """A person at a terminal sees the prompt long before the next patrol (ATT-25)."""
    city.wait_cold("visited")
    began = time.monotonic()
    terminal = city.terminal("attach", "visited")
    terminal.wait_for("❯")
    record_property("attach_ms", round((time.monotonic() - began) * 1000))
    assert time.monotonic() - began < 2 * SLACK_S < PATROL_S
    city.wait("visited", lambda one: "attached" in one["blockers"], what="attached")
    terminal.type("\x02d")
    assert terminal.end() == 0


def test_sleep_and_wake_hold_no_patrol_up(city: RealCity) -> None:
    """`gc sleep` and `gc wake` go round within seconds, again and again (R64, R25)."""
    for _ in range(2):
        city.gc("wake", "woken")
        slept = city.seq()
        city.gc("sleep", "woken")
        stopped = city.wait_event("session.stopped", "woken", after=slept)
        woke = city.events("session.woke", session="woken")[-1]
        assert seconds_between(woke, stopped) < 2 * SLACK_S
