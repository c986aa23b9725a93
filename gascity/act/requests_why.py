"""`gc why`: the last judgement of one session, laid out so that a person can follow it.

Everything comes from the last patrol; nothing is asked of a runtime, so it answers while one hangs.

Source: DESIGN §11 (STAT-11, R44, BLK-07)
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from gascity.act.operate import Desk, Look, Reply, decision_of, find, hold_of, seen_last
from gascity.beads.times import time_text
from gascity.config.explain import explain
from gascity.decide.signals import heard_now, question_wake, signal_blockers
from gascity.model.plan import Decision
from gascity.model.reading import Known, Reading, Unclear, Unsupported
from gascity.model.session import Session
from gascity.model.world import Sighting, Truth


async def why(desk: Desk, said: str) -> Reply:
    """The object of `gc why --json`, under `why`."""
    look = desk.snapshot()
    session = find(look, said)
    decision = decision_of(look, session)
    now = desk.clock.now()
    told: dict[str, Any] = {
        "session": session.name,
        "id": session.id,
        "template": session.template,
        "state": decision.state.value if decision else session.state.value,
        "sleep_reason": session.sleep_reason.value,
        "since": _at(session.since),
        "verdict": decision.verdict if decision else "no patrol has judged it yet",
        "rule": {"row": decision.row, "path": decision.path.value} if decision else None,
        "signals": _signals(look, session, now),
        "policy": _policy(look, session, decision),
        "deadline": _deadline(decision, now),
        "blockers": _blockers(decision),
        "hard_wakes": _hard_wakes(decision),
        "wake_sources": list(decision.wake_sources) if decision else [],
        "held_back": decision.held_back if decision else "",
        "last_error": session.last_error,
        "changes": _changes(look, session, decision, now),
    }
    told["what_would_change"] = told["changes"]
    return {"why": told}


def _at(moment: datetime | None) -> str | None:
    return time_text(moment) if moment is not None else None


def _age(moment: datetime | None, now: datetime) -> float | None:
    return round(max(0.0, (now - moment).total_seconds()), 3) if moment is not None else None


def _signals(look: Look, session: Session, now: datetime) -> list[dict[str, Any]]:
    """Every reading about the session with its value, its age and whether it was a clear answer."""
    seen = seen_last(look, session)
    at = look.world.now if look.world is not None else None
    certain = "known" if seen.truth is not Truth.UNKNOWN else "unclear"
    rows = [_signal("running", seen.truth.value, at, now, certain, seen.why)]
    rows.append(_reading("attached", seen.attached, at, now))
    rows.append(_activity(seen, at, now))
    if seen.pending is None:
        rows.append(_signal("pending", None, at, now, "not asked", "no answer could matter"))
    else:
        rows.append(_reading("pending", seen.pending, at, now))
    if seen.screen is not None:
        rows.append(_signal("screen", seen.screen.value, at, now, "known", seen.screen_rule))
    probe = look.world.memory.probes.get(session.id) if look.world is not None else None
    if probe is not None:
        rows.append(_signal("probe", probe.result.value, probe.at, now, "known", probe.detail))
    rows += _demand(look, session, at, now)
    turns = look.world.memory.turns.get(session.id, ()) if look.world is not None else ()
    rows += (_signal("turn", one.what, one.since, now) for one in turns)
    rows += _hooks(look, session, now)
    if session.detached_at is not None:
        rows.append(_signal("detached_at", _at(session.detached_at), session.detached_at, now))
    if session.ready_at is not None:
        rows.append(_signal("ready_at", _at(session.ready_at), session.ready_at, now))
    return rows


def _hooks(look: Look, session: Session, now: datetime) -> list[dict[str, Any]]:
    """What the agent's own hooks said last, and whether it still counts."""
    heard = heard_now(session, look.world) if look.world is not None else None
    if heard is None or look.world is None:
        return []
    counts = {blocker.name for blocker in signal_blockers(session, look.world)}
    asked = question_wake(session, look.world) is not None
    rows = [("turn", heard.turn.value, heard.turn_at, "turn_open" in counts)]
    rows.append(("question", f"{heard.asked} {heard.question}".strip(), heard.asked_at, asked))
    rows.append(("work", ", ".join(heard.work or ()), heard.work_at, "background" in counts))
    return [
        _signal(f"hook {name}", value, at, now, "known", "" if holds else "no longer counts")
        for name, value, at, holds in rows
        if value and not (name == "turn" and value == "closed")
    ]


def _signal(
    name: str,
    value: Any,
    at: datetime | None,
    now: datetime,
    health: str = "known",
    detail: str = "",
) -> dict[str, Any]:
    return {
        "name": name,
        "value": value,
        "age_s": _age(at, now),
        "health": health,
        "detail": detail,
    }


def _reading(
    name: str, reading: Reading[Any], at: datetime | None, now: datetime
) -> dict[str, Any]:
    match reading:
        case Known(value):
            return _signal(name, _plain(value), at, now)
        case Unsupported():
            return _signal(name, None, at, now, "unsupported")
        case Unclear(why):
            return _signal(name, None, at, now, "unclear", why)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, datetime):
        return time_text(value)
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    kind = getattr(value, "kind", "")
    question = getattr(value, "question", "")
    return f"{kind}: {question}" if kind and question else str(kind or value)


def _activity(seen: Sighting, at: datetime | None, now: datetime) -> dict[str, Any]:
    """Last activity with the age of the activity itself, not of the look."""
    moment = seen.activity.value if isinstance(seen.activity, Known) else None
    return _reading("activity", seen.activity, moment or at, now)


def _demand(look: Look, session: Session, at: datetime | None, now: datetime) -> list[Any]:
    if look.world is None:
        return []
    demand = look.world.demand
    if demand.unclear:
        return [_signal("work", None, at, now, "unclear", demand.unclear)]
    none: Known[tuple[str, ...]] = Known(())
    return [
        _reading("work", demand.work.get(session.id, none), at, now),
        _reading("waits", demand.waits.get(session.id, none), at, now),
    ]


def _policy(look: Look, session: Session, decision: Decision | None) -> dict[str, Any]:
    """Requested and effective window, and every layer that was asked, strongest first."""
    explained = explain(look.city, session.template)
    chain = [
        {
            "layer": str(layer.source),
            "value": layer.says,
            "wins": layer.wins,
            "origin": f"{layer.file}:{layer.line}" if layer.line else layer.file,
        }
        for layer in (explained.layers if explained else ())
    ]
    if decision is None:
        return {"requested": explained.requested if explained else "", "chain": chain}
    policy = decision.policy
    return {
        "requested": str(policy.requested),
        "effective": str(policy.effective),
        "source": policy.source.value,
        "class": policy.session_class.value,
        "adjustment": policy.adjustment,
        "warning": policy.warning,
        "masked_by": decision.masked_by,
        "capability": decision.capability.kind.value,
        "chain": chain,
    }


def _deadline(decision: Decision | None, now: datetime) -> dict[str, Any] | None:
    if decision is None or decision.keep_warm_deadline is None:
        return None
    due = decision.keep_warm_deadline
    return {
        "at": time_text(due),
        "in_s": round((due - now).total_seconds(), 3),
        "idle_reference_at": _at(decision.idle_reference_at),
    }


def _blockers(decision: Decision | None) -> list[dict[str, Any]]:
    return [
        {
            "name": one.name,
            "detail": one.detail,
            "dependents": list(one.dependents),
            "roots": list(one.roots),
        }
        for one in (decision.blockers if decision else ())
    ]


def _hard_wakes(decision: Decision | None) -> list[dict[str, Any]]:
    return [
        {
            "name": one.cause.value,
            "details": list(one.details),
            "dependents": list(one.dependents),
            "roots": list(one.roots),
        }
        for one in (decision.hard_wakes if decision else ())
    ]


# Blocker -> what ends it.
ENDS = {
    "keep_warm": "the keep-warm window closes",
    "attached": "the last client detaches",
    "pending": "somebody answers the question",
    "work": "the work is closed, blocked or taken away",
    "wait": "the wait is delivered or canceled",
    "operator": "the wake request is answered or lapses",
    "pin": "the pin lapses or is taken away with gc unpin",
    "dependency": "the sessions that need it need it no more",
    "idle_boundary": "it shows a prompt with nothing typed, twice in a row",
    "background": "its background work ends",
    "turn_open": "its turn ends",
    "starting": "it is ready for the first time",
    "attachment_unknown": "its runtime says clearly whether anybody is attached",
    "pending_unknown": "its runtime says clearly whether a question is open",
    "demand_unknown": "work can be read again",
    "runtime_unknown": "its runtime answers again",
}


def _changes(look: Look, session: Session, decision: Decision | None, now: datetime) -> list[str]:
    """What would make the next judgement another one."""
    hold = hold_of(session, look.city, now)
    if hold is not None:
        return [hold.do]
    if decision is None:
        return ["the first patrol"]
    if decision.state.value == "awake":
        if str(decision.policy.effective) == "off":
            return ["a sleep policy in city.toml", f"gc sleep {session.name}"]
        ends = (ENDS.get(name, f"{name} ends") for name in decision.blocker_names)
        return [*ends] or ["any hard wake keeps it up; nothing else does"]
    if decision.state.value in ("asleep", "stopped"):
        changes = [f"a wake by {source}" for source in decision.wake_sources if source != "none"]
        changes.append(f"gc wake {session.name}")
        if decision.suppressed:
            changes.append("another sleep policy for it in city.toml")
        return changes
    return [f"it is {decision.state.value}: the next patrol decides"]
