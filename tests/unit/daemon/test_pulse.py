"""When the next patrol is due."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest

from gascity.daemon.pulse import Pulse
from gascity.testing.clock import FakeClock

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def waited(
    pulse: Pulse, clock: FakeClock, meanwhile: Callable[[], Awaitable[None]], **due: float | None
) -> float:
    """Seconds of the fake clock until the wait returned."""
    began = clock.monotonic()
    done: list[float] = []
    async with anyio.create_task_group() as group:

        async def wait() -> None:
            await pulse.wait_for_patrol(
                interval_s=due.get("interval_s") or 30.0, due_s=due.get("due_s")
            )
            done.append(clock.monotonic() - began)

        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        await meanwhile()
        while not done:
            clock.advance(0.5)
            await anyio.wait_all_tasks_blocked()
    return done[0]


async def nothing() -> None:
    """Nobody does anything meanwhile."""


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def pulse(clock: FakeClock) -> Pulse:
    found = Pulse(clock)
    found.begin()
    return found


async def test_a_patrol_comes_every_interval(pulse: Pulse, clock: FakeClock) -> None:
    """With nothing due, the interval is over (design, "Time")."""
    assert await waited(pulse, clock, nothing) == 30.0


async def test_a_poke_patrols_at_once(pulse: Pulse, clock: FakeClock) -> None:
    """A wake request does not wait for a patrol (R24)."""

    async def poke() -> None:
        pulse.poke()
        await anyio.wait_all_tasks_blocked()

    assert await waited(pulse, clock, poke) == 0.0


async def test_time_that_is_due_brings_a_patrol_forward(pulse: Pulse, clock: FakeClock) -> None:
    """A one-minute policy is a minute, not a minute and a patrol (R80)."""
    assert await waited(pulse, clock, nothing, due_s=clock.monotonic() + 12) == 12.0


async def test_nothing_comes_sooner_than_a_second_by_itself(pulse: Pulse, clock: FakeClock) -> None:
    """Time that is due already waits a second after the last patrol (R80)."""
    assert await waited(pulse, clock, nothing, due_s=clock.monotonic() - 5) == 1.0


async def test_left_over_work_follows_after_a_second(pulse: Pulse, clock: FakeClock) -> None:
    """Queued wakes and candidates cause a tick about a second later (R24, R33)."""

    async def leave_over() -> None:
        pulse.ask_soon()

    assert await waited(pulse, clock, leave_over) == 1.0


async def test_a_move_tells_whoever_waits(pulse: Pulse) -> None:
    """Progress is a number that rises, and waking is not lost."""
    seen = pulse.progress
    async with anyio.create_task_group() as group:
        group.start_soon(pulse.wait_moved)
        await anyio.wait_all_tasks_blocked()
        pulse.move()
    assert pulse.progress == seen + 1
