"""`gc doctor runtime`: a session script called as the controller would, and judged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Gc = Callable[..., Any]


@pytest.mark.slow
def test_a_bad_script_is_told_what_is_wrong(city: Path, gc: Gc) -> None:
    """Each wrong answer with what it should be; exit 1, and its session is stopped (CAP-13)."""
    script = city / "bad"
    script.write_text(
        "#!/bin/sh\ncase $1 in\n"
        "start) [ -s pid ] || { sleep 600 & echo $! > pid; };; stop) kill $(cat pid); rm -f pid;;\n"
        "is-running) [ -s pid ] && echo true || echo false;; get-last-activity) echo yesterday;;\n"
        "list-running) echo other;; is-attached) echo maybe;; peek) echo gc-check-ready;;\n"
        "pending) exit 2;; nudge) exit 0;; esac\n"
    )
    script.chmod(0o755)
    ran = gc("doctor", "runtime", "exec:./bad")
    assert ran.code == 1
    told = ran.out.splitlines()
    wrong = {line.split(maxsplit=1)[1].partition(" (")[0] for line in told if line[:5] == "wrong"}
    assert {"unknown operation", "start", "list-running", "get-last-activity"} <= wrong
    assert any(line.startswith("missing pending") for line in told)
    assert told[-1] == "class: disabled"
    assert not (city / "pid").exists()


def test_a_script_that_is_not_there_is_a_plain_failure(city: Path, gc: Gc) -> None:
    """It is named, with the place it was looked for."""
    ran = gc("doctor", "runtime", "exec:./none")
    assert ran.code == 1
    assert str(city / "none") in ran.err
