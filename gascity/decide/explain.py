"""Decisions → the words people read: snapshot, diagnostics, and edge-triggered events.

Nothing here feeds back into a decision (META-22, X3). A write happens at an edge only: times that
move by themselves are no change (R42).

Source: DESIGN §11 (META-02..18, EVT-01..16, STAT-11, R53, R54)
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from gascity.decide.judge import Judged
from gascity.model.duration import OFF
from gascity.model.events import Event, EventType
from gascity.model.plan import Blocker, Decision, DisplayState, Path
from gascity.model.session import PolicyNote, Session, SleepIntent, State
from gascity.model.world import DrainPhase, ProbeResult, Truth, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """A record with its policy note and diagnostics brought up to date, and the edges as events."""

    session: Session
    events: tuple[Event, ...] = ()


def snapshot(decision: Decision, *, now: datetime) -> dict[str, Any]:
    """The canonical decision struct, JSON-ready (META-17, META-18). Instants are RFC 3339 UTC."""
    return {
        "evaluated_at": _at(now),
        "requested_sleep_after_idle": str(decision.policy.requested),
        "effective_sleep_after_idle": str(decision.policy.effective),
        "policy_source": str(decision.policy.source),
        "session_class": str(decision.policy.session_class),
        "sleep_capability": str(decision.capability.kind),
        "sleep_probe_health": str(decision.capability.probe_health),
        "idle_reference_at": _at(decision.idle_reference_at),
        "keep_warm_deadline": _at(decision.keep_warm_deadline),
        "config_wake_suppressed": decision.suppressed,
        "hard_wake_roots": [str(wake.cause) for wake in decision.hard_wakes],
        "dependency_roots": sorted({root for wake in decision.hard_wakes for root in wake.roots}),
        "current_blockers": list(decision.blocker_names),
        "probe_result": str(decision.probe_result),
        "drain_phase": str(decision.drain_phase),
    }


def payload(decision: Decision, *, now: datetime) -> dict[str, Any]:
    """The structured fields every sleep event carries (EVT-08, EVT-09, EVT-16, DEP-09, DEP-10)."""
    found: dict[str, Any] = {
        "requested_sleep_after_idle": str(decision.policy.requested),
        "effective_sleep_after_idle": str(decision.policy.effective),
        "policy_source": str(decision.policy.source),
        "session_class": str(decision.policy.session_class),
        "sleep_capability": str(decision.capability.kind),
        "sleep_probe_health": str(decision.capability.probe_health),
        "adjustment_reason": adjustment(decision),
        "blockers": list(decision.blocker_names),
        "snapshot": snapshot(decision, now=now),
    }
    if decision.masked_by:
        found["masked_by"] = decision.masked_by
    if decision.policy.warning:
        found["warning"] = decision.policy.warning
    needing = [b for b in decision.blockers if b.dependents or b.roots]
    if needing:
        found["dependency"] = {
            "dependents": sorted({name for b in needing for name in b.dependents}),
            "roots": sorted({name for b in needing for name in b.roots}),
        }
    return found


def adjustment(decision: Decision) -> str:
    """Why the effective window differs, else why this look failed closed (META-07)."""
    return decision.policy.adjustment or decision.capability.adjustment


def note(before: Session, after: Session, decision: Decision, *, now: datetime) -> Noted:
    """Bring the noted policy and diagnostics up to date; identical when no edge was crossed.

    Args:
        before: The stored record, whose notes say what was reported last.
        after: The record as this tick leaves it.
    """
    policy = PolicyNote(
        requested=str(decision.policy.requested),
        effective=str(decision.policy.effective),
        source=str(decision.policy.source),
        adjustment=adjustment(decision),
        capability=str(decision.capability.kind),
        probe_health=str(decision.capability.probe_health),
    )
    told = after.diagnostics
    same = (told.suppressed, told.blockers) == (decision.suppressed, decision.blocker_names)
    if same and after is before and policy == after.policy:
        return Noted(session=after)
    diagnostics = replace(
        told,
        suppressed=decision.suppressed,
        blockers=decision.blocker_names,
        snapshot=json.dumps(snapshot(decision, now=now), separators=(",", ":")),
    )
    noted = replace(after, policy=policy, diagnostics=diagnostics)
    return Noted(session=noted, events=_edges(before, noted, decision, now))


def _edges(before: Session, after: Session, decision: Decision, now: datetime) -> tuple[Event, ...]:
    """One event per edge; a first sight reports the policy alone (EVT-01, EVT-06, EVT-07)."""
    was, now_is = before.policy, after.policy
    shared = payload(decision, now=now)
    found: list[Event] = []

    def emit(kind: EventType, message: str, **extra: Any) -> None:
        found.append(
            Event(
                type=kind, ts=now, subject=after.name, message=message, payload={**shared, **extra}
            )
        )

    if (was.requested, was.effective) != (now_is.requested, now_is.effective):
        emit(EventType.SLEEP_POLICY_RESOLVED, f"sleep={now_is.effective} by {now_is.source}")
    if was.capability and was.capability != now_is.capability:
        emit(
            EventType.SLEEP_CAPABILITY_CHANGED,
            f"{was.capability} → {now_is.capability}",
            previous_capability=was.capability,
            capability=now_is.capability,
        )
    tuple_before = _tuple(before)
    if was.effective and tuple_before != _tuple(after):
        emit(EventType.UPDATED, ", ".join(decision.blocker_names), suppressed=decision.suppressed)
    return tuple(found)


def _tuple(session: Session) -> tuple[str, str, str, bool, frozenset[str]]:
    """What `session.updated` compares (EVT-10, R53)."""
    return (
        session.policy.effective,
        session.policy.source,
        session.policy.capability,
        session.diagnostics.suppressed,
        frozenset(session.diagnostics.blockers),
    )


def display_state(session: Session, world: World) -> DisplayState:
    """The state column: what people see, not what is recorded."""
    walk = world.memory.walks.get(session.id)
    truth = world.sighting(session.id).truth
    if walk is not None and walk.kind == "start":
        return DisplayState.STARTING
    if walk is not None and walk.phase not in (DrainPhase.NONE, DrainPhase.PROBING):
        return DisplayState.DRAINING
    if truth is Truth.RUNNING:
        if session.sleep_intent is not SleepIntent.NONE:
            return DisplayState.DRAINING
        starting = session.was_started and session.ready_at is None
        return DisplayState.STARTING if starting else DisplayState.AWAKE
    if session.state in (State.CREATING, State.AWAKE):
        unseen = truth is Truth.UNKNOWN and session.state is State.AWAKE
        return DisplayState.AWAKE if unseen else DisplayState.STOPPED
    return DisplayState(session.state.value)


def wake_sources(
    session: Session, judged: Judged, world: World, *, depended_on: frozenset[str]
) -> tuple[str, ...]:
    """What could wake it from now on, for the status of a sleeper (R46)."""
    found = ["attach"] if judged.place.agent.attach else []
    found.append("operator")
    if not world.demand.unclear:
        found.append("work")
    if session.id in world.demand.pending_waits:
        found.append("wait")
    if session.template in depended_on:
        found.append("dependency")
    return tuple(found)


def verdict(
    session: Session,
    judged: Judged,
    *,
    path: Path,
    state: DisplayState,
    blockers: Sequence[Blocker],
    held_back: str,
    suppressed: bool,
) -> str:
    """The whole decision in one sentence."""
    if path is Path.HOLD:
        why = _details(blockers) or "no answer"
        return f"left as it is, because its runtime could not be asked ({why})"
    if state is DisplayState.DRAINING:
        return "going to sleep; a hard wake still brings it back"
    if state is DisplayState.STARTING:
        return f"starting because of {_and(judged.reasons) or 'a wake'}"
    if state is DisplayState.AWAKE:
        if judged.policy.effective is OFF:
            why = judged.policy.adjustment or str(judged.policy.source)
            return f"awake, and never sleeps when idle: sleep is off ({why})"
        if blockers:
            names = tuple(dict.fromkeys(blocker.name for blocker in blockers))
            return f"awake, kept from sleeping by {_and(names)}"
        return "idle past its keep-warm window; about to be checked and put to sleep"
    if held_back:
        return f"{state}, and not started now: {held_back}"
    if state is DisplayState.ASLEEP:
        reason = str(session.sleep_reason) or "no reason recorded"
        masked = "; config alone does not wake it" if suppressed else ""
        return f"asleep ({reason}){masked}"
    return f"{state}"


def _details(blockers: Sequence[Blocker]) -> str:
    return ", ".join(blocker.detail for blocker in blockers if blocker.detail)


def _and(words: Sequence[str]) -> str:
    return ", ".join(words)


def _at(instant: datetime | None) -> str | None:
    return None if instant is None else instant.isoformat().replace("+00:00", "Z")


def probe_result(world: World, session_id: str) -> ProbeResult:
    """The latest probe's word for the snapshot."""
    probe = world.memory.probes.get(session_id)
    return probe.result if probe is not None else ProbeResult.NONE
