"""`gc busy` inside a process that goes on."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any


def test_it_leaves_the_signals_as_it_found_them(gc: Callable[..., Any]) -> None:
    """Whatever runs next in this process, or is started by it, hears INT and TERM (R77)."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    gc("busy", "--session", "mayor", "--", "true")
    gc("busy", "--session", "mayor", "--", "no-such-program-anywhere")
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
