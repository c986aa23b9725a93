"""Which sessions a city asks for: one place per fixed agent, named session and pool slot.

Source: DESIGN §9 (R4, R6b); names: surface "Names and environment of a session"
"""

from __future__ import annotations

from dataclasses import dataclass

from gascity.model.city import Agent, City, NamedMode


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One session that may exist: whose it is, its number in a pool, and what a name adds."""

    name: str
    template: str
    agent: Agent
    slot: int | None = None
    named: NamedMode | None = None

    @property
    def runtime(self) -> str:
        """What hosts it."""
        return self.agent.route(self.name)


def session_name(identity: str, slot: int | None = None) -> str:
    """The runtime name of an identity: letters, digits, `_` and `-` only.

    `/` becomes `--`, `.` becomes `__`; a slot adds `-<n>`. The first `/` of an agent whose `dir` is
    an absolute path goes: no session is called like an option.
    """
    base = identity.lstrip("/").replace("/", "--").replace(".", "__")
    return base if slot is None else f"{base}-{slot}"


def fixed_places(city: City) -> dict[str, Place]:
    """{session name: place} of every session that is not a pool slot, in file order."""
    named_templates = {named.template for named in city.named_sessions}
    places: dict[str, Place] = {}
    for agent in city.agents.values():
        if agent.pool is None and agent.identity not in named_templates:
            place = Place(name=session_name(agent.identity), template=agent.identity, agent=agent)
            places[place.name] = place
    for named in city.named_sessions:
        owner = city.agents.get(named.template)
        if owner is not None:
            name = session_name(named.identity)
            places[name] = Place(name=name, template=named.template, agent=owner, named=named.mode)
    return places


def slot_place(agent: Agent, slot: int) -> Place:
    """The place of slot `slot` (from 1) of a pool."""
    name = session_name(agent.identity, slot)
    return Place(name=name, template=agent.identity, agent=agent, slot=slot)


def is_suspended(city: City, agent: Agent) -> str:
    """Which setting suspends this agent: "workspace", "rig <name>", "agent", or "" for none."""
    if city.suspended:
        return "workspace"
    rig = city.rigs.get(agent.rig)
    if rig is not None and rig.suspended:
        return f"rig {rig.name}"
    return "agent" if agent.suspended else ""
