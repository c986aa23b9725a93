"""The common way to measure: run something often, keep every duration, report two quantiles."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

UNITS: Final = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One line of the table.

    Args:
        name: What was measured, with its size: `tick, 1,000 sessions, settled`.
        samples: Every value seen, in `unit`; at least one.
        unit: `s`, `ms` or `µs` for durations; any other word for counts (`MiB`, `calls`).
    """

    name: str
    samples: Sequence[float]
    unit: str = "ms"

    @property
    def p50(self) -> float:
        """The median of the samples."""
        return statistics.median(self.samples)

    @property
    def p99(self) -> float:
        """The value that 99 of 100 samples do not exceed; with few samples the largest."""
        ordered = sorted(self.samples)
        return ordered[min(len(ordered) - 1, -(-99 * len(ordered) // 100) - 1)]


def timed(
    name: str,
    work: Callable[[], object],
    *,
    n: int = 50,
    warm_up: int = 3,
    unit: str = "ms",
    prepare: Callable[[], object] = lambda: None,
) -> Measurement:
    """Time `work()` n times; `prepare()` runs before each and is not counted."""
    with stopwatch(name, unit=unit) as watch:
        for turn in range(warm_up + n):
            prepare()
            began = time.perf_counter()
            work()
            took = time.perf_counter() - began
            if turn >= warm_up:
                watch.add(took)
    return watch.measurement()


@dataclass(slots=True)
class Stopwatch:
    """Collects durations that the caller took, in seconds."""

    name: str
    unit: str
    durations_s: list[float] = field(default_factory=list)

    def add(self, duration_s: float) -> None:
        """Keep one duration."""
        self.durations_s.append(duration_s)

    def measurement(self) -> Measurement:
        """The line for what was collected."""
        scale = UNITS[self.unit]
        return Measurement(
            name=self.name, samples=[one / scale for one in self.durations_s], unit=self.unit
        )


@contextmanager
def stopwatch(name: str, *, unit: str = "ms") -> Iterator[Stopwatch]:
    """A stopwatch for work that cannot be one call; garbage is collected before, not during."""
    gc.collect()
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield Stopwatch(name, unit)
    finally:
        if was_enabled:
            gc.enable()


def counted(name: str, value: float, *, unit: str) -> Measurement:
    """A line for something that is counted once: calls, writes, MiB."""
    return Measurement(name=name, samples=[value], unit=unit)


def rows(measurements: Iterable[Measurement]) -> Iterator[str]:
    """The Markdown table's lines, each as soon as its measurement is there."""
    yield "| what | n | p50 | p99 | unit |"
    yield "|---|---:|---:|---:|---|"
    for one in measurements:
        yield f"| {one.name} | {len(one.samples)} | {one.p50:,.3g} | {one.p99:,.3g} | {one.unit} |"
