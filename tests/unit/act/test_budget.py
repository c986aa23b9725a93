"""The time a tick may spend on probes, and what one probe may take."""

from __future__ import annotations

import anyio
import pytest

from gascity.act.budget import PROBE_S, RESERVE_S, TICK_S, TickBudget
from gascity.act.probe import PROBE_TIMEOUT_S, probe
from gascity.beads.memory import MemoryStore
from gascity.model.world import ProbeResult
from gascity.observe.ports import Ports
from gascity.runtimes.base import Boundary, Watch
from gascity.testing.builders import a_city, agent, awake
from gascity.testing.clock import FakeClock


def test_no_probe_is_begun_that_would_touch_the_reserve() -> None:
    """Two of a tick's five seconds are kept for other work (PROBE-06)."""
    clock = FakeClock()
    budget = TickBudget(clock=clock, began=clock.monotonic())
    clock.advance(TICK_S - RESERVE_S - PROBE_S)
    assert budget.admits_probe()
    clock.advance(0.001)
    assert not budget.admits_probe()


class Asked:
    """A runtime that remembers how long it was given."""

    kind = "tmux"

    def __init__(self) -> None:
        self.given: list[float] = []

    async def wait_for_idle(self, watch: Watch, *, timeout_s: float) -> Boundary:
        self.given.append(timeout_s)
        return Boundary(result=ProbeResult.IDLE)


@pytest.mark.parametrize("seconds", [1.0])
def test_a_probe_is_given_one_second(seconds: float) -> None:
    """The hard limit of one probe (PROBE-03), handed to the runtime itself."""
    assert seconds == PROBE_TIMEOUT_S
    runtime = Asked()
    city = a_city(agent("mayor"))
    ports = Ports(
        store=MemoryStore(),
        clock=FakeClock(),
        runtimes={"tmux": runtime},  # type: ignore[dict-item]
        city=city,
    )
    found = anyio.run(probe, awake("mayor"), ports)
    assert runtime.given == [seconds]
    assert found.result is ProbeResult.IDLE
