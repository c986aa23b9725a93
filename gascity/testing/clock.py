"""Time that a test moves: a fake clock, and an event loop that never waits.

On the virtual loop every wait, deadline and delay of the program under test costs no real time:
when nothing is left to do, the clock jumps to the next moment somebody waits for. The same inputs
give the same order of steps, always.

Source: DESIGN "Time" (HARN-02, R14, R38, R39)
"""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import math
import selectors
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from typing import Any, Final, TypeVar, TypeVarTuple, Unpack

import anyio

from gascity.testing.records import NOON

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

__all__ = ["NOON", "FakeClock", "NobodyWakes", "Spinning", "VirtualLoop", "run_virtual"]

SPINS: Final = 200_000


class Spinning(AssertionError):
    """The program goes round and round without time passing: it would burn a processor."""


class NobodyWakes(AssertionError):
    """Every task waits for something that can never happen: a deadlock in the code or the test."""


@dataclass(slots=True)
class FakeClock:
    """The `Clock` protocol over two numbers; `advance`, `step` and `suspend` move them.

    Wall time is `start` plus monotonic time plus every step and suspension so far.
    """

    start: datetime = NOON
    _monotonic: float = field(default=1000.0, init=False)
    _ahead: timedelta = field(default_factory=timedelta, init=False)  # of wall over monotonic
    _sleepers: list[tuple[float, int, anyio.Event]] = field(default_factory=list, init=False)
    _order: count[int] = field(default_factory=count, init=False)

    def now(self) -> datetime:
        """Wall time, aware UTC."""
        return self.start + self._ahead + timedelta(seconds=self._monotonic - 1000.0)

    def monotonic(self) -> float:
        """Seconds; moved by `advance` only."""
        return self._monotonic

    async def sleep_until(self, deadline: float, /) -> None:
        """Return once somebody moved the clock to `deadline` or beyond."""
        if deadline <= self._monotonic:
            await anyio.lowlevel.checkpoint()
            return
        woken = anyio.Event()
        heapq.heappush(self._sleepers, (deadline, next(self._order), woken))
        await woken.wait()

    def next_due(self) -> float | None:
        """The earliest deadline somebody sleeps for, or None."""
        return self._sleepers[0][0] if self._sleepers else None

    def advance(self, seconds: float) -> None:
        """Let time pass: both clocks move, and sleepers whose time has come wake."""
        assert seconds >= 0, "monotonic time never goes back; use `step` for the wall clock"
        self.advance_to(self._monotonic + seconds)

    def advance_to(self, monotonic: float) -> None:
        """The same, to an instant; an instant that has passed changes nothing."""
        self._monotonic = max(self._monotonic, monotonic)
        while self._sleepers and self._sleepers[0][0] <= self._monotonic:
            heapq.heappop(self._sleepers)[2].set()

    def step(self, seconds: float) -> None:
        """Set the wall clock forward or, with a negative number, back; nobody wakes (R39)."""
        self._ahead += timedelta(seconds=seconds)

    def suspend(self, seconds: float) -> None:
        """The machine sleeps: wall time passes, monotonic time stands still (R14)."""
        assert seconds >= 0, "a suspended machine does not travel back"
        self.step(seconds)


class _NoWaiting(selectors.SelectSelector):
    """A selector that moves the clock where the real one would wait."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self._clock = clock
        self._rounds = 0  # since time passed

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        self._rounds += 1
        if self._rounds > SPINS:
            self._rounds = 0
            raise Spinning(f"{SPINS} rounds at one instant, {self._clock.now()}")
        if ready or (timeout is not None and timeout <= 0):
            return ready
        self._rounds = 0
        due = [] if timeout is None else [self._clock.monotonic() + timeout]
        sleeper = self._clock.next_due()
        if sleeper is not None:
            due.append(sleeper)
        if not due:
            raise NobodyWakes("every task waits, and nothing will ever happen")
        self._clock.advance_to(min(due))
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An asyncio loop whose time is a `FakeClock`'s monotonic time. No threads, no sockets."""

    def __init__(self, clock: FakeClock) -> None:
        self._fake = clock
        super().__init__(_NoWaiting(clock))

    def time(self) -> float:
        """Seconds, as everything scheduled on this loop counts them."""
        return self._fake.monotonic()

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """As everywhere; but what is due at no time at all keeps nobody waiting."""
        if when == math.inf:
            return asyncio.TimerHandle(when, callback, args, self, context)
        return super().call_at(when, callback, *args, context=context)


def run_virtual(clock: FakeClock, fn: Callable[..., Awaitable[T]], *args: Any) -> T:
    """Run `fn(*args)` to its end on a virtual loop of its own.

    Raises:
        NobodyWakes: it can never end.
    """
    options = {"loop_factory": partial(VirtualLoop, clock)}
    return anyio.run(fn, *args, backend="asyncio", backend_options=options)
