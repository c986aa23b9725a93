"""An announced turn: whom it keeps up, what is noted of it, and when it is over."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gascity.decide.drain import Phase, Verdict
from gascity.decide.idle import turn_blockers
from gascity.decide.normalize import normalize_session
from gascity.decide.relook import DrainContext, relook
from gascity.decide.tick import decide
from gascity.model.duration import OFF, seconds
from gascity.model.plan import Blocker, Drain, Start, Stop
from gascity.model.session import Session, StopReason
from gascity.model.world import Memory, OpenTurn, World
from gascity.testing.builders import (
    BLIND,
    FULL,
    NOON,
    TIMED,
    a_city,
    a_note,
    a_pin,
    a_world,
    action_of,
    agent,
    ago,
    ahead,
    awake,
    cold,
    decided,
    draining,
    headless,
    record_of,
    running,
    stopped,
)

CITY = a_city(agent(sleep_after_idle=seconds(0)), session_sleep={})
IN_TURN = {"mayor": "t1"}


def noted(**over: Any) -> Session:
    """A session whose record says that its present run is in a turn."""
    return awake(**({"open_turn": "t1"} | over))


@pytest.mark.parametrize("kind", ["full", "timed_only"])
def test_an_open_turn_blocks_sleep(kind: str) -> None:
    """The window is over, the screen is idle: `turn_open`, with what goes on (R48, F06)."""
    make, support = (agent, FULL) if kind == "full" else (headless, TIMED)
    city = a_city(make("mayor", sleep_after_idle=seconds(0)), session_sleep={})
    decision, action = decided(a_world(city, awake(), turns=IN_TURN, support=support))
    assert decision.capability.kind == kind
    assert (decision.blocker_names, action) == (("turn_open",), None)
    assert decision.blockers[0].detail == "sleep 60s"
    assert decision.verdict == "awake, kept from sleeping by turn_open"


def test_all_that_goes_on_in_a_turn_is_said_once() -> None:
    """Two calls at a time, one of them twice (R48, BLK-07)."""
    turns = tuple(OpenTurn(token="t1", what=what) for what in ("build", "sleep 60s", "build", ""))
    [blocker] = turn_blockers(awake(), Memory(turns={"gc-mayor": turns}))
    assert blocker == Blocker(name="turn_open", detail="build, sleep 60s")


def test_a_noted_turn_that_nobody_holds_says_so() -> None:
    """Between its end and the next patrol, and right after a restart (R48)."""
    assert turn_blockers(noted(), Memory()) == [Blocker(name="turn_open", detail="just ended")]
    assert turn_blockers(noted(), Memory(turns_unsure_until=ahead(7))) == [
        Blocker(name="turn_open", detail="may be announced again")
    ]


def test_a_held_pin_ends_with_the_turn_of_its_owner() -> None:
    """Not with another's, and not while turns may be announced again (R18, NORM-10)."""
    held = replace(a_pin("ann"), held=True)
    session = awake(pins=(held, a_pin("bob")))

    def kept(memory: Memory) -> tuple[str, ...]:
        after = normalize_session(session, running(), memory, now=NOON)
        return tuple(pin.owner for pin in after.pins)

    def of(owner: str) -> Memory:
        return Memory(turns={"gc-mayor": (OpenTurn(token="", owner=owner),)})

    assert kept(of("ann")) == ("ann", "bob")
    assert kept(of("cy")) == kept(Memory()) == ("bob",)
    assert kept(Memory(turns_unsure_until=ahead(7))) == ("ann", "bob")


def test_a_lapsed_pin_takes_no_request_with_it() -> None:
    """Each request lapses by its own time (NORM-10)."""
    asked = {"attach_intent": a_note(), "wake_request": a_note("bob")}
    session = awake(pins=(a_pin(left=0),), **asked)
    after = normalize_session(session, running(), now=NOON)
    assert (after.pins, after.attach_intent, after.wake_request) == (
        (),
        session.attach_intent,
        session.wake_request,
    )


def test_a_turn_of_another_run_is_not_noted() -> None:
    """Only the run that is up is in it (R48)."""
    memory = Memory(turns={"gc-mayor": (OpenTurn(token="t0"),)})
    assert normalize_session(awake(), running(), memory, now=NOON).open_turn == ""
    memory = Memory(turns={"gc-mayor": (OpenTurn(token="t1"),)})
    assert normalize_session(awake(), running(), memory, now=NOON).open_turn == "t1"


def test_it_is_noted_once_and_reported_as_an_edge() -> None:
    """`session.updated` names the blocker; a second patrol writes nothing (R42, EVT-10)."""
    before = a_world(CITY, awake())
    settled = record_of(decide(before), before)
    world = a_world(CITY, settled, turns=IN_TURN)
    plan = decide(world)
    after = record_of(plan, world)
    assert after.open_turn == "t1"
    assert [(one.type, one.payload["blockers"]) for one in plan.events] == [
        ("session.updated", ["turn_open"])
    ]
    again = decide(replace(world, sessions={after.id: after}))
    assert (again.changes, again.events) == ({}, ())


def test_a_turn_of_an_earlier_run_means_nothing() -> None:
    """Fenced by the instance token: announced or noted, it holds nobody (R63)."""
    world = a_world(CITY, noted(open_turn="t0"), turns={"mayor": "t0"})
    decision, action = decided(world)
    assert (decision.blockers, action) == ((), Drain(session_id="gc-mayor"))
    assert record_of(decide(world), world).open_turn == ""


def test_a_run_without_a_token_is_in_no_turn() -> None:
    """An empty mark matches nothing (R63)."""
    decision, _ = decided(a_world(CITY, noted(open_turn="", instance_token="")))
    assert decision.blockers == ()


def test_the_end_of_a_turn_is_activity() -> None:
    """The window opens anew: the agent has its answer and goes on (R13, R14)."""
    city = a_city(agent(sleep_after_idle=seconds(60)), session_sleep={})
    world = a_world(city, noted())
    plan = decide(world)
    after = record_of(plan, world)
    assert (after.open_turn, after.turn_ended_at) == ("", NOON)
    decision = plan.decisions["gc-mayor"]
    assert (decision.blocker_names, decision.idle_reference_at) == (("keep_warm",), NOON)
    later = a_world(city, replace(after, turn_ended_at=ago(60)))
    assert action_of(decide(later), "mayor") == Drain(session_id="gc-mayor")


def test_after_a_restart_of_the_controller_a_noted_turn_holds_for_a_while() -> None:
    """Whoever held it may announce it again; a patrol comes when that time is over (R9, R80)."""
    world = a_world(CITY, noted(), turns_unsure_until=ahead(7))
    plan = decide(world)
    [blocker] = plan.decisions["gc-mayor"].blockers
    assert (blocker.name, blocker.detail) == ("turn_open", "may be announced again")
    assert plan.actions == ()
    assert plan.next_due == ahead(7)
    assert record_of(plan, world).open_turn == "t1"
    over = replace(world, memory=replace(world.memory, turns_unsure_until=None))
    assert action_of(decide(over), "mayor") == Drain(session_id="gc-mayor")


def test_that_while_holds_nobody_else() -> None:
    """A session without such a note goes to sleep right after a restart (R37)."""
    plan = decide(a_world(CITY, awake(), turns_unsure_until=ahead(7)))
    assert plan.actions == (Drain(session_id="gc-mayor"),)
    assert plan.next_due is None


@pytest.mark.parametrize("announced", [True, False], ids=["announced", "noted"])
@pytest.mark.parametrize("operator", [True, False], ids=["gc sleep", "idle"])
@pytest.mark.parametrize("phase", [Phase.PROBE, Phase.RECORD])
def test_a_turn_that_opens_ends_a_drain(phase: Phase, operator: bool, announced: bool) -> None:
    """Before the stop every look honours it, whoever asked for the sleep (R28, R48)."""
    turns = IN_TURN if announced else {}
    session = draining(open_turn="t1")
    looked = looked_at(a_world(CITY, session, turns=turns), phase, operator=operator)
    assert looked.verdict is Verdict.WOKEN
    assert [blocker.name for blocker in looked.blockers] == ["turn_open"]


def test_a_turn_does_not_outlive_its_run() -> None:
    """Once it is down there is no turn: the stop is finished, and no start follows (R28)."""
    session = draining(open_turn="t1")
    looked = looked_at(a_world(CITY, session, seen=stopped(), turns=IN_TURN), Phase.STOP)
    assert looked.verdict is Verdict.CLEAR
    asleep = decide(a_world(CITY, cold(open_turn="t1"), turns=IN_TURN))
    assert not [one for one in asleep.actions if isinstance(one, Start)]


def looked_at(world: World, phase: Phase, *, operator: bool = False) -> Any:
    quiet = a_world(CITY, draining())
    fingerprint = decide(quiet).decisions["gc-mayor"].fingerprint
    context = DrainContext(fingerprint=fingerprint, generation=1, operator=operator)
    return relook(world, "gc-mayor", phase=phase, context=context, structural=lambda _: "")


def test_a_drift_restart_waits_for_it() -> None:
    """R32: a turn is not cut off for a new config."""
    world = a_world(CITY, awake(started_hash="another"), turns=IN_TURN)
    decision, action = decided(world)
    assert (decision.blocker_names, action) == (("turn_open", "draining:config-drift"), None)
    ended = replace(world, memory=replace(world.memory, turns={}))
    assert isinstance(action_of(decide(ended), "mayor"), Stop)


def test_idle_timeout_waits_for_it() -> None:
    """R40: restart-on-idle waits with an open turn, whatever the sleep policy is."""
    city = a_city(agent(sleep_after_idle=OFF, idle_timeout=seconds(60)), session_sleep={})
    world = a_world(city, awake(), turns=IN_TURN)
    assert decided(world)[1] is None
    ended = decide(replace(world, memory=replace(world.memory, turns={})))
    assert action_of(ended, "mayor") == Stop(
        session_id="gc-mayor", reason=StopReason.IDLE_TIMEOUT, restart=True
    )


def test_suspension_does_not_wait_for_it() -> None:
    """An administrator's order spares no turn (R32)."""
    world = a_world(CITY, awake(suspended_at=ago(9)), turns=IN_TURN)
    assert isinstance(action_of(decide(world), "mayor"), Stop)


def test_it_is_no_hard_wake() -> None:
    """What it stands on may sleep, as under any other turn (R18)."""
    city = a_city(
        headless("db", sleep_after_idle=seconds(0)), agent(depends_on=("db",)), session_sleep={}
    )
    plan = decide(a_world(city, awake("db"), awake(), turns=IN_TURN, support=TIMED))
    assert isinstance(action_of(plan, "db"), Drain)
    assert plan.decisions["gc-mayor"].hard_wakes == ()


def test_it_is_shown_where_nobody_would_sleep_anyhow() -> None:
    """With the policy off the blocker is still named: a restart would wait for it (R32, R40)."""
    city = a_city(agent(sleep_after_idle=OFF), session_sleep={})
    decision, _ = decided(a_world(city, awake(), turns=IN_TURN, support=BLIND))
    assert decision.blocker_names == ("turn_open",)
