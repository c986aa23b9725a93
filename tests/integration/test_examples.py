"""The demo and the examples, run as a reader would run them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.polling import wait_until

ROOT: Final = Path(__file__).resolve().parents[2]
EXAMPLES: Final = ROOT / "examples"

needs_tmux = [
    pytest.mark.tmux,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux"),
]


def environment(folder: Path) -> dict[str, str]:
    """A plain shell's environment, with this interpreter's programs first and its own TMPDIR."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("GC_", "TMUX"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}"
    return kept | {"PATH": path, "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for temporary files with a name short enough for sockets below it."""
    with tempfile.TemporaryDirectory(prefix="gcex-") as name:
        yield Path(name).resolve()


def run(folder: Path, *words: str | Path) -> str:
    """What a command printed; fails with all it said when it did not end with 0."""
    done = subprocess.run(
        [str(word) for word in words],
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(180)
class TestOnTmux:
    """Those that run a city; each leaves an empty folder behind."""

    pytestmark = needs_tmux

    def test_the_demo_comes_true_and_leaves_nothing(self, folder: Path) -> None:
        """Asleep, cold over patrols and a restart, awake by work, request and person (ROLL-07)."""
        said = run(folder, sys.executable, "-m", "gascity.testing.demo")
        assert "All of it came true" in said
        assert list(folder.iterdir()) == []

    def test_the_demo_cleans_up_when_it_is_interrupted(self, folder: Path) -> None:
        """Ctrl-C in the middle: exit 130, no folder, no controller, no tmux server."""
        demo = subprocess.Popen(
            [sys.executable, "-m", "gascity.testing.demo"],
            env=environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_until(lambda: [*folder.glob("*/demo/.gc/controller.sock")], 60, what="a controller")
        demo.send_signal(signal.SIGINT)
        _, said = demo.communicate(timeout=60)
        assert demo.returncode == 130, said
        assert list(folder.iterdir()) == []
        assert not [one for one in command_lines() if str(folder) in one]

    def test_the_two_minute_city_ends_well(self, folder: Path) -> None:
        """The commands of the first minute work as they stand."""
        said = run(folder, EXAMPLES / "01_two_minute_city" / "run.sh")
        assert "asleep   reason=idle" in said
        assert list(folder.iterdir()) == []

    def test_a_crash_mid_drain_is_mended(self, folder: Path) -> None:
        """Running: goes on; gone: ambiguous; wanted: called off (REC-02, REC-03, REC-07, R29)."""
        said = run(folder, sys.executable, EXAMPLES / "02_crash_mid_drain.py")
        assert "session.sleep_recovery_ambiguous" in said
        assert "idle drain aborted: work" in said
        assert list(folder.iterdir()) == []


def test_the_policy_starters_say_what_their_comments_say(folder: Path) -> None:
    """The starter blocks, one class alone, and the exceptions (ROLL-03, ROLL-06, ROLL-14)."""
    said = run(folder, sys.executable, EXAMPLES / "03_policy_starters" / "compare.py")
    rows = [" ".join(line.split()) for line in said.splitlines()]
    assert "worker noninteractive 0s workspace_default (city.toml:8)" in rows
    assert "worker noninteractive 30s workspace_default (city.toml:8)" in rows
    assert "mayor interactive_resume off legacy_off (nobody said anything)" in rows
    assert "watcher interactive_resume off agent (city.toml:23)" in rows
    assert "app/sweeper noninteractive 0s rig_override (city.toml:18)" in rows


@pytest.mark.slow
def test_the_session_script_is_a_good_one(folder: Path) -> None:
    """Every operation is known and right, and the class its sessions get is the best (CAP-20)."""
    script = EXAMPLES / "04_session_script" / "gc-session-files"
    words = [sys.executable, "-m", "gascity", "doctor", "runtime", f"exec:{script}"]
    said = run(folder, "env", f"SESSION_FILES={folder}/sessions", *words)
    assert said.splitlines()[-1] == "class: full"
    assert {line.split()[0] for line in said.splitlines()[:-1]} == {"good"}
    assert str(folder) not in " ".join(command_lines())


def command_lines() -> list[str]:
    """The command line of every process that can be seen."""
    shown = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return shown.stdout.splitlines()
