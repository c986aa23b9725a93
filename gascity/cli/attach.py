"""`gc attach`: the client's half of the attach states; the controller alone starts sessions.

The order is the safety: what reopening would discard is said and agreed to before anything is
written, and whatever ends the wait early takes the written intent back as well as it can.

Source: DESIGN §7 (ATT-06..22, R55, R65)
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from contextlib import suppress

from gascity.cli.ask import ask, follow
from gascity.cli.failure import REFUSED, Failure, NoController
from gascity.cli.output import note
from gascity.cli.place import find_city, whoami
from gascity.cli.spans import seconds_of
from gascity.cli.wake import add_session
from gascity.report.table import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

CONSEQUENCE = "will start a new session and discard prior interactive context"


def configure(command: str, parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gc attach`."""
    add_session(parser)
    parser.add_argument(
        "--confirm-fresh", action="store_true", help="agree to start a new conversation"
    )
    parser.add_argument("--timeout", metavar="D", help="how long to wait for the wake")


def run(args: argparse.Namespace) -> int:
    """Become the terminal of the session; returns only when that did not happen."""
    city = find_city(args)
    timeout_s = seconds_of(args.timeout, "--timeout") if args.timeout else None
    holder = f"{whoami()}:{os.getpid()}"
    try:
        final = _wait(city, args, holder, timeout_s, confirmed=False)
        if final.get("confirm"):
            _agree(args, final)
            final = _wait(city, args, holder, timeout_s, confirmed=True)
    except NoController:
        from gascity.cli.offline import attach_argv

        argv = attach_argv(city, args.session)
        note(args, "no controller is running; attaching to the session that runs")
        enter(argv, args)
    if not final.get("argv"):
        what = str(final.get("outcome") or "the controller named no way in")
        raise Failure(f"{args.session}: {what}", f"see `gc why {args.session}`")
    argv = [str(word) for word in final["argv"]]
    if not sys.stdin.isatty():
        # No attachment will be seen that could end the intent, so it ends here (ATT-04).
        _cancel(city, args.session, str(final.get("holder") or holder))
        note(args, f"there is no terminal here; in one, run: {shlex.join(argv)}")
    enter(argv, args)


def _wait(
    city: str,
    args: argparse.Namespace,
    holder: str,
    timeout_s: float | None,
    *,
    confirmed: bool,
) -> dict[str, Any]:
    """Follow the controller to its last word, printing what it says on the way (ATT-09, ATT-13)."""
    fields: dict[str, Any] = {"session": args.session, "by": holder, "confirm_fresh": confirmed}
    if timeout_s is not None:
        fields["timeout_s"] = timeout_s
    last: dict[str, Any] = {}
    try:
        for reply in follow(city, "attach", **fields):
            holder = str(reply.get("holder") or holder)
            if text := reply.get("text") or reply.get("progress"):
                print(safe(text), flush=True)
            if not reply.keys().isdisjoint({"argv", "confirm", "outcome"}):
                last = reply
    except KeyboardInterrupt:
        _cancel(city, args.session, holder)
        raise
    except Failure as failure:
        if not failure.reply.get("confirm"):
            raise
        last = failure.reply
    return last


def _cancel(city: str, session: str, holder: str) -> None:
    """Take our intent back; if the controller used it already, the session may still wake."""
    with suppress(Failure, OSError, KeyboardInterrupt):
        ask(city, "attach_cancel", session=session, holder=holder)


def _agree(args: argparse.Namespace, reply: dict[str, Any]) -> None:
    """Say what reopening discards, then have it agreed to; nothing is written before (ATT-19)."""
    consequence = str(reply.get("consequence") or CONSEQUENCE)
    if CONSEQUENCE not in consequence:
        consequence = f"{CONSEQUENCE} ({consequence})"
    print(safe(f"{args.session}: wake_mode=fresh: {consequence}"), flush=True)
    if args.confirm_fresh:
        return
    if not sys.stdin.isatty():
        raise Failure(
            f"{args.session}: {CONSEQUENCE}, and nobody can be asked",
            "pass --confirm-fresh to agree",
            exit=REFUSED,
        )
    try:
        answer = input("start a new session? [y/N] ")
    except EOFError:
        answer = ""
    if answer.strip().lower() not in {"y", "yes"}:
        raise Failure(f"{args.session}: left as it is", "nothing was written", exit=REFUSED)


def enter(argv: Sequence[str], args: argparse.Namespace) -> NoReturn:
    """Replace this process by the command that attaches, from inside tmux too."""
    words = list(argv)
    inside = os.environ.get("TMUX", "")
    environment = dict(os.environ)
    if inside and words[0].rpartition("/")[2] == "tmux":
        if same_server(words, inside):
            words = switching(words)
        else:
            environment.pop("TMUX")
            environment.pop("TMUX_PANE", None)
            note(
                args,
                "you are inside another tmux server; attaching within it "
                "(its prefix key twice reaches the inner one)",
            )
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvpe(words[0], words, environment)
    except OSError as error:
        raise Failure(f"cannot run {words[0]}: {error.strerror}", "is it installed?") from None


def same_server(argv: Sequence[str], inside: str) -> bool:
    """Whether the command talks to the tmux server this terminal is in, told by the socket."""
    return _socket_of(argv) == os.path.realpath(inside.split(",", maxsplit=1)[0])


def _socket_of(argv: Sequence[str]) -> str:
    name = "default"
    for flag, value in zip(argv, argv[1:], strict=False):  # noqa: RUF007 - lean imports
        if flag == "-S":
            return os.path.realpath(value)
        if flag == "-L":
            name = value
    base = os.environ.get("TMUX_TMPDIR") or "/tmp"  # where tmux itself looks
    return os.path.realpath(f"{base}/tmux-{os.getuid()}/{name}")


def switching(argv: Sequence[str]) -> list[str]:
    """The attach command as one that moves the client we are in."""
    words = ["switch-client" if word in {"attach-session", "attach"} else word for word in argv]
    return [word for word in words if word != "-d"]
