"""The answers of the stages put together: one action at most, and a decision, for every session.

Source: DESIGN §X stages 4 to 6 (R33, R34, R80)
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

from gascity.decide.case import Case, Settled, drop_intent
from gascity.decide.deliver import close_notices, deliver
from gascity.decide.due import next_due
from gascity.decide.explain import (
    display_state,
    note,
    payload,
    probe_result,
    verdict,
    wake_sources,
)
from gascity.decide.idle import sleep_is_asked
from gascity.decide.judge import Judged, judge
from gascity.decide.orphans import orphan_decision
from gascity.decide.pools import PoolPlan, plan_pool, trims_last
from gascity.decide.probing import Entry, admit_drains
from gascity.decide.recovery import Row, recover
from gascity.decide.release import release
from gascity.decide.roster import Roster, template_order
from gascity.decide.settle import settle
from gascity.decide.starts import plan_starts
from gascity.decide.structural import missing_sessions, structural_reason
from gascity.decide.wake import Wakes
from gascity.model.events import Event
from gascity.model.plan import (
    Action,
    Commit,
    Create,
    Decision,
    Drain,
    Plan,
    Retire,
    Start,
    Stop,
)
from gascity.model.roster import slot_place
from gascity.model.session import Session, SleepIntent, State
from gascity.model.world import DrainPhase, Sighting, Truth, World


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
    order = template_order(world.city)
    entries: dict[str, Entry] = {}
    decisions: dict[str, Decision] = {}
    lone: dict[str, Settled] = {}
    for session_id, session in world.sessions.items():
        found = judged.get(session_id)
        settled, row = _settle(session, world, found, places, trimmed)
        if found is None:
            lone[session_id] = settled
            decisions[session_id] = orphan_decision(session, world, row, settled)
        else:
            entries[session_id] = Entry(session=session, row=row, judged=found, settled=settled)
    wanted = [e.settled.action for e in entries.values() if isinstance(e.settled.action, Start)]
    starts = plan_starts(wanted, world, order)
    admitted = admit_drains(entries, world)
    changes: dict[str, Session] = {}
    events: list[Event] = []
    actions: list[Action] = list(starts.now)
    for session_id, entry in entries.items():
        waits = starts.waiting.get(session_id, "")
        decision = _decision(entry, world, waits, places.depended_on)
        decisions[session_id] = decision
        actions.extend(_actions(entry, world, admitted.drains))
        after, reported = _noted(entry, stored.sessions[session_id], decision, world)
        events.extend(reported)
        if after is not stored.sessions[session_id]:
            changes[session_id] = after
    for session_id, settled in lone.items():
        if settled.action is not None:
            actions.append(settled.action)
        events.extend(settled.events)
        if settled.session is not stored.sessions[session_id]:
            changes[session_id] = settled.session
    actions.extend(_creations(world, places, pools))
    actions.extend(close_notices(world))
    return Plan(
        actions=trims_last(actions, trimmed, world),
        decisions=decisions,
        changes=changes,
        events=tuple(events),
        pools=tuple(plan.state for plan in pools.values()),
        queued=starts.queued | admitted.left_over,
        missing=missing_sessions(world, places.unplaced),
        next_due=next_due(entries, world),
        warnings=world.city.warnings,
    )


def _actions(entry: Entry, world: World, drains: AbstractSet[str]) -> tuple[Action, ...]:
    """The one action of a session, starts apart; where there is none, what it is to be told."""
    action = entry.settled.action
    if isinstance(action, Drain) and entry.session.id not in drains:
        action = None
    if action is None:
        action = deliver(entry, world) or release(entry.settled.session, world)
    return () if action is None or isinstance(action, Start) else (action,)


def _settle(
    session: Session, world: World, judged: Judged | None, places: Roster, trimmed: frozenset[str]
) -> tuple[Settled, Row]:
    """The row and what it asks for; a session already being walked is left to its walk."""
    seen, place = world.sighting(session.id), places.by_session[session.id]
    reason = structural_reason(
        session,
        world,
        place,
        trimmed=trimmed,
        started_with=places.start_hashes.get(session.template, ""),
    )
    wanted = judged is not None and bool(judged.wakes) and not _is_forced(session, seen, judged)
    unplaced = place is None
    row = recover(session, seen.truth, wanted=wanted, structural=reason is not None or unplaced)
    left_alone = session.id in world.memory.walks or bool(session.foreign_state)
    if left_alone or (unplaced and reason is None):
        return Settled(session=session), row
    case = Case(session=session, seen=seen, world=world, row=row, structural=reason, judged=judged)
    settled = settle(case)
    # What cannot be recorded is not stopped; wakes go on and are recorded later (R75).
    if not world.writable and isinstance(settled.action, Stop | Drain | Commit | Retire):
        settled = replace(settled, action=None)
    return settled, row


def _is_forced(session: Session, seen: Sighting, judged: Judged) -> bool:
    """Whether `gc sleep --force` closes its eyes to hard wakes until it is down (R64)."""
    asked = session.sleep_request
    if asked is None or not asked.force or seen.truth is not Truth.RUNNING:
        return False
    return sleep_is_asked(session, judged.window.reference_at)


def _decision(entry: Entry, world: World, waits: str, depended_on: frozenset[str]) -> Decision:
    """Everything that explains this session this tick."""
    session, judged = entry.settled.session, entry.judged
    walk = world.memory.walks.get(session.id)
    running = world.sighting(session.id).truth is not Truth.STOPPED
    if running:
        blockers = (*judged.blockers, *entry.settled.blockers)
    else:
        blockers = tuple(b for b in judged.solid if b.name.endswith("_unknown"))
    state = display_state(session, world)
    suppressed = session.is_cold and (judged.latched or not judged.config)
    held_back = waits or entry.settled.held_back
    return Decision(
        session_id=session.id,
        name=session.name,
        state=state,
        row=entry.row.label,
        path=entry.row.path,
        policy=judged.policy,
        capability=judged.capability,
        reasons=judged.reasons,
        hard_wakes=judged.wakes,
        blockers=blockers,
        suppressed=suppressed,
        masked_by=judged.masked_by,
        idle_reference_at=judged.window.reference_at,
        keep_warm_deadline=judged.window.deadline if running else None,
        fingerprint=judged.fingerprint.value,
        fingerprint_inputs=judged.fingerprint.inputs,
        probe_result=probe_result(world, session.id),
        drain_phase=walk.phase if walk is not None else DrainPhase.NONE,
        held_back=held_back,
        wake_sources=wake_sources(session, judged, world, depended_on=depended_on),
        verdict=verdict(
            session,
            judged,
            path=entry.row.path,
            state=state,
            blockers=blockers,
            held_back=held_back,
            suppressed=suppressed,
        ),
    )


def _noted(
    entry: Entry, before: Session, decision: Decision, world: World
) -> tuple[Session, tuple[Event, ...]]:
    """The record with its notes, and what is reported of it, each with the decision behind it.

    A session on a walk is written by its walk alone (EVT-08, EVT-09).
    """
    if entry.session.id in world.memory.walks or entry.session.foreign_state:
        return before, ()
    noted = note(before, entry.settled.session, decision, now=world.now)
    settled = (*_undone(entry, before, decision, world), *entry.settled.events)
    if not settled:
        return noted.session, noted.events
    shared = payload(decision, now=world.now)
    told = (replace(e, payload={**shared, **e.payload}) for e in settled)
    return noted.session, (*told, *noted.events)


def _undone(entry: Entry, before: Session, decision: Decision, world: World) -> tuple[Event, ...]:
    """A drain whose confirmed stop somebody undid ends as aborted, not mute (EVT-03, R30)."""
    confirmed = before.sleep_intent is SleepIntent.CONFIRMED and before.state is State.AWAKE
    if not confirmed or entry.session.sleep_intent is not SleepIntent.NONE:
        return ()
    case = Case(
        session=before,
        seen=world.sighting(before.id),
        world=world,
        row=entry.row,
        structural=None,
        judged=entry.judged,
    )
    return drop_intent(case, *(decision.blocker_names or ("keep_warm",)))[1]


def _creations(world: World, places: Roster, pools: Mapping[str, PoolPlan]) -> list[Create]:
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
