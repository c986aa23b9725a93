"""A whole city in memory: the product's own controller over a fake runtime, store and clock.

`tick` is one patrol with all its walks, in virtual time. Every method that brings something about
may be called between ticks or as a deed at a cut, for it never waits.

Source: DESIGN §H (HARN-01..04); style of tests: docs/TESTING.md
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Coroutine
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar

import anyio

from gascity.beads.memory import MemoryStore
from gascity.beads.store import EventQuery
from gascity.daemon import Controller
from gascity.model.city import City
from gascity.model.events import Event
from gascity.model.world import Support
from gascity.observe.ports import Ports
from gascity.testing.clock import FakeClock, VirtualLoop
from gascity.testing.hosted import FULL, FakeHost
from gascity.testing.overseer import Overseer
from gascity.testing.people import People, at_once
from gascity.testing.records import a_city
from gascity.testing.runtime import connect
from gascity.testing.script import Crash, Script
from gascity.testing.store import ScriptedStore

T = TypeVar("T")

HERE = tempfile.gettempdir()  # a folder that exists; nothing is ever written there


class FakeCity(People):
    """One city. Use it as a context manager, or `close` it.

    Everything that survives a controller is an attribute: `clock`, `host` (what runs), `memory`
    (what is on disk), `script` (cuts and log). `overseer.violations` says which promises broke.
    """

    def __init__(self, config: City | None = None, *, support: Support = FULL) -> None:
        config = config if config is not None else a_city()
        self.config = replace(config, path=HERE)
        self.support = support
        self.clock = FakeClock()
        self.host = FakeHost(self.clock)
        self.memory = MemoryStore()
        self._settle()

    def _settle(self) -> None:
        """Everything around what survives."""
        self._loop = VirtualLoop(self.clock)
        self.script = Script(self.clock.monotonic)
        self.overseer = Overseer(self.records)
        self.script.watch = self.overseer.saw
        self.ticks = 0
        self.restart()

    def fork(self) -> FakeCity:
        """Another city that stands where this one stands, with a fresh controller."""
        other = object.__new__(FakeCity)
        other.config, other.support = self.config, self.support
        other.clock = FakeClock(self.clock.start)
        other.clock.advance_to(self.clock.monotonic())
        other.clock.step((self.clock.now() - other.clock.now()).total_seconds())
        sessions = copy.deepcopy(self.host.sessions)
        other.host = FakeHost(other.clock, sessions=sessions, took=dict(self.host.took))
        other.memory = self.memory.reopened()
        self.memory = self.store.memory = self.memory.reopened()
        other._settle()
        return other

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the loop."""
        self._loop.close()

    # -- the controller ------------------------------------------------------------------------

    def restart(self) -> None:
        """A fresh controller over the same records and runtime, as after any death of the last."""
        self.memory = self.memory.reopened()
        self.script.revive()
        self.overseer.new_life()
        self.store = ScriptedStore(self.memory, self.script, witness=self.overseer.wrote)
        self.runtime = connect(self.host, self.script, city=self.config.path, support=self.support)
        self.ports = Ports(
            store=self.store,
            clock=self.clock,
            runtimes={self.runtime.kind: self.runtime},
            city=self.config,
        )
        self.controller = Controller(self.ports)
        self._is_new = True

    def tick(self, count: int = 1) -> None:
        """Whole patrols, each with everything it began brought to its end; ends at a crash."""
        for _ in range(count):
            if self.is_dead:
                return
            self.ticks += 1
            try:
                self.run(self._tick())
            except BaseException as problem:
                if not _is_crash(problem):
                    raise

    def begin(self) -> None:
        """What a controller does before its first patrol; `tick` does it where it was not done."""
        self.run(self._begin())

    async def _begin(self) -> None:
        if self._is_new:
            self._is_new = False
            await self.controller._chores.begin(self.controller.lookout)

    async def _tick(self) -> None:
        await self._begin()
        async with anyio.create_task_group() as group:
            self.controller.open(group)
            await self.controller.patrol_once()

    def live(self, seconds: float) -> None:
        """Let the controller run by itself for so long: patrols by its own timer, pokes, walks."""
        try:
            self.run(self._live(seconds))
        except BaseException as problem:
            if not _is_crash(problem):
                raise

    async def _live(self, seconds: float) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self.controller.run)
            await self.clock.sleep_until(self.clock.monotonic() + seconds)
            group.cancel_scope.cancel()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run anything on the city's own loop, in virtual time."""
        return self._loop.run_until_complete(work)

    # -- what is there -------------------------------------------------------------------------

    def events(self, *types: str) -> list[Event]:
        """Everything reported so far, oldest first."""
        return list(at_once(self.memory.events(EventQuery(types=types))))


def _is_crash(problem: BaseException) -> bool:
    """Whether everything in it is the death of the controller."""
    if isinstance(problem, BaseExceptionGroup):
        return all(_is_crash(one) for one in problem.exceptions)
    return isinstance(problem, Crash)
