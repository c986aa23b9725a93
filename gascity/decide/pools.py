"""How many slots a pool should have, which cold ones to wake, which to create, which to trim.

Source: DESIGN §9 (POOL-01..27, R20..R22, R60)
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice

from gascity.decide.wake import Wakes, held_reason
from gascity.model.city import Agent, Pool
from gascity.model.plan import Action, Cause, HardWake, PoolState
from gascity.model.reading import Known, Unclear
from gascity.model.roster import is_suspended
from gascity.model.session import Session, State
from gascity.model.world import Truth, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One realized slot as a pool sees it."""

    number: int
    is_awake: bool  # running, or on its way there
    is_held_by_need: bool  # holds work, is attached, pending, pinned, asked for
    is_bearer: bool  # the one slot that answers a dependency (R22)
    is_doubtful: bool  # a reading that could say it is needed is unclear
    can_wake: bool = True

    @property
    def is_spare(self) -> bool:
        """Whether nobody needs this very slot."""
        return not (self.is_held_by_need or self.is_bearer)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotPlan:
    """Slot numbers to keep awake for ready work, to wake, to create, and to trim.

    Lowest first, but for `trim`, which is highest first. No slot is in two of them.
    """

    effective_desired: int
    serve: tuple[int, ...] = ()
    wake: tuple[int, ...] = ()
    create: tuple[int, ...] = ()
    trim: tuple[int, ...] = ()


def plan_slots(
    slots: Collection[Slot],
    *,
    check_desired: int | None,
    dependency_floor: int,
    ready: int,
    pool: Pool,
) -> SlotPlan:
    """Reconcile one pool's slots with the number of slots it should have.

    Args:
        slots: Every realized slot, awake or asleep. Asleep slots count (POOL-01, POOL-04).
        check_desired: Slots the pool check asks for, >= 0; None when it gave no certain answer.
        dependency_floor: 1 when a hard-wake descendant needs this pool, else 0.
        ready: How many ready beads are routed to the pool (R20, POOL-17).

    Guarantees:
        Wakes before it creates; wakes the lowest slot first; trims the highest slot first; never
        trims a slot that is needed or in doubt; without a certain check it neither trims nor
        creates, but for the slot a dependency needs.
    """
    needed = sum(slot.is_held_by_need for slot in slots)
    desired = _clamp(check_desired, pool) if check_desired is not None else len(slots)
    effective = max(desired, dependency_floor, needed)
    trim = _trimmed(slots, len(slots) - effective if check_desired is not None else 0)
    kept = [slot for slot in slots if slot.number not in trim]
    # An uncertain check says nothing about how many are wanted awake: no more than there is work.
    goal = effective if check_desired is not None else min(effective, needed + ready)
    awake = sum(slot.is_awake for slot in kept)
    free = sorted(slot.number for slot in kept if slot.is_awake and not slot.is_held_by_need)
    cold = sorted(slot.number for slot in kept if not slot.is_awake and slot.can_wake)
    missing = max(0, effective - len(slots)) if check_desired is not None else 0
    if dependency_floor and not slots:
        missing = max(missing, 1)
    return SlotPlan(
        effective_desired=effective,
        serve=tuple(free[: max(0, goal - needed)]) if ready else (),
        wake=tuple(cold[: max(0, goal - awake)]) if ready else (),
        create=_created(slots, missing),
        trim=trim,
    )


def _trimmed(slots: Collection[Slot], excess: int) -> tuple[int, ...]:
    """The highest spare slots; one in doubt keeps its turn, but is not taken while in doubt."""
    spare = sorted((slot for slot in slots if slot.is_spare), key=lambda slot: -slot.number)
    return tuple(slot.number for slot in spare[: max(0, excess)] if not slot.is_doubtful)


def _created(slots: Collection[Slot], missing: int) -> tuple[int, ...]:
    """The lowest free numbers."""
    taken = {slot.number for slot in slots}
    free = (number for number in range(1, len(slots) + missing + 1) if number not in taken)
    return tuple(islice(free, missing))


def _clamp(count: int, pool: Pool) -> int:
    bounded = max(count, pool.min)
    return bounded if pool.max is None else min(bounded, pool.max)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlan:
    """One pool's plan in session ids.

    `wakes` maps the slots that serve ready routed work, awake ones and those to wake, to that work.
    """

    state: PoolState
    create: tuple[int, ...] = ()
    trim: frozenset[str] = frozenset()
    wakes: tuple[tuple[str, HardWake], ...] = ()


def plan_pool(agent: Agent, sessions: Sequence[Session], world: World, wakes: Wakes) -> PoolPlan:
    """The plan of one pool; a suspended pool wakes, creates and trims nothing here."""
    assert agent.pool is not None
    by_slot = {session.slot: session for session in sessions if session.slot is not None}
    slots = [_slot(number, session, world, wakes) for number, session in sorted(by_slot.items())]
    routed = world.demand.routed.get(agent.identity)
    beads = routed.value if isinstance(routed, Known) else ()
    unread = any(_unread(session, world) for session in by_slot.values())
    check = None if unread else _check(agent, slots, world, beads)
    floor = 1 if agent.identity in wakes.needs else 0
    plan = plan_slots(
        slots,
        check_desired=check,
        dependency_floor=floor,
        ready=len(beads),
        pool=agent.pool,
    )
    awake = sum(slot.is_awake for slot in slots)
    state = PoolState(
        template=agent.identity,
        desired=check,
        effective_desired=plan.effective_desired,
        realized=len(slots),
        awake=awake,
        asleep=len(slots) - awake,
    )
    if is_suspended(world.city, agent):
        return PoolPlan(state=state)
    wake = HardWake(cause=Cause.WORK, details=tuple(beads))
    return PoolPlan(
        state=state,
        create=plan.create,
        trim=frozenset(by_slot[number].id for number in plan.trim),
        wakes=tuple((by_slot[number].id, wake) for number in (*plan.serve, *plan.wake)),
    )


def _slot(number: int, session: Session, world: World, wakes: Wakes) -> Slot:
    own = [wake for wake in wakes.of(session.id) if wake.cause is not Cause.DEPENDENCY]
    seen = world.sighting(session.id)
    running = seen.truth is not Truth.STOPPED
    starting = session.state is State.CREATING and session.was_started
    return Slot(
        number=number,
        is_awake=running or starting or bool(wakes.of(session.id)),
        is_held_by_need=bool(own),
        is_bearer=len(own) < len(wakes.of(session.id)),
        is_doubtful=_unread(session, world)
        or Truth.UNKNOWN is seen.truth
        or isinstance(seen.attached, Unclear)
        or isinstance(seen.pending, Unclear),
        can_wake=not held_reason(session, world),
    )


def _unread(session: Session, world: World) -> bool:
    """Whether the slot's own work or waits could not be read."""
    demand = world.demand
    own = (demand.work.get(session.id), demand.waits.get(session.id))
    return any(isinstance(reading, Unclear) for reading in own)


def _check(agent: Agent, slots: Sequence[Slot], world: World, beads: Sequence[str]) -> int | None:
    """The desired count: the pool's own check, else ready routed work beside the work being done.

    None when no certain answer was given (R9).
    """
    if world.demand.unclear or isinstance(world.demand.routed.get(agent.identity), Unclear):
        return None
    assert agent.pool is not None
    if agent.pool.check:
        reading = world.demand.pool_checks.get(agent.identity)
        return max(0, reading.value) if isinstance(reading, Known) else None
    working = sum(slot.is_held_by_need for slot in slots)
    return max(agent.pool.min, len(beads) + working)


def trims_last(
    actions: Sequence[Action], trimmed: AbstractSet[str], world: World
) -> tuple[Action, ...]:
    """The same actions, trims last and the highest slot first of them (POOL-07, POOL-11)."""

    def slot(action: Action) -> int:
        return world.sessions[getattr(action, "session_id", "")].slot or 0

    trims = [one for one in actions if getattr(one, "session_id", "") in trimmed]
    others = [one for one in actions if getattr(one, "session_id", "") not in trimmed]
    return (*others, *sorted(trims, key=slot, reverse=True))


def causes_of(session: Session, world: World, wakes: Wakes) -> tuple[HardWake, ...]:
    """The hard wakes of one session, its pool's routed work included; for re-looks (R27).

    `world` must hold every slot of the session's pool.
    """
    own = wakes.of(session.id)
    agent = world.city.agents.get(session.template)
    if session.slot is None or agent is None or agent.pool is None:
        return own
    members = [
        one
        for one in world.sessions.values()
        if one.template == session.template and one.slot is not None
    ]
    plan = plan_pool(agent, members, world, wakes)
    return (*own, *(wake for session_id, wake in plan.wakes if session_id == session.id))
