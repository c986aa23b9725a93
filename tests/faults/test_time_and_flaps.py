"""Clocks that step, machines that suspend, people and work that come and go 10,000 times.

The real controller in virtual time, one city each; nobody is stopped, started or written about for
any of it but for the reason it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import anyio
import pytest

from gascity.model.session import State
from gascity.testing.city import FakeCity
from gascity.testing.records import a_city, agent, headless, span

WINDOW_S: Final = 60.0
PATROL_S: Final = 30.0
FLAPS: Final = 10_000
STEPS: Final = {
    "an hour on": 3600.0,
    "an hour back": -3600.0,
    "a day on": 86_400.0,
    "a day back": -86_400.0,
    "ten years on": 315_360_000.0,
    "a second on": 1.0,
    "a second back": -1.0,
}


@contextmanager
def three() -> Iterator[FakeCity]:
    """`cold` asleep for idleness, `warm` in its window, `always` without a policy."""
    config = a_city(
        agent("cold", sleep_after_idle=span("60s")),
        agent("warm", sleep_after_idle=span("10m")),
        agent("always"),
        session_sleep={},
    )
    with FakeCity(config) as city:
        city.live(200)
        assert city.session("cold").is_cold
        yield city


def live_through(city: FakeCity, deed: Callable[[], None], seconds: float) -> None:
    """One life of a controller in which something happens after a minute, `seconds` before its end.

    A step between two lives would be met by a controller that never knew the time before it.
    """

    async def life() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(city.controller.run)
            await city.clock.sleep_until(city.clock.monotonic() + 60.0)
            city.touch("warm")
            deed()
            await city.clock.sleep_until(city.clock.monotonic() + seconds)
            group.cancel_scope.cancel()

    city.run(life())


def counts(city: FakeCity) -> dict[str, tuple[int, int]]:
    """{session: (starts, stops)} of the host."""
    return {name: (one.starts, one.stops) for name, one in sorted(city.host.sessions.items())}


@pytest.mark.parametrize("what", STEPS)
def test_a_stepped_clock_moves_nobody(what: str) -> None:
    """The wall clock is set: no sleep before a whole window, no wake at all (T1, R14, R38, R39)."""
    with three() as city:
        before = counts(city)
        live_through(city, lambda: city.clock.step(STEPS[what]), 550)
        assert counts(city) == before, "550 s into a window of 600 s"
        city.live(700)
        after = counts(city)
        assert (after["cold"], after["always"]) == (before["cold"], before["always"])
        assert city.overseer.violations == []
        if STEPS[what] > 0:
            assert city.session("warm").is_cold, "and then it sleeps as ever"


@pytest.mark.slow
@pytest.mark.parametrize("step_s", [-3600.0, -86_400.0])
def test_a_step_back_lengthens_a_window_by_no_more_than_itself(step_s: float) -> None:
    """References in the future count as now: it sleeps later by the step at most (R39, T1)."""
    with three() as city:
        live_through(city, lambda: city.clock.step(step_s), 600 - step_s + 3 * PATROL_S)
        assert city.session("warm").is_cold
        assert city.overseer.violations == []


@pytest.mark.parametrize("asleep_s", [60.0, 8 * 3600.0, 3 * 86_400.0])
def test_a_suspended_machine_restarts_windows_and_wakes_nobody(asleep_s: float) -> None:
    """A laptop opened again: time suspended is no idle time, and nobody starts (R14, T1)."""
    with three() as city:
        before = counts(city)
        live_through(city, lambda: city.clock.suspend(asleep_s), 550)
        assert counts(city) == before
        city.live(600)
        assert city.session("warm").is_cold
        assert counts(city)["cold"] == before["cold"]
        assert city.overseer.violations == []


def test_a_thousand_steps_move_nobody() -> None:
    """A clock that is set each second, on and back, for a thousand times (T1, R9)."""
    with three() as city:
        before = counts(city)

        async def strobe() -> None:
            async with anyio.create_task_group() as group:
                group.start_soon(city.controller.run)
                for number in range(1000):
                    city.clock.step((-1) ** number * (number % 5 + 1) * 3600.0)
                    await city.clock.sleep_until(city.clock.monotonic() + 1.0)
                group.cancel_scope.cancel()

        city.run(strobe())
        assert {n: c for n, c in counts(city).items() if n != "warm"} == {
            n: c for n, c in before.items() if n != "warm"
        }
        assert counts(city)["warm"][1] - before["warm"][1] <= 1
        assert city.overseer.violations == []


class Writes:
    """Counts the writes of a city's controller; a person's own are counted apart by the caller."""

    def __init__(self, city: FakeCity) -> None:
        self.count = 0
        before = city.store.witness
        assert before is not None

        def saw(batch: Any, applied: Any, were: Any) -> None:
            self.count += 1
            before(batch, applied, were)

        city.store.witness = saw


def flap(city: FakeCity, edge: Callable[[int], None], *, own: int) -> tuple[int, int]:
    """(writes of the controller, starts and stops) over FLAPS edges, a tick after each."""
    writes, before = Writes(city), counts(city)
    for number in range(FLAPS):
        edge(number)
        city.clock.advance(1.0)
        city.tick()
    moved = sum(
        sum(now) - sum(was) for now, was in zip(counts(city).values(), before.values(), strict=True)
    )
    assert city.overseer.violations == []
    return writes.count - own * FLAPS, moved


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_ten_thousand_attaches_cost_a_write_an_edge_and_move_nobody() -> None:
    """Somebody comes and goes each second: at most one write an edge, 0 starts, 0 stops (R10)."""
    with FakeCity(a_city(agent("mayor", sleep_after_idle=span("60s")), session_sleep={})) as city:
        city.live(5)
        written, moved = flap(city, lambda n: city.attach("mayor", (n + 1) % 2), own=0)
        print(f"\n{FLAPS} flaps of attach: {written} writes, {moved} starts and stops")
        assert written <= FLAPS + 5
        assert moved == 0


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_ten_thousand_pieces_of_work_start_nobody_in_vain() -> None:
    """Work appears and is done each second: starts and stops never outnumber causes (R10, L4)."""
    config = a_city(headless("worker", sleep_after_idle=span("0s")), session_sleep={})
    with FakeCity(config) as city:
        city.live(5)
        given: list[str] = []

        def edge(number: int) -> None:
            if number % 2:
                city.finish(given[-1])
            else:
                given.append(city.give("worker"))

        written, moved = flap(city, edge, own=1)
        print(f"\n{FLAPS} flaps of work: {written} writes, {moved} starts and stops")
        assert moved <= FLAPS + 2
        assert written <= FLAPS + 4 * moved, "one an edge, besides what a start or stop takes"
        assert len(city.events("session.woke")) <= FLAPS // 2 + 1
        assert city.session("worker").state in (State.ASLEEP, State.AWAKE)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_runtime_that_answers_every_other_time_moves_nobody() -> None:
    """10,000 ticks, every second one unreachable: 0 sleeps from doubt, at most a write an edge."""
    with FakeCity(a_city(agent("mayor"), session_sleep={})) as city:
        city.live(5)

        def edge(number: int) -> None:
            city.host.unreachable = "busy" if number % 2 == 0 else ""

        written, moved = flap(city, edge, own=0)
        print(f"\n{FLAPS} flaps of the runtime: {written} writes, {moved} starts and stops")
        assert written <= FLAPS + 5
        assert moved == 0
