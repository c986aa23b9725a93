"""Faults that two arrivals at once brought to light, each by itself."""

from __future__ import annotations

import pytest

from gascity.beads.store import StoreUnavailable
from gascity.model.session import SleepIntent, State
from gascity.testing.city import FakeCity
from gascity.testing.script import AFTER
from tests.interleavings.scenes import ARRIVALS, DB, about_to_sleep, faults


def settled(city: FakeCity) -> list[str]:
    """What is wrong after some patrols more."""
    for _ in range(4):
        city.clock.advance(2)
        city.tick()
    return list(faults(city))


def test_a_suspension_in_the_config_between_look_and_commit_is_never_recorded_as_idle() -> None:
    """S10, DRAIN-13: the config is in no batch, so the commit asks it as late as it can."""
    with about_to_sleep().fork() as city:
        city.begin()
        deed = ARRIVALS["suspended in the config"].deed
        city.script.before("get", lambda: deed(city), of=DB, nth=5)
        city.tick()
        assert not [
            one for one in city.events("session.stopped") if one.payload["reason"] == "idle"
        ]
        assert settled(city) == []


def test_a_drifted_session_under_another_token_is_adopted_and_then_restarted() -> None:
    """R32, R63, R75: a stop reaches the recorded run only, so what runs goes on record first."""
    with about_to_sleep().fork() as city:
        city.begin()
        city.host.of(DB).end()
        city.begin_elsewhere(DB)
        ARRIVALS["config drift"].deed(city)
        city.tick(3)
        assert settled(city) == []
        assert city.host.of(DB).token == city.session(DB).instance_token != "somebody-else"


def test_a_suspended_session_that_somebody_runs_elsewhere_is_stopped() -> None:
    """R26, R63: a hold holds for whatever runs of it under this city's mark."""
    with about_to_sleep().fork() as city:
        city.begin()
        city.suspend(DB)
        city.host.of(DB).end()
        city.begin_elsewhere(DB)
        city.tick(2)
        assert not city.runs(DB)
        assert city.session(DB).state is State.SUSPENDED


@pytest.mark.parametrize("when", ["before clear intent", "after save creating"])
def test_whoever_is_suspended_while_a_late_wake_is_honoured_is_not_started(when: str) -> None:
    """R26, S10, DRAIN-06: the start asks the record it writes, and again before it starts."""
    moment, _, call = when.partition(" ")
    with about_to_sleep().fork() as city:
        city.begin()
        city.script.after("stop", lambda: city.wake(DB), of=DB)
        (city.script.before if moment == "before" else city.script.after)(
            call, lambda: city.suspend(DB), of=DB
        )
        starts = city.host.of(DB).starts
        city.tick()
        assert city.host.of(DB).starts == starts
        assert settled(city) == []


def test_an_end_under_a_new_policy_is_told_once() -> None:
    """EVT-03, R35: a confirmed stop that is not committed any more rests as a headless session."""
    with about_to_sleep("headless").fork() as city:
        city.begin()
        city.store.refuse["save asleep"] = StoreUnavailable("EIO")
        city.script.before("save asleep", lambda: ARRIVALS["another window"].deed(city), of=DB)
        city.tick()
        assert settled(city) == []


def test_an_ambiguous_end_is_told_although_the_patrol_that_saw_it_could_not_write() -> None:
    """S5, R75: what the patrol could not write goes on disk with the start that follows."""
    with about_to_sleep().fork() as city:
        city.begin()
        city.script.crash(AFTER, "stop", of=DB)
        city.tick()
        city.restart()
        city.begin()
        city.store.refuse["save asleep"] = StoreUnavailable("EIO")
        city.tick()
        assert city.session(DB).sleep_intent is SleepIntent.NONE
        assert len(city.events("session.sleep_recovery_ambiguous")) == 1
        assert len(city.session(DB).exits) == 1
        assert city.runs(DB)
        assert settled(city) == []


def test_of_two_writes_told_in_the_wrong_order_the_newer_record_stays() -> None:
    """R43, S1: a mirror that is behind would keep every later drain from its stop."""
    with about_to_sleep().fork() as city:
        city.begin()
        city.script.after("query session", lambda: city.wake(DB), nth=2)
        city.script.after("save idle-stop-pending", lambda: city.withdraw(DB), of=DB)
        city.tick()
        assert settled(city) == []
