"""Lives whole cities in virtual time and says which promise broke: the product, simulated.

    python -m gascity.testing.simulator --seed 7          one life, again
    python -m gascity.testing.simulator --years 10        as many lives as that takes

A life is rounds of deeds and faults; after each round the faults stop, everybody must come to stand
where the config says, and then nothing may move for days. Nothing of the controller is replaced:
it runs over fakes of what it talks to. The same seed gives the same trace, byte for byte.

Source: DESIGN §H (HARN-01..04); R4, R9, R10 of the reliability targets
"""

from __future__ import annotations

import argparse
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import timedelta
from itertools import count
from multiprocessing import get_context
from typing import Final

from gascity.testing.drawn_lives import Drawn, draw
from gascity.testing.simulated_life import Outcome, live

YEAR_S: Final = 365.25 * 86400
SHOWN: Final = (
    "identity", "attach", "wake_mode", "sleep_after_idle", "idle_timeout", "runtime",
    "depends_on", "pool",
)  # fmt: skip


def shortened(drawn: Drawn) -> Drawn:
    """The same life with every step left out that is not needed for it to fail."""
    steps, size = list(drawn.steps), max(1, len(drawn.steps) // 2)
    while True:
        start, dropped = 0, False
        while start < len(steps):
            fewer = steps[:start] + steps[start + size :]
            if live(replace(drawn, steps=tuple(fewer))).broken:
                steps, dropped = fewer, True
            else:
                start += size
        if size == 1 and not dropped:
            return replace(drawn, steps=tuple(steps))
        size = max(1, size // 2)


def only(drawn: Drawn, kept: Sequence[int]) -> Drawn:
    """The life with these of its steps only, by number."""
    return replace(drawn, steps=tuple(drawn.steps[number] for number in kept))


def failure(drawn: Drawn, outcome: Outcome, *, shorten: bool = True) -> str:
    """What is printed about a life that broke a promise: why, how to see it again, its steps."""
    short = shortened(drawn) if shorten else drawn
    numbers = [drawn.steps.index(step) for step in short.steps]
    command = f"python -m gascity.testing.simulator --seed {drawn.seed}"
    return "\n".join(
        (
            f"seed {drawn.seed}: {outcome.broken[0]}",
            f"again:   {command}",
            f"shorter: {command} --keep {','.join(map(str, numbers)) or 'none'}",
            *(f"  {step}" for step in short.steps),
            *(f"  {agent}" for agent in map(_shown, drawn.city.agents.values())),
        )
    )


def _shown(agent: object) -> str:
    return ", ".join(
        f"{key}={getattr(agent, key)}" for key in SHOWN if getattr(agent, key) not in (None, ())
    )


def lives(first: int, years: float, *, jobs: int = 1) -> Iterator[tuple[Drawn, Outcome]]:
    """Life after life from this seed on, until so many years were lived; in `jobs` processes."""
    lived = 0.0
    for outcome in _outcomes(first, jobs):
        lived += outcome.lived_s
        yield draw(outcome.seed), outcome
        if lived >= years * YEAR_S:
            return


def _outcomes(first: int, jobs: int) -> Iterator[Outcome]:
    if jobs == 1:
        yield from map(_live_of, count(first))
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        under_way = deque(pool.submit(_live_of, seed) for seed in range(first, first + 2 * jobs))
        try:
            for seed in count(first + 2 * jobs):
                yield under_way.popleft().result()
                under_way.append(pool.submit(_live_of, seed))
        finally:
            for waiting in under_way:
                waiting.cancel()


def _live_of(seed: int) -> Outcome:
    return live(draw(seed))


def main(args: Sequence[str] | None = None) -> int:
    """The command line: 0 when every promise held."""
    parser = argparse.ArgumentParser(prog="simulator", description=__doc__)
    parser.add_argument("--seed", type=int, help="live one life, or begin with it")
    parser.add_argument("--years", type=float, help="controller-years to live")
    parser.add_argument("--jobs", type=int, default=1, help="processes that live them")
    parser.add_argument("--keep", help="only these steps, by number, or `none`")
    parser.add_argument("--trace", action="store_true", help="print everything that happens")
    parser.add_argument("--every-patrol", action="store_true", help="pass over nothing")
    parser.add_argument("--no-shorten", action="store_true", help="print a failing life as it is")
    said = parser.parse_args(args)
    if said.years is None:
        return _one(said)
    total, patrols, calls, number, failed, cpu_s = 0.0, 0, 0, 0, 0, 0.0
    for drawn, outcome in lives(said.seed or 0, said.years, jobs=said.jobs):
        total, patrols = total + outcome.lived_s, patrols + outcome.patrols
        calls, number, cpu_s = calls + outcome.calls, number + 1, cpu_s + outcome.cpu_s
        if outcome.broken:
            failed += 1
            print(failure(drawn, outcome, shorten=not said.no_shorten), flush=True)
    minutes = cpu_s / 60
    print(
        f"lives: {number - failed} passed, {failed} failed; {total / YEAR_S:.1f} controller-years, "
        f"{patrols} patrols run, {calls} calls; "
        f"{minutes:.1f} CPU-minutes, {total / YEAR_S / max(minutes, 1e-9):.2f} years a minute"
    )
    return 1 if failed or not number else 0


def _one(said: argparse.Namespace) -> int:
    drawn = draw(said.seed or 0)
    if said.keep:
        kept = "" if said.keep == "none" else said.keep
        drawn = only(drawn, [int(one) for one in kept.split(",") if one])
    outcome = live(drawn, skips=not said.every_patrol, traced=said.trace)
    for line in outcome.lines:
        print(line)
    lived = timedelta(seconds=round(outcome.lived_s))
    print(f"seed {drawn.seed}: {lived}, {outcome.patrols} patrols, trace {outcome.digest[:16]}")
    for wrong in outcome.broken:
        print(f"  {wrong}")
    return 1 if outcome.broken else 0


if __name__ == "__main__":
    sys.exit(main())
