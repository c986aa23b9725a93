"""The answers of the stages put together: what a plan holds beside its actions."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from gascity.decide.deliver import TRY_AGAIN
from gascity.decide.judge import judge
from gascity.decide.tick import decide
from gascity.model.duration import seconds
from gascity.model.events import EventType
from gascity.model.plan import Create, Decision, DisplayState, Drain, Path, Start
from gascity.model.reading import Known
from gascity.model.session import Session, SleepIntent, SleepRequest
from gascity.model.world import DrainPhase, ProbeResult, ScreenVerdict, Walk, World
from gascity.testing.builders import (
    NOON,
    TIMED,
    a_city,
    a_note,
    a_pin,
    a_probe,
    a_world,
    agent,
    ago,
    ahead,
    awake,
    cold,
    confirmed,
    decided,
    decision_of,
    headless,
    pooled,
    record_of,
    running,
    stopped,
)


def whole(world: World, name: str, **differs: Any) -> Decision:
    """The decision as the judgement of the session has it, with what else there is to say."""
    session = world.sessions[f"gc-{name}"]
    judged = judge(session, world, ())
    assert judged is not None
    return Decision(
        session_id=session.id,
        name=name,
        policy=judged.policy,
        capability=judged.capability,
        fingerprint=judged.fingerprint.value,
        fingerprint_inputs=judged.fingerprint.inputs,
        **differs,
    )


def test_a_decision_says_everything_about_a_running_session() -> None:
    """Its row, its window, its probe, and one sentence for people (X1, STAT-11)."""
    world = a_world(a_city(agent()), awake(), seen=running(idle_s=90), probes={"mayor": a_probe()})
    decision, _ = decided(world)
    assert decision == whole(
        world,
        "mayor",
        state=DisplayState.AWAKE,
        row=decision.row,
        path=Path.EVALUATE,
        reasons=(),
        blockers=decision.blockers,
        idle_reference_at=ago(90),
        keep_warm_deadline=ago(30),
        probe_result=ProbeResult.BUSY,
        wake_sources=("attach", "operator", "work"),
        verdict="awake, kept from sleeping by idle_boundary",
    )
    assert decision.row
    assert decision.blocker_names == ("idle_boundary",)


def test_a_decision_says_everything_about_a_sleeper() -> None:
    """No deadline for who is down; what would wake it, and that config alone does not (R46)."""
    city = a_city(headless("db"), agent(depends_on=("db",)))
    world = a_world(city, cold("db"), cold())
    for name, sources in (
        ("mayor", ("attach", "operator", "work")),
        ("db", ("operator", "work", "dependency")),
    ):
        decision, _ = decided(world, name)
        assert decision == whole(
            world,
            name,
            state=DisplayState.ASLEEP,
            row=decision.row,
            path=Path.REST,
            suppressed=True,
            idle_reference_at=decision.idle_reference_at,
            wake_sources=sources,
            verdict="asleep (idle); config alone does not wake it",
        )


def test_a_walk_shows_how_far_it_is() -> None:
    """The phase of the drain under way is part of the decision (META-15)."""
    walks = {"mayor": Walk(kind="drain", phase=DrainPhase.STOPPING)}
    world = a_world(a_city(agent()), awake(), walks=walks)
    assert decided(world)[0].drain_phase is DrainPhase.STOPPING
    assert decided(a_world(a_city(agent()), awake()))[0].drain_phase is DrainPhase.NONE


def test_a_start_that_waits_says_what_for_and_is_queued() -> None:
    """One over the budget stands in the queue, by its number (R34)."""
    names = ["a", "b"]
    city = a_city(*(agent(one) for one in names))
    city = replace(city, daemon=replace(city.daemon, max_wakes_per_tick=1))
    work = dict.fromkeys(names, "w1")
    plan = decide(a_world(city, *(cold(one) for one in names), work=work))
    assert [one for one in plan.actions if isinstance(one, Start)] == [
        Start(session_id="gc-a", why=("work",))
    ]
    assert plan.queued == {"gc-b"}
    waiting = decision_of(plan, "b")
    assert waiting.held_back == "queued for a start, number 1"
    assert waiting.verdict == "asleep, and not started now: queued for a start, number 1"
    assert decision_of(plan, "a").held_back == ""


def test_a_drain_over_the_probe_budget_is_queued() -> None:
    """Who could not be asked now is asked at the next tick, which comes soon (R33)."""
    names = [f"m{n:02}" for n in range(20)]
    city = a_city(*(agent(one) for one in names))
    plan = decide(a_world(city, *(awake(one) for one in names)))
    drained = {one.session_id for one in plan.actions if isinstance(one, Drain)}
    assert 0 < len(drained) == len(plan.actions)
    assert plan.queued == {f"gc-{one}" for one in names} - drained


@pytest.mark.parametrize(("at", "asks"), [(31, True), (30, True), (29, False)])
def test_who_was_asked_within_a_patrol_does_not_hurry_the_next(at: float, *, asks: bool) -> None:
    """A busy one is asked again in its turn; from a whole patrol on it hurries (R33)."""
    city = a_city(agent("a"), agent("b"))
    daemon = replace(city.daemon, max_idle_probes_per_tick=1, patrol_interval=seconds(30))
    probes = {"a": a_probe(ProbeResult.IDLE, at=99), "b": a_probe(ProbeResult.IDLE, at=at)}
    world = a_world(replace(city, daemon=daemon), awake("a"), awake("b"), probes=probes)
    plan = decide(world)
    assert Drain(session_id="gc-a") in plan.actions
    assert plan.queued == ({"gc-b"} if asks else set())


def test_the_warnings_of_the_config_go_with_the_plan() -> None:
    """They are of the city, and told with every plan (CFG-13)."""
    assert decide(a_world(a_city(warnings=("odd key",)), awake())).warnings == ("odd key",)


def test_one_that_the_config_dropped_hides_nobody_behind_it() -> None:
    """Whoever stands after an orphan is judged as ever (R21)."""
    plan = decide(a_world(a_city(agent()), awake("gone"), awake()))
    assert set(plan.decisions) == {"gc-gone", "gc-mayor"}
    assert Drain(session_id="gc-mayor") in plan.actions


def undone(**over: Any) -> World:
    """Somebody started the runtime again after its stop was confirmed."""
    return a_world(a_city(agent()), confirmed(latch_generation=1), **over)


def test_a_confirmed_stop_that_somebody_undid_is_told_as_aborted() -> None:
    """The blockers of now are the reason; without one the new window is (EVT-03, R30)."""
    busy = undone(seen=running(idle_s=3600, attached=Known(1)))
    for world, reason in ((busy, "attached"), (undone(), "keep_warm")):
        (event,) = [e for e in decide(world).events if e.type is EventType.SLEEP_ABORTED]
        assert (event.ts, event.subject) == (NOON, "mayor")
        assert event.payload["reason"] == reason
        assert event.payload["snapshot"]["evaluated_at"] == "2026-03-01T12:00:00Z"
        assert event.payload["capability"] == "full"


def test_a_stop_that_stands_is_not_told_as_aborted() -> None:
    """Not while it is stopped, was never announced, or is committed by now (EVT-03)."""
    for world in (
        undone(seen=stopped()),
        a_world(a_city(agent()), awake()),
        a_world(a_city(agent()), cold()),
        a_world(a_city(agent()), cold(sleep_intent=SleepIntent.CONFIRMED)),
    ):
        assert EventType.SLEEP_ABORTED not in {one.type for one in decide(world).events}


def test_only_the_last_request_is_forced_through() -> None:
    """`gc sleep --force` ends with the activity after it, and says nothing of the stopped (R64)."""

    def wanted(idle_s: float, *, force: bool) -> Any:
        asked = awake(sleep_request=SleepRequest(by="ann", at=ago(5), force=force))
        seen = running(idle_s=idle_s, attached=Known(1))
        return decided(a_world(a_city(agent()), asked, seen=seen))[1]

    stale = awake(sleep_request=SleepRequest(by="ann", at=ago(5), force=True))
    world = a_world(a_city(agent()), stale, seen=running(idle_s=2, attached=Known(1)))
    assert decided(world)[0].path is Path.WAKE
    assert wanted(10, force=True) == Drain(session_id="gc-mayor")
    assert wanted(2, force=True) is None
    assert wanted(10, force=False) is None
    down = cold(sleep_request=SleepRequest(by="ann", at=NOON, force=True))
    action = decided(a_world(a_city(agent()), down, work={"mayor": "w1"}))[1]
    assert action == Start(session_id="gc-mayor", why=("work",))


def test_what_is_asked_for_and_has_no_record_is_created_with_its_place() -> None:
    """Fixed agents by name, slots by number, each once (POOL-23)."""
    city = a_city(agent(), pooled(min=2))
    created = [one for one in decide(a_world(city)).actions if isinstance(one, Create)]
    places = [(one.place.name, one.place.template, one.place.slot) for one in created]
    assert places == [
        ("mayor", "mayor", None),
        ("worker-1", "worker", 1),
        ("worker-2", "worker", 2),
    ]


def due(session: Session, **over: Any) -> datetime | None:
    return decide(a_world(a_city(agent()), session, **over)).next_due


def test_what_is_over_brings_no_patrol() -> None:
    """Only instants after now count; one that is now was just looked at (R80)."""
    assert due(awake(), seen=running(idle_s=60)) is None
    assert due(awake(), seen=running(idle_s=59)) == ahead(1)
    assert due(cold(held_until=NOON)) is None


def test_a_sleepers_window_brings_no_patrol() -> None:
    """Nothing changes by time for who is down (R80)."""
    assert due(cold(slept_at=ago(1), woke_at=ago(10))) is None


def test_either_kind_of_failure_is_due_again_after_its_wait() -> None:
    """Crashes and failed starts both wait, alone or together (R80, R41)."""
    assert due(cold(exits=(ago(1), ago(0)))) == ahead(2)
    assert due(cold(failed_starts=(ago(1), ago(0)))) == ahead(2)


def test_a_request_that_was_answered_is_looked_at_once_more() -> None:
    """What `gc status` shows of it must not stay (R80)."""
    world = a_world(a_city(agent()), awake(wake_request=a_note()), seen=running(idle_s=3600))
    assert record_of(decide(world), world).wake_request is None
    assert decide(world).next_due == NOON + TRY_AGAIN
    assert timedelta(0) < TRY_AGAIN


def test_the_earliest_instant_wins() -> None:
    """Of everything that is due the first (R80)."""
    city = a_city(agent(idle_timeout=seconds(7200)), agent("two"))
    world = a_world(
        city, awake(pins=(a_pin(left=9),)), cold("two", held_until=ahead(5)), support=TIMED
    )
    assert decide(world).next_due == ahead(5)
    assert decide(replace(world, demand=replace(world.demand, next_moment=ahead(3)))).next_due == (
        ahead(3)
    )


@pytest.mark.parametrize("screen", [ScreenVerdict.BUSY, ScreenVerdict.IDLE])
def test_the_verdict_names_what_the_decision_lists(screen: ScreenVerdict) -> None:
    """One judgement, in words and in fields (STAT-11)."""
    decision, _ = decided(a_world(a_city(agent()), awake(), seen=running(screen=screen)))
    for name in decision.blocker_names:
        assert name in decision.verdict
    assert (decision.blocker_names == ()) is ("about to be checked" in decision.verdict)
