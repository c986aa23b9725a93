"""When the next patrol is due, and who is told that something moved.

A poke patrols at once. What the controller did itself only asks for one soon, so that it can never
spin on its own writes (F24, R80).

Source: DESIGN "Time" (R24, R33, R80)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import anyio

from gascity.observe.clock import Clock

SOON_S: Final = 1.0
"""How soon a patrol follows the last one when work is left over or time is due."""


class Pulse:
    """The timer of one loop and its progress counter."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.progress = 0
        self.began_s = clock.monotonic()  # when the last patrol began
        self._poked = anyio.Event()
        self._moved = anyio.Event()
        self._soon = False

    def begin(self) -> None:
        """A patrol begins: whatever was asked for until now is answered by it."""
        self._poked = anyio.Event()
        self._soon = False
        self.began_s = self.clock.monotonic()

    def poke(self) -> None:
        """Ask for a patrol at once."""
        self._poked.set()

    def ask_soon(self) -> None:
        """Ask for a patrol a second after the last one."""
        self._soon = True
        self.move()

    def move(self) -> None:
        """Tell everybody who waits that something changed."""
        self.progress += 1
        moved, self._moved = self._moved, anyio.Event()
        moved.set()

    async def wait_moved(self) -> None:
        """Return at the next move."""
        await self._moved.wait()

    async def wait_for_patrol(self, *, interval_s: float, due_s: float | None) -> None:
        """Return when the next patrol is due.

        Args:
            interval_s: The patrol interval.
            due_s: The monotonic second at which time alone changes an answer, or None. It brings a
                patrol forward, but never closer than a second to the last one.
        """
        first = self.began_s + min(SOON_S, interval_s)
        regular = self.began_s + interval_s
        while not self._poked.is_set():
            wanted = min(regular, due_s) if due_s is not None else regular
            limit = max(first, first if self._soon else wanted)
            if self.clock.monotonic() >= limit:
                return
            await first_of(
                partial(self.clock.sleep_until, limit), self._poked.wait, self._moved.wait
            )


async def first_of(*waits: Callable[[], Awaitable[object]]) -> None:
    """Return as soon as one of them does; the others are cancelled."""
    async with anyio.create_task_group() as group:

        async def one(wait: Callable[[], Awaitable[object]]) -> None:
            await wait()
            group.cancel_scope.cancel()

        for wait in waits:
            group.start_soon(one, wait)
