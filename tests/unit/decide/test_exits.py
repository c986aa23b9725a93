"""What an exit means, and what is recorded of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gascity.decide.exits import (
    ASLEEP_AFTER,
    classify_exit,
    fall_asleep,
    go_cold,
    record_exit,
    record_failed_start,
    restart_backoff,
)
from gascity.decide.judge import Judged, judge
from gascity.decide.tick import decide
from gascity.decide.wake import hard_wakes
from gascity.model.city import DaemonSettings
from gascity.model.plan import Start
from gascity.model.reading import Unclear
from gascity.model.session import (
    ExitClass,
    Session,
    SleepIntent,
    SleepReason,
    State,
    StopNote,
    StopReason,
)
from gascity.model.world import Exit, Sighting
from gascity.testing.builders import (
    NOON,
    a_city,
    a_note,
    a_session,
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
    stopped,
)

SETTINGS = DaemonSettings()
HOST_GONE = Sighting.stopped(exit=Exit(host_gone=True))


def judged_of(session: Session, city: Any, **around: Any) -> Judged:
    world = a_world(city, session, seen=stopped(), **around)
    found = judge(session, world, hard_wakes(world).of(session.id))
    assert found is not None
    return found


WORKER, MAYOR = a_city(headless()), a_city(agent())
ROWS: list[tuple[str, str | None, Session, Any, Sighting, dict[str, Any]]] = [
    ("CRASH-03 clean self exit", "idle_self_exit", awake("worker"), WORKER, stopped(0), {}),
    ("R56 exit nobody saw", "idle_self_exit", awake("worker"), WORKER, stopped(), {}),
    ("R78 non-zero exit", "unexpected_exit", awake("worker"), WORKER, stopped(1), {}),
    ("R78 signal", "unexpected_exit", awake("worker"), WORKER,
     Sighting.stopped(exit=Exit(signal=9)), {}),
    ("R11 agent gone, shell lives", "unexpected_exit", awake("worker"), WORKER,
     stopped(agent_exited=True), {}),
    ("CRASH-04 work left", "unexpected_exit", awake("worker"), WORKER, stopped(0),
     {"work": {"worker": "w1"}}),
    ("CRASH-04 no policy", "unexpected_exit", awake("worker"),
     a_city(headless(), session_sleep={}), stopped(0), {}),
    ("CRASH-06 interactive", "unexpected_exit", awake(), MAYOR, stopped(0), {}),
    ("R41 host restart", "host_restart", awake(), MAYOR, HOST_GONE, {}),
    ("R41 failed start", "failed_start", awake(state=State.CREATING), MAYOR, stopped(1), {}),
    ("a start nobody saw end", None, awake(state=State.CREATING), MAYOR, stopped(), {}),
    ("never started", None, a_session(), MAYOR, stopped(0), {}),
    ("our own stop", "operator_stop",
     awake(stop_note=StopNote(reason=StopReason.KILL, generation=1, at=ago(1))), MAYOR,
     stopped(137), {}),
    ("a note of another run", "unexpected_exit",
     awake(stop_note=StopNote(reason=StopReason.KILL, generation=7, at=ago(1))), MAYOR,
     stopped(1), {}),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_every_exit_has_a_class(row: Any) -> None:
    """Whose doing it was, by facts (CRASH-01..06, R41, R56, R78)."""
    _, expected, session, city, seen, around = row
    judged = judged_of(session, city, **around)
    found = classify_exit(session, seen, judged, doubtful=False)
    assert found == (None if expected is None else ExitClass(expected))


def test_a_confirmed_stop_is_our_own_doing() -> None:
    """Confirmed, whatever came after: exempt from crash accounting (CRASH-02, REC-18)."""
    judged = judged_of(awake(), MAYOR, work={"mayor": "w1"})
    found = classify_exit(
        awake(), stopped(137), judged, doubtful=False, marker=SleepIntent.CONFIRMED
    )
    assert found is ExitClass.IDLE_CONTROLLER_STOP


def test_a_pending_marker_is_counted_whatever_the_class() -> None:
    """Announced and never seen: unexpected (CRASH-05, R56)."""
    judged = judged_of(awake("worker"), WORKER)
    found = classify_exit(
        awake("worker"), stopped(0), judged, doubtful=False, marker=SleepIntent.PENDING
    )
    assert found is ExitClass.UNEXPECTED_EXIT


def test_a_wake_after_a_confirmed_stop_counts_no_crash() -> None:
    """Stopped + confirmed + hard wake: markers go, it starts, nothing counts (REC-08, RACE-08)."""
    world = a_world(MAYOR, confirmed(), seen=stopped(), work={"mayor": "w1"})
    plan = decide(world)
    after = record_of(plan, world)
    assert plan.actions == (Start(session_id="gc-mayor", why=("work", "config")),)
    assert (after.exits, after.sleep_intent) == ((), SleepIntent.NONE)
    assert after.last_exit.startswith("idle_controller_stop")
    assert "session.crashed" not in {event.type for event in plan.events}


def test_a_wake_after_a_pending_stop_counts_one() -> None:
    """Stopped + pending + hard wake: nobody saw it, so it counts (CRASH-05, REC-08)."""
    world = a_world(MAYOR, draining(), seen=stopped(), work={"mayor": "w1"})
    assert record_of(decide(world), world).exits == (NOON,)


def test_an_exit_while_demand_is_unclear_waits_to_be_judged() -> None:
    """Neither a crash nor a cold slot until somebody can say who needs it (R9)."""
    world = a_world(WORKER, awake("worker"), seen=stopped(0), work={"worker": Unclear("?")})
    plan = decide(world)
    after = record_of(plan, world, "worker")
    assert (after.state, after.exits, plan.actions) == (State.AWAKE, (), ())


def test_a_self_exit_goes_cold_and_says_so() -> None:
    """Latched under the policy of now, exempt, reported (CRASH-03, REC-14, EVT-04)."""
    world = a_world(WORKER, awake("worker"), seen=stopped(0))
    plan = decide(world)
    after = record_of(plan, world, "worker")
    assert (after.state, after.sleep_reason) == (State.ASLEEP, SleepReason.IDLE)
    assert after.fingerprint == plan.decisions["gc-worker"].fingerprint
    [event] = [one for one in plan.events if one.type == "session.stopped"]
    assert (event.payload["reason"], event.payload["exit_intent"]) == ("idle", "idle_self_exit")
    assert event.payload["suppressed"] is True


def test_a_crash_is_counted_reported_and_comes_back() -> None:
    """unexpected_exit counts, and config starts it again (CRASH-04, WAKE-04)."""
    world = a_world(WORKER, awake("worker"), seen=stopped(1))
    plan = decide(world)
    assert plan.actions == (Start(session_id="gc-worker", why=("config",)),)
    after = record_of(plan, world, "worker")
    assert (after.sleep_reason, after.exits) == (SleepReason.CRASH, (NOON,))
    assert after.last_exit == "unexpected_exit (status 1)"
    [event] = [one for one in plan.events if one.type == "session.crashed"]
    assert (event.payload["count"], event.payload["exit"]) == (1, "status 1")


@pytest.mark.parametrize("cycle", range(6))
def test_too_many_crashes_quarantine_with_growing_back_off(cycle: int) -> None:
    """Five within the hour: quarantined, longer each time, two hours at most (R41, F40)."""
    old = (ago(4000),)
    session = awake(exits=old + tuple(ago(n) for n in (40, 30, 20, 10)), quarantine_cycle=cycle)
    world = a_world(MAYOR, session, seen=stopped(1))
    plan = decide(world)
    after = record_of(plan, world)
    assert (after.state, after.quarantine_cycle, after.exits) == (
        State.QUARANTINED, cycle + 1, (),
    )  # fmt: skip
    minutes = min(5 * 2**cycle, 120)
    assert after.quarantined_until == NOON + timedelta(minutes=minutes)
    assert plan.actions == ()
    assert plan.decisions["gc-mayor"].state == "quarantined"
    assert "session.quarantined" in {event.type for event in plan.events}


def test_four_crashes_do_not_quarantine() -> None:
    """Old ones are forgotten, others counted (R41)."""
    session = awake(exits=(ago(3700), ago(30), ago(20), ago(10)))
    world = a_world(MAYOR, session, seen=stopped(1))
    after = record_of(decide(world), world)
    assert (after.state, len(after.exits)) == (State.ASLEEP, 4)


def test_no_limit_never_quarantines_and_never_overflows() -> None:
    """max_restarts 0 is no limit, however long it goes on (R41)."""
    city = replace(MAYOR, daemon=DaemonSettings(max_restarts=0))
    session = awake(exits=tuple(ago(n) for n in range(3000, 0, -20)))
    world = a_world(city, session, seen=stopped(1))
    assert record_of(decide(world), world).state is State.ASLEEP
    assert restart_backoff(session, NOON) == timedelta(seconds=40)
    worn = awake(exits=tuple(ago(n) for n in (40, 30, 20, 10)), quarantine_cycle=10**6)
    quarantined = record_of(decide(a_world(MAYOR, worn, seen=stopped(1))), world)
    assert quarantined.quarantined_until == NOON + timedelta(hours=2)


@pytest.mark.parametrize(
    ("ages", "left"),
    [((), 0), ((1,), 0), ((9, 0), 2), ((9, 1), 1), ((9, 5, 0), 4), ((9, 8, 7, 6, 5, 0), 32),
     (tuple(range(50, -1, -1)), 60)],
)  # fmt: skip
def test_the_back_off_grows(ages: tuple[int, ...], left: int) -> None:
    """Nothing after one failure, then 2, 4, 8 ... 60 seconds (R41, F40)."""
    session = cold(exits=tuple(map(ago, ages)))
    assert restart_backoff(session, NOON) == timedelta(seconds=left)
    failed = cold(failed_starts=tuple(map(ago, ages)))
    assert restart_backoff(failed, NOON) == timedelta(seconds=left)


def test_a_backwards_clock_does_not_prolong_the_back_off() -> None:
    """A failure in the future counts as now (R39)."""
    assert restart_backoff(cold(exits=(ahead(500), ahead(501))), NOON) == timedelta(seconds=2)


def test_the_back_off_holds_demand_but_not_people() -> None:
    """Work waits for it and sees it; an operator does not wait (R41, R25)."""
    failing = (ago(9), ago(0))
    held, none = decided(a_world(MAYOR, cold(exits=failing), work={"mayor": "w1"}))
    assert (held.held_back, none) == ("restarting in 2s", None)
    for asked in ("wake_request", "attach_intent"):
        session = cold(exits=failing, **{asked: a_note()})
        assert decided(a_world(MAYOR, session))[1] is not None


def test_a_quarantine_that_is_over_is_an_ordinary_sleeper() -> None:
    """Lifted, it is evaluated as after a crash (R26, R41)."""
    held = asleep(SleepReason.QUARANTINE, state=State.QUARANTINED, quarantined_until=ago(1))
    world = a_world(MAYOR, held)
    plan = decide(world)
    after = record_of(plan, world)
    assert (after.state, after.sleep_reason, after.quarantined_until) == (
        State.ASLEEP, SleepReason.CRASH, None,
    )  # fmt: skip
    assert plan.actions == (Start(session_id="gc-mayor", why=("config",)),)


def test_a_quarantine_under_way_is_left_alone() -> None:
    """No start, no write (R26, R42)."""
    held = asleep(SleepReason.QUARANTINE, state=State.QUARANTINED, quarantined_until=ahead(9))
    decision, action = decided(a_world(MAYOR, held, work={"mayor": "w1"}))
    assert action is None
    assert decision.held_back.startswith("quarantined until")


def test_a_host_restart_counts_nothing() -> None:
    """The host went: an ordinary wake candidate, no crash (R41, R10)."""
    world = a_world(MAYOR, awake(), seen=HOST_GONE)
    plan = decide(world)
    after = record_of(plan, world)
    assert (after.sleep_reason, after.exits) == (SleepReason.NONE, ())
    assert plan.actions == (Start(session_id="gc-mayor", why=("config",)),)


@pytest.mark.parametrize(
    ("session", "seen", "reason"),
    [
        (awake(), HOST_GONE, "host_restart"),
        (
            awake(stop_note=StopNote(reason=StopReason.SUSPENDED, generation=1, at=NOON)),
            stopped(),
            "suspended",
        ),
        (confirmed(fingerprint="v1:another"), stopped(), "idle_controller_stop"),
    ],
    ids=["host restart", "announced stop", "confirmed stop under another policy"],
)
def test_an_end_that_counts_nothing_is_told(session: Session, seen: Sighting, reason: str) -> None:
    """Nobody goes from awake to asleep without one event that says why (R41; X3)."""
    events = decide(a_world(MAYOR, session, seen=seen)).events
    told = [event.payload["reason"] for event in events if event.type == "session.stopped"]
    assert told == [reason]


def test_a_failed_start_has_a_count_of_its_own() -> None:
    """Failed starts are no crashes, end what asked for them, and quarantine (R41, F40)."""
    session = awake(state=State.CREATING, wake_request=a_note(), attach_intent=a_note())
    record = record_failed_start(session, "no such command", settings=SETTINGS, now=NOON)
    after = record.session
    assert (after.failed_starts, after.exits) == ((NOON,), ())
    assert (after.wake_request, after.attach_intent) == (None, None)
    assert after.last_error == "start failed: no such command"
    again = awake(failed_starts=tuple(ago(n) for n in (4, 3, 2, 1)))
    assert (
        record_failed_start(again, "x", settings=SETTINGS, now=NOON).session.state
        is State.QUARANTINED
    )


ENDS: list[tuple[ExitClass, SleepReason]] = [
    (ExitClass.IDLE_SELF_EXIT, SleepReason.IDLE),
    (ExitClass.OPERATOR_STOP, SleepReason.OPERATOR),
    (ExitClass.HOST_RESTART, SleepReason.NONE),
    (ExitClass.IDLE_CONTROLLER_STOP, SleepReason.NONE),
    (ExitClass.FAILED_START, SleepReason.NONE),
    (ExitClass.UNEXPECTED_EXIT, SleepReason.CRASH),
]


@pytest.mark.parametrize(("kind", "reason"), ENDS, ids=[str(kind) for kind, _ in ENDS])
def test_after_every_end_the_record_is_down_since_now(kind: ExitClass, reason: Any) -> None:
    """Nothing of the run is left on it, and how it ended is (CRASH-01, META-13, NORM-08)."""
    session = awake(
        stop_note=StopNote(reason=StopReason.OPERATOR, generation=1, at=ago(1)),
        sleep_intent=SleepIntent.PENDING,
    )
    after = record_exit(
        session,
        kind,
        seen=stopped(3),
        judged=judged_of(session, MAYOR),
        settings=SETTINGS,
        now=NOON,
    ).session
    assert (after.state, after.sleep_reason) == (State.ASLEEP, reason)
    assert (after.since, after.slept_at) == (NOON, NOON)
    assert (after.sleep_intent, after.stop_note) == (SleepIntent.NONE, None)
    assert (after.detached_at, after.ready_at) == (None, None)
    assert after.last_exit == f"{kind} (status 3)"


def test_an_end_that_counts_nothing_says_how_it_came() -> None:
    """Whose doing, with which ending, and when (X3, EVT-04)."""
    note = StopNote(reason=StopReason.OPERATOR, generation=1, at=ago(1))
    world = a_world(MAYOR, awake(stop_note=note), seen=stopped(7))
    (event,) = [one for one in decide(world).events if one.type == "session.stopped"]
    assert (event.ts, event.subject, event.message) == (NOON, "mayor", "stopped: operator_stop")
    told = {key: event.payload[key] for key in ("reason", "exit_intent", "exit")}
    assert told == {"reason": "operator", "exit_intent": "operator_stop", "exit": "status 7"}


def test_a_failure_at_the_edge_of_the_window_is_outside_it() -> None:
    """Only what is younger than the window counts, and nothing from the future (CRASH-05)."""
    window = SETTINGS.restart_window.delta.total_seconds()
    session = awake(exits=(ago(window), ago(window - 1), ahead(5)))
    world = a_world(MAYOR, session, seen=stopped(1))
    assert record_of(decide(world), world).exits == (ago(window - 1), NOON)


def test_the_crash_that_quarantines_ends_the_requests() -> None:
    """Nobody waits for a session that is held for minutes (R41, ATT-15)."""
    session = awake(
        exits=tuple(ago(n) for n in (4, 3, 2, 1)), attach_intent=a_note(), wake_request=a_note()
    )
    world = a_world(MAYOR, session, seen=stopped(1))
    after = record_of(decide(world), world)
    assert after.state is State.QUARANTINED
    assert (after.attach_intent, after.wake_request, after.since) == (None, None, NOON)


def test_a_start_that_died_is_a_failed_start() -> None:
    """Creating and gone with a status: a failed start of the patrol (R41)."""
    world = a_world(MAYOR, awake(state=State.CREATING), seen=stopped(127))
    plan = decide(world)
    assert record_of(plan, world).failed_starts == (NOON,)
    [event] = [one for one in plan.events if one.type == "session.crashed"]
    assert event.payload["exit_intent"] == "failed_start"


@pytest.mark.parametrize("reason", StopReason)
def test_a_stop_of_ours_leaves_its_reason(reason: StopReason) -> None:
    """Every stop reason has its word, and none counts as a crash (R41, META-16)."""
    assert set(ASLEEP_AFTER) == set(StopReason)
    note = StopNote(reason=reason, generation=1, at=ago(1))
    world = a_world(MAYOR, awake(stop_note=note), seen=stopped(1))
    after = record_of(decide(world), world)
    assert (after.exits, after.stop_note) == ((), None)
    assert after.sleep_reason == ASLEEP_AFTER[reason]


def test_falling_asleep_for_another_reason_sets_no_latch() -> None:
    """Only idle sleep latches; it alone keeps the fingerprint of its policy (WAKE-14, NORM-11)."""
    session = awake()
    other = fall_asleep(session, SleepReason.OPERATOR, now=NOON)
    assert (other.latch_generation, other.slept_at, other.detached_at) == (0, NOON, None)
    idle = go_cold(session, judged_of(session, MAYOR), now=NOON)
    assert (idle.latch_generation, idle.is_cold, idle.detached_at) == (1, True, None)
    assert idle.fingerprint.startswith("v1:")


def test_the_crash_that_quarantines_is_not_followed_by_a_start() -> None:
    """Work waits for it, yet the fifth crash holds it in the same tick (R41, R26, F40)."""
    session = awake(exits=tuple(ago(n) for n in (40, 30, 20, 10)))
    world = a_world(MAYOR, session, seen=stopped(1), work={"mayor": "w1"})
    plan = decide(world)
    assert plan.actions == ()
    assert plan.decisions["gc-mayor"].held_back.startswith("quarantined until")


def test_a_worker_that_ended_with_its_host_and_rests_is_told_once() -> None:
    """It goes cold in the same tick: one end, one event (REC-14; X3)."""
    city = a_city(headless("db"))
    events = decide(a_world(city, awake("db"), seen=HOST_GONE)).events
    told = [event.payload["reason"] for event in events if event.type == "session.stopped"]
    assert told == ["idle"]
