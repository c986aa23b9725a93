"""A session that ended at its provider's limit: no crash, and back at the stated time."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from gascity.act.operate import hold_of
from gascity.decide.exits import LIMIT_UNSTATED, go_cold
from gascity.decide.judge import judge
from gascity.decide.tick import decide
from gascity.model.plan import Drain, Plan, Start
from gascity.model.session import Session, SleepReason, State
from gascity.model.world import Exit, Limit, ScreenVerdict, Sighting, World
from gascity.testing.builders import (
    NOON,
    a_city,
    a_note,
    a_world,
    action_of,
    agent,
    ahead,
    awake,
    confirmed,
    decision_of,
    draining,
    headless,
    record_of,
    running,
    stopped,
)

UNTIL = ahead(4 * 3600)
MAYOR, WORKER = a_city(agent()), a_city(headless())


def ended(until: object = UNTIL) -> Sighting:
    """Stopped, with a limit as its last words."""
    limit = Limit(said="usage limit reached", until=until)  # type: ignore[arg-type]
    return replace(Sighting.stopped(exit=Exit(code=1)), limit=limit)


def at_limit(name: str = "mayor") -> Session:
    """The record after such an end."""
    before = replace(awake(name), session_key="key")
    world = a_world(MAYOR if name == "mayor" else WORKER, before, seen=ended())
    return record_of(decide(world), world, name)


def later(session: Session, seconds: float = 60, **around: object) -> tuple[Plan, World]:
    """What is decided about it some time later."""
    city = MAYOR if session.name == "mayor" else WORKER
    world = a_world(city, session, seen=stopped(), now=ahead(seconds), **around)  # type: ignore[arg-type]
    return decide(world), world


@pytest.mark.parametrize("name", ["mayor", "worker"])
def test_an_exit_at_a_limit_is_no_crash(name: str) -> None:
    """Asleep for the limit, the conversation kept, no count, the next try at its time (R41)."""
    session = at_limit(name)
    assert (session.state, session.sleep_reason) == (State.ASLEEP, SleepReason.RATE_LIMIT)
    assert (session.exits, session.failed_starts, session.quarantine_cycle) == ((), (), 0)
    assert (session.session_key, session.limited_until) == ("key", UNTIL)
    assert session.last_exit == "rate_limit (status 1)"


def test_an_exit_at_a_limit_is_told() -> None:
    """One event, which says why it sleeps and until when; none that says crashed (R41, EVT-04)."""
    plan = decide(a_world(MAYOR, awake(), seen=ended()))
    [event] = [one for one in plan.events if one.type == "session.stopped"]
    assert event.payload["reason"] == "rate_limit"
    assert event.payload["until"] == UNTIL.isoformat()
    assert "session.crashed" not in {one.type for one in plan.events}
    assert plan.next_due == UNTIL


def test_a_start_that_ends_at_the_limit_is_no_failed_start() -> None:
    """Also before it was ready once (R41, R66)."""
    world = a_world(MAYOR, awake(state=State.CREATING), seen=ended())
    after = record_of(decide(world), world)
    assert (after.sleep_reason, after.failed_starts) == (SleepReason.RATE_LIMIT, ())


def test_a_limit_that_does_not_say_when_holds_for_a_while() -> None:
    """An unreadable or past time wakes nobody in a loop (R41)."""
    for until in (None, NOON - timedelta(hours=1)):
        world = a_world(MAYOR, awake(), seen=ended(until))
        assert record_of(decide(world), world).limited_until == NOON + LIMIT_UNSTATED


@pytest.mark.parametrize("name", ["mayor", "worker"])
def test_nothing_but_an_operator_wakes_it_before(name: str) -> None:
    """Config, work and waits wait for the reset, and it is said what they wait for (R41)."""
    plan, _ = later(at_limit(name), work={name: "w1"}, waits={name: "v1"})
    assert plan.actions == ()
    assert "provider's limit until" in decision_of(plan, name).held_back
    assert plan.next_due == UNTIL


@pytest.mark.parametrize("note", ["wake_request", "attach_intent"])
def test_an_operator_wakes_it_before(note: str) -> None:
    """`gc wake` and `gc attach` are not refused, and start it (R25, R26, R41)."""
    session = at_limit()
    assert hold_of(session, MAYOR, NOON) is None
    asked = replace(session, **{note: a_note(left=300)})  # type: ignore[arg-type]
    plan, _ = later(asked)
    assert isinstance(action_of(plan, "mayor"), Start)


@pytest.mark.parametrize("name", ["mayor", "worker"])
def test_it_comes_back_at_the_stated_time(name: str) -> None:
    """It was cut off in its turn: it starts again at the reset, headless or not (R41)."""
    plan, _ = later(at_limit(name), 4 * 3600 + 1)
    assert isinstance(action_of(plan, name), Start)
    plan, _ = later(at_limit(name), 4 * 3600 - 1)
    assert action_of(plan, name) is None


def shown(until: object, **over: object) -> Sighting:
    """A session that runs and shows a limit, at rest since long ago."""
    limit = Limit(said="resets 3pm", until=until)  # type: ignore[arg-type]
    return running(screen=ScreenVerdict.RATELIMIT, limit=limit, **over)


def test_a_session_that_shows_a_limit_may_sleep_if_it_says_when() -> None:
    """Nothing goes on before; one that does not say when stays as it is (R15, R41)."""
    for until, blockers in ((UNTIL, ()), (None, ("idle_boundary",))):
        plan = decide(a_world(MAYOR, awake(), seen=shown(until)))
        assert decision_of(plan, "mayor").blocker_names == blockers
        assert isinstance(action_of(plan, "mayor"), Drain) is (until is not None)
    busy = a_world(MAYOR, awake(), seen=shown(UNTIL), work={"mayor": "w1"})
    assert action_of(decide(busy), "mayor") is None


def test_one_that_was_put_to_sleep_at_its_limit_sleeps_for_it() -> None:
    """Reason `rate_limit`, no latch, woken at the reset only (R41)."""
    world = a_world(MAYOR, replace(confirmed(), limited_until=UNTIL), seen=stopped())
    judged = judge(world.sessions["gc-mayor"], world, ())
    assert judged is not None
    cold = go_cold(world.sessions["gc-mayor"], judged, now=NOON)
    assert (cold.sleep_reason, cold.latch_generation) == (SleepReason.RATE_LIMIT, 0)
    assert later(cold, 3600, work={"mayor": "w1"})[0].actions == ()
    assert isinstance(action_of(later(cold, 4 * 3600 + 1)[0], "mayor"), Start)
    passed = replace(world.sessions["gc-mayor"], limited_until=NOON - timedelta(seconds=1))
    assert go_cold(passed, judged, now=NOON).is_cold


def test_a_drain_that_is_given_up_forgets_the_limit() -> None:
    """Whoever is kept up for somebody is at no limit that holds it back later (R41)."""
    session = replace(draining(), limited_until=UNTIL)
    world = a_world(MAYOR, session, seen=running(), work={"mayor": "w1"})
    assert record_of(decide(world), world).limited_until is None
