"""`gc busy` as a real process: the exit code, signals and the terminal are the command's own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gascity.observe.clock import SystemClock
from tests.control_stand_in import StandIn, a_city, controlled
from tests.desk import FakeDesk, awake
from tests.integration.test_control_socket import served
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
    """A controller that holds pins for as long as somebody is connected."""
    with controlled(city, linger=True) as stand_in:
        stand_in.gives("turn", {"open": True, "end": False})
        yield stand_in


def busy(city: Path, *argv: str, session: str = "mayor", **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        gc("busy", "--session", session, "--", *argv),
        env=environment(city, **variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def python(code: str) -> tuple[str, str, str]:
    return (sys.executable, "-c", code)


@pytest.mark.parametrize("code", [0, 1, 3, 42])
def test_the_exit_code_is_the_command_s(controller: StandIn, city: Path, code: int) -> None:
    """The pin is there before it, and hangs on one connection (R18)."""
    process = busy(city, "sh", "-c", f"echo said; exit {code}")
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (code, "said\n", "")
    [asked] = controller.asked
    assert (asked["op"], asked["session"], asked["what"]) == ("turn", "mayor", "sh")
    assert (asked["owner"], asked["token"]) == (f"busy:{process.pid}", "")


@pytest.mark.parametrize(("session", "token"), [("mayor", "t1"), ("gc-1", "t1"), ("poet", "")])
def test_inside_its_own_session_it_is_an_open_turn(
    controller: StandIn, city: Path, session: str, token: str
) -> None:
    """R48, R63: under the token of this run; another session's token nobody knows."""
    inside = {"GC_SESSION_NAME": "mayor", "GC_SESSION_ID": "gc-1", "GC_INSTANCE_TOKEN": "t1"}
    busy(city, "true", session=session, **inside).communicate(timeout=20)
    assert controller.asked[0]["token"] == token


def test_a_refusal_is_said_and_the_command_runs_all_the_same(city: Path) -> None:
    """One line, with what the controller says."""
    with controlled(city) as refusing:
        refusing.refuses("turn", 3, "the mayor has another run by now")
        process = busy(city, "sh", "-c", "exit 6")
        _, err = process.communicate(timeout=20)
    assert process.returncode == 6
    assert "mayor is not kept awake: the mayor has another run by now" in err
    assert len(err.splitlines()) == 1


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


@pytest.mark.parametrize(("argv", "code"), [(("no-such-command",), 127), (("/",), 126)])
def test_a_command_that_cannot_run_ends_as_in_a_shell(
    controller: StandIn, city: Path, argv: tuple[str, ...], code: int
) -> None:
    """One line."""
    process = busy(city, *argv)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err.startswith(f"gc busy: {argv[0]}: ")) == (code, True)
    assert len(err.splitlines()) == 1


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


def end_command(process: subprocess.Popen[str]) -> None:
    """End the command that it runs, and it with it."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_until(lambda: children.read_text().split())
    os.kill(int(children.read_text().split()[0]), signal.SIGTERM)
    process.communicate(timeout=20)


def test_a_new_controller_is_told_while_the_command_runs(city: Path) -> None:
    """REC-15: none ran when it began; the one that comes is told, and so is the next."""
    process = busy(city, "sleep", "60")
    for _ in range(2):
        with served(city, FakeDesk(awake(), clock=SystemClock())) as house:
            wait_until(lambda now=house: now.desk.turns)  # type: ignore[misc]
            [pin] = house.desk.sessions["gc-mayor"].pins
            assert (pin.owner, pin.reason, pin.held) == (f"busy:{process.pid}", "sleep", True)
    end_command(process)
    assert process.returncode == 128 + signal.SIGTERM


def test_a_killed_one_holds_nothing(city: Path) -> None:
    """R18, R48: though the command goes on, which nobody watches any more."""
    with served(city, FakeDesk(awake(), clock=SystemClock())) as house:
        process = busy(city, "sleep", "60")
        wait_until(lambda: house.desk.turns)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        wait_until(lambda: children.read_text().split())
        [child] = children.read_text().split()
        process.kill()
        wait_until(lambda: not house.desk.turns)
        os.kill(int(child), signal.SIGTERM)
        process.communicate(timeout=20)


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
    assert controller.asked[0]["op"] == "turn"
