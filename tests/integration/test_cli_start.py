"""`gc start` as a process: it returns when the controller is ready, and says why when it is not.

The controller's entry function is replaced here; the real one is met in `test_cli_end_to_end.py`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.control_stand_in import a_city

ROOT = Path(__file__).resolve().parents[2]

# Takes the place of `gascity.api.run` in the controller's process.
STAND_IN = """
import sys, types

module = types.ModuleType("gascity.api.run")
exec(compile({body!r}, "stand-in", "exec"), module.__dict__)
sys.modules["gascity.api.run"] = module
"""

READY = """
import fcntl, os, pathlib, signal, sys
def run_city(path, *, ready):
    lock = open(path / ".gc" / "controller.lock", "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    lock.write(f"{os.getpid()} controller")
    lock.flush()
    (path / "seen").write_text(f"{os.getsid(0) == os.getpid()} {os.environ.get('GC_READY_FD')}")
    print("controller speaks", flush=True)
    ready()
    signal.pause()
"""
DIES = """
def run_city(path, *, ready):
    print("the reason is here", flush=True)
    return 1
"""


@pytest.fixture
def city() -> Iterator[Path]:
    """A city; whatever controller it has at the end is ended by its pid."""
    with a_city() as path:
        yield path
        with contextlib.suppress(OSError, ValueError, IndexError):
            pid = int((path / ".gc" / "controller.lock").read_text(encoding="utf-8").split()[0])
            os.kill(pid, signal.SIGKILL)


def start(city: Path, tmp_path: Path, body: str) -> subprocess.CompletedProcess[str]:
    """`gc start` with a stand-in for the controller's entry function."""
    (tmp_path / "sitecustomize.py").write_text(STAND_IN.format(body=body), encoding="utf-8")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GC_")}
    return subprocess.run(
        [sys.executable, "-m", "gascity", "--city", str(city), "start"],
        env=environment | {"PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=40,
        check=False,
    )


def test_start_returns_when_the_controller_is_ready(city: Path, tmp_path: Path) -> None:
    """The pid is printed; the controller lives on, detached, with its log (R36)."""
    done = start(city, tmp_path, READY)
    assert (done.returncode, done.stderr) == (0, "")
    pid = int(done.stdout.split("pid ")[1].rstrip(")\n"))
    os.kill(pid, 0)
    assert (city / "seen").read_text(encoding="utf-8") == "True None"
    log = city / ".gc" / "controller.log"
    assert "controller speaks" in log.read_text(encoding="utf-8")
    assert log.stat().st_mode & 0o077 == 0


def test_a_second_start_names_the_first(city: Path, tmp_path: Path) -> None:
    """The second one ends with 3 and the pid that holds the city (R36)."""
    first = start(city, tmp_path, READY)
    pid = first.stdout.split("pid ")[1].rstrip(")\n")
    second = start(city, tmp_path, READY)
    assert second.returncode == 3
    assert f"pid {pid}" in second.stderr


def test_a_controller_that_dies_tells_why(city: Path, tmp_path: Path) -> None:
    """Exit 1 with the end of what this start wrote to the log, not of an older one."""
    log = city / ".gc" / "controller.log"
    log.write_text("an old story\n", encoding="utf-8")
    done = start(city, tmp_path, DIES)
    assert done.returncode == 1
    assert "the reason is here" in done.stderr
    assert "an old story" not in done.stderr


def test_a_city_folder_cannot_shadow_the_program(city: Path, tmp_path: Path) -> None:
    """Python files in the city are not taken for modules of the controller."""
    (city / "gascity").mkdir()
    (city / "gascity" / "__init__.py").write_text("raise SystemExit(9)", encoding="utf-8")
    (city / "argparse.py").write_text("raise SystemExit(9)", encoding="utf-8")
    assert start(city, tmp_path, READY).returncode == 0


def test_an_invalid_city_is_told_here_and_not_in_a_log(city: Path, tmp_path: Path) -> None:
    """Every problem on stderr, exit 2, and no controller was tried (R5)."""
    (city / "city.toml").write_text("[workspace]\nname = 3\n", encoding="utf-8")
    done = start(city, tmp_path, READY)
    assert done.returncode == 2
    assert "error: city.toml" in done.stderr
    assert not (city / ".gc" / "controller.log").exists()
