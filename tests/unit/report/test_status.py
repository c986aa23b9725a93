"""The object of `gc status --json`: the fields of the surface, from decisions or records."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from gascity.model.city import Agent, City, SessionClass, Source
from gascity.model.duration import OFF, seconds
from gascity.model.plan import (
    Blocker,
    Capability,
    CapabilityClass,
    Cause,
    Decision,
    DisplayState,
    HardWake,
    Path,
    Plan,
    Policy,
    PoolState,
)
from gascity.model.session import Diagnostics, PolicyNote, Session, SleepReason, State
from gascity.report.lines import lines
from gascity.report.status import recorded, status, utc

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
CONTROLLER = {"pid": 7, "last_patrol_at": NOON, "patrol_interval_s": 30.0, "patrols": 12}

SESSION_KEYS = {
    "name", "id", "template", "rig", "slot", "runtime", "state", "sleep_reason", "since", "reasons",
    "policy", "capability", "hard_wakes", "blockers", "dependency", "idle_reference_at",
    "keep_warm_deadline", "config_wake_suppressed", "sleep_intent", "masked_by", "wake_sources",
}  # fmt: skip
POLICY_KEYS = {"requested", "effective", "source", "class", "adjustment"}
CAPABILITY_KEYS = {
    "class", "activity_clock", "idle_boundary", "pending_signal", "attachment_signal",
    "probe_health", "adjustment",
}  # fmt: skip


def a_session(name: str = "mayor", **over: Any) -> Session:
    """An awake session called `name`."""
    fields: dict[str, Any] = {"template": name, "state": State.AWAKE, "since": NOON}
    return Session(id=f"gc-{name}", version=1, name=name, **(fields | over))


def a_decision(session: Session, **over: Any) -> Decision:
    """What a patrol decided about it: awake, warm for a minute."""
    fields: dict[str, Any] = {
        "state": DisplayState.AWAKE,
        "row": "",
        "path": Path.EVALUATE,
        "policy": Policy(
            requested=seconds(60),
            effective=seconds(60),
            source=Source.WORKSPACE_DEFAULT,
            session_class=SessionClass.INTERACTIVE_RESUME,
        ),
        "capability": Capability(
            kind=CapabilityClass.FULL,
            has_activity_clock=True,
            has_idle_boundary=True,
            has_pending_signal=True,
            has_attachment_signal=True,
        ),
        "reasons": ("config",),
    }
    return Decision(session_id=session.id, name=session.name, **(fields | over))


def a_city(*names: str, **over: Any) -> City:
    """A city of plain agents."""
    agents = {name: Agent(identity=name, name=name) for name in names}
    return City(name="demo", path="/srv/demo", agents=agents, **over)


def shown(session: Session, decision: Decision) -> dict[str, Any]:
    """The one entry of a city with this session alone."""
    plan = Plan(decisions={session.id: decision})
    whole = status(
        city=a_city("mayor"), sessions={session.id: session}, plan=plan, controller=CONTROLLER
    )
    entry: dict[str, Any] = whole["sessions"][0]
    return entry


def test_the_object_has_every_field_of_the_surface() -> None:
    """Nothing of schema 1 is missing, and all of it is JSON (STAT-03, STAT-11)."""
    session = a_session()
    pool = PoolState(
        template="worker", desired=2, effective_desired=2, realized=2, awake=0, asleep=2
    )
    plan = Plan(decisions={session.id: a_decision(session)}, pools=(pool,))
    whole = status(
        city=a_city("mayor"), sessions={session.id: session}, plan=plan, controller=CONTROLLER
    )
    assert json.loads(json.dumps(whole)) == whole
    assert set(whole) == {"schema", "city", "controller", "sessions", "pools", "warnings"}
    assert whole["controller"] == {
        "running": True,
        "pid": 7,
        "last_patrol_at": "2026-03-01T12:00:00.000000Z",
        "patrol_interval_s": 30.0,
        "patrols": 12,
    }
    entry = whole["sessions"][0]
    assert set(entry) >= SESSION_KEYS
    assert set(entry["policy"]) >= POLICY_KEYS
    assert set(entry["capability"]) == CAPABILITY_KEYS
    assert set(entry["dependency"]) == {"dependents", "roots"}
    assert whole["pools"] == [
        {
            "template": "worker",
            "desired": 2,
            "effective_desired": 2,
            "realized": 2,
            "awake": 0,
            "asleep": 2,
        }
    ]


def test_recorded_and_decided_entries_have_the_same_fields() -> None:
    """A script reads the same fields with and without a controller (R71)."""
    session = a_session()
    from_records = recorded(name="demo", path="/srv/demo", sessions=[session])["sessions"][0]
    assert set(from_records) == set(shown(session, a_decision(session)))
    assert set(from_records["policy"]) == set(shown(session, a_decision(session))["policy"])


def test_blockers_and_hard_wakes_are_words() -> None:
    """Causes and blockers are the words of the surface, without repeats (STAT-03)."""
    session = a_session()
    decision = a_decision(
        session,
        hard_wakes=(
            HardWake(cause=Cause.ATTACHED),
            HardWake(cause=Cause.DEPENDENCY, dependents=("api",), roots=("api:work",)),
        ),
        blockers=(Blocker(name="attached"), Blocker(name="attached", detail="twice")),
    )
    entry = shown(session, decision)
    assert entry["hard_wakes"] == ["attached", "dependency"]
    assert entry["blockers"] == ["attached"]
    assert entry["dependency"] == {"dependents": ["api"], "roots": ["api:work"]}


def test_a_minute_prints_as_seconds() -> None:
    """A window of sixty seconds prints as `60s` however it was written (STAT-09)."""
    from gascity.model.duration import Duration

    session = a_session()
    policy = replace(a_decision(session).policy, effective=Duration(60 * 10**9, "1m"))
    assert "sleep=60s(" in lines([shown(session, a_decision(session, policy=policy))])[0]


def test_off_prints_as_off() -> None:
    """A session that never sleeps says `off` (STAT-07)."""
    session = a_session()
    policy = replace(a_decision(session).policy, requested=OFF, effective=OFF)
    entry = shown(session, a_decision(session, policy=policy))
    assert entry["policy"]["effective"] == "off"


def test_times_are_utc_with_microseconds() -> None:
    """Stored and JSON times are UTC whatever zone they were handed over in (R38, R76)."""
    east = NOON.astimezone(timezone(timedelta(hours=5)))
    assert utc(east) == "2026-03-01T12:00:00.000000Z"
    assert utc(None) is None


def test_sessions_follow_the_order_of_the_file() -> None:
    """Agents in file order, slots by number, strangers last (STAT-09)."""
    many = [
        a_session("gone"),
        a_session("worker-2", template="worker", slot=2),
        a_session("worker-10", template="worker", slot=10),
        a_session("mayor"),
    ]
    whole = status(
        city=a_city("worker", "mayor"),
        sessions={one.id: one for one in many},
        plan=None,
        controller=CONTROLLER,
    )
    names = [entry["name"] for entry in whole["sessions"]]
    assert names == ["worker-2", "worker-10", "mayor", "gone"]


def test_only_the_wanted_sessions_are_shown() -> None:
    """`only` restricts the sessions and nothing else (STAT-11)."""
    one, other = a_session("mayor"), a_session("api")
    whole = status(
        city=a_city("mayor", "api"),
        sessions={one.id: one, other.id: other},
        plan=None,
        controller=CONTROLLER,
        only={other.id},
    )
    assert [entry["name"] for entry in whole["sessions"]] == ["api"]


def test_a_rig_is_what_stands_before_the_last_slash() -> None:
    """Rig names may contain dots, so the identity is split at the last slash (R6b)."""
    assert shown(a_session("web", template="a.b/web"), a_decision(a_session("web")))["rig"] == "a.b"
    assert shown(a_session(), a_decision(a_session()))["rig"] is None


def test_warnings_name_the_session() -> None:
    """A failed start, a held-back one and a dead end are told by name (STAT-10, R46)."""
    session = a_session(
        state=State.ASLEEP, sleep_reason=SleepReason.CRASH, last_error="no such dir"
    )
    decision = a_decision(
        session,
        state=DisplayState.ASLEEP,
        held_back="quarantined until noon",
        wake_sources=("none",),
    )
    whole = status(
        city=a_city("mayor", warnings=("city.toml: odd",)),
        sessions={session.id: session},
        plan=Plan(decisions={session.id: decision}),
        controller=CONTROLLER,
        warnings=("store not writable",),
    )
    text = "\n".join(whole["warnings"])
    for part in (
        "city.toml: odd",
        "store not writable",
        "no such dir",
        "quarantined",
        "could wake",
    ):
        assert part in text
    assert all(warning.startswith("mayor: ") for warning in whole["warnings"] if "mayor" in warning)


def test_records_alone_render_as_the_design_says() -> None:
    """Without a controller the persisted words give the same line for a sleeper (STAT-06, R71)."""
    sleeper = a_session(
        "worker-1",
        state=State.ASLEEP,
        sleep_reason=SleepReason.IDLE,
        policy=PolicyNote(requested="0s", effective="0s", source="rig_override", capability="full"),
        diagnostics=Diagnostics(suppressed=True),
    )
    whole = recorded(name="demo", path="/srv/demo", sessions=[sleeper])
    assert lines(whole["sessions"]) == [
        "worker-1  asleep   reason=idle sleep=0s(source=rig_override suppressed=yes)"
    ]
    assert whole["controller"]["running"] is False


def test_a_broken_snapshot_says_nothing() -> None:
    """Diagnostics that cannot be read change no line (META-22)."""
    broken = a_session(diagnostics=Diagnostics(snapshot="{not json"))
    whole = recorded(name="demo", path="/srv/demo", sessions=[broken])
    assert lines(whole["sessions"]) == ["mayor     awake    sleep=unknown(source=unknown)"]
