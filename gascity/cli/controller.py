"""`gc start` and `gc stop`: the controller as a process of its own.

Source: DESIGN §13 (R36, R37, R64, R70); surface "Command line"
"""

from __future__ import annotations

import argparse
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from gascity.api.holder import CONTROLLER, holder_of
from gascity.cli.ask import follow
from gascity.cli.failure import DONE, FAILED, REFUSED, TIMED_OUT, USAGE, Failure
from gascity.cli.place import find_city
from gascity.cli.state import STATE, check_owner, make_state
from gascity.report.table import safe

READY_FD: Final = "GC_READY_FD"
MARK: Final = "GC_INSTANCE_TOKEN"
READY_S: Final = 60.0  # adopting many sessions takes a while on a loaded machine
GONE_S: Final = 10.0
TAIL: Final = 15


def configure(command: str, parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gc start` or `gc stop`."""
    if command == "start":
        parser.add_argument("--foreground", action="store_true", help="stay in this terminal")
    else:
        parser.add_argument(
            "--controller-only", action="store_true", help="leave the sessions running"
        )


def run(args: argparse.Namespace) -> int:
    """Start or stop the controller of the city."""
    city = Path(find_city(args))
    if args.command == "stop":
        return _stop(args, city)
    check_owner(city)
    _refuse_second(city)
    if not args.foreground:
        _refuse_invalid(city)
    make_state(city)
    return _foreground(city) if args.foreground else _background(city)


def _refuse_second(city: Path) -> None:
    pid = _running(city)
    if pid is not None:
        raise Failure(
            f"a controller is already running (pid {pid or 'unknown'})",
            "see `gc status`, or end it with `gc stop --controller-only`",
            exit=REFUSED,
        )


def _refuse_invalid(city: Path) -> None:
    """Tell every problem at once, here rather than in a log."""
    from gascity.config.load import load_city

    loaded = load_city(city)
    if loaded.city is not None:
        return
    for problem in loaded.errors:
        print(f"error: {safe(problem)}", file=sys.stderr)
    raise Failure("the configuration is invalid", "mend city.toml", exit=USAGE)


def _foreground(city: Path) -> int:
    if MARK in os.environ:
        own = [sys.executable, "-P", "-m", "gascity", "start", "--foreground", "--city", str(city)]
        os.execve(sys.executable, own, _own_environment())
    from gascity.api.run import run_city

    return int(run_city(city, ready=_announcer()))


def _announcer() -> Callable[[], None]:
    """What to call once the controller is ready: tells the `gc start` that waits, if one does."""
    number = os.environ.pop(READY_FD, "")
    if not number.isdigit():
        return lambda: None
    pipe = int(number)
    os.set_inheritable(pipe, False)  # noqa: FBT003

    def announce() -> None:
        try:
            os.write(pipe, b"ready\n")
            os.close(pipe)
        except OSError:  # nobody waits any more
            return

    return announce


def _background(city: Path) -> int:
    """Start it detached; returns when it is ready, and says why when it is not."""
    log = city / STATE / "controller.log"
    written = log.stat().st_size if log.exists() else 0
    read_end, write_end = os.pipe()
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "gascity", "start", "--foreground", "--city", str(city)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd=city,
            env=_own_environment() | {READY_FD: str(write_end)},
            pass_fds=(write_end,),
            start_new_session=True,
        )
    finally:
        os.close(out)
        os.close(write_end)
    try:
        said = _first_word(read_end, READY_S)
    finally:
        os.close(read_end)
    if said:
        print(f"controller started (pid {child.pid})")
        child.returncode = 0  # it lives on; nobody here waits for it
        return DONE
    if said is None:
        child.returncode = 0
        raise Failure(
            f"the controller (pid {child.pid}) is not ready after {READY_S:.0f} s",
            f"read {log}",
            exit=TIMED_OUT,
        )
    code = child.wait()
    if code == REFUSED:
        _refuse_second(city)
    tail = _tail(log, written)
    raise Failure(
        f"the controller ended with {_ending(code)}",
        f"its log ends with:{tail}" if tail else "see `gc doctor`",
        exit=code if code in {USAGE, REFUSED} else FAILED,
    )


def _own_environment() -> dict[str, str]:
    """The environment without the marks of a session that this command may have been typed in.

    A controller that carried a session's token would be taken for a part of that session, and end
    with it (R63).
    """
    kept = {"GC_BEADS", "GC_HOME"}
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GC_") or name in kept
    }


def _first_word(pipe: int, timeout_s: float) -> bytes | None:
    """What came through the pipe; empty when the other end was closed, None at the time limit."""
    readable, _, _ = select.select([pipe], [], [], timeout_s)
    return os.read(pipe, 64) if readable else None


def _ending(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"status {code}"


def _tail(log: Path, start: int) -> str:
    """The last lines this start wrote to the log."""
    try:
        with log.open("rb") as file:
            file.seek(start)
            text = file.read(64 * 1024).decode("utf-8", "replace")
    except OSError:
        return ""
    lines = [safe(line) for line in text.splitlines() if line.strip()][-TAIL:]
    return "".join(f"\n  {line}" for line in lines)


def _stop(args: argparse.Namespace, city: Path) -> int:
    """Ask it to end, follow it, and wait until it let the city go."""
    shown = ""
    try:
        for reply in follow(str(city), "city_stop", controller_only=args.controller_only):
            if (text := reply.get("text") or reply.get("progress")) and text != shown:
                shown = text
                print(safe(text), flush=True)
    except Failure as failure:
        # It may go down before its last word is out; the lock tells whether it did.
        if failure.exit != FAILED or failure.reply or not _is_gone(city):
            raise
    if not _is_gone(city):
        raise Failure(
            f"the controller (pid {_running(city)}) said it would end and still runs",
            "read .gc/controller.log",
            exit=TIMED_OUT,
        )
    print("controller stopped")
    return DONE


def _running(city: Path) -> int | None:
    """The pid of the controller that holds the lock (0: it does not say); None for none."""
    holder = holder_of(str(city))
    return holder[0] if holder is not None and holder[1] == CONTROLLER else None


def _is_gone(city: Path) -> bool:
    """Whether no controller holds the city, at the latest after a while."""
    deadline = time.monotonic() + GONE_S
    while _running(city) is not None:
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.02)
    return True
