"""What demand costs: reading work, waits and routed beads, and deciding on it, at three sizes.

A city of n sessions holds n/5 work beads and n/50 waits. Two fifths are slots of pools of fifty,
the others fixed, in chains of ten over `depends_on`. One of five works and stays awake.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from gascity.beads.bead import IN_PROGRESS
from gascity.beads.memory import MemoryStore
from gascity.beads.store import Batch, NewBead, Update
from gascity.beads.work import new_task, new_wait
from gascity.decide.tick import decide
from gascity.model.city import City
from gascity.model.session import Session
from gascity.model.world import Demand, World
from gascity.observe.demand import read_demand
from gascity.testing.builders import (
    FULL,
    NOON,
    a_city,
    a_world,
    ahead,
    awake,
    cold,
    headless,
    pooled,
    running,
)
from tests.bench.measure import Measurement, stopwatch, timed

SIZES: Final = (1_000, 5_000, 10_000)
POOL: Final = 50
CHAIN: Final = 10


@dataclass(slots=True)
class Asked:
    """A city, its sessions, and a store full of what is asked of them."""

    city: City
    sessions: tuple[Session, ...]
    store: MemoryStore

    def read(self) -> Demand:
        """The demand of one look."""
        reading = read_demand(self.store, self.city, self.sessions, now=NOON)
        return asyncio.run(reading)

    def world(self, demand: Demand) -> World:
        """The picture with that demand: whoever is recorded awake runs idle."""
        busy = {one.name: running(idle_s=1) for one in self.sessions if one.state == "awake"}
        return a_world(self.city, *self.sessions, seen=busy, support=FULL, demand=demand)


def asked_of(size: int) -> Asked:
    """`size` sessions with the work and waits that belong to so many."""
    pools = size * 2 // 5 // POOL
    fixed = [f"f{n}" for n in range(size - pools * POOL)]
    agents = [pooled(f"p{n}", min=POOL, max=POOL) for n in range(pools)]
    agents += [
        headless(name, depends_on=(f"f{n - 1}",) if n % CHAIN else ())
        for n, name in enumerate(fixed)
    ]
    names = [f"p{n}-{slot}" for n in range(pools) for slot in range(1, POOL + 1)] + fixed
    working = names[::5]
    up = set(working)
    sessions = tuple(awake(name) if name in up else cold(name) for name in names)
    return Asked(a_city(*agents), sessions, _filled(sessions, working, pools))


def _filled(sessions: tuple[Session, ...], working: list[str], pools: int) -> MemoryStore:
    """A store: a job in progress for each that works, every fourth of them routed to a pool."""
    beads: list[NewBead] = [
        new_task("job", routed_to=f"p{n % pools}") if pools and n % 4 == 0
        else new_task("job", assignee=name)
        for n, name in enumerate(working)
    ]  # fmt: skip
    beads += [new_wait(one, until=ahead(3600)) for one in sessions[::50]]
    store = MemoryStore()

    async def fill() -> None:
        made = await store.apply(Batch(creates=tuple(beads)), now=NOON)
        taken = [bead for bead in made.beads.values() if bead.type == "task" and bead.assignee]
        updates = tuple(Update(id=bead.id, status=IN_PROGRESS) for bead in taken[::2])
        await store.apply(Batch(updates=updates), now=NOON)

    asyncio.run(fill())
    return store


def settled(asked: Asked) -> World:
    """The picture once its plans have nothing more to write but what the work itself asks for."""
    world = asked.world(asked.read())
    for _ in range(4):
        changes = decide(world).changes
        if not changes:
            break
        world = replace(world, sessions={**world.sessions, **changes})
    return world


def measurements() -> Iterator[Measurement]:
    """Reading, deciding, and both, at each size."""
    for size in SIZES:
        asked = asked_of(size)
        yield timed(f"read demand, {size:,} sessions, {size // 5:,} beads", asked.read, n=10)
        yield _one_tick(asked, settled(asked), size)


def _one_tick(asked: Asked, world: World, size: int) -> Measurement:
    """Demand and decision of one tick, in processor time: the figures hold on a busy machine."""
    with stopwatch(f"demand and decision, {size:,} sessions (processor time)", unit="ms") as watch:
        for _ in range(7):
            began = time.process_time()
            decide(replace(world, demand=asked.read()))
            watch.add(time.process_time() - began)
    return watch.measurement()
