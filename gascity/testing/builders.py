"""Small worlds for tests: say only what the test is about, everything else has a default.

Records are named, not numbered: `awake("mayor")` has the id `gc-mayor`, and every mapping that
`a_world` takes may be keyed by session name. A cold session gets the fingerprint its place has now,
unless the test gives it one.

Source: DESIGN §10, §11; style of tests: docs/TESTING.md
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from gascity.decide.judge import judge
from gascity.decide.tick import decide
from gascity.model.city import City
from gascity.model.drift import start_hash
from gascity.model.plan import Action, Decision, Plan
from gascity.model.reading import Known, Reading, Unclear, Unsupported
from gascity.model.session import (
    Session,
    SleepIntent,
    State,
)
from gascity.model.signals import Heard
from gascity.model.world import (
    Demand,
    Memory,
    OpenTurn,
    Probe,
    Sighting,
    Support,
    Walk,
    World,
)
from gascity.testing.records import (
    BLIND,
    FULL,
    NOON,
    STARTER,
    TIMED,
    a_city,
    a_note,
    a_pin,
    a_probe,
    a_session,
    agent,
    ago,
    ahead,
    asleep,
    awake,
    cold,
    confirmed,
    draining,
    fresh,
    headless,
    length,
    pooled,
    running,
    span,
    starting,
    stopped,
    unseen,
)

__all__ = [
    "BLIND",
    "FULL",
    "NOON",
    "STARTER",
    "TIMED",
    "a_city",
    "a_note",
    "a_pin",
    "a_probe",
    "a_session",
    "a_world",
    "action_of",
    "agent",
    "ago",
    "ahead",
    "asleep",
    "awake",
    "by_id",
    "cold",
    "confirmed",
    "decided",
    "decision_of",
    "draining",
    "fresh",
    "headless",
    "length",
    "pooled",
    "record_of",
    "running",
    "span",
    "starting",
    "stopped",
    "unseen",
]

V = TypeVar("V")


def a_world(
    city: City,
    *sessions: Session,
    seen: Mapping[str, Sighting] | Sighting | None = None,
    support: Mapping[str, Reading[Support]] | Support | None = FULL,
    work: Mapping[str, Any] | None = None,
    waits: Mapping[str, Any] | None = None,
    routed: Mapping[str, Any] | None = None,
    checks: Mapping[str, Any] | None = None,
    demand: Demand | None = None,
    probes: Mapping[str, Probe] | None = None,
    walks: Mapping[str, Walk] | None = None,
    missing: frozenset[str] = frozenset(),
    waiting_since: Mapping[str, datetime] | None = None,
    resumed_at: datetime | None = None,
    turns: Mapping[str, str] | None = None,
    turns_unsure_until: datetime | None = None,
    heard: Mapping[str, Heard] | None = None,
    now: datetime = NOON,
    writable: bool = True,
) -> World:
    """One picture of `city`. Mappings may be keyed by session name.

    Args:
        seen: One sighting for all, or {name: sighting}; whoever is recorded awake runs idle, the
            others are stopped.
        work: {name: bead id, ids, or a reading}; likewise `waits`, `routed` ({template: ...}) and
            `checks` ({template: count or reading}).
        turns: {name: instance token} of the turns that are announced.
        heard: {name: what the hooks of its agent said}.
    """
    known = {one.id: one for one in sessions}
    sightings = {one.id: _seen(one, seen) for one in sessions}
    supports: dict[str, Reading[Support]] = {
        one.id: Known(support) for one in sessions if isinstance(support, Support)
    }
    if isinstance(support, Mapping):
        supports = by_id(support, known)
    asked = Demand(
        work={key: _reading(value) for key, value in by_id(work or {}, known).items()},
        waits={key: _reading(value) for key, value in by_id(waits or {}, known).items()},
        routed={key: _reading(value) for key, value in (routed or {}).items()},
        pool_checks={
            key: Known(value) if isinstance(value, int) else value
            for key, value in (checks or {}).items()
        },
    )
    world = World(
        now=now,
        city=city,
        sessions=known,
        sightings=sightings,
        support=supports,
        demand=demand or asked,
        memory=_memory(
            known,
            probes=probes or {},
            walks=walks or {},
            waiting_since=waiting_since or {},
            heard=heard or {},
            missing=missing,
            resumed_at=resumed_at,
            turns=_turns(turns or {}, now),
            turns_unsure_until=turns_unsure_until,
        ),
        writable=writable,
    )
    return replace(
        world, sessions={one.id: _as_recorded(one, world) for one in world.sessions.values()}
    )


def _memory(
    known: Mapping[str, Session],
    *,
    missing: frozenset[str],
    resumed_at: datetime | None,
    turns_unsure_until: datetime | None,
    **by_name: Mapping[str, Any],
) -> Memory:
    """What the controller remembers, with sessions named as tests do."""
    return Memory(
        missing=frozenset(by_id(dict.fromkeys(missing), known)),
        resumed_at=resumed_at,
        turns_unsure_until=turns_unsure_until,
        **{key: by_id(value, known) for key, value in by_name.items()},
    )


def _turns(tokens: Mapping[str, str], now: datetime) -> Mapping[str, tuple[OpenTurn, ...]]:
    return {
        name: (OpenTurn(token=token, what="sleep 60s", since=now),)
        for name, token in tokens.items()
    }


def by_id(given: Mapping[str, V], sessions: Mapping[str, Session]) -> dict[str, V]:
    """The same mapping keyed by session id, where it was keyed by name."""
    return {key if key in sessions else f"gc-{key}": value for key, value in given.items()}


def _seen(session: Session, seen: Mapping[str, Sighting] | Sighting | None) -> Sighting:
    if isinstance(seen, Sighting):
        return seen
    default = running() if session.state is State.AWAKE else stopped()
    return (seen or {}).get(session.name, default)


def _reading(value: Any) -> Reading[tuple[str, ...]]:
    if isinstance(value, Known | Unclear | Unsupported):
        return value
    return Known((value,) if isinstance(value, str) else tuple(value))


def _as_recorded(session: Session, world: World) -> Session:
    """The record with what earlier ticks would have written on it and tests rarely speak of."""
    owner = world.city.agents.get(session.template)
    if owner is None:
        return session
    if session.was_started and not session.started_hash:
        session = replace(session, started_hash=start_hash(owner, world.city))
    marked = session.sleep_intent is not SleepIntent.NONE
    if (session.is_cold or marked) and not session.fingerprint:
        stood = replace(world, support={session.id: Known(FULL)} | dict(world.support))
        judged = judge(session, stood, ())
        if judged is not None:
            session = replace(
                session,
                fingerprint=judged.fingerprint.value,
                fingerprint_inputs=judged.fingerprint.inputs,
            )
    return session


def decision_of(plan: Plan, name: str) -> Decision:
    """What a plan says about the session of that name."""
    return plan.decisions[f"gc-{name}"]


def action_of(plan: Plan, name: str) -> Action | None:
    """The action a plan has for the session of that name, or None."""
    wanted = f"gc-{name}"
    found = [one for one in plan.actions if getattr(one, "session_id", "") == wanted]
    assert len(found) <= 1, "at most one action per session"
    return found[0] if found else None


def decided(world: World, name: str = "mayor") -> tuple[Decision, Action | None]:
    """Decide, and pick out one session: (decision, action)."""
    plan = decide(world)
    return decision_of(plan, name), action_of(plan, name)


def record_of(plan: Plan, world: World, name: str = "mayor") -> Session:
    """The record as the plan leaves it."""
    return plan.changes.get(f"gc-{name}", world.sessions[f"gc-{name}"])
