"""`gc busy` as a real process: the exit code, signals and the terminal are the command's own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.control_stand_in import StandIn, a_city, controlled
from tests.polling import wait_until
from tests.terminal import Terminal, environment, gc

# Makes the terminal it runs on its own, so that Ctrl-C there is a signal.
CONTROLLING = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    "os.execvp(sys.argv[1], sys.argv[1:])"
)


@pytest.fixture
def city() -> Iterator[Path]:
    """A city without a controller."""
    with a_city() as path:
        yield path


@pytest.fixture
def controller(city: Path) -> Iterator[StandIn]:
    """A controller that takes pins."""
    with controlled(city) as stand_in:
        for _ in range(4):
            stand_in.gives("pin", {"pin": {"expires_at": "2026-03-01T20:00:00.000000Z"}})
            stand_in.gives("unpin", {"removed": 1})
        yield stand_in


def busy(city: Path, *argv: str, session: str = "mayor") -> subprocess.Popen[str]:
    return subprocess.Popen(
        gc("busy", "--session", session, "--", *argv),
        env=environment(city),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def python(code: str) -> tuple[str, str, str]:
    return (sys.executable, "-c", code)


@pytest.mark.parametrize("code", [0, 1, 3, 42])
def test_the_exit_code_is_the_command_s(controller: StandIn, city: Path, code: int) -> None:
    """And the pin is there before it and gone after it, under one owner (R18)."""
    process = busy(city, "sh", "-c", f"echo said; exit {code}")
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (code, "said\n", "")
    pin, unpin = controller.asked
    assert (pin["op"], pin["session"], pin["for_s"], pin["agent"]) == ("pin", "mayor", 600.0, True)
    assert (unpin["op"], unpin["owner"]) == ("unpin", pin["owner"])
    assert pin["owner"] == f"busy:{process.pid}"
    assert pin["reason"] == "sh"


def test_a_command_that_died_of_a_signal_says_so(controller: StandIn, city: Path) -> None:
    """128 and the number, as shells do."""
    process = busy(city, "sh", "-c", "kill -9 $$")
    process.communicate(timeout=20)
    assert process.returncode == 128 + signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_signals_reach_the_command(controller: StandIn, city: Path, number: signal.Signals) -> None:
    """What is sent to `gc busy` is sent on; the command decides what it means."""
    code = (
        "import signal, sys; got = []\n"
        f"signal.signal({int(number)}, lambda n, _: (print('got', n, flush=True), sys.exit(7)))\n"
        "print('ready', flush=True)\nwhile True: signal.pause()"
    )
    process = busy(city, *python(code))
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    out, _ = process.communicate(timeout=20)
    assert (process.returncode, out) == (7, f"got {int(number)}\n")
    assert controller.asked[-1]["op"] == "unpin"


@pytest.mark.parametrize(("argv", "code"), [(("no-such-command",), 127), (("/",), 126)])
def test_a_command_that_cannot_run_ends_as_in_a_shell(
    controller: StandIn, city: Path, argv: tuple[str, ...], code: int
) -> None:
    """One line, and no pin is left."""
    process = busy(city, *argv)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err.startswith(f"gc busy: {argv[0]}: ")) == (code, True)
    assert controller.asked[-1]["op"] == "unpin"


def test_without_a_controller_the_command_runs_all_the_same(city: Path) -> None:
    """R71: said on stderr, once; the work is not held up."""
    process = busy(city, "sh", "-c", "echo done; exit 5")
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (5, "done\n")
    assert "mayor is not kept awake: no controller is running" in err
    assert len(err.splitlines()) == 1


def test_without_a_session_nothing_is_run(city: Path) -> None:
    """A usage error before anything happens."""
    ran = subprocess.run(
        gc("busy", "--", "touch", str(city / "ran")),
        env=environment(city),
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert (ran.returncode, (city / "ran").exists()) == (2, False)


def test_the_terminal_and_ctrl_c_are_the_command_s(controller: StandIn, city: Path) -> None:
    """A program that handles Ctrl-C gets it once and goes on; `gc busy` waits for it."""
    code = (
        "import signal, sys, os\n"
        "n = [0]\n"
        "def got(*_):\n n[0] += 1; print('interrupt', n[0], flush=True)\n"
        "signal.signal(signal.SIGINT, got)\n"
        "print('tty', os.isatty(0), flush=True)\n"
        "print('read', sys.stdin.readline().strip(), n[0], flush=True)\n"
    )
    command = gc("busy", "--session", "mayor", "--", *python(code))
    terminal = Terminal([*python(CONTROLLING), *command], environment(city))
    terminal.wait_for("tty True")
    terminal.type("\x03")
    terminal.wait_for("interrupt 1")
    terminal.type("hello\n")
    terminal.wait_for("read hello 1")
    assert terminal.end() == 0


def test_a_killed_one_leaves_a_lease_that_ends_by_itself(controller: StandIn, city: Path) -> None:
    """R18: nothing takes the pin off, and it is short."""
    process = busy(city, "sleep", "60")
    wait_until(lambda: controller.asked)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_until(lambda: children.read_text().split())
    [child] = children.read_text().split()
    process.kill()
    process.wait(timeout=20)
    os.kill(int(child), signal.SIGTERM)
    process.communicate(timeout=20)
    assert [one["op"] for one in controller.asked] == ["pin"]
    assert controller.asked[0]["for_s"] <= 600


# As on a platform where signals cannot be waited for.
ELSEWHERE = (
    "import signal, sys; del signal.sigtimedwait;"
    "from gascity.cli.main import main; sys.exit(main(sys.argv[1:]))"
)


def test_where_signals_cannot_be_waited_for_it_works_too(controller: StandIn, city: Path) -> None:
    """R77: the named fallback: exit code and signals are the command's own there as well."""
    command = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.1; done"
    process = subprocess.Popen(
        [*python(ELSEWHERE), "busy", "--session", "mayor", "--", "sh", "-c", command],
        env=environment(city),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.terminate()
    process.communicate(timeout=20)
    assert process.returncode == 9
    assert controller.asked[-1]["op"] == "unpin"
