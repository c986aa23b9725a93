"""Changes that outrank idle sleep, and restart-on-idle beside it.

Covers TEST-22.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gascity.decide.structural import MAX_DEFERRALS
from gascity.decide.tick import decide
from gascity.model.city import NamedSession, Rig
from gascity.model.drift import start_hash
from gascity.model.duration import OFF
from gascity.model.plan import AwaitReady, Create, Drain, Path, Retire, Stop
from gascity.model.reading import Known, Unclear
from gascity.model.session import Session, SleepIntent, SleepReason, State, StopReason
from gascity.model.world import Demand, Pending, ScreenVerdict, World
from gascity.testing.builders import (
    NOON,
    TIMED,
    a_city,
    a_note,
    a_pin,
    a_session,
    a_world,
    agent,
    ago,
    ahead,
    asleep,
    awake,
    cold,
    decided,
    decision_of,
    draining,
    headless,
    length,
    pooled,
    record_of,
    running,
    starting,
    stopped,
    unseen,
)

CITY = a_city(agent())
MARK = {"sleep_intent": SleepIntent.PENDING}


def drifted(session: Session | None = None, **over: Any) -> World:
    """A running mayor whose command has changed."""
    world = a_world(CITY, session or awake(), **over)
    return replace(world, city=a_city(agent(start_command="new")))


STRUCTURAL: dict[str, tuple[Any, StopReason]] = {
    "DRAIN-13 suspended by hand": (
        lambda: a_world(CITY, draining(suspended_at=ago(9))), StopReason.SUSPENDED),
    "DRAIN-13 suspended agent": (
        lambda: a_world(a_city(agent(suspended=True)), draining()), StopReason.SUSPENDED),
    "DRAIN-13 suspended city": (
        lambda: a_world(replace(CITY, suspended=True), draining()), StopReason.SUSPENDED),
    "DRAIN-15 removed": (
        lambda: a_world(a_city(headless()), draining(), missing=frozenset({"mayor"})),
        StopReason.ORPHANED),
    "DRAIN-12 drifted": (lambda: drifted(draining()), StopReason.CONFIG_DRIFT),
}  # fmt: skip


@pytest.mark.parametrize("name", STRUCTURAL)
def test_a_structural_change_ends_the_idle_path(name: str) -> None:
    """The intent goes, `idle` is not recorded, the action is taken (DRAIN-12..DRAIN-15, REC-09)."""
    make, reason = STRUCTURAL[name]
    world = make()
    plan = decide(world)
    [stop] = [one for one in plan.actions if isinstance(one, Stop)]
    assert stop.reason is reason
    assert decision_of(plan, "mayor").path is Path.STRUCTURAL
    after = record_of(plan, world)
    assert (after.sleep_intent, after.sleep_reason) == (SleepIntent.NONE, SleepReason.NONE)
    [aborted] = [event for event in plan.events if event.type == "session.sleep_aborted"]
    assert aborted.payload["reason"] == f"draining:{reason}"


def test_a_slot_outside_its_pool_is_trimmed_mid_drain() -> None:
    """The trim takes over the drain (DRAIN-14)."""
    world = a_world(a_city(pooled(check="true")), draining("worker-1"), checks={"worker": 0})
    assert decide(world).actions == (
        Stop(session_id="gc-worker-1", reason=StopReason.EXCESS, retire=True),
    )


def test_suspension_outranks_drift_and_drift_outranks_a_wake() -> None:
    """Removal and suspension, then drift, then hard wakes (DRAIN-16)."""
    both = drifted(awake(suspended_at=ago(9)))
    assert decide(both).actions == (
        Stop(session_id="gc-mayor", reason=StopReason.SUSPENDED, retire=False),
    )
    woken = drifted(draining(wake_request=a_note()))
    assert decide(woken).actions == (
        Stop(session_id="gc-mayor", reason=StopReason.CONFIG_DRIFT, restart=True),
    )


def test_suspension_and_removal_do_not_wait_for_people() -> None:
    """Only drift waits; these spare nobody (R21, R32, F32)."""
    seen = running(attached=Known(1))
    suspended = a_world(CITY, awake(suspended_at=ago(9)), seen=seen, work={"mayor": "w"})
    removed = a_world(a_city(headless()), awake(), seen=seen, missing=frozenset({"mayor"}))
    for world in (suspended, removed):
        assert any(isinstance(one, Stop) for one in decide(world).actions)


def test_a_suspended_sleeper_is_recorded_once() -> None:
    """Stopped and suspended: the record says so, then nothing more is written (R42, STAT-02)."""
    world = a_world(CITY, cold(suspended_at=ago(9)))
    plan = decide(world)
    after = record_of(plan, world)
    assert (after.state, after.sleep_reason) == (State.SUSPENDED, SleepReason.SUSPENDED)
    again = decide(replace(world, sessions={after.id: after}))
    assert (again.changes, again.events, again.actions) == ({}, (), ())
    assert decision_of(again, "mayor").state == "suspended"


def test_a_lifted_suspension_leaves_an_ordinary_sleeper() -> None:
    """Resumed: config wakes it again, as any other (R26, TEST-23)."""
    held = asleep(SleepReason.SUSPENDED, state=State.SUSPENDED)
    world = a_world(CITY, held)
    plan = decide(world)
    after = record_of(plan, world)
    assert (after.state, after.sleep_reason) == (State.ASLEEP, SleepReason.NONE)
    assert len(plan.actions) == 1


def test_one_reading_without_it_removes_nobody() -> None:
    """Removed only when a second complete reading misses it too (R21, R6a)."""
    world = a_world(a_city(headless()), awake())
    plan = decide(world)
    assert [one for one in plan.actions if not isinstance(one, Create)] == []
    assert plan.missing == {"gc-mayor"}
    assert "next reading" in decision_of(plan, "mayor").verdict
    gone = decide(replace(world, memory=replace(world.memory, missing=plan.missing)))
    assert Stop(session_id="gc-mayor", reason=StopReason.ORPHANED, retire=True) in gone.actions
    assert "being removed" in decision_of(gone, "mayor").verdict


def test_an_incomplete_config_removes_nobody_and_restarts_nobody() -> None:
    """What it no longer names stays as it is, and says so (R6a)."""
    city = replace(a_city(headless()), incomplete=True)
    world = a_world(city, awake(), missing=frozenset({"mayor"}))
    plan = decide(world)
    assert [one for one in plan.actions if not isinstance(one, Create)] == []
    assert plan.missing == frozenset()
    assert "incomplete" in decision_of(plan, "mayor").verdict
    drift = drifted()
    partial = replace(drift, city=replace(drift.city, incomplete=True))
    assert not any(isinstance(one, Stop) for one in decide(partial).actions)


def test_a_name_given_to_another_agent_replaces_the_record() -> None:
    """A session whose name now means another agent is removed, then made anew (R6b, R21)."""
    named = NamedSession(identity="boss", template="worker")
    world = a_world(a_city(headless(), named_sessions=(named,)), cold("boss", template="mayor"))
    plan = decide(world)
    assert plan.missing == {"gc-boss"}
    gone = decide(replace(world, memory=replace(world.memory, missing=plan.missing)))
    assert gone.actions == (Retire(session_id="gc-boss", reason=StopReason.ORPHANED),)


def test_a_slot_of_what_is_no_pool_any_more_is_removed() -> None:
    """A pool made fixed leaves its slots outside the config (DRAIN-15, R4)."""
    world = a_world(a_city(headless()), cold("worker-1"), missing=frozenset({"worker-1"}))
    assert Retire(session_id="gc-worker-1", reason=StopReason.ORPHANED) in decide(world).actions


def test_another_tools_session_is_left_alone() -> None:
    """An unknown state is kept and not acted on, named or not (R73, NORM-13)."""
    for city in (CITY, a_city(headless())):
        world = a_world(city, awake(foreign_state="frozen"), missing=frozenset({"mayor"}))
        plan = decide(world)
        assert [one for one in plan.actions if not isinstance(one, Create)] == []
        assert (plan.changes, plan.missing) == ({}, frozenset())
        assert decision_of(plan, "mayor").verdict


DRIFT_WAITS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "attached": ({}, {"attached": Known(1)}, {}),
    "pending": ({}, {"pending": Known(Pending(kind="permission"))}, {}),
    "pin": ({"pins": (a_pin(),)}, {}, {}),
    "work": ({}, {}, {"work": {"mayor": "w1"}}),
    "background": ({}, {"screen": ScreenVerdict.BACKGROUND}, {}),
    "idle_boundary": ({}, {"screen": ScreenVerdict.BUSY}, {}),
    "attachment_unknown": ({}, {"attached": Unclear("?")}, {}),
    "pending_unknown": ({}, {"pending": Unclear("?")}, {}),
    "runtime_unknown": ({}, {"activity": Unclear("?")}, {}),
    "demand_unknown": ({}, {}, {"demand": Demand(unclear="?")}),
}


@pytest.mark.parametrize("why", DRIFT_WAITS)
def test_a_drift_restart_waits_and_says_so(why: str) -> None:
    """For people, questions, pins, work, doubt and an unsafe screen (R32, F32)."""
    record, seen, around = DRIFT_WAITS[why]
    plan = decide(drifted(awake(**record), seen=running(**seen), **around))
    assert not any(isinstance(one, Stop | Drain) for one in plan.actions)
    names = decision_of(plan, "mayor").blocker_names
    assert why in names
    assert names[-1] == "draining:config-drift"


def test_a_drift_restart_waits_for_a_screen_that_was_not_looked_at() -> None:
    """No screen, no safe boundary (R32, R15)."""
    assert decide(drifted(seen=running(screen=None))).actions == ()


def test_a_drift_restart_does_not_wait_for_the_window() -> None:
    """Keep-warm and policy say nothing against it (R32)."""
    recent = drifted(seen=running(idle_s=1))
    assert decide(recent).actions == (
        Stop(session_id="gc-mayor", reason=StopReason.CONFIG_DRIFT, restart=True),
    )
    timed = drifted(support=TIMED, seen=running(screen=None))
    assert len(decide(timed).actions) == 1


def test_a_drifted_session_that_starts_is_awaited_first() -> None:
    """Nothing is drained before the first readiness (R66)."""
    assert decide(drifted(starting())).actions == (AwaitReady(session_id="gc-mayor"),)


NOT_DRIFT = {
    "sleep policy": {"sleep_after_idle": OFF},
    "screens": {"screens": "claude"},
    "readiness hint": {"ready_prompt_prefix": "$ ", "ready_delay_ms": 9},
    "description": {"description": "x"},
    "idle_timeout": {"idle_timeout": length("5h")},
}
DRIFT = {
    "command": {"start_command": "x"},
    "arguments": {"args": ("-x",)},
    "environment": {"env": {"A": "1"}},
    "work dir": {"work_dir": "/x"},
    "runtime": {"runtime": "k8s"},
}


def test_drift_compares_what_runs_and_nothing_else() -> None:
    """Command, arguments, environment, work dir, runtime (R32)."""
    base = start_hash(agent(), CITY)
    for over in NOT_DRIFT.values():
        assert start_hash(agent(**over), CITY) == base
    for over in DRIFT.values():
        assert start_hash(agent(**over), CITY) != base
    rigs = [a_city(agent("r/a"), rigs={"r": Rig(name="r", path=path)}) for path in ("/a", "/b")]
    assert len({start_hash(agent("r/a"), city) for city in rigs}) == 2
    assert start_hash(agent(env={"A": "1", "B": "2"}), CITY) == start_hash(
        agent(env={"B": "2", "A": "1"}), CITY
    )


def test_a_stopped_session_does_not_drift() -> None:
    """It gets the new command at its next start (WAKE-13, R32)."""
    world = a_world(CITY, cold())
    assert decide(replace(world, city=a_city(agent(start_command="new")))).actions == ()


def test_nothing_is_stopped_that_cannot_be_recorded() -> None:
    """With the store not writable nothing is stopped, trimmed, drained or removed (R75)."""
    worlds = [
        drifted(),
        a_world(CITY, awake(suspended_at=ago(9))),
        a_world(CITY, awake()),
        a_world(CITY, draining()),
        a_world(CITY, draining(sleep_intent=SleepIntent.CONFIRMED), seen=stopped()),
        a_world(a_city(headless()), cold(), missing=frozenset({"mayor"})),
        a_world(a_city(pooled(check="true")), awake("worker-1"), checks={"worker": 0}),
        a_world(a_city(agent(idle_timeout=length("5m"))), awake()),
    ]
    for world in worlds:
        assert [one for one in decide(world).actions if not isinstance(one, Create)]
        assert decide(replace(world, writable=False)).actions == ()


def test_wakes_go_on_without_a_writable_store() -> None:
    """A wake is made now and recorded later (R75)."""
    world = a_world(CITY, cold(), work={"mayor": "w"}, writable=False)
    assert len(decide(world).actions) == 1


# Restart-on-idle.
OLD = a_city(agent(idle_timeout=length("5m"), sleep_after_idle=length("10m")))
RESTART = Stop(session_id="gc-mayor", reason=StopReason.IDLE_TIMEOUT, restart=True)


def test_idle_timeout_restarts_as_before() -> None:
    """No activity for the timeout: stop and restart (COEX-01, COEX-07, TEST-21)."""
    off = a_city(agent(idle_timeout=length("5m")), session_sleep={})
    for city in (off, OLD):
        assert decided(a_world(city, awake(), seen=running(idle_s=300)))[1] == RESTART
        assert decided(a_world(city, awake(), seen=running(idle_s=299)))[1] is None


def test_idle_timeout_is_asked_before_idle_sleep() -> None:
    """Both due: the restart comes first, and it is shown as masking (COEX-02, COEX-05, ROLL-13)."""
    decision, action = decided(a_world(OLD, awake(), seen=running(idle_s=3600)))
    assert (action, decision.masked_by) == (RESTART, "idle_timeout:5m")


def test_after_the_restart_a_new_window_begins() -> None:
    """Woken just now: neither knob acts on the old age (COEX-03, R14)."""
    again = awake(woke_at=ago(10), ready_at=ago(5))
    decision, action = decided(a_world(OLD, again, seen=running(idle_s=3600)))
    assert (action, decision.keep_warm_deadline) == (None, ahead(595))


def test_idle_timeout_does_nothing_to_a_sleeper() -> None:
    """Idle-asleep is not idle for too long (R40)."""
    assert decided(a_world(OLD, cold()))[1] is None


TIMEOUT_WAITS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    **{key: row for key, row in DRIFT_WAITS.items() if key not in ("work", "idle_boundary")},
    "operator": ({"attach_intent": a_note()}, {}, {}),
    "open turn": ({}, {"screen": ScreenVerdict.BUSY}, {}),
    "question on screen": ({}, {"screen": ScreenVerdict.PENDING, "pending": None}, {}),
}


@pytest.mark.parametrize("why", TIMEOUT_WAITS)
def test_idle_timeout_waits_for_people_questions_and_doubt(why: str) -> None:
    """Attached, pending, pinned, unclear or an open turn: no restart (R40)."""
    record, seen, around = TIMEOUT_WAITS[why]
    off = a_city(agent(idle_timeout=length("5m")), session_sleep={})
    world = a_world(off, awake(**record), seen=running(**seen), **around)
    assert decided(world)[1] is None


def test_work_defers_idle_timeout_for_three_windows_then_it_restarts() -> None:
    """At most three windows in a row for one bead, durably, then it says so (R40, F19)."""
    city = a_city(agent(idle_timeout=length("5m")))
    session = awake()
    for turn in range(MAX_DEFERRALS + 1):
        now = ahead(300 * turn)
        world = a_world(city, session, seen=running(idle_s=360), work={"mayor": "w1"}, now=now)
        plan = decide(world)
        if turn < MAX_DEFERRALS:
            assert plan.actions == ()
            session = plan.changes["gc-mayor"]
            assert session.idle_timeout_deferrals.startswith(f"w1|{turn + 1}|")
            early = replace(world, sessions={session.id: session}, now=ahead(299, now))
            assert decide(early).actions == ()
        else:
            assert plan.actions == (RESTART,)
            assert decision_of(plan, "mayor").held_back == "still holds w1 after 3 windows"


def test_another_bead_or_new_activity_begins_the_count_anew() -> None:
    """In a row means the same bead, and nothing in between (R40)."""
    city = a_city(agent(idle_timeout=length("5m")))
    note = f"w1|3|{ago(400).isoformat()}"
    other = a_world(city, awake(idle_timeout_deferrals=note), work={"mayor": "w2"})
    assert record_of(decide(other), other).idle_timeout_deferrals.startswith("w2|1|")
    active = a_world(
        city, awake(idle_timeout_deferrals=note), seen=running(idle_s=350), work={"mayor": "w1"}
    )
    assert record_of(decide(active), active).idle_timeout_deferrals.startswith("w1|1|")


@pytest.mark.parametrize("noted", ["", "w1", "w1|x|y", "w1|2|not a time"])
def test_a_garbled_deferral_counts_as_none(noted: str) -> None:
    """A note nobody can read is no note (META-22)."""
    city = a_city(agent(idle_timeout=length("5m")))
    world = a_world(city, awake(idle_timeout_deferrals=noted), work={"mayor": "w1"})
    assert record_of(decide(world), world).idle_timeout_deferrals == f"w1|1|{NOON.isoformat()}"


def test_idle_timeout_leaves_held_and_unseen_sessions_alone() -> None:
    """Nothing to restart where nothing may be started or seen (R26, R29)."""
    held = decided(a_world(OLD, awake(held_until=ahead(9)), seen=running(idle_s=400)))[1]
    assert held is None
    assert decided(a_world(OLD, awake(), seen=unseen()))[1] is None
    blank = awake(generation=0, woke_at=None, ready_at=None, detached_at=None)
    assert decided(a_world(OLD, blank, seen=running(idle_s=None)))[1] is None


def test_a_session_of_a_city_not_started_is_created_only() -> None:
    """Missing records are realized first (POOL-23)."""
    assert [type(one) for one in decide(a_world(CITY)).actions] == [Create]
    assert decide(a_world(CITY, writable=False)).actions == ()
    assert decide(a_world(CITY, a_session("mayor", template="other"))).actions == ()
