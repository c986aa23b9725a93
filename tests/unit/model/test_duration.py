"""A span of time and the words it was written in."""

from __future__ import annotations

from datetime import timedelta

from gascity.model.duration import OFF, Duration, seconds


def test_equality_and_order_use_the_time_not_the_words() -> None:
    """`1m` is `60s`, whatever was written (R1, FP-06)."""
    assert Duration(60 * 10**9, "1m") == seconds(60)
    assert seconds(59) < Duration(60 * 10**9, "1m") <= seconds(60)
    assert len({Duration(60 * 10**9, "1m"), seconds(60)}) == 1


def test_a_minute_prints_as_sixty_seconds() -> None:
    """A 60-second window prints as `60s`, others as they were written (STAT-09)."""
    assert str(Duration(60 * 10**9, "1m")) == "60s"
    assert str(Duration(300 * 10**9, "5m")) == "5m"
    assert str(OFF) == "off"


def test_it_is_a_timedelta_to_the_microsecond() -> None:
    """Nanoseconds below a microsecond are dropped for clocks, kept for comparison (R38)."""
    tiny = Duration(1_500, "1500ns")
    assert (tiny.delta, tiny.seconds) == (timedelta(microseconds=1), 1.5e-6)
    assert seconds(0).delta == timedelta(0)
