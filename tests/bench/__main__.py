"""`make bench`: measure everything, or what is named: `python -m tests.bench startup`."""

from __future__ import annotations

import importlib
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.bench.measure import Measurement, rows


def bench_names(wanted: Sequence[str]) -> list[str]:
    """Names of the bench modules, without `bench_`; those wanted, or all.

    Raises:
        SystemExit: A wanted name does not exist.
    """
    found = sorted(
        path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py")
    )
    if unknown := sorted(set(wanted) - set(found)):
        sys.exit(f"bench: no {', '.join(unknown)}; there are {', '.join(found) or 'none yet'}")
    return [name for name in found if name in wanted or not wanted]


def measured(names: Sequence[str]) -> Iterator[Measurement]:
    """Every measurement of the named modules, in order."""
    for name in names:
        yield from importlib.import_module(f"tests.bench.bench_{name}").measurements()


def main() -> None:
    """Print machine and table."""
    names = bench_names(sys.argv[1:])
    print(
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors, "
        f"Python {platform.python_version()}\n"
    )
    for row in rows(measured(names)):
        print(row, flush=True)


if __name__ == "__main__":
    main()
