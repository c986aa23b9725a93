"""The only reader of time: wall time for durable facts, monotonic for budgets.

Source: DESIGN "Time" (R14, R38, R39)
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

import anyio

JUMP: Final = timedelta(seconds=5)
"""How far wall time may run ahead of monotonic time before it counts as a jump."""


class Clock(Protocol):
    """What the rest of the program may know of time."""

    def now(self) -> datetime:
        """Wall time, aware UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never steps and stands still while the machine is suspended."""
        ...

    async def sleep_until(self, deadline: float, /) -> None:
        """Return once `monotonic()` has reached `deadline` seconds."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> datetime:
        """Wall time, aware UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """CLOCK_MONOTONIC, which does not count suspension on Linux."""
        return time.monotonic()

    async def sleep_until(self, deadline: float, /) -> None:
        """Sleep without polling."""
        await anyio.sleep(max(0.0, deadline - time.monotonic()))


@dataclass(slots=True)
class JumpWatch:
    """Notices that the machine resumed from suspend or that wall time was set forward (R14)."""

    clock: Clock
    _wall: datetime | None = field(default=None, init=False)
    _monotonic: float = field(default=0.0, init=False)

    def jumped(self) -> bool:
        """Whether wall time ran ahead of monotonic time by more than 5 s since the last call."""
        wall, monotonic = self.clock.now(), self.clock.monotonic()
        before, self._wall = self._wall, wall
        elapsed, self._monotonic = monotonic - self._monotonic, monotonic
        if before is None:
            return False
        return wall - before - timedelta(seconds=elapsed) > JUMP
