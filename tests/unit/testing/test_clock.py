"""The fake clock and the loop that never waits."""

from __future__ import annotations

import time
from datetime import timedelta

import anyio
import pytest

from gascity.observe.clock import JumpWatch
from gascity.testing.clock import NOON, FakeClock, NobodyWakes, run_virtual


def test_time_passes_on_both_clocks_alike() -> None:
    """HARN-02: `advance` moves wall and monotonic time by the same amount."""
    clock = FakeClock()
    before = clock.monotonic()
    clock.advance(90)
    assert (clock.now() - NOON, clock.monotonic() - before) == (timedelta(seconds=90), 90)


@pytest.mark.parametrize(
    ("move", "jumped"), [("step", True), ("suspend", True), ("advance", False)]
)
def test_a_set_clock_and_a_suspended_machine_move_wall_time_alone(move: str, jumped: bool) -> None:
    """R14, R39: what a step or a suspension looks like from inside is a jump; waiting is none."""
    clock = FakeClock()
    watch = JumpWatch(clock)
    watch.jumped()
    getattr(clock, move)(3600)
    assert watch.jumped() is jumped


def test_a_clock_may_be_set_back() -> None:
    """R39: the wall clock goes back, the monotonic one does not."""
    clock = FakeClock()
    clock.advance(10)
    before = clock.monotonic()
    clock.step(-3600)
    assert clock.now() < NOON
    assert clock.monotonic() == before


def test_a_virtual_day_takes_no_time() -> None:
    """HARN-02: sleeps, deadlines and timers of the program cost no real time, in order."""
    clock = FakeClock()
    order: list[str] = []

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep_until(clock.monotonic() + seconds)
        order.append(name)

    async def day() -> float:
        async with anyio.create_task_group() as group:
            group.start_soon(sleeper, "evening", 64_800)
            group.start_soon(sleeper, "morning", 21_600)
            with anyio.move_on_after(43_200):
                await anyio.sleep_forever()
            order.append("noon")
        return clock.monotonic()

    real = time.monotonic()
    ended = run_virtual(clock, day)
    assert order == ["morning", "noon", "evening"]
    assert ended == 1000 + 64_800
    assert time.monotonic() - real < 5


def test_advancing_by_hand_wakes_those_whose_time_has_come() -> None:
    """HARN-02: a test may move the clock itself, on any loop."""
    clock = FakeClock()
    woken: list[float] = []

    async def sleeper(seconds: float) -> None:
        await clock.sleep_until(1000 + seconds)
        woken.append(seconds)

    async def test() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(sleeper, 5)
            group.start_soon(sleeper, 50)
            await anyio.wait_all_tasks_blocked()
            clock.advance(10)
            await anyio.wait_all_tasks_blocked()
            assert woken == [5]
            clock.advance(40)

    anyio.run(test)
    assert woken == [5, 50]


def test_a_deadlock_is_an_error_not_a_hang() -> None:
    """HARN-02: when nobody can ever wake, the run ends and says so."""
    with pytest.raises(NobodyWakes):
        run_virtual(FakeClock(), anyio.sleep_forever)
