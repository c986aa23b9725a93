"""The measuring of `make bench` itself."""

from __future__ import annotations

import pytest

from tests.bench.measure import Measurement, counted, rows, stopwatch, timed


def test_quantiles_are_values_that_were_seen() -> None:
    """Of 1..200 the 99th percentile is the 198th value, and the median lies between two."""
    one = Measurement(name="x", samples=[float(value) for value in range(200, 0, -1)])
    assert (one.p50, one.p99) == (100.5, 198.0)


def test_the_largest_stands_in_for_the_p99_of_few() -> None:
    """With fewer than a hundred samples the p99 is the worst one."""
    assert Measurement(name="x", samples=[3.0, 9.0, 1.0]).p99 == 9.0


def test_warm_up_turns_are_not_counted() -> None:
    """`timed` keeps n durations although it runs more."""
    turns: list[int] = []
    one = timed("x", lambda: turns.append(1), n=4, warm_up=2)
    assert (len(one.samples), len(turns)) == (4, 6)


def test_durations_are_shown_in_their_unit() -> None:
    """Two milliseconds are 2 ms."""
    with stopwatch("x", unit="ms") as watch:
        watch.add(0.002)
    assert watch.measurement().samples == pytest.approx([2.0])


def test_the_table_is_markdown() -> None:
    """A head, a rule, and a line a measurement."""
    assert list(rows([counted("calls", 3, unit="calls")])) == [
        "| what | n | p50 | p99 | unit |",
        "|---|---:|---:|---:|---|",
        "| calls | 1 | 3 | 3 | calls |",
    ]
