"""What demand costs grows with the city and no faster, counted in calls and not in seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from types import FrameType

import pytest

from gascity.decide.tick import decide
from tests.bench.bench_demand import asked_of, settled

SMALL, TIMES = 500, 6


def calls(work: Callable[[], object]) -> int:
    """How many functions, Python's own included, are called by `work`."""
    count = 0

    def saw(_: FrameType, kind: str, __: object) -> None:
        nonlocal count
        count += kind in ("call", "c_call")

    work()  # what is made once is made now
    before = sys.getprofile()
    sys.setprofile(saw)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("part", ["read", "decide"])
def test_the_cost_of_demand_is_linear(part: str) -> None:
    """Six times the sessions, work and waits: about six times the calls (R27, F45)."""
    cost = {}
    for size in (SMALL, SMALL * TIMES):
        asked = asked_of(size)
        if part == "read":
            cost[size] = calls(asked.read)
        else:
            world = replace(settled(asked), demand=asked.read())
            cost[size] = calls(lambda world=world: decide(world))  # type: ignore[misc]
    ratio = cost[SMALL * TIMES] / cost[SMALL]
    assert ratio < TIMES * 1.15, cost
