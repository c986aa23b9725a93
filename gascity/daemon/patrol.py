"""One patrol: observe, decide, save, act. Four lines and what may go wrong between them.

Source: DESIGN §X (R42, R43, R75)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from gascity.act.budget import TickBudget
from gascity.act.perform import Performer
from gascity.act.save import apply
from gascity.act.start import Unsaved
from gascity.beads.record import to_update
from gascity.beads.store import Batch, Conflict, StoreBroken, StoreUnavailable
from gascity.decide.explain import display_state
from gascity.decide.tick import decide
from gascity.model.plan import Create, Decision, DisplayState, Plan, Start, Stop
from gascity.model.session import Session, State, StopReason
from gascity.model.world import Truth, World
from gascity.observe.ports import Ports
from gascity.observe.world import Lookout

TRIES: Final = 5
SECOND_READING_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Patrolled:
    """What one patrol saw and decided."""

    world: World
    plan: Plan


async def patrol(ports: Ports, lookout: Lookout, performer: Performer) -> Patrolled:
    """Run one patrol.

    A write that met another one is no failure: the whole picture is taken again.

    Raises:
        StoreUnavailable: the records could not be read.
        StoreBroken: the process must end.
    """
    budget = TickBudget(clock=ports.clock, began=ports.clock.monotonic())
    for _ in range(TRIES):
        world = await lookout.city()
        plan = _decide(world, ports)
        performer.unsaved = {}
        try:
            await _save(world, plan, ports)
        except Conflict:
            continue
        except StoreBroken:
            raise
        except StoreUnavailable:
            plan, performer.unsaved = _only_wakes(plan), _unsaved(plan)
        performer.taken = _taken(plan)
        await performer.perform(plan, budget=budget)
        if any(isinstance(action, Create) for action in plan.actions):
            continue  # a new record is judged, and started, in the patrol that made it
        return Patrolled(world=world, plan=plan)
    raise Conflict("the records kept changing during the patrol")


def _decide(world: World, ports: Ports) -> Plan:
    """The plan, recorded where that is wanted; so is a fault in the rules."""
    if not world.city.daemon.record_ticks:
        return decide(world)
    try:
        plan = decide(world)
    except Exception as fault:
        ports.record(world, fault)
        raise
    ports.record(world, plan)
    return plan


async def _save(world: World, plan: Plan, ports: Ports) -> None:
    """Everything the plan changes, with its events, in one batch (R43)."""
    updates = tuple(
        update
        for session_id, after in plan.changes.items()
        if (update := to_update(world.sessions[session_id], after)).metadata
    )
    if not updates and not plan.events:
        return
    insist = world.demand.revision if updates else None
    await apply(ports, Batch(updates=updates, events=plan.events, expect_demand=insist))


def _only_wakes(plan: Plan) -> Plan:
    """With the store not writable nothing is stopped; wakes go on (R75, D4)."""
    return replace(
        plan, actions=tuple(action for action in plan.actions if isinstance(action, Start))
    )


def _unsaved(plan: Plan) -> dict[str, Unsaved]:
    """{session id: what was decided of it}: whoever is started tries to write it once more."""
    return {
        session_id: Unsaved(
            session=after, events=tuple(one for one in plan.events if one.subject == after.name)
        )
        for session_id, after in plan.changes.items()
    }


def _taken(plan: Plan) -> dict[str, StopReason]:
    """{session id: reason} of every structural stop the plan asks for, for drains under way."""
    return {action.session_id: action.reason for action in plan.actions if isinstance(action, Stop)}


def shown_now(plan: Plan | None, world: World | None, ports: Ports) -> Plan | None:
    """The plan with the states that walks have moved since it was made."""
    if plan is None or world is None:
        return plan
    walks = ports.memory.walks
    moved: dict[str, Decision] = {}
    for session_id, session in ports.records.items():
        decision = plan.decisions.get(session_id)
        seen = world.sessions.get(session_id)
        written = seen is None or session.version > seen.version
        if decision is not None and (written or session_id in walks):
            moved[session_id] = replace(decision, state=_state_now(session, world, ports, written))
    return replace(plan, decisions={**plan.decisions, **moved}) if moved else plan


def _state_now(session: Session, world: World, ports: Ports, written: bool) -> DisplayState:
    """The state of a session by its walk, and by its record where that is newer than the look."""
    sightings = world.sightings
    if written and session.state is not State.CREATING:
        up = session.state is State.AWAKE
        truth = Truth.RUNNING if up else Truth.STOPPED
        sightings = {session.id: replace(world.sighting(session.id), truth=truth)}
    live = replace(world, memory=ports.memory.frozen(ports.clock), sightings=sightings)
    return display_state(session, live)


def remember(ports: Ports, done: Patrolled, *, monotonic: float) -> bool:
    """Keep what the next patrol must know of this one; whether that one is wanted soon.

    Somebody whom the config does not name is removed only by a second complete reading, at least
    a second later (R21).
    """
    plan, world, memory = done.plan, done.world, ports.memory
    known = memory.missing
    if not plan.missing:
        memory.missing, memory.missing_since = frozenset(), None
    elif memory.missing_since is None:
        memory.missing_since, memory.missing_in = monotonic, memory.readings
    elif monotonic - memory.missing_since >= SECOND_READING_S and (
        memory.readings > memory.missing_in or not memory.rereads
    ):
        memory.missing = plan.missing
    memory.waiting_since = {
        session_id: memory.waiting_since.get(session_id, world.now) for session_id in plan.queued
    }
    memory.keep_only(world.sessions)
    # What was confirmed just now is removed by the patrol that follows.
    return bool(plan.queued) or memory.missing != plan.missing or memory.missing > known
