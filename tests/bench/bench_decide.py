"""What one decision costs: `decide()` over cities of three sizes, settled, four of five asleep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from gascity.decide.drain import Phase
from gascity.decide.relook import DrainContext, relook
from gascity.decide.tick import decide
from gascity.model.world import World
from gascity.testing.builders import (
    FULL,
    a_city,
    a_world,
    awake,
    cold,
    headless,
    pooled,
    running,
)
from tests.bench.measure import Measurement, timed

SIZES: Final = (1_000, 5_000, 10_000)
POOL_SIZE: Final = 50


def a_big_world(size: int) -> World:
    """`size` sessions: half in pools of fifty, half fixed; one of five is awake and attached."""
    pools, fixed = size // 2 // POOL_SIZE, size // 2
    agents = [pooled(f"p{n}", min=POOL_SIZE, max=POOL_SIZE) for n in range(pools)]
    agents += [headless(f"f{n}", depends_on=(f"f{n // 10}",) if n % 7 == 0 and n else ())
               for n in range(fixed)]  # fmt: skip
    names = [f"p{n}-{slot}" for n in range(pools) for slot in range(1, POOL_SIZE + 1)]
    names += [f"f{n}" for n in range(fixed)]
    sessions = [awake(name) if n % 5 == 0 else cold(name) for n, name in enumerate(names)]
    city = a_city(*agents)
    busy = {one.name: running(idle_s=1) for one in sessions if one.state == "awake"}
    work = dict.fromkeys(busy, "w1")
    return a_world(city, *sessions, seen=busy, work=work, support=FULL)


def settled(world: World, turns: int = 6) -> World:
    """The world once its plans have nothing more to write."""
    for _ in range(turns):
        plan = decide(world)
        if not plan.changes:
            break
        world = replace(world, sessions={**world.sessions, **plan.changes})
    return world


def one_relook(size: int) -> Measurement:
    """A re-look at one session, in the small world that is read for it."""
    world = a_world(a_big_world(size).city, awake("f1"), seen=running())
    context = DrainContext(fingerprint="", generation=1)

    def look() -> None:
        relook(world, "gc-f1", phase=Phase.RECORD, context=context, structural=lambda _: "")

    return timed(f"re-look, city of {size:,}", look, n=50, unit="µs")


def measurements() -> Iterator[Measurement]:
    """A settled decision at each size, and a re-look in the smallest and largest city."""
    for size in SIZES:
        world = settled(a_big_world(size))
        yield timed(f"decide, {size:,} sessions", lambda world=world: decide(world), n=12)  # type: ignore[misc]
    yield one_relook(SIZES[0])
    yield one_relook(SIZES[-1])


if __name__ == "__main__":
    from cProfile import Profile
    from pstats import Stats

    big = settled(a_big_world(2_000))
    with Profile() as profile:
        decide(big)
    Stats(profile).sort_stats("tottime").print_stats(25)
