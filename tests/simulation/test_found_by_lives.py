"""Faults that simulated lives found, each as the shortest story that still shows it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gascity.model.duration import OFF
from gascity.model.session import SleepReason
from gascity.model.world import Exit
from gascity.testing.city import FakeCity
from gascity.testing.records import a_city, agent, pooled
from gascity.testing.script import BEFORE


def test_a_patrol_that_began_during_a_drain_does_not_finish_it_again() -> None:
    """Its picture of the record is older than the end of the walk (R28, R34, EVT-04)."""
    with FakeCity(a_city(agent("mayor"))) as city:
        city.tick()
        city.clock.advance(61)
        waiting: list[bool] = []
        city.script.before("save asleep", lambda: waiting.append(True), of="mayor")
        gate = city.script.hold(BEFORE, "save asleep", of="mayor")
        # The walk stands still until the next patrol has read the records and asks the runtime.
        city.script.always(BEFORE, "list", lambda: gate.open() if waiting else None)
        city.host.took["list"] = 1.0
        city.live(100)
        assert waiting
        assert [event.subject for event in city.events("session.stopped")] == ["mayor"]
        assert city.overseer.violations == []


@pytest.mark.parametrize("lie", ["stop_works", "has_hidden_token"])
def test_a_stop_without_effect_is_tried_at_patrols_and_not_round_and_round(lie: str) -> None:
    """A controller must not spin on a session that it cannot stop (F53, F24, L7)."""
    with FakeCity(a_city(agent("mayor"))) as city:
        city.tick()
        city.clock.advance(61)
        setattr(city.host.of("mayor"), lie, lie == "has_hidden_token")
        city.live(300)
        assert 3 <= len(city.script.calls("stop", of="mayor")) <= 12
        assert city.runs("mayor")
        assert city.session("mayor").sleep_intent == "idle-stop-pending"


@pytest.mark.parametrize("why", ["suspended", "trimmed"])
def test_a_run_whose_start_was_never_recorded_can_still_be_stopped(why: str) -> None:
    """It is adopted under the token it carries, and then stopped like any other (R29, R63, R75)."""
    over: dict[str, Any] = {"min": 2} if why == "trimmed" else {"min": 1}
    with FakeCity(a_city(pooled("w", **over))) as city:
        city.tick(2)
        name = "w-2" if why == "trimmed" else "w-1"
        city.begin_elsewhere(name)
        if why == "suspended":
            city.suspend(name)
        else:
            city.configure(a_city(pooled("w", min=1)))
        for _ in range(4):
            city.clock.advance(30)
            city.tick()
        assert not city.runs(name)
        assert city.has(name) == (why == "suspended")
        assert city.overseer.violations == []


def test_a_start_that_failed_leaves_nobody_recorded_as_idle() -> None:
    """The attempt ended that sleep; work is there, so nothing may call it idle (R31, WAKE-11)."""
    with FakeCity(a_city(agent("mayor"))) as city:
        _cold(city, "mayor")
        city.host.of("mayor").start_fails = "no such file"
        job = city.give("mayor")
        city.tick()
        assert (city.session("mayor").state, city.session("mayor").sleep_reason) == ("asleep", "")
        assert city.overseer.violations == []
        city.finish(job)
        city.host.of("mayor").start_fails = ""
        city.live(300)
        assert city.session("mayor").is_cold, "by a drain of its own, that looked at every wake"
        assert city.overseer.violations == []


@pytest.mark.parametrize("word", ["crash", "idle-timeout", "operator"])
def test_a_start_that_failed_keeps_any_other_reason(word: str) -> None:
    """Who is to come back by its config, or is not, is not changed by one failure (R31, R64)."""
    with FakeCity(a_city(agent("mayor"))) as city:
        _cold(city, "mayor")
        reason = SleepReason(word)
        city.change("mayor", lambda session, _: (replace(session, sleep_reason=reason), ()))
        city.host.of("mayor").start_fails = "no such file"
        city.give("mayor")
        city.tick()
        assert city.session("mayor").failed_starts
        assert city.session("mayor").sleep_reason is reason


def test_a_quarantine_that_is_over_is_not_revived_by_a_clock_that_is_set_back() -> None:
    """Its end is on the record no longer once the session was started again (R26, R39)."""
    with FakeCity(a_city(agent("mayor"))) as city:
        _cold(city, "mayor")
        city.host.of("mayor").start_fails = "no such file"
        job = city.give("mayor")
        city.live(1000)
        assert city.events("session.quarantined")
        city.host.of("mayor").start_fails = ""
        city.live(2000)
        assert city.runs("mayor")
        city.clock.step(-7200)
        city.exit("mayor")
        city.live(60)
        assert city.runs("mayor"), "the work is still there, and nothing holds it"
        city.finish(job)
        assert city.overseer.violations == []


def test_another_run_of_a_session_is_another_generation() -> None:
    """What was noted about the run before does not pass its end off as ours (R41, R63)."""
    with FakeCity(a_city(agent("mayor", sleep_after_idle=OFF))) as city:
        city.tick()
        before = city.session("mayor")
        city.host.of("mayor").end(Exit(code=0))
        city.begin_elsewhere("mayor")
        city.tick()
        after = city.session("mayor")
        assert after.instance_token == "somebody-else"
        assert after.generation == before.generation + 1
        city.tick(3)
        assert city.session("mayor").generation == after.generation


def _cold(city: FakeCity, name: str) -> None:
    for _ in range(4):
        city.tick()
        city.clock.advance(61)
    assert city.session(name).is_cold
