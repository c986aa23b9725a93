"""Every event the decisions tell, whole: what a reader of the event log sees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gascity.decide.explain import payload
from gascity.decide.tick import decide
from gascity.model.events import Event, EventType
from gascity.model.session import ExitClass, SleepIntent, SleepReason, State, StopReason
from gascity.model.world import Exit, World
from gascity.testing.builders import (
    NOON,
    TIMED,
    a_city,
    a_note,
    a_session,
    a_world,
    agent,
    ago,
    asleep,
    awake,
    cold,
    confirmed,
    draining,
    headless,
    record_of,
    running,
    stopped,
)

SLEEP_POLICY = (
    EventType.SLEEP_POLICY_RESOLVED,
    EventType.SLEEP_CAPABILITY_CHANGED,
    EventType.UPDATED,
)


def told(world: World) -> list[Event]:
    """The events of a tick, without those that report the policy and without what all share."""
    plan = decide(world)
    found = []
    for event in plan.events:
        decision = plan.decisions[f"gc-{event.subject}"]
        shared = payload(decision, now=world.now) if "snapshot" in event.payload else {}
        own = {key: value for key, value in event.payload.items() if shared.get(key) != value}
        if event.type not in SLEEP_POLICY:
            found.append(replace(event, payload=own))
    return found


def an_event(kind: EventType, message: str, subject: str = "mayor", **own: Any) -> Event:
    return Event(type=kind, ts=NOON, subject=subject, message=message, payload=own)


def test_an_aborted_drain_names_every_wake_behind_it() -> None:
    """The first is the reason, all are listed, and the record remembers them (EVT-03, R54)."""
    world = a_world(
        a_city(agent()), draining(latch_generation=1, wake_request=a_note()), work={"mayor": "w1"}
    )
    assert told(world) == [
        an_event(
            EventType.SLEEP_ABORTED,
            "idle drain aborted: operator, work",
            reason="operator",
            blockers=["operator", "work"],
            aborted=True,
            capability="full",
        )
    ]
    record = record_of(decide(world), world)
    assert (record.sleep_intent, record.latch_generation) == (SleepIntent.NONE, 0)
    assert record.diagnostics.abort_blockers == ("operator", "work")
    assert record.diagnostics.blocked_at == NOON


def test_an_orphan_loses_its_intent_aloud() -> None:
    """Nobody judges a session that the config dropped; the abort is told all the same (EVT-03)."""
    world = a_world(a_city(agent("other")), draining(), missing=frozenset({"mayor"}))
    assert told(world) == [
        an_event(
            EventType.SLEEP_ABORTED,
            "idle drain aborted: draining:orphaned",
            reason="draining:orphaned",
            blockers=["draining:orphaned"],
            aborted=True,
        )
    ]


def test_a_worker_that_ended_by_itself_is_told_as_asleep() -> None:
    """It went cold on its own: fingerprint, suppression and whose doing (EVT-04, REC-14)."""
    world = a_world(a_city(headless()), awake("worker"), seen=stopped(0))
    record = record_of(decide(world), world, "worker")
    assert told(world) == [
        an_event(
            EventType.STOPPED,
            "asleep: idle",
            "worker",
            reason="idle",
            exit_intent="idle_self_exit",
            suppressed=True,
            fingerprint=record.fingerprint,
        )
    ]
    assert record.fingerprint


def test_a_suspended_session_that_is_down_is_told_once() -> None:
    """It is recorded as suspended, with its reason, and then nothing more (EVT-04, REC-12)."""
    world = a_world(a_city(agent(suspended=True)), awake(stop_note=None), seen=stopped())
    assert told(world) == [an_event(EventType.STOPPED, "suspended", reason="suspended")]
    record = record_of(decide(world), world)
    assert (record.state, record.sleep_reason) == (State.SUSPENDED, SleepReason.SUSPENDED)
    assert (record.since, record.slept_at) == (NOON, NOON)
    assert told(replace(world, sessions={record.id: record})) == []


def test_a_session_found_running_is_told_as_adopted() -> None:
    """What it was before is part of the news (EVT-05, REC-21, R75)."""
    world = a_world(a_city(agent()), cold(), seen=running())
    assert told(world) == [
        an_event(
            EventType.WOKE,
            "found running; adopted",
            reason="adopted",
            previous_sleep_reason="idle",
        )
    ]


def test_an_announced_stop_that_nobody_saw_is_ambiguous() -> None:
    """The row, and that it counts as a failure (REC-07, REC-22)."""
    world = a_world(a_city(agent()), draining(), seen=stopped(1))
    row = decide(world).decisions["gc-mayor"].row
    assert told(world) == [
        an_event(
            EventType.RECOVERY_AMBIGUOUS,
            "stopped while an idle stop was announced but never confirmed",
            row=row,
            exit_intent="unexpected_exit",
        ),
        an_event(
            EventType.CRASHED,
            "exited: status 1",
            exit_intent="unexpected_exit",
            exit="status 1",
            count=1,
        ),
    ]


def test_a_start_that_failed_is_told_with_its_ending() -> None:
    """Which start it was, counted apart from crashes (CRASH-04, R41)."""
    session = a_session(
        state=State.CREATING, generation=2, woke_at=ago(5), failed_starts=(ago(60),)
    )
    world = a_world(a_city(agent()), session, seen=stopped(3))
    assert told(world) == [
        an_event(
            EventType.CRASHED,
            "start failed: status 3",
            exit_intent="failed_start",
            count=2,
        )
    ]
    assert record_of(decide(world), world).last_error == "start failed: status 3"


@pytest.mark.parametrize(
    ("session", "kind", "ending"),
    [
        (awake(exits=(ago(9), ago(8), ago(7), ago(6))), ExitClass.UNEXPECTED_EXIT, "exited"),
        (
            a_session(
                state=State.CREATING,
                generation=2,
                woke_at=ago(5),
                failed_starts=(ago(9), ago(8), ago(7), ago(6)),
            ),
            ExitClass.FAILED_START,
            "start failed",
        ),
    ],
    ids=["crashes", "failed starts"],
)
def test_a_quarantine_says_how_long_and_after_what(session: Any, kind: Any, ending: str) -> None:
    """Five failures in the window: five minutes, and every count begins anew (CRASH-05, R41)."""
    world = a_world(a_city(agent()), session, seen=stopped(1))
    crash, quarantine = told(world)
    assert crash.message == f"{ending}: status 1"
    assert crash.payload["count"] == 5
    assert quarantine == an_event(
        EventType.QUARANTINED,
        "quarantined after 5 failures",
        until="2026-03-01T12:05:00+00:00",
        exit_intent=str(kind),
        count=5,
    )
    record = record_of(decide(world), world)
    assert (record.state, record.sleep_reason) == (State.QUARANTINED, SleepReason.QUARANTINE)
    assert (record.since, record.quarantine_cycle) == (NOON, 1)
    assert (record.exits, record.failed_starts) == ((), ())


@pytest.mark.parametrize(
    ("ending", "says"),
    [(Exit(code=2), "unexpected_exit (status 2)"), (Exit(signal=9), "unexpected_exit (signal 9)")],
    ids=["status", "signal"],
)
def test_the_last_exit_is_written_on_the_record(ending: Exit, says: str) -> None:
    """With whose doing it was, and nothing left of the run before (CRASH-01, META-13)."""
    world = a_world(a_city(agent()), awake(), seen=stopped(exit=ending))
    record = record_of(decide(world), world)
    assert record.last_exit == says
    assert (record.sleep_reason, record.exits) == (SleepReason.CRASH, (NOON,))
    assert (record.detached_at, record.ready_at, record.stop_note) == (None, None, None)


def test_a_confirmed_stop_whose_policy_is_gone_is_aborted_aloud() -> None:
    """It was stopped for idleness nobody asks for any more: no crash, no sleep (REC-06, R35)."""
    city = a_city(agent(), session_sleep={})
    world = a_world(city, confirmed(fingerprint="old", fingerprint_inputs="{}"), seen=stopped())
    aborted, ended = told(world)
    assert (aborted.type, aborted.payload["reason"]) == (EventType.SLEEP_ABORTED, "keep_warm")
    assert ended == an_event(
        EventType.STOPPED,
        "stopped: idle_controller_stop",
        reason="idle_controller_stop",
        exit_intent="idle_controller_stop",
        exit="unknown",
    )
    assert record_of(decide(world), world).exits == ()


def test_a_sleeper_without_a_reason_to_start_goes_cold_aloud() -> None:
    """A headless slot after a restart of the machine: healthy, and told so (REC-14, POOL-19)."""
    session = asleep(SleepReason.NONE, "worker")
    world = a_world(a_city(headless()), session, support=TIMED)
    record = record_of(decide(world), world, "worker")
    assert told(world) == [
        an_event(
            EventType.STOPPED,
            "asleep: idle",
            "worker",
            reason="idle",
            suppressed=True,
            fingerprint=record.fingerprint,
        )
    ]
    assert (record.sleep_reason, record.latch_generation) == (SleepReason.IDLE, 1)


def test_a_stop_for_structure_drops_the_intent_with_its_word() -> None:
    """The drain that was under way ends for the change, by its name (DRAIN-16, EVT-03)."""
    session = draining(suspended_at=ago(1))
    (event,) = told(a_world(a_city(agent()), session))
    assert event.payload["blockers"] == [f"draining:{StopReason.SUSPENDED}"]
