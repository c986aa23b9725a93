"""One look at the whole city, or at one session with everything that can keep it awake.

Both build the same `World`, so the plan and a re-look are judged by the same rules. A re-look costs
the session's neighbourhood, not the city (R27).

Source: DESIGN §X, §10 (R10, R14, R27)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

import anyio

from gascity.beads.bead import SESSION, Bead
from gascity.beads.record import session_of
from gascity.beads.store import Query, StoreUnavailable
from gascity.decide.dependencies import related_templates
from gascity.model.city import City
from gascity.model.drift import start_hash
from gascity.model.reading import Known, Reading, Unclear
from gascity.model.session import Session, State
from gascity.model.world import Demand, Sighting, Support, Truth, World
from gascity.observe.demand import read_demand
from gascity.observe.ports import Ports
from gascity.observe.readings import LOOK_TIMEOUT_S, Patience, read_runtime
from gascity.runtimes.base import Listing, Watch


@dataclass(slots=True)
class Lookout:
    """Looks through the ports. Keeps decoded records, so an unchanged one is decoded once."""

    ports: Ports
    foreign: tuple[str, ...] = ()
    _patience: Patience = field(default_factory=Patience)
    _decoded: dict[str, tuple[int, Session]] = field(default_factory=dict)

    async def city(self) -> World:
        """Everything: every session, every runtime once, all demand.

        Raises:
            StoreUnavailable: the records themselves could not be read.
        """
        walking = dict(self.ports.memory.walks)
        sessions = await self.sessions()
        self._decoded = {known.id: (known.version, known) for known in sessions}
        world, foreign = await self._world(sessions, screens=self._wants_screen)
        self.foreign = foreign
        # What a walk wrote after its record was read is not in this picture: it is left alone
        # for once, also when that walk has ended meanwhile.
        walks = {**walking, **world.memory.walks}
        return replace(world, memory=replace(world.memory, walks=walks))

    async def session(self, session_id: str) -> World:
        """The session, and every session whose hard wakes can keep it awake (R27).

        Screens are looked at whatever was judged before, for a drain stands or falls with them.
        """
        sessions = await self.sessions()
        target = next((one for one in sessions if one.id == session_id), None)
        if target is None:
            return World(now=self.ports.clock.now(), city=self.ports.city)
        edges = {name: agent.depends_on for name, agent in self.ports.city.agents.items()}
        related = related_templates(target.template, edges)
        near = [one for one in sessions if one.id == session_id or one.template in related]
        world, _ = await self._world(near, screens=lambda _: True)
        return world

    async def sessions(self) -> list[Session]:
        """Every session record that is not closed."""
        beads = await self.ports.store.query(Query(type=SESSION))
        return [self.ports.memory.with_asked(self._decode(bead)) for bead in beads]

    def _decode(self, bead: Bead) -> Session:
        known = self._decoded.get(bead.id)
        if known is not None and known[0] == bead.version:
            return known[1]
        session = session_of(bead)
        self._decoded[bead.id] = (bead.version, session)
        return session

    async def _world(
        self, sessions: list[Session], *, screens: object
    ) -> tuple[World, tuple[str, ...]]:
        ports = self.ports
        assert callable(screens)
        asked: dict[str, list[tuple[Session, Watch]]] = defaultdict(list)
        support: dict[str, Reading[Support]] = {}
        sightings: dict[str, Sighting] = {}
        for session in sessions:
            kind = _route(session, ports.city)
            runtime = ports.runtime(kind)
            if runtime is None:
                support[session.id] = Unclear(ports.missing(kind))
                sightings[session.id] = Sighting.unknown(ports.missing(kind))
                continue
            support[session.id] = Known(supported(runtime.support, session, ports.city))
            watch = watch_of(session, ports.city, screen=bool(screens(session)))
            asked[kind].append((session, watch))
        listings = await self._ask(asked)
        foreign: list[str] = []
        for kind, listing in listings.items():
            foreign.extend(listing.foreign)
            for session, _ in asked[kind]:
                sightings[session.id] = self._with_probe(session, listing.sightings[session.name])
        now = ports.clock.now()
        demand = await self._demand(sessions)
        world = World(
            now=now,
            city=ports.city,
            sessions={session.id: session for session in sessions},
            sightings=sightings,
            support=support,
            demand=demand,
            memory=ports.memory.frozen(ports.clock),
            writable=ports.writable,
        )
        return world, tuple(sorted(foreign))

    def _with_probe(self, session: Session, seen: Sighting) -> Sighting:
        """Its activity is what the runtime saw or what its own probe says, whichever is later."""
        said = self.ports.active_at(session)
        if said is None or seen.truth is not Truth.RUNNING or isinstance(seen.activity, Unclear):
            return seen
        at = seen.activity.value if isinstance(seen.activity, Known) else None
        return replace(seen, activity=Known(max(at, said) if at is not None else said))

    async def _ask(self, asked: dict[str, list[tuple[Session, Watch]]]) -> dict[str, Listing]:
        """Every runtime once, beside each other."""
        found: dict[str, Listing] = {}

        clock, patience = self.ports.clock, self._patience

        async def ask(kind: str, watches: Collection[Watch]) -> None:
            runtime = self.ports.runtime(kind)
            assert runtime is not None
            began = clock.monotonic()
            limit = patience.seconds(kind, began) if len(asked) > 1 else LOOK_TIMEOUT_S
            found[kind] = await read_runtime(runtime, watches, timeout_s=limit)
            patience.note(kind, found[kind], began=began, now=clock.monotonic())

        if len(asked) == 1:
            [(kind, pairs)] = asked.items()
            await ask(kind, [watch for _, watch in pairs])
            return found
        async with anyio.create_task_group() as group:
            for kind, pairs in asked.items():
                group.start_soon(ask, kind, [watch for _, watch in pairs])
        return found

    async def _demand(self, sessions: list[Session]) -> Demand:
        ports = self.ports
        try:
            return await read_demand(
                ports.store,
                ports.city,
                sessions,
                now=ports.clock.now(),
                foreign=ports.foreign_demand,
                answers=ports.answers,
            )
        except StoreUnavailable as problem:
            return Demand(unclear=str(problem))

    def _wants_screen(self, session: Session) -> bool:
        """Whether this session's decision depends on what it shows."""
        if session.state not in (State.AWAKE, State.CREATING):
            return False
        city = self.ports.city
        agent = city.agents.get(session.template)
        if agent is None:
            return False
        stands_on_somebody = bool(agent.depends_on)
        may_sleep = session.policy.effective != "off" or session.sleep_request is not None
        drifted = session.started_hash != start_hash(agent, city)
        restarts = agent.idle_timeout is not None
        starting = session.ready_at is None
        may_be_trimmed = session.slot is not None  # and a question spares it (R21)
        return may_sleep or stands_on_somebody or drifted or restarts or starting or may_be_trimmed


def supported(offered: Support, session: Session, city: City) -> Support:
    """What can be asked about one session: by its runtime, and by the agent's own `idle_probe`."""
    agent = city.agents.get(session.template)
    if agent is None or not agent.idle_probe:
        return offered
    return replace(offered, idle_boundary=True, screen=offered.screen and offered.idle_boundary)


def watch_of(session: Session, city: City, *, screen: bool) -> Watch:
    """What a runtime must know to judge this session."""
    agent = city.agents.get(session.template)
    if agent is None:
        return Watch(name=session.name)
    return Watch(
        name=session.name,
        prompt_prefix=agent.ready_prompt_prefix,
        screens=agent.screens,
        own_rules=city.screens_of(agent),
        process_names=agent.process_names,
        screen=screen,
    )


def _route(session: Session, city: City) -> str:
    """Where to ask about it: where it was started while it may run, else where config routes it."""
    agent = city.agents.get(session.template)
    if agent is None or (session.state in (State.AWAKE, State.CREATING) and session.was_started):
        return session.runtime
    return agent.route(session.name)


def is_running(world: World, session_ids: Iterable[str]) -> bool:
    """Whether any of these sessions is seen running."""
    return any(world.sighting(one).truth is Truth.RUNNING for one in session_ids)
