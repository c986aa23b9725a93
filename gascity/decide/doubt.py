"""Doubt travels upstream as need does: nobody sleeps for want of an answer from a dependent.

A dependent whose work, waits, people or questions cannot be read may hold a hard wake. Nobody can
say then that what it stands on is not needed.

Source: DESIGN §5 (R9, R52, DEP-01); "doubt fails closed"
"""

from __future__ import annotations

from dataclasses import replace

from gascity.decide.dependencies import dependents_first, upstream_edges
from gascity.model.reading import Known, Reading, Unclear
from gascity.model.session import Session
from gascity.model.world import Truth, World


def spread_doubt(world: World) -> World:
    """The same world in which the work of everybody upstream of a doubt is unclear as well.

    Work that is certainly there stays so; a world without such doubt is returned as it is.
    """
    if world.demand.unclear:
        return world  # everybody's demand is in doubt already
    doubts = _doubts(world)
    if not doubts:
        return world
    above = _upstream(world, doubts)
    work = dict(world.demand.work)
    for session in world.sessions.values():
        why = above.get(session.template)
        if why is not None and _says_nothing(work.get(session.id)):
            work[session.id] = Unclear(why)
    return replace(world, demand=replace(world.demand, work=work))


def _doubts(world: World) -> dict[str, str]:
    """{template: why} of everybody with dependencies who might hold a hard wake nobody can see."""
    agents = world.city.agents
    found: dict[str, str] = {}
    for template, reading in world.demand.routed.items():
        if isinstance(reading, Unclear) and template in agents and agents[template].depends_on:
            found[template] = f"{template}: {reading.why}"
    for session in sorted(world.sessions.values(), key=lambda one: one.name):
        agent = agents.get(session.template)
        if agent is None or not agent.depends_on or session.template in found:
            continue
        why = _doubt_of(session, world)
        if why:
            found[session.template] = f"{session.name}: {why}"
    return found


def _doubt_of(session: Session, world: World) -> str:
    """Why it cannot be said that this session holds no hard wake, or ""."""
    seen, demand = world.sighting(session.id), world.demand
    if seen.truth is Truth.UNKNOWN:
        return seen.why or "its runtime gives no answer"
    readings = (
        demand.work.get(session.id),
        demand.waits.get(session.id),
        seen.attached if seen.truth is Truth.RUNNING else None,
        seen.pending if seen.truth is Truth.RUNNING else None,
    )
    return next((one.why for one in readings if isinstance(one, Unclear)), "")


def _upstream(world: World, doubts: dict[str, str]) -> dict[str, str]:
    """{template: whose doubt reaches it} of every transitive dependency of these templates."""
    edges = upstream_edges(sorted(doubts), world.city.agents)
    found: dict[str, str] = {}
    for template in dependents_first(edges):
        why = found.get(template) or doubts.get(template)
        if why is not None:
            for dependency in edges[template]:
                found.setdefault(dependency, why)
    return found


def _says_nothing(reading: Reading[tuple[str, ...]] | None) -> bool:
    return reading is None or (isinstance(reading, Known) and not reading.value)
