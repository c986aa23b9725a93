"""Which wanted starts are made now: dependencies first, then the longest waiting, within a budget.

Source: DESIGN §5, §X (DEP-08, R22, R24; field: fair wakes)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from gascity.decide.wake import held_reason
from gascity.model.plan import Cause, Start
from gascity.model.session import Session
from gascity.model.world import Truth, World

BUDGET_SPAN: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPlan:
    """Starts to make, in order, and {session id: why} for those that wait."""

    now: tuple[Start, ...] = ()
    waiting: Mapping[str, str]
    queued: frozenset[str] = frozenset()  # waiting for budget or order: a follow-up tick is due


def plan_starts(wanted: Sequence[Start], world: World, order: Mapping[str, int]) -> StartPlan:
    """Choose among wanted starts.

    Args:
        wanted: Every start some path asks for.
        order: {template: rank}, dependencies before dependents.

    Guarantees:
        At most `max_wakes_per_tick` in a tick, and in a second but for attach and operator wakes.
        Attach and operator wakes go before all others; among equals the one that waited longest;
        a dependent waits until a session of each dependency that is wanted too is ready.
    """
    coming = {world.sessions[start.session_id].template for start in wanted}
    peers = _peers(wanted, world)
    waiting: dict[str, str] = {}
    ready: list[Start] = []
    queued: set[str] = set()
    for start in wanted:
        reason, final = _dependency_wait(start, world, coming, peers)
        if reason:
            waiting[start.session_id] = reason
            if not final:
                queued.add(start.session_id)
        else:
            ready.append(start)
    ready.sort(key=lambda start: _rank(start, world, order))
    now = _within_budget(ready, world) if ready else ()
    begun = {start.session_id for start in now}
    left = [start for start in ready if start.session_id not in begun]
    for position, start in enumerate(left, start=1):
        waiting[start.session_id] = f"queued for a start, number {position}"
        queued.add(start.session_id)
    return StartPlan(now=now, waiting=waiting, queued=frozenset(queued))


def _within_budget(ready: Sequence[Start], world: World) -> tuple[Start, ...]:
    """As many as may begin now, in order.

    A start that ends brings the next patrol at once, so the budget of a tick is also that of a
    second: else forty sleepers would be up in one burst of ticks. A person waits for no second.
    """
    settings = world.city.daemon
    walks = world.memory.walks
    running = sum(walk.kind == "start" for walk in walks.values())
    room = max(0, min(settings.max_wakes_per_tick, settings.max_concurrent_starts - running))
    begun = {
        one for one, walk in walks.items() if walk.kind == "start" and _is_recent(walk.since, world)
    }
    begun |= {one.id for one in world.sessions.values() if _is_recent(one.woke_at, world)}
    asked = sum(Cause.OPERATOR in start.why for start in ready)
    return tuple(ready[: min(room, max(asked, settings.max_wakes_per_tick - len(begun)))])


def _is_recent(at: datetime | None, world: World) -> bool:
    return at is not None and timedelta(0) <= world.now - at < BUDGET_SPAN


def _rank(start: Start, world: World, order: Mapping[str, int]) -> tuple[bool, datetime, int, str]:
    session = world.sessions[start.session_id]
    asked = Cause.OPERATOR in start.why
    since = world.memory.waiting_since.get(session.id, world.now)
    return (not asked, since, order.get(session.template, 0), session.name)


def _peers(wanted: Sequence[Start], world: World) -> dict[str, list[Session]]:
    """{template: its sessions} of every template that a wanted start depends on."""
    found: dict[str, list[Session]] = {}
    for start in wanted:
        agent = world.city.agents.get(world.sessions[start.session_id].template)
        for dependency in agent.depends_on if agent is not None else ():
            found.setdefault(dependency, [])
    for session in world.sessions.values() if found else ():
        if session.template in found:
            found[session.template].append(session)
    return found


def _dependency_wait(
    start: Start, world: World, coming: set[str], by_template: Mapping[str, Sequence[Session]]
) -> tuple[str, bool]:
    """Why it waits for a dependency, and whether only a person can end that; ("", False) to go."""
    agent = world.city.agents.get(world.sessions[start.session_id].template)
    for dependency in agent.depends_on if agent is not None else ():
        if dependency not in world.city.agents:
            continue
        peers = by_template[dependency]
        if any(_is_ready(peer, world) for peer in peers):
            continue
        holds = [held for peer in peers if (held := held_reason(peer, world))]
        hard = set(start.why) - {"config"}
        if peers and len(holds) == len(peers):
            if hard:
                return f"waits for {dependency}, which is {min(holds)}", True
            continue
        # By config alone it stands on nobody (DEP-04): it waits only for what comes up anyway.
        if hard or dependency in coming or any(p.id in world.memory.walks for p in peers):
            return f"waits for {dependency} to be ready", False
    return "", False


def _is_ready(session: Session, world: World) -> bool:
    running = world.sighting(session.id).truth is Truth.RUNNING
    return running and session.ready_at is not None
