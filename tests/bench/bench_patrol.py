"""A whole settled patrol: records, one look, one decision, nothing to write; and what it weighs.

The runtime answers at once, so the figures are the controller's own, in processor time. Four of
five sessions are cold, the others attached.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import anyio

from gascity.beads.memory import MemoryStore
from gascity.beads.record import new_session, session_of, to_update
from gascity.beads.store import Batch, EventQuery
from gascity.daemon.controller import Controller
from gascity.model.city import Agent, City, SessionClass
from gascity.model.drift import start_hash
from gascity.model.duration import seconds
from gascity.model.reading import Known
from gascity.model.roster import fixed_places
from gascity.model.session import State
from gascity.model.world import ScreenVerdict, Sighting, Support, Truth
from gascity.observe.clock import SystemClock
from gascity.observe.ports import Ports
from gascity.runtimes.base import Listing, Runtime, Watch
from tests.bench.measure import Measurement, counted, stopwatch

SIZES = (100, 1_000, 10_000)
COLD_OF = 5


class Canned:
    """A runtime whose sessions never change: the answer is ready before the question."""

    kind = "tmux"
    support = Support(
        activity_clock=True, idle_boundary=True, pending_signal=True, attachment_signal=True
    )

    def __init__(self, running: Collection[str]) -> None:
        up = Sighting(
            truth=Truth.RUNNING,
            attached=Known(1),
            activity=Known(datetime.now(UTC)),
            pending=Known(None),
            screen=ScreenVerdict.IDLE,
            ready=True,
        )
        self._up = dict.fromkeys(running, up)
        self._down = Sighting.stopped()

    async def list(self, watches: Collection[Watch]) -> Listing:
        """One answer for all."""
        return Listing(sightings={w.name: self._up.get(w.name, self._down) for w in watches})


def big_city(size: int) -> City:
    """`size` fixed agents under one policy: every fifth interactive, the others headless."""
    agents = {
        name: Agent(identity=name, name=name, start_command="x", attach=n % COLD_OF == 0)
        for n, name in ((n, f"agent-{n:05}") for n in range(size))
    }
    sleep = {SessionClass.INTERACTIVE_RESUME: seconds(60), SessionClass.NONINTERACTIVE: seconds(0)}
    return City(name="bench", path="/bench", agents=agents, session_sleep=sleep)


async def _settled(size: int) -> Controller:
    """A controller over a city that has come to rest."""
    city = big_city(size)
    store, now = MemoryStore(), datetime.now(UTC) - timedelta(hours=1)
    places = list(fixed_places(city).values())
    made = await store.apply(Batch(creates=tuple(new_session(p, now=now) for p in places)), now=now)
    up = {place.name for place in places if place.agent.attach}
    updates = []
    for bead in made.beads.values():
        fresh = session_of(bead)
        if fresh.name in up:
            awake = replace(
                fresh,
                state=State.AWAKE,
                generation=1,
                woke_at=now,
                ready_at=now,
                started_hash=start_hash(city.agents[fresh.template], city),
            )
            updates.append(to_update(fresh, awake))
    await store.apply(Batch(updates=tuple(updates)), now=now)
    runtime: Runtime = Canned(up)  # type: ignore[assignment]
    ports = Ports(store=store, clock=SystemClock(), runtimes={"tmux": runtime}, city=city)
    return Controller(ports)


async def _patrols(size: int) -> Iterator[Measurement]:
    controller = await _settled(size)
    found: list[Measurement] = []
    async with anyio.create_task_group() as group:
        controller.open(group)
        for _ in range(3):
            assert await controller.patrol_once()
        last = await controller.store.last_seq()
        with stopwatch(f"settled patrol, {size:,} sessions, processor time") as watch:
            for _ in range(max(5, min(50, 20_000 // size))):
                began = time.process_time()
                assert await controller.patrol_once()
                watch.add(time.process_time() - began)
        found.append(watch.measurement())
        written = len(await controller.store.events(EventQuery(after=last)))
        found.append(counted(f"events of these patrols, {size:,} sessions", written, unit="events"))
        group.cancel_scope.cancel()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found.append(counted(f"peak RSS after {size:,} sessions", peak, unit="MiB"))
    return iter(found)


def measurements() -> Iterator[Measurement]:
    """Settled patrols at three sizes."""
    for size in SIZES:
        yield from anyio.run(_patrols, size)
