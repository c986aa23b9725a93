"""The object of `gc status --json`, as plain JSON-ready values.

`status` reads what the last patrol decided, `recorded` what a store still says when no controller
runs. Both are pure; `report/lines.py` renders what they make.

Source: DESIGN §11 (STAT-01..11, R44, R71); surface "`gc status`"
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import datetime
    from typing import Any

    from gascity.model.city import City
    from gascity.model.plan import Capability, Decision, Plan
    from gascity.model.session import PolicyNote, Session

SCHEMA = 1
NOTHING_WAKES = "sleeps, and nothing is known that could wake it"  # R46


def status(
    *,
    city: City,
    sessions: Mapping[str, Session],
    plan: Plan | None,
    controller: Mapping[str, Any],
    warnings: Iterable[str] = (),
    only: Collection[str] | None = None,
) -> dict[str, Any]:
    """The whole status object as a running controller knows it.

    `sessions` and `plan.decisions` are keyed by session id. `controller` holds `pid`,
    `last_patrol_at` (datetime or None), `patrol_interval_s` and `patrols`. `only` restricts the
    sessions to these ids. A session no patrol has judged yet is shown as recorded.
    """
    decisions = plan.decisions if plan is not None else {}
    shown = [one for one in _in_order(city, sessions.values()) if only is None or one.id in only]
    entries = [
        _decided(one, decisions[one.id]) if one.id in decisions else _recorded(one) for one in shown
    ]
    notes = [*city.warnings, *(plan.warnings if plan is not None else ()), *warnings]
    notes += [note for one in shown for note in _session_notes(one, decisions.get(one.id))]
    return {
        "schema": SCHEMA,
        "city": {"name": city.name, "path": city.path},
        "controller": {"running": True, **{k: _plain(v) for k, v in controller.items()}},
        "sessions": entries,
        "pools": [_pool(one) for one in plan.pools] if plan is not None else [],
        "warnings": list(dict.fromkeys(notes)),
    }


def recorded(
    *,
    name: str,
    path: str,
    sessions: Iterable[Session],
    warnings: Iterable[str] = (),
) -> dict[str, Any]:
    """The status object from records alone: no controller, no runtime was asked (R71)."""
    return {
        "schema": SCHEMA,
        "city": {"name": name, "path": path},
        "controller": {
            "running": False,
            "pid": None,
            "last_patrol_at": None,
            "patrol_interval_s": None,
            "patrols": None,
        },
        "sessions": [_recorded(one) for one in sorted(sessions, key=lambda one: one.name)],
        "pools": [],
        "warnings": list(warnings),
    }


def _in_order(city: City, sessions: Iterable[Session]) -> list[Session]:
    """Agents in the order of the file, slots by number, then what the file does not name."""
    rank = {identity: n for n, identity in enumerate(city.agents)}
    return sorted(
        sessions, key=lambda one: (rank.get(one.template, len(rank)), one.slot or 0, one.name)
    )


def _decided(session: Session, decision: Decision) -> dict[str, Any]:
    """One entry as the last patrol judged it."""
    policy = decision.policy
    dependents = [n for wake in decision.hard_wakes for n in wake.dependents]
    roots = [n for wake in decision.hard_wakes for n in wake.roots]
    return {
        **_identity(session),
        "state": str(decision.state.value),
        "sleep_reason": session.sleep_reason.value,
        "since": utc(session.since),
        "reasons": list(decision.reasons),
        "policy": {
            "requested": str(policy.requested),
            "effective": str(policy.effective),
            "source": policy.source.value,
            "class": policy.session_class.value,
            "adjustment": policy.adjustment,
            "warning": policy.warning,
        },
        "capability": _capability(decision.capability),
        "hard_wakes": [wake.cause.value for wake in decision.hard_wakes],
        "blockers": list(decision.blocker_names),
        "dependency": {
            "dependents": list(dict.fromkeys(dependents)),
            "roots": list(dict.fromkeys(roots)),
        },
        "idle_reference_at": utc(decision.idle_reference_at),
        "keep_warm_deadline": utc(decision.keep_warm_deadline),
        "config_wake_suppressed": decision.suppressed,
        "sleep_intent": session.sleep_intent.value,
        "masked_by": decision.masked_by,
        "wake_sources": list(decision.wake_sources),
        "held_back": decision.held_back,
        "drain_phase": decision.drain_phase.value,
        "probe_result": decision.probe_result.value,
        "last_error": session.last_error,
        "blocker_details": [
            {"name": one.name, "detail": one.detail} for one in decision.blockers if one.detail
        ],
    }


def _capability(capability: Capability) -> dict[str, Any]:
    return {
        "class": capability.kind.value,
        "activity_clock": capability.has_activity_clock,
        "idle_boundary": capability.has_idle_boundary,
        "pending_signal": capability.has_pending_signal,
        "attachment_signal": capability.has_attachment_signal,
        "probe_health": capability.probe_health.value,
        "adjustment": capability.adjustment,
    }


def _recorded(session: Session) -> dict[str, Any]:
    """One entry from its record: the words the last controller left; unknown things are null."""
    note: PolicyNote = session.policy
    state = _recorded_state(session)
    kept = _kept_snapshot(session.diagnostics.snapshot)
    return {
        **_identity(session),
        "state": state,
        "sleep_reason": session.sleep_reason.value,
        "since": utc(session.since),
        "reasons": [],
        "policy": {
            "requested": note.requested,
            "effective": note.effective,
            "source": note.source,
            "class": str(kept.get("class") or ""),
            "adjustment": note.adjustment,
            "warning": "",
        },
        "capability": {
            "class": note.capability,
            "activity_clock": None,
            "idle_boundary": None,
            "pending_signal": None,
            "attachment_signal": None,
            "probe_health": note.probe_health,
            "adjustment": "",
        },
        "hard_wakes": [],
        "blockers": list(session.diagnostics.blockers) if state in _UP else [],
        "dependency": {"dependents": [], "roots": []},
        "idle_reference_at": None,
        "keep_warm_deadline": None,
        "config_wake_suppressed": session.diagnostics.suppressed,
        "sleep_intent": session.sleep_intent.value,
        "masked_by": str(kept.get("masked_by") or ""),
        "wake_sources": [],
        "held_back": "",
        "drain_phase": "none",
        "probe_result": "none",
        "last_error": session.last_error,
        "blocker_details": [],
    }


def _identity(session: Session) -> dict[str, Any]:
    rig = session.template.rpartition("/")[0]  # rig names may hold dots (R6b)
    return {
        "name": session.name,
        "id": session.id,
        "template": session.template,
        "rig": rig or None,
        "slot": session.slot,
        "runtime": session.runtime,
    }


_UP = ("awake", "starting")  # where a recorded blocker still means something


def _recorded_state(session: Session) -> str:
    if session.suspended_at is not None:
        return "suspended"
    state = session.state.value
    return "starting" if state == "creating" else str(state)


def _kept_snapshot(text: str) -> dict[str, Any]:
    """The decision kept for people; anything unreadable counts as nothing (META-22)."""
    if not text:
        return {}
    import json

    try:
        kept = json.loads(text)
    except ValueError:
        return {}
    return kept if isinstance(kept, dict) else {}


def _session_notes(session: Session, decision: Decision | None) -> list[str]:
    """What a person should know about one session and the columns have no room for."""
    notes = []
    if session.last_error and (decision is None or decision.state.value != "awake"):
        notes.append(f"{session.name}: {session.last_error}")
    if decision is not None:
        if decision.policy.warning:
            notes.append(f"{session.name}: {decision.policy.warning}")
        if decision.held_back:
            notes.append(f"{session.name}: held back: {decision.held_back}")
        if decision.wake_sources == ("none",):
            notes.append(f"{session.name}: {NOTHING_WAKES}")
    return notes


def _pool(pool: Any) -> dict[str, Any]:
    return {
        "template": pool.template,
        "desired": pool.desired,
        "effective_desired": pool.effective_desired,
        "realized": pool.realized,
        "awake": pool.awake,
        "asleep": pool.asleep,
    }


def _plain(value: Any) -> Any:
    return utc(value) if hasattr(value, "astimezone") else value


def utc(moment: datetime | None) -> str | None:
    """RFC 3339 in UTC with microseconds, as stored times are written; None for none (R38, R76)."""
    if moment is None:
        return None
    from datetime import UTC

    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
