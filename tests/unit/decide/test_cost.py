"""What a decision costs grows with the city, and no faster."""

from __future__ import annotations

from time import process_time

import pytest

from gascity.decide.tick import decide
from gascity.model.world import World
from tests.bench.bench_decide import a_big_world, settled


def cost(world: World) -> float:
    """The least processor time of a few decisions, in seconds."""
    best = float("inf")
    for _ in range(3):
        began = process_time()
        decide(world)
        best = min(best, process_time() - began)
    return best


@pytest.mark.slow
def test_four_times_the_sessions_cost_about_four_times_as_much() -> None:
    """Linear in sessions: far from the sixteenfold of a quadratic step (R27, F45)."""
    small, large = (cost(settled(a_big_world(size))) for size in (500, 2_000))
    assert large / small < 8


def test_a_settled_big_city_asks_for_nothing_twice() -> None:
    """The measured city is a settled one (R42)."""
    world = settled(a_big_world(200))
    plan = decide(world)
    assert (plan.changes, plan.events) == ({}, ())
