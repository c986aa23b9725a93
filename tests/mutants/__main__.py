"""`make mutants`: how many edits of the product go unnoticed by its tests."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.mutants import draw
from tests.mutants.draw import Mutant
from tests.mutants.explained import explained
from tests.mutants.forks import Fate, try_all

TESTS: Final = {
    "decide": ("tests/unit/decide", "tests/unit/act", "tests/properties/test_pools.py"),
    "act": ("tests/unit/act", "tests/unit/decide", "tests/interleavings"),
}


def main() -> None:
    """Draw, try, print the figures; exit 1 when the score is under the floor."""
    asked = _asked()
    mutants = draw.package_mutants(asked.places)
    known = explained()
    if asked.again:
        report = Path(asked.again).read_text(encoding="utf-8")
        mutants = [one for one in mutants if f" {one.name}\n" in report]
    if asked.sample:
        mutants = draw.sample(mutants, asked.sample, asked.seed)
    elif asked.lines:
        able = [one for one in mutants if one.name not in known]
        mutants = draw.one_a_line(able, asked.lines, asked.seed)
    tests = asked.tests or list(
        dict.fromkeys(one for place in asked.places for one in TESTS[place.partition("/")[0]])
    )
    fates: dict[Mutant, Fate] = {}
    aloud = os.fdopen(os.dup(sys.stdout.fileno()), "w")  # pytest takes the usual one meanwhile
    began = time.monotonic()

    def told(mutant: Mutant, fate: Fate) -> None:
        fates[mutant] = fate
        if len(fates) % 200 == 0:
            print(f"{len(fates)} of {len(mutants)}", file=aloud, flush=True)
        if fate is not Fate.KILLED:
            where = f"gascity/{mutant.module.replace('.', '/')}.py:{mutant.line}"
            word = "explained" if mutant.name in known else str(fate)
            print(f"{word}: {where} {mutant.name}", file=aloud, flush=True)

    try_all(mutants, tests, asked.jobs, told)
    score = _table(fates)
    print(f"{len(fates)} mutants in {time.monotonic() - began:.0f} s, score {score:.1f} %")
    if score < asked.floor:
        sys.exit(f"mutants: {score:.1f} % is under the floor of {asked.floor} %")


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.mutants", description=main.__doc__)
    parser.add_argument("places", nargs="*", default=["decide"], help="decide, act/drain, …")
    parser.add_argument("--sample", type=int, help="so many mutants of them")
    parser.add_argument("--lines", type=int, help="one mutant each of so many lines")
    parser.add_argument("--seed", type=int, default=0, help="which sample")
    parser.add_argument("--again", help="only those that a saved report calls survivors")
    parser.add_argument("--tests", action="append", help="these instead of the usual ones")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--floor", type=float, default=95.0, help="the least score, in percent")
    return parser.parse_args()


def _table(fates: dict[Mutant, Fate]) -> float:
    counts: dict[str, Counter[Fate]] = {}
    for mutant, fate in fates.items():
        counts.setdefault(mutant.module, Counter())[fate] += 1
    print("\n| module | mutants | killed | timeout | survived | score |\n|---|---|---|---|---|---|")
    for module in sorted(counts):
        print(_row(f"`{module}`", counts[module]))
    total = sum(counts.values(), Counter())
    print(_row("all", total) + "\n")
    return _score(total)


def _row(name: str, count: Counter[Fate]) -> str:
    cells: Sequence[object] = (
        name,
        count.total(),
        count[Fate.KILLED],
        count[Fate.TIMEOUT],
        count[Fate.SURVIVED],
        f"{_score(count):.1f} %",
    )
    return f"| {' | '.join(map(str, cells))} |"


def _score(count: Counter[Fate]) -> float:
    return 100 * (1 - count[Fate.SURVIVED] / count.total()) if count else 100.0


if __name__ == "__main__":
    main()
