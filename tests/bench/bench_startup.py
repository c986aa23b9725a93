"""What every command pays before it does anything: the interpreter, and the command line on top."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import gascity
from tests.bench.measure import Measurement, timed


def _python(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)


def _hook() -> None:
    inside = {"GC_SESSION_ID": "gc-1", "GC_INSTANCE_TOKEN": "t", "GC_CITY": "/nowhere"}
    words = [sys.executable, "-m", "gascity", "agent-event", "Stop"]
    subprocess.run(words, env=os.environ | inside, stdin=subprocess.DEVNULL, check=True)


def measurements() -> Iterator[Measurement]:
    """Process start to end, bare and with `--help`."""
    yield timed("python -c pass", lambda: _python("-c", "pass"), n=30)
    yield timed("import gascity", lambda: _python("-c", "import gascity"), n=30)
    if (Path(gascity.__file__).parent / "cli" / "main.py").is_file():
        yield timed("gc --help", lambda: _python("-m", "gascity", "--help"), n=30)
        yield timed("gc agent-event, nobody there", _hook, n=30)
