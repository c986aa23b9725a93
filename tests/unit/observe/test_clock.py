"""Time as the controller reads it."""

from __future__ import annotations

from gascity.observe.clock import JumpWatch, SystemClock
from gascity.testing.clock import FakeClock


def test_the_system_clock_is_aware_and_monotonic() -> None:
    """Wall time carries its zone; monotonic time never goes back (R38)."""
    clock = SystemClock()
    assert clock.now().utcoffset() is not None
    assert clock.monotonic() <= clock.monotonic()


def test_time_that_passes_is_no_jump() -> None:
    """A slow patrol is not a suspended machine (R14)."""
    clock = FakeClock()
    watch = JumpWatch(clock)
    assert not watch.jumped()
    clock.advance(3600)
    assert not watch.jumped()


def test_a_suspended_machine_is_noticed_once() -> None:
    """Wall time that ran ahead of monotonic time is a jump, one time (R14)."""
    clock = FakeClock()
    watch = JumpWatch(clock)
    watch.jumped()
    clock.suspend(600)
    assert watch.jumped()
    assert not watch.jumped()


def test_a_clock_that_went_back_is_no_jump() -> None:
    """A backwards step restarts nobody's window (R39)."""
    clock = FakeClock()
    watch = JumpWatch(clock)
    watch.jumped()
    clock.step(-3600)
    assert not watch.jumped()
