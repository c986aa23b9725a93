"""Sessions that do not run: rest, commit, preserve, start."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gascity.decide.tick import decide
from gascity.model.duration import OFF, seconds
from gascity.model.plan import Commit, Path, Start
from gascity.model.reading import Unclear
from gascity.model.session import SleepIntent, SleepReason, SleepRequest, State
from gascity.testing.builders import (
    a_city,
    a_world,
    agent,
    ago,
    ahead,
    asleep,
    awake,
    cold,
    confirmed,
    decided,
    draining,
    headless,
    record_of,
    running,
    stopped,
)

CITY = a_city(agent())


def test_a_confirmed_stop_is_committed() -> None:
    """Stopped, confirmed, nobody needs it: commit (REC-06, REC-18)."""
    decision, action = decided(a_world(CITY, confirmed(), seen=stopped()))
    assert (decision.path, action) == (Path.COMMIT, Commit(session_id="gc-mayor"))


def test_a_confirmed_stop_waits_for_clear_demand() -> None:
    """Hard wakes are recomputed first; while they cannot be, no commit (REC-19, R9)."""
    world = a_world(CITY, confirmed(), seen=stopped(), work={"mayor": Unclear("?")})
    assert decide(world).actions == ()
    assert record_of(decide(world), world).sleep_intent is SleepIntent.CONFIRMED


@pytest.mark.parametrize("window", [OFF, seconds(59)])
def test_a_confirmed_stop_is_not_committed_under_another_policy(window: object) -> None:
    """A reload in between: no idle commit; it comes up again, and no crash is counted (R35)."""
    world = a_world(CITY, confirmed(), seen=stopped())
    changed = replace(world, city=a_city(agent(sleep_after_idle=window)))
    plan = decide(changed)
    assert plan.actions == (Start(session_id="gc-mayor", why=("config",)),)
    after = record_of(plan, changed)
    assert (after.sleep_reason, after.exits) == (SleepReason.NONE, ())
    assert "session.sleep_aborted" in {event.type for event in plan.events}


def test_an_operators_confirmed_stop_is_committed_without_a_policy() -> None:
    """`gc sleep` on a session with `off`, killed before its commit: finished (R64, REC-06)."""
    asked = confirmed(sleep_request=SleepRequest(by="ann", at=ago(9)))
    world = a_world(a_city(agent(), session_sleep={}), asked, seen=stopped())
    assert decide(world).actions == (Commit(session_id="gc-mayor"),)


def test_a_confirmed_marker_of_another_sleeper_keeps_its_reason() -> None:
    """Asleep for another reason: the marker goes, the reason stays (R31)."""
    session = asleep(SleepReason.OPERATOR, sleep_intent=SleepIntent.CONFIRMED)
    world = a_world(CITY, session)
    after = record_of(decide(world), world)
    assert (after.sleep_intent, after.sleep_reason) == (SleepIntent.NONE, SleepReason.OPERATOR)


def test_a_held_sleeper_is_not_started_though_its_latch_broke() -> None:
    """A hold outranks config (R26, POOL-26)."""
    broken = cold(fingerprint="v1:other")
    assert decided(a_world(CITY, broken))[1] is not None
    held = cold(fingerprint="v1:other", held_until=ahead(9))
    decision, action = decided(a_world(CITY, held))
    assert (action, decision.held_back[:10]) == (None, "held until")


def test_a_held_session_with_an_exit_is_not_started() -> None:
    """The exit is recorded, the start is not made (R26)."""
    world = a_world(CITY, awake(held_until=ahead(9)), seen=stopped(1))
    plan = decide(world)
    assert plan.actions == ()
    assert record_of(plan, world).sleep_reason is SleepReason.CRASH


def test_desired_and_never_started_is_an_ordinary_candidate() -> None:
    """No markers, not running: config starts it (REC-11)."""
    world = a_world(a_city(agent(), session_sleep={}), asleep(SleepReason.NONE))
    assert decide(world).actions == (Start(session_id="gc-mayor", why=("config",)),)


def test_a_pending_stop_never_latches_at_once() -> None:
    """Missing with a pending marker goes through the recovery table (REC-12, REC-23)."""
    decision, _ = decided(a_world(CITY, draining(), seen=stopped()))
    assert (decision.path, decision.suppressed) == (Path.AMBIGUOUS, False)


def test_a_cold_slot_stays_cold_over_a_restart() -> None:
    """Recorded cold, nobody needs it: nothing is done at the first patrol (REC-13, WAKE-08)."""
    world = a_world(CITY, cold())
    assert decide(world).actions == ()


def test_a_worker_asleep_without_a_reason_goes_cold() -> None:
    """Eligible, no hard wake: a cold slot instead of a start, once demand is clear (REC-14)."""
    city = a_city(headless())
    session = asleep(SleepReason.NONE, "worker")
    world = a_world(city, session)
    plan = decide(world)
    assert plan.actions == ()
    assert record_of(plan, world, "worker").is_cold
    unclear = a_world(city, session, work={"worker": Unclear("?")})
    assert not record_of(decide(unclear), unclear, "worker").is_cold


def test_a_running_sleeper_is_adopted_with_a_new_window() -> None:
    """Somebody started it: awake, reason and latch gone, window from now (REC-21, R14, R31)."""
    world = a_world(CITY, cold(), seen=running(token="t9"))
    plan = decide(world)
    after = record_of(plan, world)
    assert (after.state, after.sleep_reason, after.latch_generation) == (
        State.AWAKE, SleepReason.NONE, 0,
    )  # fmt: skip
    assert (after.instance_token, after.woke_at) == ("t9", world.now)
    assert plan.actions == ()
    [event] = [one for one in plan.events if one.type == "session.woke"]
    assert event.payload["previous_sleep_reason"] == "idle"


def test_a_restart_finds_the_drain_where_it_was() -> None:
    """Running and pending: the drain goes on; with a wake it does not (REC-02, REC-03, RACE-07)."""
    assert decided(a_world(CITY, draining()))[0].path is Path.DRAIN
    assert decided(a_world(CITY, draining(), work={"mayor": "w"}))[0].path is Path.WAKE
