"""The places a city asks for, matched with the session records there are.

Source: DESIGN §9, §X stage 5 (R4, R21, DEP-08, POOL-22)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gascity.decide.dependencies import dependencies_first
from gascity.model.city import City
from gascity.model.drift import start_hash
from gascity.model.roster import Place, fixed_places, slot_place
from gascity.model.session import Session
from gascity.model.world import Truth, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Roster:
    """Where the config asks for sessions. `place` is None for one it does not name.

    `start_hashes` is {template: what a start would use now}, for running sessions only: nothing
    else can drift.
    """

    fixed: Mapping[str, Place]  # {session name: place}
    by_session: Mapping[str, Place | None]  # {session id: place}
    start_hashes: Mapping[str, str]
    depended_on: frozenset[str]  # templates that some other one depends on

    @property
    def unplaced(self) -> frozenset[str]:
        """Ids of the sessions that the config does not name."""
        return frozenset(one for one, place in self.by_session.items() if place is None)


def roster(world: World) -> Roster:
    """The places of this city, matched with the records there are."""
    fixed = fixed_places(world.city)
    found: dict[str, Place | None] = {}
    running: dict[str, str] = {}
    for session in world.sessions.values():
        place = _matched(session, world.city, fixed)
        found[session.id] = place
        drifts = place is not None and session.started_hash and place.template not in running
        if place is not None and drifts and world.sighting(session.id).truth is Truth.RUNNING:
            running[place.template] = start_hash(place.agent, world.city)
    depended_on = frozenset(
        name for agent in world.city.agents.values() for name in agent.depends_on
    )
    return Roster(fixed=fixed, by_session=found, start_hashes=running, depended_on=depended_on)


def _matched(session: Session, city: City, fixed: Mapping[str, Place]) -> Place | None:
    agent = city.agents.get(session.template)
    if session.slot is not None:
        pooled = agent is not None and agent.pool is not None
        return slot_place(agent, session.slot) if agent is not None and pooled else None
    place = fixed.get(session.name)
    return place if place is not None and place.template == session.template else None


def template_order(city: City) -> dict[str, int]:
    """{template: rank}, dependencies before dependents (DEP-08)."""
    edges = {name: agent.depends_on for name, agent in city.agents.items()}
    if not any(edges.values()):
        return {}
    return {name: rank for rank, name in enumerate(dependencies_first(edges))}
