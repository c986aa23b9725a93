"""Play one interleaving again, or a part of the tree of all of them.

python -m tests.interleavings play interactive "gc wake @ 72; gc suspend @ 75"
python -m tests.interleavings walk --arrivals 2 --faults --kind headless --jobs 2
python -m tests.interleavings walk --arrivals 3 --part 4/60
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

from tests.interleavings.comings import FIRST
from tests.interleavings.tree import Play, Walk, history_of, story_of

KINDS = ("interactive", "headless")
Told = tuple[str, int, int, int, Counter[int], list[str]]


def play(kind: str, text: str) -> int:
    """Play one history, and tell it from beginning to end; 1 when something is wrong with it."""
    one = Play(kind)
    played = one.play(history_of(text))
    print(story_of(played))
    print("\n".join(one.failed) or "nothing is wrong with it")
    return 1 if one.failed else 0


def walk(kind: str, first: str, arrivals: int, faults: bool, part: tuple[int, int]) -> Told:
    """One first arrival: what was played, and what failed."""
    gc.freeze()
    one = Play(kind)
    tree = Walk(play=one, arrivals=arrivals, first=first, faults=faults, part=part)
    tree.below()
    return (
        f"{kind}, {first}",
        one.played,
        one.settled,
        tree.stands_for,
        tree.by_arrivals,
        one.failed,
    )


def walk_all(options: argparse.Namespace) -> int:
    """All first arrivals, beside each other; 1 when anything failed."""
    number, _, parts = options.part.partition("/")
    part = (int(number) % int(parts), int(parts))
    begun, played, stands_for, failed = time.monotonic(), 0, 0, 0
    kinds = [options.kind] if options.kind else list(KINDS)
    names = [options.first] if options.first else list(FIRST)
    with ProcessPoolExecutor(options.jobs) as pool:
        jobs = [
            pool.submit(walk, kind, first, options.arrivals, options.faults, part)
            for kind in kinds
            for first in names
        ]
        for job in jobs:
            name, count, settled, nominal, by_arrivals, wrong = job.result()
            played, stands_for = played + count, stands_for + nominal
            failed += len(wrong)
            shares = ", ".join(f"{n} with {k}" for k, n in sorted(by_arrivals.items()))
            print(f"{name}: {count} played ({shares}), {settled} ends, {len(wrong)} violations")
            print("\n".join(wrong[:3]), end="\n" if wrong else "", flush=True)
    took = time.monotonic() - begun
    print(f"{played} interleavings for {stands_for}, {failed} violations, {took:.0f} s")
    return 1 if failed else 0


def main(argv: Sequence[str]) -> int:
    """What the module is called with."""
    parser = argparse.ArgumentParser(prog="python -m tests.interleavings")
    verbs = parser.add_subparsers(dest="verb", required=True)
    again = verbs.add_parser("play", help="one interleaving, told from beginning to end")
    again.add_argument("kind", choices=KINDS)
    again.add_argument("history")
    tree = verbs.add_parser("walk", help="a part of the tree")
    tree.add_argument("--arrivals", type=int, default=2)
    tree.add_argument("--first", choices=tuple(FIRST), metavar="ARRIVAL")
    tree.add_argument("--kind", choices=KINDS)
    tree.add_argument("--faults", action="store_true", help="with every fault of the store")
    tree.add_argument(
        "--part", default="0/1", help="N/OF: of all pairs, one in so many, and what begins with it"
    )
    tree.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(argv)
    if options.verb == "play":
        return play(options.kind, options.history)
    return walk_all(options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
