"""Snapshots, payloads and edges: what people read of a decision.

Covers TEST-20.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gascity.decide.explain import payload, snapshot
from gascity.decide.tick import decide
from gascity.model.duration import OFF, seconds
from gascity.model.events import Event
from gascity.model.plan import Plan
from gascity.model.reading import Known, Unclear
from gascity.model.session import PolicyNote, Session, SleepIntent, SleepReason, State
from gascity.model.world import Demand, DrainPhase, ProbeResult, ScreenVerdict, Walk, World
from gascity.testing.builders import (
    BLIND,
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
    asleep,
    awake,
    cold,
    decided,
    decision_of,
    draining,
    fresh,
    headless,
    length,
    record_of,
    running,
    starting,
    stopped,
    unseen,
)

CITY = a_city(agent())


def settled(world: World) -> World:
    """The world after its own plan was written down."""
    return replace(world, sessions={**world.sessions, **decide(world).changes})


def types(events: tuple[Event, ...]) -> list[str]:
    return [str(event.type).removeprefix("session.") for event in events]


def edges(before: World, **over: Any) -> Plan:
    """What is reported when the settled world changes like this."""
    return decide(replace(settled(before), **over))


def test_the_snapshot_has_exactly_the_fields_of_the_design() -> None:
    """One canonical struct, JSON-ready (META-17, META-18)."""
    world = a_world(
        a_city(headless("db"), agent(depends_on=("db",))), awake("db"), awake(),
        seen={"mayor": running(idle_s=30, attached=Known(1)), "db": running()},
        probes={"mayor": a_probe(ProbeResult.IDLE, at=99)},
    )  # fmt: skip
    plan = decide(world)
    assert snapshot(decision_of(plan, "mayor"), now=NOON) == {
        "evaluated_at": "2026-03-01T12:00:00Z",
        "requested_sleep_after_idle": "60s",
        "effective_sleep_after_idle": "60s",
        "policy_source": "workspace_default",
        "session_class": "interactive_resume",
        "sleep_capability": "full",
        "sleep_probe_health": "healthy",
        "idle_reference_at": "2026-03-01T11:59:30Z",
        "keep_warm_deadline": "2026-03-01T12:00:30Z",
        "config_wake_suppressed": False,
        "hard_wake_roots": ["attached"],
        "dependency_roots": [],
        "current_blockers": ["attached", "keep_warm"],
        "probe_result": "idle",
        "drain_phase": "none",
    }
    db = snapshot(decision_of(plan, "db"), now=NOON)
    assert (db["hard_wake_roots"], db["dependency_roots"]) == (["dependency"], ["mayor:attached"])
    json.dumps([db, payload(decision_of(plan, "db"), now=NOON)])


def test_the_payload_carries_every_structured_field() -> None:
    """Policy, capability, health, blockers, snapshot (EVT-08, EVT-09)."""
    decision, _ = decided(a_world(CITY, awake(), seen=running(attached=Unclear("?"))))
    found = payload(decision, now=NOON)
    assert {key: found[key] for key in found if key != "snapshot"} == {
        "requested_sleep_after_idle": "60s",
        "effective_sleep_after_idle": "60s",
        "policy_source": "workspace_default",
        "session_class": "interactive_resume",
        "sleep_capability": "full",
        "sleep_probe_health": "failed_closed",
        "adjustment_reason": "unclear:attachment",
        "blockers": ["attachment_unknown"],
    }
    assert found["snapshot"] == snapshot(decision, now=NOON)


def test_dependency_payloads_name_dependents_and_roots() -> None:
    """Specific sessions, and what started it (DEP-09, DEP-10, EVT-16)."""
    city = a_city(headless("a"), headless("b", depends_on=("a",)), agent("c", depends_on=("b",)))
    world = a_world(city, awake("a"), awake("b"), awake("c"), work={"c": "w1"})
    found = payload(decided(world, "a")[0], now=NOON)
    assert found["dependency"] == {"dependents": ["b"], "roots": ["c:work"]}


def test_masking_and_risks_travel_with_the_events() -> None:
    """`masked_by` and the zero-window warning are data (EVT-15, COEX-05, POL-21)."""
    masked = a_city(agent(idle_timeout=length("30s")))
    world = a_world(masked, awake(), seen=running(idle_s=1))
    assert payload(decided(world)[0], now=NOON)["masked_by"] == "idle_timeout:30s"
    risky = a_world(a_city(headless()), awake("worker"), support=TIMED)
    found = payload(decided(risky, "worker")[0], now=NOON)
    assert found["warning"] == "zero-window-without-boundary"


def test_the_first_sight_reports_the_policy_alone() -> None:
    """sleep_policy_resolved, with what it resolved to (EVT-01, POL-30, NORM-01)."""
    plan = decide(a_world(CITY, awake(), seen=running(idle_s=1)))
    assert types(plan.events) == ["sleep_policy_resolved"]
    [event] = plan.events
    assert (event.subject, event.message) == ("mayor", "sleep=60s by workspace_default")
    after = plan.changes["gc-mayor"]
    assert after.policy == PolicyNote(
        requested="60s", effective="60s", source="workspace_default", adjustment="",
        capability="full", probe_health="healthy",
    )  # fmt: skip
    assert json.loads(after.diagnostics.snapshot)["current_blockers"] == ["keep_warm"]


WORLDS: dict[str, Any] = {
    "warm": lambda: a_world(CITY, awake(), seen=running(idle_s=1)),
    "off": lambda: a_world(a_city(agent(), session_sleep={}), awake()),
    "cold": lambda: a_world(CITY, cold()),
    "attached": lambda: a_world(CITY, awake(), seen=running(attached=Known(1))),
    "unseen": lambda: a_world(CITY, awake(), seen=unseen()),
    "doubt": lambda: a_world(CITY, awake(), seen=running(attached=Unclear("?"))),
    "self exit": lambda: a_world(a_city(headless()), awake("worker"), seen=stopped(0)),
    "suspended": lambda: a_world(CITY, awake(suspended_at=ago(1)), seen=stopped()),
    "disabled": lambda: a_world(CITY, awake(), support=BLIND),
    "dependency": lambda: a_world(
        a_city(headless("db"), agent(depends_on=("db",))), awake("db"), awake(),
        seen={"mayor": running(attached=Known(1)), "db": running()},
    ),
    "quarantined": lambda: a_world(
        CITY, asleep(SleepReason.QUARANTINE, state=State.QUARANTINED, quarantined_until=ahead(99))
    ),
    "operator sleep": lambda: a_world(CITY, asleep(SleepReason.OPERATOR)),
    "unclear cold": lambda: a_world(CITY, cold(), work={"mayor": Unclear("?")}),
    "orphan": lambda: a_world(a_city(agent("x")), a_session("x", state=State.ASLEEP,
        sleep_reason=SleepReason.OPERATOR), awake()),
}  # fmt: skip


@pytest.mark.parametrize("name", WORLDS)
def test_a_second_patrol_over_the_applied_plan_writes_nothing(name: str) -> None:
    """Edge-triggered: no change and no event while nothing happens (R42, EVT-13, F24)."""
    world = settled(WORLDS[name]())
    for minutes in (0, 1, 5, 1000):
        later = replace(world, now=ahead(0.01 * minutes))
        plan = decide(later)
        assert (plan.changes, plan.events) == ({}, ())


def test_time_that_moves_alone_is_no_edge() -> None:
    """evaluated_at, reference and deadline are not persisted on their own (R42)."""
    world = settled(a_world(CITY, awake(), seen=running(idle_s=1)))
    moved = replace(world, now=ahead(30), sightings={"gc-mayor": running(idle_s=0, now=ahead(30))})
    assert (decide(moved).changes, decide(moved).events) == ({}, ())


def test_a_changed_window_is_reported_once() -> None:
    """policy_resolved and updated, then silence (EVT-01, EVT-07, EVT-13)."""
    plan = edges(
        a_world(CITY, awake(), seen=running(idle_s=1)), city=a_city(agent(sleep_after_idle=OFF))
    )
    assert types(plan.events) == ["sleep_policy_resolved", "updated"]
    assert plan.events[0].payload["policy_source"] == "agent"


def test_a_changed_source_alone_is_an_update() -> None:
    """The same window by another layer (EVT-10)."""
    plan = edges(
        a_world(CITY, awake(), seen=running(idle_s=1)),
        city=a_city(agent(sleep_after_idle=seconds(60))),
    )
    assert types(plan.events) == ["updated"]


def test_a_changed_class_names_both() -> None:
    """Previous and new capability, with both durations (EVT-06, EVT-13)."""
    world = a_world(
        a_city(headless()), awake("worker"), seen=running(idle_s=0), work={"worker": "w"}
    )
    plan = edges(world, support={"gc-worker": Known(TIMED)})
    assert types(plan.events) == ["sleep_capability_changed", "updated"]
    found = plan.events[0].payload
    assert (found["previous_capability"], found["capability"]) == ("full", "timed_only")
    assert found["effective_sleep_after_idle"] == "0s"


def test_a_changed_blocker_set_is_an_update() -> None:
    """An attachment comes: blockers change (EVT-07, EVT-10)."""
    plan = edges(
        a_world(CITY, awake(detached_at=None), seen=running(idle_s=1, attached=Known(1))),
        sightings={"gc-mayor": running(attached=Known(1))},
    )
    assert types(plan.events) == ["updated"]
    assert plan.events[0].message == "attached"
    assert plan.events[0].payload["suppressed"] is False


def test_suppression_is_part_of_the_tuple() -> None:
    """A latch that breaks is seen as an edge (EVT-10, META-11)."""
    world = settled(a_world(CITY, cold()))
    assert world.sessions["gc-mayor"].diagnostics.suppressed
    broken = replace(world.sessions["gc-mayor"], fingerprint="v1:other")
    plan = decide(replace(world, sessions={broken.id: broken}))
    assert types(plan.events) == ["updated"]


def test_probe_health_alone_is_no_update_but_is_written() -> None:
    """A probe-health-only change emits nothing (EVT-11, CAP-07, R53)."""
    world = a_world(CITY, awake(pins=(a_pin(),)), probes={"mayor": a_probe(ProbeResult.IDLE)})
    once = settled(world)
    note = once.sessions["gc-mayor"]
    lied = replace(note, policy=replace(note.policy, probe_health="failed_closed"))
    plan = decide(replace(once, sessions={note.id: lied}))
    assert plan.events == ()
    assert plan.changes[note.id].policy.probe_health == "healthy"


def test_every_event_of_a_tick_carries_the_decision() -> None:
    """Aborts, stops, adoption, ambiguity: the same fields (EVT-03..EVT-05, EVT-08, EVT-09)."""
    worlds = {
        "sleep_aborted": a_world(CITY, draining(wake_request=a_note())),
        "stopped": a_world(a_city(headless("mayor")), awake(), seen=stopped(0)),
        "woke": a_world(CITY, cold(), seen=running()),
        "sleep_recovery_ambiguous": a_world(CITY, draining(), seen=stopped()),
        "crashed": a_world(CITY, awake(), seen=stopped(1)),
    }
    for kind, world in worlds.items():
        [event] = [one for one in decide(world).events if one.type == f"session.{kind}"]
        assert {"session_class", "sleep_capability", "policy_source", "snapshot"} <= set(
            event.payload
        )
        json.dumps(event.payload)


def test_the_ambiguous_stop_is_told_counted_and_never_latched() -> None:
    """Event, crash accounting, marker gone, evaluated afresh (REC-07, REC-22, REC-23, EVT-14)."""
    for session, city in ((draining(), CITY), (draining("worker"), a_city(headless()))):
        world = a_world(city, session, seen=stopped())
        plan = decide(world)
        assert "sleep_recovery_ambiguous" in types(plan.events)
        after = record_of(plan, world, session.name)
        assert (after.exits, after.sleep_intent) == ((NOON,), SleepIntent.NONE)
        assert not after.is_cold
        assert len(plan.actions) == 1


def test_an_ambiguous_stop_of_a_sleeper_counts_nothing() -> None:
    """Already asleep for another reason: told, and that reason kept (REC-07, REC-12, R31)."""
    session = asleep(SleepReason.OPERATOR, sleep_intent=SleepIntent.PENDING)
    world = a_world(CITY, session)
    plan = decide(world)
    after = record_of(plan, world)
    assert (after.sleep_reason, after.exits) == (SleepReason.OPERATOR, ())
    assert "sleep_recovery_ambiguous" in types(plan.events)


STATES: list[tuple[str, Session, Any, dict[str, Any]]] = [
    ("awake", awake(), running(), {}),
    ("awake", awake(), unseen(), {}),
    ("starting", starting(), running(), {}),
    ("starting", cold(), stopped(), {"walks": {"mayor": Walk(kind="start")}}),
    ("draining", draining(), running(), {}),
    ("draining", awake(), running(),
     {"walks": {"mayor": Walk(kind="drain", phase=DrainPhase.STOPPING)}}),
    ("awake", awake(), running(),
     {"walks": {"mayor": Walk(kind="drain", phase=DrainPhase.PROBING)}}),
    ("asleep", cold(), stopped(), {}),
    ("stopped", a_session(suspended_at=None), unseen(), {}),
    ("suspended", asleep(SleepReason.SUSPENDED, state=State.SUSPENDED, suspended_at=ago(1)),
     stopped(), {}),
    ("quarantined", asleep(SleepReason.QUARANTINE, state=State.QUARANTINED,
                           quarantined_until=ahead(1)), stopped(), {}),
]  # fmt: skip


@pytest.mark.parametrize("row", STATES, ids=[f"{n}-{row[0]}" for n, row in enumerate(STATES)])
def test_the_state_people_see(row: Any) -> None:
    """The display state is what is so, not what is recorded (STAT-01..STAT-03, META-19)."""
    state, session, seen, around = row
    decision, _ = decided(a_world(CITY, session, seen=seen, **around))
    assert decision.state == state
    assert decision.verdict


def test_verdicts_say_why() -> None:
    """One sentence with the deciding fact (STAT-11)."""
    assert "never sleeps" in decided(a_world(a_city(agent(), session_sleep={}), awake()))[0].verdict
    polecat = a_world(a_city(fresh()), awake("polecat"))
    assert "fresh-agent-default" in decided(polecat, "polecat")[0].verdict
    assert "about to be checked" in decided(a_world(CITY, awake()))[0].verdict
    assert decided(a_world(CITY, cold()))[0].verdict == (
        "asleep (idle); config alone does not wake it"
    )
    assert "going to sleep" in decided(a_world(CITY, draining()))[0].verdict
    assert (
        "starting because of config"
        in decided(a_world(CITY, starting(), seen=running(idle_s=1)))[0].verdict
    )


SENTENCES: list[tuple[World, str]] = [
    (
        a_world(CITY, awake(), seen=unseen("")),
        "left as it is, because its runtime could not be asked (no answer)",
    ),
    (
        a_world(CITY, awake(), seen=unseen("hung")),
        "left as it is, because its runtime could not be asked (hung)",
    ),
    (a_world(CITY, draining()), "going to sleep; a hard wake still brings it back"),
    (
        a_world(CITY, starting(), seen=running(idle_s=1), work={"mayor": "w"}),
        "starting because of work, config",
    ),
    (
        a_world(a_city(agent(), session_sleep={}), awake()),
        "awake, and never sleeps when idle: sleep is off (legacy_off)",
    ),
    (
        a_world(CITY, awake(), seen=running(attached=Known(1)), work={"mayor": "w"}),
        "awake, kept from sleeping by work, attached",
    ),
    (
        a_world(CITY, awake()),
        "idle past its keep-warm window; about to be checked and put to sleep",
    ),
    (a_world(CITY, cold()), "asleep (idle); config alone does not wake it"),
]


@pytest.mark.parametrize(("world", "sentence"), SENTENCES, ids=[one[1] for one in SENTENCES])
def test_a_verdict_is_one_sentence(world: World, sentence: str) -> None:
    """The very words that `gc status` and `gc why` show (STAT-11)."""
    assert decided(world)[0].verdict == sentence


def test_an_edge_says_when_and_what_it_is_about() -> None:
    """All of an event that a reader greps for (EVT-01, EVT-08, EVT-10, R54)."""
    timed = edges(a_world(CITY, awake()), support={"gc-mayor": Known(TIMED)})
    told = {str(one.type): one for one in timed.events}
    changed, updated = told["session.sleep_capability_changed"], told["session.updated"]
    assert (changed.ts, changed.subject, changed.message) == (NOON, "mayor", "full → timed_only")
    assert changed.payload["snapshot"]["evaluated_at"] == "2026-03-01T12:00:00Z"
    busy = edges(
        a_world(CITY, awake()),
        sightings={"gc-mayor": running(attached=Known(1), screen=ScreenVerdict.BUSY)},
    )
    assert [one.message for one in busy.events] == ["attached, idle_boundary"]
    assert updated.payload["suppressed"] is False


def test_what_is_kept_of_the_snapshot_is_small_and_of_now() -> None:
    """Compact JSON on the record (META-17, R42)."""
    world = a_world(CITY, awake())
    kept = record_of(decide(world), world).diagnostics.snapshot
    assert json.loads(kept) == snapshot(decided(world)[0], now=NOON)
    assert kept == json.dumps(json.loads(kept), separators=(",", ":"))


def test_the_noted_policy_says_why_it_was_adjusted() -> None:
    """The adjustment is on the record, also after a look that failed closed (META-07)."""
    world = a_world(CITY, awake(), seen=running(attached=Unclear("?")))
    assert record_of(decide(world), world).policy.adjustment == "unclear:attachment"


def test_a_sleeper_shows_what_could_wake_it() -> None:
    """Attach, operator, work, wait, dependency: as far as known (R46)."""
    city = a_city(headless("db"), agent(depends_on=("db",)))
    demand = Demand(pending_waits=frozenset({"gc-mayor"}))
    world = a_world(city, cold("db"), cold(), demand=demand)
    assert decided(world)[0].wake_sources == ("attach", "operator", "work", "wait")
    assert decided(world, "db")[0].wake_sources == ("operator", "work", "dependency")
    foreign = a_world(city, cold("db"), cold(), demand=Demand(unclear="elsewhere"))
    assert decided(foreign)[0].wake_sources == ("attach", "operator")
