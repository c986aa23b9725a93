"""A paused clock on either event loop: time passes when a test says so, and never otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
import trio.lowlevel
import trio.testing

BACKENDS = ["asyncio", "trio"]
ROUNDS = 10  # of the event loop; enough for whatever one step of these tests sets off


class PausedLoop(asyncio.SelectorEventLoop):
    """An asyncio loop whose time stands still."""

    now = 0.0

    def time(self) -> float:
        return self.now


class Paused:
    """What a test on a paused clock may do: let time pass, and ask what still waits for it."""

    def __init__(self, clock: trio.testing.MockClock | None) -> None:
        self._clock = clock

    async def settle(self) -> None:
        """Let everything run that can run now."""
        for _ in range(ROUNDS):
            await anyio.lowlevel.checkpoint()

    async def advance(self, seconds: float) -> None:
        """Let time pass, then let everything run that became due."""
        if self._clock is None:
            loop = asyncio.get_running_loop()
            assert isinstance(loop, PausedLoop)
            loop.now += seconds
        else:
            self._clock.jump(seconds)
        await self.settle()

    def timers(self) -> list[float]:
        """In how many seconds each timer is due that the event loop holds (on trio: the first)."""
        if self._clock is None:
            loop: Any = asyncio.get_running_loop()
            live = [handle for handle in loop._scheduled if not handle.cancelled()]
            return sorted(handle.when() - loop.time() for handle in live)
        due = trio.lowlevel.current_statistics().seconds_to_next_deadline
        return [] if due == float("inf") else [due]

    def tasks(self) -> int:
        """How many tasks there are."""
        if self._clock is None:
            return len(asyncio.all_tasks())
        return trio.lowlevel.current_statistics().tasks_living


def run_paused(backend: str, test: Callable[[Paused], Awaitable[None]]) -> None:
    """Run the test to its end on a paused clock of that backend."""
    clock = trio.testing.MockClock() if backend == "trio" else None
    options = {"clock": clock} if clock else {"loop_factory": PausedLoop}
    anyio.run(partial(test, Paused(clock)), backend=backend, backend_options=options)
