"""`gc busy -- CMD`: keeps its session awake for as long as CMD runs, by a pin that ends with it.

The pin hangs on a connection to the controller, as an open turn does: it ends when `gc busy` ends,
however that happens, and a new controller is told of it. Inside its own session it is an open turn
as well. Whatever becomes of the pin, CMD is run, and its exit code is passed on.

Source: DESIGN §5, §14 (R18, R48, R71); surface "Command line"
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time

from gascity.api.announce import KEEP_S, Announcement
from gascity.cli.failure import USAGE, Failure
from gascity.cli.output import note
from gascity.cli.place import find_city

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ANSWER_S = 2.0  # how long CMD waits for a controller that does not answer
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
    held = Held(_announcement(args, session), session, lambda text: note(args, text))
    waits = hasattr(signal, "sigtimedwait")
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, WAITED)
    try:
        held.begin()
        pid = _spawned(args.argv, mask)
        return _exit_code(_watched(pid, held) if waits else _polled(pid, held))
    finally:
        held.end()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)  # what we start next must hear signals


class Held:
    """The announcement of one `gc busy`. A controller that does not take it is mentioned once."""

    def __init__(self, announcement: Announcement, session: str, say: Any) -> None:
        self._announcement = announcement
        self._session = session
        self._say = say
        self._said = False
        self.due = 0.0  # monotonic second of the next `keep`

    def begin(self) -> None:
        """Announce it, and wait a moment for the answer: CMD may be over sooner than that."""
        self._announcement.wait_open(ANSWER_S)
        if not self._announcement.is_open:
            self._mention(self._announcement.problem or "the controller does not answer")
        self.due = time.monotonic() + KEEP_S

    def keep(self) -> None:
        """Announce it again where the controller was replaced."""
        self._announcement.keep()
        self._mention(self._announcement.problem)
        self.due = time.monotonic() + KEEP_S

    def end(self) -> None:
        """Hang up."""
        self._announcement.close()

    def _mention(self, problem: str) -> None:
        if problem and not self._said:
            self._said = True
            self._say(f"{self._session} is not kept awake: {problem}")


def _announcement(args: argparse.Namespace, session: str) -> Announcement:
    """What to announce: a pin on the session, and where it is our own, the turn it is in."""
    inside = session in (os.environ.get("GC_SESSION_NAME"), os.environ.get("GC_SESSION_ID"))
    return Announcement(
        find_city(args),
        session=session,
        token=os.environ.get("GC_INSTANCE_TOKEN", "") if inside else "",
        what=args.reason or os.path.basename(args.argv[0]),  # noqa: PTH119  hot: no pathlib
        owner=f"busy:{os.getpid()}",
    )


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


def _watched(pid: int, held: Held) -> int:
    """The wait status of the command; keeps the pin and passes signals on meanwhile."""
    while True:
        got = signal.sigtimedwait(WAITED, max(0.0, held.due - time.monotonic()))
        if got is None:
            held.keep()
        elif got.si_signo == signal.SIGCHLD:
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                return status
        elif got.si_code <= 0:  # sent by a process; the terminal's own reach the command by itself
            _pass_on(pid, got.si_signo)


def _polled(pid: int, held: Held) -> int:
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
        if time.monotonic() >= held.due:
            held.keep()
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
