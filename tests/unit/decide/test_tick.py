"""Whole ticks: what people met in the field, told as small cities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from gascity.decide.deliver import TRY_AGAIN
from gascity.decide.tick import decide
from gascity.model.duration import seconds
from gascity.model.plan import AwaitReady, Create, Drain, Plan, Start, Stop
from gascity.model.reading import Known, Unclear
from gascity.model.session import SleepIntent, SleepReason, State
from gascity.model.world import Demand, ProbeResult, ScreenVerdict, World
from gascity.testing.builders import (
    BLIND,
    FULL,
    NOON,
    TIMED,
    a_city,
    a_note,
    a_pin,
    a_probe,
    a_session,
    a_world,
    agent,
    ago,
    ahead,
    awake,
    cold,
    decided,
    decision_of,
    fresh,
    headless,
    length,
    pooled,
    record_of,
    running,
    starting,
    stopped,
)

POOL = a_city(pooled())


def drains(plan: Plan) -> list[str]:
    return [one.session_id for one in plan.actions if isinstance(one, Drain)]


def ticks(world: World, *times: float) -> Iterator[tuple[World, Plan]]:
    """The plan at each of these seconds after noon, each over what the one before wrote."""
    for at in times:
        world = replace(world, now=ahead(at))
        plan = decide(world)
        yield world, plan
        world = replace(world, sessions={**world.sessions, **plan.changes})


def test_no_idle_computation_touches_work_in_progress() -> None:
    """A silent worker with a claim is not probed, drained or trimmed (F01, BLK-04)."""
    world = a_world(POOL, awake("worker-1"), seen=running(idle_s=720), work={"worker-1": "w1"})
    plan = decide(world)
    assert (plan.actions, decision_of(plan, "worker-1").blocker_names) == ((), ("work",))
    closed = a_world(a_city(pooled(min=1)), awake("worker-1"), seen=running(idle_s=720))
    assert drains(decide(closed)) == ["gc-worker-1"]


def test_a_woken_sleeper_is_not_slept_in_the_same_or_the_next_tick() -> None:
    """The old idle age says nothing after the wake (F02, F17)."""
    world = a_world(a_city(agent()), cold(), work={"mayor": "w"})
    assert decide(world).actions == (Start(session_id="gc-mayor", why=("work",)),)
    up = a_world(a_city(agent()), starting(since=1), seen=running(idle_s=1200), work={"mayor": "w"})
    assert decide(up).actions == (AwaitReady(session_id="gc-mayor"),)


def test_ready_work_wakes_a_sleeping_slot_not_a_sibling() -> None:
    """Realized answers how many exist, awake answers who serves (F03)."""
    world = a_world(a_city(pooled(min=1)), cold("worker-1"), routed={"worker": "w2"})
    plan = decide(world)
    assert plan.actions == (Start(session_id="gc-worker-1", why=("work",)),)
    assert plan.pools[0].realized == 1


def test_a_claim_never_kills_its_worker() -> None:
    """Five ticks with desired 0 and a claim: it stays; after the close it is trimmed (F04)."""
    city = a_city(pooled(check="true"))
    world = a_world(
        city, awake("worker-2"), seen=running(idle_s=5), checks={"worker": 0},
        work={"worker-2": "w1"},
    )  # fmt: skip
    for _, plan in ticks(world, 0, 30, 60, 90, 120):
        assert plan.actions == ()
    after = replace(world, demand=Demand(pool_checks={"worker": Known(0)}))
    assert [type(one) for one in decide(after).actions] == [Stop]


def test_a_background_child_keeps_it_awake_and_restarts_the_clock() -> None:
    """A quiet prompt with a live child is not idle; the window starts after it (F05)."""
    city = a_city(agent())
    child = running(idle_s=600, screen=ScreenVerdict.BACKGROUND, detail="pytest")
    decision, action = decided(a_world(city, awake(), seen=child))
    assert (action, [(b.name, b.detail) for b in decision.blockers]) == (
        None, [("background", "pytest")],
    )  # fmt: skip
    ended = a_world(city, awake(), seen=running(activity=Known(NOON)))
    assert drains(decide(replace(ended, now=ahead(59)))) == []
    assert drains(decide(replace(ended, now=ahead(60)))) == ["gc-mayor"]


def test_silence_with_open_work_is_not_idle_on_a_timed_runtime() -> None:
    """Work is the open turn; without any it sleeps and the class is shown (F06, PROBE-09)."""
    city = a_city(headless(sleep_after_idle=seconds(30), runtime="k8s"))
    quiet = {"seen": running(idle_s=540, screen=None), "support": TIMED}
    held = a_world(city, awake("worker"), **quiet, work={"worker": "w1"})  # type: ignore[arg-type]
    assert decide(held).actions == ()
    free = a_world(city, awake("worker"), **quiet)  # type: ignore[arg-type]
    decision, action = decided(free, "worker")
    assert (action is not None, decision.capability.kind) == (True, "timed_only")


@pytest.mark.parametrize("screen", [ScreenVerdict.UNKNOWN, ScreenVerdict.PENDING])
def test_a_dialog_nobody_knows_is_not_idle(screen: ScreenVerdict) -> None:
    """Never drained, whatever the age (F07, CAP-31, CAP-32)."""
    world = a_world(a_city(agent()), awake(), seen=running(idle_s=1800, screen=screen))
    assert decide(world).actions == ()


def test_only_changed_text_moves_the_window() -> None:
    """The reference is what the runtime calls activity; it goes idle a window later (F09, R13)."""
    quiet = running(activity=Known(NOON))
    world = a_world(a_city(agent()), awake(), seen=quiet)
    at = [t for t in range(0, 120, 5) if drains(decide(replace(world, now=ahead(t))))]
    assert at[0] == 60
    moving = [
        decide(
            replace(world, now=ahead(t), sightings={"gc-mayor": running(activity=Known(ahead(t)))})
        )
        for t in (0, 60, 120)
    ]
    assert [decision_of(plan, "mayor").idle_reference_at for plan in moving] == [
        NOON, ahead(60), ahead(120),
    ]  # fmt: skip


def test_a_failed_demand_read_is_never_zero_demand() -> None:
    """No drain, no trim, no create; one edge event; then as before (F12, R9)."""
    city = a_city(pooled(check="true", min=0, max=9))
    three = [awake(f"worker-{n}") for n in (1, 2, 3)]
    fine = a_world(city, *three, checks={"worker": 3}, work={f"worker-{n}": "w" for n in (1, 2, 3)})
    start = replace(fine, sessions={**fine.sessions, **decide(fine).changes})
    lost = Demand(
        work={f"gc-worker-{n}": Unclear("rig b") for n in (1, 2, 3)},
        pool_checks={"worker": Unclear("rig b")},
    )
    told = []
    for _, plan in ticks(replace(start, demand=lost), 0, 30, 60):
        assert plan.actions == ()
        assert decision_of(plan, "worker-1").blocker_names == ("demand_unknown",)
        told += [event.type for event in plan.events if event.subject == "worker-1"]
    assert told == ["session.updated"]
    good = replace(start, demand=Demand(pool_checks={"worker": Known(2)}))
    assert any(isinstance(one, Stop) for one in decide(good).actions)


def test_a_wake_counts_from_the_wake_not_from_the_old_age() -> None:
    """Asleep two hours, woken at T0: awake at +10, +30, +50; drained not before +60 (F17, R14)."""
    woken = awake(woke_at=NOON, ready_at=NOON, detached_at=None)
    for seen in (running(idle_s=7200), running(activity=Known(ago(7200)), ready=True)):
        world = a_world(a_city(agent()), woken, seen=seen)
        world = replace(
            world, sessions={woken.id: replace(world.sessions[woken.id], detached_at=NOON)}
        )
        assert [
            t for t in (10, 30, 50, 59, 60) if drains(decide(replace(world, now=ahead(t))))
        ] == [60]


def test_a_wake_request_stands_until_it_was_up_and_ready() -> None:
    """The request is a hard wake over the whole start, then it is answered (F17, R25, R66)."""
    asked = starting(wake_request=a_note())
    booting = a_world(a_city(agent()), asked, seen=running(ready=False))
    plan = decide(booting)
    assert plan.actions == (AwaitReady(session_id="gc-mayor"),)
    assert record_of(plan, booting).wake_request is not None
    ready = a_world(a_city(agent()), awake(wake_request=a_note()), seen=running(idle_s=1))
    assert record_of(decide(ready), ready).wake_request is None


def test_work_defers_the_restart_on_idle() -> None:
    """No stop whose re-wake is already known; masked and blocked are both shown (F19, COEX-05)."""
    city = a_city(agent("api", idle_timeout=length("5m"), sleep_after_idle=length("5m")))
    world = a_world(city, awake("api"), seen=running(idle_s=360), work={"api": "w1"})
    for _, plan in ticks(world, 0, 30, 60, 90, 120):
        assert plan.actions == ()
        decision = decision_of(plan, "api")
        assert (decision.masked_by, decision.blocker_names) == ("idle_timeout:5m", ("work",))


def test_a_watchdog_that_leaves_is_not_started_again() -> None:
    """Clean exit, nothing to do: 200 ticks without a start, no crash (F20, WAKE-07, POOL-27)."""
    city = a_city(fresh("boot", attach=False))
    world = a_world(city, awake("boot"), seen=stopped(0))
    *_, (last, _) = told = list(ticks(world, *range(0, 6000, 30)))
    assert all(plan.actions == () for _, plan in told)
    after = last.sessions["gc-boot"]
    assert (after.is_cold, after.exits) == (True, ())


def test_a_zero_window_never_ends_a_start() -> None:
    """Booting with routed work: awaited, then held by the work until its claim (F21, R66)."""
    for since in (5, 20):
        world = a_world(
            POOL, starting("worker-1", since=since), seen=running(idle_s=0, ready=False),
            routed={"worker": "w1"},
        )  # fmt: skip
        assert decide(world).actions == (AwaitReady(session_id="gc-worker-1"),)
    up = awake("worker-1", woke_at=ago(45), ready_at=ago(5))
    unclaimed = a_world(POOL, up, seen=running(idle_s=5), routed={"worker": "w1"})
    assert decide(unclaimed).actions == ()


def test_a_settled_city_writes_nothing() -> None:
    """Cold, blocked and off, a thousand ticks: no write, no event after the first (F24, R42)."""
    agents = [agent(f"c{n}") for n in range(3)] + [agent(f"b{n}") for n in range(3)]
    city = a_city(*agents)
    world = a_world(
        city, *(cold(f"c{n}") for n in range(3)),
        *(awake(f"b{n}", pins=(a_pin(left=10**6),)) for n in range(3)),
    )  # fmt: skip
    first = decide(world)
    world = replace(world, sessions={**world.sessions, **first.changes})
    for at in range(0, 3000, 30):
        plan = decide(replace(world, now=ahead(at)))
        assert (plan.actions, plan.changes, plan.events) == ((), {}, ())


def test_both_knobs_give_one_event_and_say_which_acts() -> None:
    """masked_by in status and in the one policy event (F28, COEX-05, VAL-10)."""
    city = a_city(agent("api", idle_timeout=length("30s"), sleep_after_idle=seconds(60)))
    world = a_world(city, awake("api"), seen=running(idle_s=1))
    told = [e for _, plan in ticks(world, 0, 5, 10) for e in plan.events]
    assert [event.type for event in told] == ["session.sleep_policy_resolved"]
    assert told[0].payload["masked_by"] == "idle_timeout:30s"


def test_what_moves_by_itself_wakes_nobody() -> None:
    """Restart, new version, one bad tick, an unrelated agent: 0 wakes of 20 (F31, FP-03, R73)."""
    agents = [headless(f"w{n}") for n in range(20)]
    city = a_city(*agents)
    base = a_world(city, *(cold(f"w{n}") for n in range(20)))
    base = replace(base, sessions={**base.sessions, **decide(base).changes})
    lost: dict[str, Any] = {one: Unclear("route") for one in base.sessions}
    older = {
        one: replace(session, fingerprint="v0:" + session.fingerprint[3:])
        for one, session in base.sessions.items()
    }
    for world in (
        base,
        replace(base, sessions=older),
        replace(base, support=lost),
        replace(base, city=a_city(*reversed(agents), agent("new"))),
    ):
        assert [one for one in decide(world).actions if not isinstance(one, Create)] == []
    changed = a_city(*(headless(f"w{n}", sleep_after_idle=seconds(30)) for n in range(20)))
    plan = decide(replace(base, city=changed))
    assert len(plan.actions) == 5
    assert len(plan.queued) == 15


def test_a_lost_route_wakes_no_interactive_sleeper() -> None:
    """The contract was met before and is met again: the latch holds meanwhile (FP-03, CAP-14)."""
    world = a_world(a_city(agent()), cold())
    world = replace(world, sessions={**world.sessions, **decide(world).changes})
    lost = replace(world, support={"gc-mayor": Unclear("route")})
    plan = decide(lost)
    assert plan.actions == ()
    assert decision_of(plan, "mayor").capability.adjustment == "unclear:route"
    assert decision_of(plan, "mayor").suppressed


def test_a_drift_restart_never_takes_a_session_in_use() -> None:
    """Attached, then unclear, then detached: restarted only at the last (F32, R32)."""
    world = a_world(a_city(agent()), awake())
    drift = replace(world, city=a_city(agent(start_command="new")))
    seen = [running(attached=Known(1)), running(attached=Unclear("?")), running()]
    plans = [decide(replace(drift, sightings={"gc-mayor": one})) for one in seen]
    assert [len(plan.actions) for plan in plans] == [0, 0, 1]
    assert "attachment_unknown" in decision_of(plans[1], "mayor").blocker_names


def test_a_runtime_without_a_clock_is_off_and_says_so_once() -> None:
    """Zero time: disabled, effective off, one event (F37, R17)."""
    city = a_city(headless(sleep_after_idle=seconds(30), runtime="subprocess"))
    world = a_world(city, awake("worker"), seen=running(idle_s=None), support=BLIND)
    told = []
    for _, plan in ticks(world, *range(0, 300, 30)):
        assert plan.actions == ()
        assert decision_of(plan, "worker").policy.adjustment == "capability-disabled"
        told += [event.type for event in plan.events]
    assert told == ["session.sleep_policy_resolved"]


def test_probe_candidates_take_turns() -> None:
    """Five candidates, three probes a tick; busy ones do not keep the others out (F45, R33)."""
    names = "abcde"
    city = a_city(*(agent(name) for name in names))
    seen = {name: running(idle_s=300 - n) for n, name in enumerate(names)}
    world = a_world(city, *map(awake, names), seen=seen)
    first = decide(world)
    assert drains(first) == ["gc-a", "gc-b", "gc-c"]
    assert first.queued == {"gc-d", "gc-e"}
    busy = {name: a_probe(ProbeResult.BUSY, at=1) for name in "abc"}
    second = decide(a_world(city, *map(awake, names), seen=seen, probes=busy))
    assert set(drains(second)) == {"gc-d", "gc-e", "gc-a"}
    # All were asked lately: whoever is left over does not make the controller spin.
    asked = {name: a_probe(ProbeResult.BUSY, at=n + 1) for n, name in enumerate(names)}
    third = decide(a_world(city, *map(awake, names), seen=seen, probes=asked))
    assert (drains(third), third.queued) == (["gc-c", "gc-d", "gc-e"], frozenset())


def test_a_drain_under_way_needs_no_probe_of_the_budget() -> None:
    """Announced and timed drains go on in a tick that admits no new probe (PROBE-05, PROBE-08)."""
    names = [f"n{n}" for n in range(6)]
    city = a_city(*(agent(name) for name in names), headless("t"))
    sessions = [awake(name, sleep_intent=SleepIntent.PENDING) for name in names]
    support = {name: Known(FULL) for name in names} | {"t": Known(TIMED)}
    plan = decide(a_world(city, *sessions, awake("t"), support=support))
    assert len(drains(plan)) == 7


def test_the_floor_of_a_pool_does_not_swing() -> None:
    """min=1, 0s, no work: one slot, cold, no start in 100 ticks (F58, WAKE-07)."""
    city = a_city(pooled(min=1))
    world = a_world(city, a_session("worker-1"))
    *_, (last, _) = told = list(ticks(world, *range(0, 3000, 30)))
    assert all(plan.actions == () for _, plan in told)
    after = last.sessions["gc-worker-1"]
    assert (after.state, after.sleep_reason) == (State.ASLEEP, SleepReason.IDLE)


def test_a_machine_that_slept_does_not_put_everybody_to_sleep() -> None:
    """The moment of the machine's own resume moves every reference (R14, F45)."""
    city = a_city(agent())
    world = a_world(city, awake(), seen=running(idle_s=8 * 3600), resumed_at=ago(5))
    decision, action = decided(world)
    assert (action, decision.idle_reference_at) == (None, ago(5))


def test_detaching_begins_the_window_anew() -> None:
    """A long attachment, then detached: not at once, also over a restart (IDLE-02, TEST-07)."""
    city = a_city(agent())
    attached = a_world(city, awake(), seen=running(attached=Known(1)))
    left = replace(attached, sessions={**attached.sessions, **decide(attached).changes})
    found: list[tuple[float, datetime | None]] = []
    for world, plan in ticks(replace(left, sightings={"gc-mayor": running()}), 0, 30, 59, 60):
        found.append((len(drains(plan)), record_of(plan, world).detached_at))
    assert found == [(0, NOON), (0, NOON), (0, NOON), (1, NOON)]


def test_a_backwards_clock_sleeps_and_wakes_nobody() -> None:
    """References in the future are clamped; a sleeper stays asleep (R39)."""
    city = a_city(agent(), headless())
    later = ahead(900)
    world = a_world(
        city, awake(woke_at=later, ready_at=later, detached_at=later), cold("worker"),
        seen={"mayor": running(activity=Known(ahead(900)))},
    )  # fmt: skip
    assert decide(world).actions == ()


def test_two_decisions_over_one_world_are_one() -> None:
    """Pure: the same picture gives the same plan (NORM-07)."""
    world = a_world(a_city(agent(), pooled()), awake(), cold("worker-1"), routed={"worker": "w"})
    assert decide(world) == decide(world)


def test_the_stages_run_in_the_order_of_the_design() -> None:
    """Roots, closure, floors, slots: one tick carries a root to a created slot (NORM-02..06)."""
    city = a_city(pooled("db", check="true"), agent(depends_on=("db",)))
    expired = awake(attach_intent=a_note(left=0))
    idle = a_world(city, expired, seen=running(idle_s=1), checks={"db": 0})
    assert decide(idle).actions == ()
    asked = a_world(city, cold(attach_intent=a_note()), checks={"db": 0})
    plan = decide(asked)
    assert [type(one) for one in plan.actions] == [Create]
    assert decision_of(plan, "mayor").held_back == "waits for db to be ready"


def test_every_decision_is_explained() -> None:
    """Each session has a verdict, a row and a state (STAT-11, BLK-07)."""
    city = a_city(agent(), headless(), fresh())
    world = a_world(city, awake(), cold("worker"), a_session("polecat"), awake("gone"))
    plan = decide(world)
    assert set(plan.decisions) == set(world.sessions)
    assert all(one.verdict and one.row and one.state for one in plan.decisions.values())


def test_taking_the_policy_away_brings_everybody_back_after_one_patrol() -> None:
    """Removed [session_sleep]: always warm again, by a changed fingerprint (ROLL-16, WAKE-21)."""
    world = a_world(a_city(agent()), cold())
    plan = decide(replace(world, city=a_city(agent(), session_sleep={})))
    assert plan.actions == (Start(session_id="gc-mayor", why=("config",)),)


def test_min_is_a_realized_slot_only_where_sleep_is_on() -> None:
    """With a policy the floor may be cold, without one it is warm (ROLL-05, POOL-15)."""
    cold_floor = a_world(a_city(pooled(min=1)), cold("worker-1"))
    assert decide(cold_floor).actions == ()
    warm = a_city(pooled(min=1), session_sleep={})
    assert len(decide(replace(cold_floor, city=warm)).actions) == 1


def test_timed_only_people_sleep_only_if_they_say_so() -> None:
    """Inherited is off; an own value still needs the contract (ROLL-09, VAL-05, VAL-06)."""
    known = replace(TIMED, attachment_signal=True, pending_signal=True)
    inherited = a_world(a_city(agent()), awake(), support=known)
    assert decided(inherited)[1] is None
    own = a_city(agent(sleep_after_idle=seconds(60)))
    assert decided(a_world(own, awake(), support=known))[1] is not None
    assert decided(a_world(own, awake(), support=TIMED))[1] is None


def test_the_two_knobs_do_two_things() -> None:
    """One restarts, one drains to asleep; each is itself (COEX-07, COEX-08, ROLL-12, CFG-11)."""
    timeout = a_city(agent(idle_timeout=length("5m")), session_sleep={})
    sleep = a_city(agent(sleep_after_idle=length("5m")), session_sleep={})
    one = decided(a_world(timeout, awake()))
    two = decided(a_world(sleep, awake()))
    assert (type(one[1]), type(two[1])) == (Stop, Drain)


def test_what_comes_and_goes_between_two_looks_is_not_seen() -> None:
    """Only the look counts: the same picture again emits nothing (EVT-12)."""
    world = a_world(a_city(agent()), awake(), seen=running(idle_s=1))
    world = replace(world, sessions={**world.sessions, **decide(world).changes})
    assert decide(world).events == ()


def test_an_answered_wake_request_restarts_the_window_and_is_looked_at_again_soon() -> None:
    """Who is up when asked for has a whole window, and no stale sign of the request (R14, R25)."""
    asked = awake("mayor", wake_request=a_note(), woke_at=ago(500))
    plan = decide(a_world(a_city(agent("mayor")), asked))
    [after] = plan.changes.values()
    assert (after.wake_request, after.woke_at) == (None, NOON)
    assert plan.next_due is not None
    assert NOON < plan.next_due <= NOON + TRY_AGAIN
