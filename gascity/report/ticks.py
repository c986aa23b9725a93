"""One recorded tick: what a patrol saw, what it decided, and which version of the product did.

`facts` picks from a plan what a replay compares. Words for people are left out: they may change
from version to version and may quote what was on a screen.

A line is one JSON object; see docs/how-to/replay-a-field-report.md.

Source: DESIGN §11 (META-22, R73)
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gascity.model.plan import Action, CloseNotices, Create, Decision, Plan, Retire, Start, Stop
from gascity.model.session import Session
from gascity.model.world import World
from gascity.report.codec import Found, Unreadable, decode, encode

SCHEMA: Final = 1
FIELDS: Final = frozenset({"schema", "version", "world", "decisions", "city", "fault"})
# Of a changed record, what an upgrade must not change unseen; the rest are notes and instants.
WRITTEN: Final = (
    "state", "sleep_reason", "sleep_intent", "generation", "fingerprint", "latch_generation",
    "quarantine_cycle", "quarantined_until", "stop_note",
)  # fmt: skip

Facts = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """One line as read: `decisions` is {session id: facts}, `city` the facts about no session.

    `fault` names the exception that deciding ended with, "" for none. `line` counts from 1.
    """

    line: int
    version: str
    world: World
    decisions: Mapping[str, Facts]
    city: Facts
    fault: str = ""
    found: Found = field(default_factory=Found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A line that is no tick: `torn` when a writer died in it, else not understood."""

    line: int
    why: str
    torn: bool = False


def written(world: str, outcome: Plan | Exception, *, version: str) -> str:
    """The line of one tick, with its end. `world` is JSON already."""
    rest: dict[str, Any] = {"schema": SCHEMA, "version": version, **outcome_of(outcome)}
    return f'{json.dumps(rest, separators=(",", ":"))[:-1]},"world":{world}}}\n'


def outcome_of(outcome: Plan | Exception) -> dict[str, Any]:
    """`decisions`, `city` and `fault` of a plan, or of what deciding ended with."""
    if isinstance(outcome, Exception):
        return {"decisions": {}, "city": {}, "fault": type(outcome).__name__}
    return {"decisions": facts(outcome), "city": city_facts(outcome), "fault": ""}


def facts(plan: Plan) -> dict[str, Facts]:
    """{session id: what was decided about it}, JSON-ready.

    Facts that say nothing are there too, so that one a version does not know yet can be told from
    one that was not so; and so is a session that is acted on or written without a decision.
    """
    acts = {
        action.session_id: act
        for action in plan.actions
        if not isinstance(action, Create | CloseNotices) and (act := _act(action))
    }
    ids = dict.fromkeys([*plan.decisions, *acts, *plan.changes, *sorted(plan.queued)])
    found: dict[str, Facts] = {}
    for session_id in ids:
        decision = plan.decisions.get(session_id)
        changed = plan.changes.get(session_id)
        found[session_id] = {
            **(_judged(decision) if decision is not None else {}),
            "action": acts.get(session_id, ""),
            "record": _record(changed) if changed is not None else None,
            "queued": session_id in plan.queued,
        }
    return found


def city_facts(plan: Plan) -> Facts:
    """What was decided about no session that is there: records to make, pools, notices, events."""
    closed = [action for action in plan.actions if isinstance(action, CloseNotices)]
    events = sorted(f"{event.type} {event.subject}".rstrip() for event in plan.events)
    return {
        "creates": [a.place.name for a in plan.actions if isinstance(a, Create)],
        "lapsed": [one for action in closed for one in action.lapsed],
        "interrupted": [one for action in closed for one in action.interrupted],
        "pools": [[one.template, one.desired, one.effective_desired] for one in plan.pools],
        "missing": sorted(plan.missing),
        "next_due": plan.next_due.isoformat() if plan.next_due is not None else "",
        "events": events,
    }


def _judged(decision: Decision) -> Facts:
    """A decision without its words for people."""
    deadline = decision.keep_warm_deadline
    return {
        "name": decision.name,
        "state": str(decision.state),
        "row": decision.row,
        "path": str(decision.path),
        "blockers": list(decision.blocker_names),
        "reasons": list(decision.reasons),
        "hard_wakes": [str(wake.cause) for wake in decision.hard_wakes],
        "effective": str(decision.policy.effective),
        "capability": str(decision.capability.kind),
        "suppressed": decision.suppressed,
        "masked_by": decision.masked_by,
        "held_back": bool(decision.held_back),
        "keep_warm_deadline": deadline.isoformat() if deadline is not None else "",
        "drain_phase": str(decision.drain_phase),
    }


def _act(action: Action) -> str:
    """An action on a session in a few words: `stop config-drift restart`."""
    words = [type(action).__name__.lower()]
    match action:
        case Start():
            words += action.why
        case Stop():
            words.append(str(action.reason))
            words += [word for word in ("restart", "retire") if getattr(action, word)]
        case Retire():
            words.append(str(action.reason))
        case _:
            words += [word for word in ("resume",) if getattr(action, word, False)]
            words += getattr(action, "bead_ids", ())
    return " ".join(words)


def _record(session: Session) -> Facts:
    """What the record says after the tick."""
    return {name: _value(getattr(session, name)) for name in WRITTEN}


def _value(value: Any) -> Any:
    return None if value is None else encode(value)


def read(lines: Iterable[bytes]) -> Iterator[Tick | Skipped]:
    """Every line of a recorded file, in order; a blank one is passed over."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            yield Skipped(line=number, why="not a whole line", torn=True)
            continue
        try:
            yield _tick(number, data)
        except Unreadable as problem:
            yield Skipped(line=number, why=str(problem))


def _tick(number: int, data: Any) -> Tick:
    if not isinstance(data, dict) or not isinstance(data.get("schema"), int):
        raise Unreadable("not a recorded tick")
    if data["schema"] != SCHEMA:
        raise Unreadable(f"schema {data['schema']}; this version reads schema {SCHEMA}")
    found = Found(unknown={f"Tick.{key}": data[key] for key in data.keys() - FIELDS})
    world = decode(World, data.get("world"), found)
    decisions, city = data.get("decisions"), data.get("city", {})
    if not isinstance(decisions, dict) or not isinstance(city, dict):
        raise Unreadable("decisions: not an object")
    if not all(isinstance(one, dict) for one in decisions.values()):
        raise Unreadable("decisions: each is an object")
    return Tick(
        line=number,
        version=str(data.get("version", "")),
        world=world,
        decisions=decisions,
        city=city,
        fault=str(data.get("fault", "")),
        found=found,
    )
