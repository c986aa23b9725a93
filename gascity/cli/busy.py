"""`gc busy -- CMD`: keeps its session awake for as long as CMD runs, by a pin that ends with it.

The pin is a lease: short, and renewed while CMD runs, so that one whose `gc busy` was killed ends
by itself. Whatever becomes of the pin, CMD is run, and its exit code is passed on.

Source: DESIGN §5 (R18, R71); surface "Command line"
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time

from gascity.api import client
from gascity.cli.failure import USAGE, Failure
from gascity.cli.output import note
from gascity.cli.place import find_city

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LEASE_S = 600.0
RENEW_S = 180.0
LOOK_S = 0.2  # how often CMD is asked for where signals cannot be waited for
NOT_RUNNABLE, NOT_FOUND = 126, 127  # what shells exit with
FORWARDED = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH")
    if hasattr(signal, name)
)
WAITED = (*FORWARDED, signal.SIGCHLD)


def configure(command: str, parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gc busy`."""
    parser.add_argument("--session", metavar="S", help="inside a session: itself")
    parser.add_argument("--reason", default="", metavar="R", help="why, for others to read (CMD)")
    parser.add_argument("argv", nargs="+", metavar="CMD", help="after `--`, with its arguments")


def run(args: argparse.Namespace) -> int:
    """Run the command while the pin holds; its exit code, or 128 and the signal that ended it."""
    session = args.session or os.environ.get("GC_SESSION_NAME", "")
    if not session:
        do = "name one with --session, or run it inside a session"
        raise Failure("no session to keep awake", do, exit=USAGE)
    reason = args.reason or os.path.basename(args.argv[0])  # noqa: PTH119  hot: no pathlib
    pin = Pin(find_city(args), session, reason, lambda text: note(args, text))
    waits = hasattr(signal, "sigtimedwait")
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, WAITED)
    try:
        pin.renew()
        pid = _spawned(args.argv, mask)
        return _exit_code(_watched(pid, pin) if waits else _polled(pid, pin))
    finally:
        pin.remove()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)  # what we start next must hear signals


class Pin:
    """The lease of one `gc busy`. A controller that is not there is mentioned once."""

    def __init__(self, city: str, session: str, reason: str, say: Any) -> None:
        self._city = city
        self._session = session
        self._reason = reason
        self._say = say
        self._said = False
        self._held = False
        self.due = 0.0  # monotonic second of the next renewal

    def renew(self) -> None:
        """Pin the session for another lease."""
        self.due = time.monotonic() + RENEW_S
        fields = {"session": self._session, "reason": self._reason, "for_s": LEASE_S}
        try:
            client.call(self._city, "pin", owner=_owner(), agent=True, **fields)
            self._held = True
        except client.ControlError as problem:
            if not self._said:
                self._say(f"{self._session} is not kept awake: {problem.what}")
            self._said = True

    def remove(self) -> None:
        """Take the pin away; one that cannot be ends with its lease."""
        if not self._held:
            return
        try:
            client.call(self._city, "unpin", session=self._session, owner=_owner())
        except client.ControlError:
            self._held = False


def _owner() -> str:
    return f"busy:{os.getpid()}"


def _spawned(argv: list[str], mask: Any) -> int:
    """The pid of the command: our terminal, our process group, the signals we were given."""
    ours = (signal.SIGPIPE, signal.SIGXFSZ)  # ignored by Python, and so by what it starts
    try:
        return os.posix_spawnp(argv[0], argv, os.environ, setsigmask=mask, setsigdef=ours)
    except FileNotFoundError:
        raise Failure(f"{argv[0]}: not found", "see PATH", exit=NOT_FOUND) from None
    except OSError as error:
        do = "see its permissions"
        raise Failure(f"{argv[0]}: {error.strerror}", do, exit=NOT_RUNNABLE) from None


def _watched(pid: int, pin: Pin) -> int:
    """The wait status of the command; renews the pin and passes signals on meanwhile."""
    while True:
        got = signal.sigtimedwait(WAITED, max(0.0, pin.due - time.monotonic()))
        if got is None:
            pin.renew()
        elif got.si_signo == signal.SIGCHLD:
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                return status
        elif got.si_code <= 0:  # sent by a process; the terminal's own reach the command by itself
            _pass_on(pid, got.si_signo)


def _polled(pid: int, pin: Pin) -> int:
    """The same where signals cannot be waited for (macOS): the command is asked for often."""
    for number in FORWARDED:
        typed = number in (signal.SIGINT, signal.SIGQUIT) and sys.stdin.isatty()
        known = signal.SIG_IGN if typed else lambda got, _: _pass_on(pid, got)
        signal.signal(number, known)
    # Only now: what came since the start of the command is passed on, not lost with us.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, WAITED)
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return status
        if time.monotonic() >= pin.due:
            pin.renew()
        time.sleep(LOOK_S)


def _pass_on(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _exit_code(status: int) -> int:
    if os.WIFSIGNALED(status):
        return 128 + os.WTERMSIG(status)
    return os.WEXITSTATUS(status)
