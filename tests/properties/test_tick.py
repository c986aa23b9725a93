"""What no plan may ever hold, whatever the city, the records and the readings."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import timedelta

from hypothesis import HealthCheck, assume, given
from hypothesis import settings as hypothesis_settings

from gascity.decide.normalize import normalize
from gascity.decide.pools import plan_pool
from gascity.decide.tick import decide
from gascity.decide.wake import hard_wakes, held_reason
from gascity.model.city import City
from gascity.model.duration import OFF
from gascity.model.plan import (
    AwaitReady,
    Commit,
    Create,
    Drain,
    Path,
    Plan,
    Retire,
    Start,
    Stop,
)
from gascity.model.reading import Unclear
from gascity.model.session import StopReason
from gascity.model.signals import Turn
from gascity.model.world import Truth, World
from gascity.testing.settling import applied, settle
from gascity.testing.strategies import worlds

# A fast look by default; `HYPOTHESIS_PROFILE=thorough` searches for minutes.
THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
quick = hypothesis_settings(
    max_examples=1000 if THOROUGH else 25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
ENDS = (Drain, Stop, Retire, Commit)


def of(plan: Plan, kind: type) -> list[str]:
    return [one.session_id for one in plan.actions if isinstance(one, kind)]  # type: ignore[attr-defined]


@quick
@given(worlds())
def test_at_most_one_action_a_session(world: World) -> None:
    """No session is acted on twice in one tick (PROBE-08, WAKE-28)."""
    acted = [one.session_id for one in decide(world).actions if not isinstance(one, Create)]
    assert len(acted) == len(set(acted))


@quick
@given(worlds())
def test_nothing_needed_is_drained(world: World) -> None:
    """A hard wake of any kind keeps it from the idle path (DRAIN-08, WAKE-25, F01)."""
    plan = decide(world)
    wakes = hard_wakes(world)
    for one in of(plan, Drain) + of(plan, Commit):
        assert not wakes.of(one), plan.decisions[one].verdict
        assert not plan.decisions[one].hard_wakes


@quick
@given(worlds())
def test_nothing_unseen_is_touched(world: World) -> None:
    """Unknown truth: no action of any kind (R29, R10)."""
    for one in decide(world).actions:
        if not isinstance(one, Create):
            assert world.sighting(one.session_id).truth is not Truth.UNKNOWN


@quick
@given(worlds())
def test_nothing_sleeps_while_demand_is_unclear(world: World) -> None:
    """No new drain and no commit under doubt about work or waits (R9, F12)."""
    plan = decide(world)
    for one in of(plan, Commit) + [
        action.session_id
        for action in plan.actions
        if isinstance(action, Drain) and not action.resume
    ]:
        assert not world.demand.unclear
        assert not isinstance(world.demand.work.get(one), Unclear)
        assert not isinstance(world.demand.waits.get(one), Unclear)


@quick
@given(worlds())
def test_nothing_attached_or_doubtfully_attached_begins_a_drain(world: World) -> None:
    """People are never slept away from, nor perhaps-people (BLK-01, DRAIN-10)."""
    for action in decide(world).actions:
        if isinstance(action, Drain) and not action.resume:
            seen = world.sighting(action.session_id)
            assert not isinstance(seen.attached, Unclear)
            assert getattr(seen.attached, "value", 0) == 0


@quick
@given(worlds())
def test_nothing_in_a_turn_begins_a_drain(world: World) -> None:
    """A turn of the present run, announced or noted and perhaps open, is never slept (R48)."""
    clean = normalize(world)
    for action in decide(world).actions:
        if not isinstance(action, Drain) or action.resume:
            continue
        session = clean.sessions[action.session_id]
        forced = session.sleep_request is not None and session.sleep_request.force
        token = session.instance_token
        turns = world.memory.turns.get(session.id, ())
        assert forced or not (session.open_turn == token != "")
        assert forced or token not in [turn.token for turn in turns]


@quick
@given(worlds())
def test_what_hooks_said_just_now_begins_no_drain(world: World) -> None:
    """An open turn, a question or background work of the present run is never slept (R15, R79)."""
    for action in decide(world).actions:
        if not isinstance(action, Drain) or action.resume:
            continue
        session = world.sessions[action.session_id]
        heard = world.memory.heard.get(session.id)
        forced = session.sleep_request is not None and session.sleep_request.force
        if forced or heard is None or heard.token != session.instance_token:
            continue
        just_now = world.now - timedelta(seconds=10)
        assert not (heard.turn is Turn.OPEN and heard.at > just_now)
        assert not (heard.asked and heard.asked_at is not None and heard.asked_at > just_now)
        assert not (heard.work and heard.work_at is not None and heard.work_at > just_now)


@quick
@given(worlds())
def test_nothing_sleeps_without_a_policy_that_asks_for_it(world: World) -> None:
    """Effective off and no request of an operator: no drain begins (ROLL-01, ROLL-02, PROBE-10)."""
    plan = decide(world)
    for action in plan.actions:
        if isinstance(action, Drain) and not action.resume:
            asked = world.sessions[action.session_id].sleep_request is not None
            assert asked or plan.decisions[action.session_id].policy.effective is not OFF


@quick
@given(worlds())
def test_a_city_without_any_policy_sleeps_nobody(world: World) -> None:
    """No window at any scope: nothing new goes cold, ever (ROLL-01, POL-28)."""
    agents = {name: replace(one, sleep_after_idle=None) for name, one in world.city.agents.items()}
    city: City = replace(world.city, agents=agents, session_sleep={})
    sessions = {
        key: replace(one, sleep_request=None, sleep_intent="")  # type: ignore[arg-type]
        for key, one in world.sessions.items()
    }
    plan = decide(replace(world, city=city, sessions=sessions))
    assert of(plan, Drain) + of(plan, Commit) == []
    for one, after in plan.changes.items():
        assert not after.is_cold or sessions[one].is_cold


@quick
@given(worlds())
def test_the_suspended_and_held_are_never_started(world: World) -> None:
    """Demand starts nobody who is held (R26)."""
    plan = decide(world)
    for one in of(plan, Start):
        after = plan.changes.get(one, world.sessions[one])
        assert not held_reason(after, world)
        assert world.sighting(one).truth is Truth.STOPPED


@quick
@given(worlds())
def test_no_trim_takes_a_slot_that_is_needed(world: World) -> None:
    """Work, people, questions and pins are inside the count (R21, F04)."""
    plan = decide(world)
    wakes = hard_wakes(world)
    for action in plan.actions:
        if isinstance(action, Stop | Retire) and action.reason is StopReason.EXCESS:
            assert not wakes.of(action.session_id)
            assert not world.demand.unclear
            seen = world.sighting(action.session_id)
            assert not isinstance(seen.attached, Unclear)
            assert not isinstance(seen.pending, Unclear)


@quick
@given(worlds())
def test_nothing_is_stopped_that_cannot_be_recorded(world: World) -> None:
    """A store that takes no writes stops the stopping (R75)."""
    plan = decide(replace(world, writable=False))
    assert not [one for one in plan.actions if isinstance(one, (*ENDS, Create))]


@quick
@given(worlds())
def test_an_incomplete_config_removes_and_restarts_nobody(world: World) -> None:
    """Absence proves nothing there (R6a)."""
    plan = decide(replace(world, city=replace(world.city, incomplete=True)))
    reasons = {one.reason for one in plan.actions if isinstance(one, Stop | Retire)}
    assert not reasons & {StopReason.ORPHANED, StopReason.CONFIG_DRIFT}
    assert plan.missing == frozenset()


@quick
@given(worlds())
def test_every_session_is_explained(world: World) -> None:
    """A decision with a verdict, a row and a state for each (STAT-11, BLK-07)."""
    plan = decide(world)
    assert set(plan.decisions) == set(world.sessions)
    for decision in plan.decisions.values():
        assert decision.verdict
        assert decision.row.startswith("@")
    starts = of(plan, Start)
    for one in plan.queued - set(starts):
        assert plan.decisions[one].held_back or plan.decisions[one].path is not Path.WAKE


@quick
@given(worlds())
def test_deciding_twice_gives_the_same_plan(world: World) -> None:
    """Pure and deterministic (NORM-07)."""
    assert decide(world) == decide(world)


@quick
@given(worlds())
def test_the_order_of_records_does_not_matter(world: World) -> None:
    """Which record is read first changes nothing (DEP-08, POOL-18)."""
    turned = replace(world, sessions=dict(reversed(world.sessions.items())))
    one, two = decide(world), decide(turned)
    assert set(map(repr, one.actions)) == set(map(repr, two.actions))
    assert one.decisions == two.decisions


@quick
@given(worlds())
def test_diagnostics_decide_nothing(world: World) -> None:
    """Deleting what is for people only changes no action (META-22)."""
    blank = {
        key: replace(one, diagnostics=type(one.diagnostics)(), last_error="", last_exit="")
        for key, one in world.sessions.items()
    }
    assert decide(replace(world, sessions=blank)).actions == decide(world).actions


@quick
@given(worlds())
def test_a_city_settles(world: World) -> None:
    """With nothing new, a few rounds lead to an empty plan: no metronome (R42, F20, F58)."""
    _, plan, rounds = settle(world, rounds=25)
    assert (plan.actions, plan.changes, plan.events) == ((), {}, ()), rounds


@quick
@given(worlds())
def test_pools_reach_what_they_should_have(world: World) -> None:
    """Once settled, no pool has a slot too many or too few, as far as it can be said (POOL-18)."""
    assume(world.writable)
    after, plan, _ = settle(world, rounds=25)
    after = normalize(after)  # doubt about whoever stands on a pool is doubt about the pool
    for state in plan.pools:
        owner = after.city.agents[state.template]
        assert state.realized == state.awake + state.asleep
        members = [one for one in after.sessions.values() if one.template == state.template]
        pool = plan_pool(owner, [m for m in members if m.slot], after, hard_wakes(after))
        held = any(one.foreign_state for one in members)
        if not held:
            assert not pool.create
            stuck = {
                one.id
                for one in members
                if one.suspended_at or after.sighting(one.id).truth is Truth.UNKNOWN
            }
            assert pool.trim <= stuck


@quick
@given(worlds())
def test_what_is_asked_for_is_up_or_says_why_not(world: World) -> None:
    """Once settled, whoever has a hard wake runs, or the reason it does not is named (F02, R25)."""
    after, plan, _ = settle(world, rounds=25)
    for one, decision in plan.decisions.items():
        if decision.hard_wakes and after.sighting(one).truth is Truth.STOPPED:
            assert decision.held_back or after.sessions[one].foreign_state


def test_the_simulation_carries_out_every_kind_of_action() -> None:
    """The stand-in for acting knows each action there is (HARN-03)."""
    kinds = {Create, Start, AwaitReady, Drain, Commit, Stop, Retire}
    assert all(kind.__name__ for kind in kinds)
    assert applied.__doc__
