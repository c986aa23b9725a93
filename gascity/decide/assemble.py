"""The answers of the stages put together: one action at most, and a decision, for every session.

Source: DESIGN §X stages 4 to 6 (R33, R34, R80)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from gascity.decide.case import Case, Settled
from gascity.decide.dependencies import dependencies_first
from gascity.decide.explain import display_state, note, probe_result, verdict, wake_sources
from gascity.decide.judge import Judged, judge
from gascity.decide.orphans import orphan_decision
from gascity.decide.pools import PoolPlan, plan_pool
from gascity.decide.recovery import Row, recover
from gascity.decide.settle import settle
from gascity.decide.starts import plan_starts
from gascity.decide.structural import missing_sessions, structural_reason
from gascity.decide.wake import Wakes
from gascity.model.drift import start_hash
from gascity.model.events import Event
from gascity.model.plan import (
    Action,
    CapabilityClass,
    Create,
    Decision,
    Drain,
    Plan,
    Start,
)
from gascity.model.roster import Place, fixed_places, slot_place
from gascity.model.session import Session, StopReason
from gascity.model.world import DrainPhase, Truth, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Roster:
    """Where the config asks for sessions. `place` is None for one it does not name."""

    fixed: Mapping[str, Place]  # {session name: place}
    by_session: Mapping[str, Place | None]  # {session id: place}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One session on its way through assembly."""

    session: Session
    row: Row
    judged: Judged
    settled: Settled


def roster(world: World) -> Roster:
    """The places of this city, matched with the records there are."""
    fixed = fixed_places(world.city)
    found: dict[str, Place | None] = {}
    for session in world.sessions.values():
        agent = world.city.agents.get(session.template)
        if session.slot is not None and agent is not None and agent.pool is not None:
            found[session.id] = slot_place(agent, session.slot)
        else:
            place = fixed.get(session.name)
            matches = place is not None and place.template == session.template
            found[session.id] = place if matches and session.slot is None else None
    return Roster(fixed=fixed, by_session=found)


def plan_all_pools(world: World, places: Roster, wakes: Wakes) -> dict[str, PoolPlan]:
    """{template: plan} of every pool (NORM-04)."""
    pools = {name: agent for name, agent in world.city.agents.items() if agent.pool is not None}
    members: dict[str, list[Session]] = {name: [] for name in pools}
    for session in world.sessions.values():
        if session.template in members and session.slot is not None:
            members[session.template].append(session)
    return {name: plan_pool(agent, members[name], world, wakes) for name, agent in pools.items()}


def judge_all(
    world: World, places: Roster, wakes: Wakes, pools: Mapping[str, PoolPlan]
) -> dict[str, Judged]:
    """{session id: judgement} of every session the config names."""
    by_pool = {session_id: wake for plan in pools.values() for session_id, wake in plan.wakes}
    judged: dict[str, Judged] = {}
    for session_id, session in world.sessions.items():
        place = places.by_session[session_id]
        if place is None:
            continue
        causes = wakes.of(session_id)
        if session_id in by_pool:
            causes = (*causes, by_pool[session_id])
        found = judge(session, world, causes, place)
        assert found is not None
        judged[session_id] = found
    return judged


def assemble(
    world: World,
    *,
    stored: World,
    places: Roster,
    wakes: Wakes,
    pools: Mapping[str, PoolPlan],
    judged: Mapping[str, Judged],
) -> Plan:
    """The plan. `stored` is the world before normalisation: what is on disk now."""
    trimmed = frozenset().union(*(plan.trim for plan in pools.values()))
    order = template_order(world)
    entries: dict[str, Entry] = {}
    decisions: dict[str, Decision] = {}
    lone: dict[str, Settled] = {}
    for session_id, session in world.sessions.items():
        found = judged.get(session_id)
        settled, row = _settle(session, world, found, places.by_session[session_id], trimmed)
        if found is None:
            lone[session_id] = settled
            decisions[session_id] = orphan_decision(session, world, row, settled)
        else:
            entries[session_id] = Entry(session=session, row=row, judged=found, settled=settled)
    wanted = [e.settled.action for e in entries.values() if isinstance(e.settled.action, Start)]
    starts = plan_starts(wanted, world, order)
    drains = _admitted_drains(entries, world)
    changes: dict[str, Session] = {}
    events: list[Event] = []
    actions: list[Action] = list(starts.now)
    for session_id, entry in entries.items():
        waits = starts.waiting.get(session_id, "")
        decision = _decision(entry, world, waits)
        decisions[session_id] = decision
        action = entry.settled.action
        if isinstance(action, Drain) and session_id not in drains:
            action = None
        if action is not None and not isinstance(action, Start):
            actions.append(action)
        after, reported = _noted(entry, stored.sessions[session_id], decision, world)
        events.extend((*entry.settled.events, *reported))
        if after is not stored.sessions[session_id]:
            changes[session_id] = after
    for session_id, settled in lone.items():
        if settled.action is not None:
            actions.append(settled.action)
        events.extend(settled.events)
        if settled.session is not stored.sessions[session_id]:
            changes[session_id] = settled.session
    actions.extend(_creations(world, places, wakes, pools))
    return Plan(
        actions=tuple(actions),
        decisions=decisions,
        changes=changes,
        events=tuple(events),
        pools=tuple(plan.state for plan in pools.values()),
        queued=starts.queued | _left_over(entries, drains, world),
        missing=missing_sessions(world, _placed_names(world, places)),
        next_due=_next_due(entries, world),
        warnings=world.city.warnings,
    )


def template_order(world: World) -> dict[str, int]:
    """{template: rank}, dependencies before dependents (DEP-08)."""
    edges = {name: agent.depends_on for name, agent in world.city.agents.items()}
    if not any(edges.values()):
        return {}
    return {name: rank for rank, name in enumerate(dependencies_first(edges))}


def _settle(
    session: Session,
    world: World,
    judged: Judged | None,
    place: Place | None,
    trimmed: frozenset[str],
) -> tuple[Settled, Row]:
    """The row and what it asks for; a session already being walked is left to its walk."""
    seen = world.sighting(session.id)
    started_with = start_hash(place.agent, world.city) if place is not None else ""
    reason = structural_reason(session, world, place, trimmed=trimmed, started_with=started_with)
    wanted = judged is not None and bool(judged.wakes)
    unplaced = place is None
    row = recover(session, seen.truth, wanted=wanted, structural=reason is not None or unplaced)
    left_alone = session.id in world.memory.walks or bool(session.foreign_state)
    if left_alone or (unplaced and reason is None):
        return Settled(session=session), row
    if reason in (StopReason.EXCESS, StopReason.ORPHANED) and not world.writable:
        return Settled(session=session), row
    case = Case(session=session, seen=seen, world=world, row=row, structural=reason, judged=judged)
    return settle(case), row


def _admitted_drains(entries: Mapping[str, Entry], world: World) -> frozenset[str]:
    """The drains begun this tick: every one that needs no new probe, and the probes admitted.

    At most `max_idle_probes_per_tick` probes; the candidate that waited longest goes first (R33).
    """
    drains = {
        session_id: entry
        for session_id, entry in entries.items()
        if isinstance(entry.settled.action, Drain)
    }
    probing = [session_id for session_id, entry in drains.items() if _needs_probe(entry)]
    probing.sort(key=lambda session_id: _probe_rank(session_id, drains[session_id], world))
    admitted = probing[: world.city.daemon.max_idle_probes_per_tick]
    return frozenset(drains) - frozenset(probing) | frozenset(admitted)


def _needs_probe(entry: Entry) -> bool:
    action = entry.settled.action
    fresh = isinstance(action, Drain) and not action.resume
    return fresh and entry.judged.capability.kind is CapabilityClass.FULL


def _probe_rank(session_id: str, entry: Entry, world: World) -> tuple[datetime, str]:
    probe = world.memory.probes.get(session_id)
    due = entry.judged.window.deadline or world.now
    return (max(due, probe.at) if probe is not None else due, session_id)


def _left_over(
    entries: Mapping[str, Entry], drains: frozenset[str], world: World
) -> frozenset[str]:
    """Candidates that were not probed for a whole patrol: they ask for a follow-up tick (R33)."""
    stale = world.now - world.city.daemon.patrol_interval.delta
    found = set()
    for session_id, entry in entries.items():
        if isinstance(entry.settled.action, Drain) and session_id not in drains:
            probe = world.memory.probes.get(session_id)
            if probe is None or probe.at <= stale:
                found.add(session_id)
    return frozenset(found)


def _decision(entry: Entry, world: World, waits: str) -> Decision:
    """Everything that explains this session this tick."""
    session, judged = entry.settled.session, entry.judged
    walk = world.memory.walks.get(session.id)
    running = world.sighting(session.id).truth is not Truth.STOPPED
    blockers = (*judged.blockers, *entry.settled.blockers) if running else ()
    if not running:
        blockers = tuple(b for b in judged.solid if b.name.endswith("_unknown"))
    decision = Decision(
        session_id=session.id,
        name=session.name,
        state=display_state(session, world),
        row=entry.row.label,
        path=entry.row.path,
        policy=judged.policy,
        capability=judged.capability,
        reasons=judged.reasons,
        hard_wakes=judged.wakes,
        blockers=blockers,
        suppressed=session.is_cold and (judged.latched or not judged.config),
        masked_by=judged.masked_by,
        idle_reference_at=judged.window.reference_at,
        keep_warm_deadline=judged.window.deadline if running else None,
        fingerprint=judged.fingerprint.value,
        fingerprint_inputs=judged.fingerprint.inputs,
        probe_result=probe_result(world, session.id),
        drain_phase=walk.phase if walk is not None else DrainPhase.NONE,
        held_back=waits or entry.settled.held_back,
        wake_sources=wake_sources(session, judged, world),
    )
    return replace(decision, verdict=verdict(decision, session))


def _noted(
    entry: Entry, before: Session, decision: Decision, world: World
) -> tuple[Session, tuple[Event, ...]]:
    """The record with its notes; a session on a walk is written by its walk alone."""
    if entry.session.id in world.memory.walks or entry.session.foreign_state:
        return before, ()
    noted = note(before, entry.settled.session, decision, now=world.now)
    return noted.session, noted.events


def _creations(
    world: World, places: Roster, wakes: Wakes, pools: Mapping[str, PoolPlan]
) -> list[Create]:
    """Places that are asked for and have no record yet (POOL-23)."""
    if not world.writable:
        return []
    have = {session.name for session in world.sessions.values()}
    found = [Create(place=place) for name, place in places.fixed.items() if name not in have]
    for template, plan in pools.items():
        agent = world.city.agents[template]
        for slot in plan.create:
            place = slot_place(agent, slot)
            if place.name not in have:
                found.append(Create(place=place))
    return found


def _placed_names(world: World, places: Roster) -> frozenset[str]:
    """The names of sessions the config asks for, or would not remove by itself."""
    named = {
        world.sessions[session_id].name
        for session_id, place in places.by_session.items()
        if place is not None
    }
    return frozenset(named | set(places.fixed))


def _next_due(entries: Mapping[str, Entry], world: World) -> datetime | None:
    """The earliest instant at which time alone changes an answer (R80)."""
    due: list[datetime] = []
    for entry in entries.values():
        session, window = entry.settled.session, entry.judged.window
        if world.sighting(session.id).truth is Truth.RUNNING and window.deadline is not None:
            due.append(window.deadline)
        limit = entry.judged.place.agent.idle_timeout
        if limit is not None and window.reference_at is not None:
            due.append(window.reference_at + limit.delta)
        notes = (session.attach_intent, session.wake_request, *session.pins)
        due.extend(item.expires_at for item in notes if item is not None)
        due.extend(at for at in (session.quarantined_until, session.held_until) if at is not None)
    return min((at for at in due if at > world.now), default=None)
