"""`gc wake` and `gc sleep`: ask, wait for the stated outcome, report it by words and exit code.

Source: DESIGN §11 (R25, R26, R64, R71); surface "Command line"
"""

from __future__ import annotations

import argparse

from gascity.cli.ask import ask, follow, plain
from gascity.cli.failure import DONE, Failure
from gascity.cli.output import note, print_json
from gascity.cli.place import find_city, whoami
from gascity.cli.spans import seconds_of
from gascity.report.table import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def configure(command: str, parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gc wake` or `gc sleep`."""
    add_session(parser)
    if command == "wake":
        parser.add_argument("--no-wait", action="store_true", help="do not wait for the outcome")
        parser.add_argument("--timeout", metavar="D", help="how long to wait, as 90s or 2m")
    else:
        parser.add_argument("--force", action="store_true", help="even if something blocks it")
    parser.add_argument("--json", action="store_true", help="the outcome as an object")


def add_session(parser: argparse.ArgumentParser) -> None:
    """Add the one argument SESSION, whose values the shell completes."""
    parser.add_argument("session", metavar="SESSION", help="a session name, agent name or id")


def run(args: argparse.Namespace) -> int:
    """Wake or put to sleep one session, and say how it ended."""
    try:
        reply = _wake(args) if args.command == "wake" else _sleep(args)
    except Failure as failure:
        if args.json and failure.reply:
            print_json(plain(failure.reply))
        raise
    if args.json:
        print_json(plain(reply))
        return DONE
    words = str(reply.get("outcome") or "done")
    state = str(reply.get("state") or "")
    text = f"{words} (state {state})" if state and state not in words else words
    blockers = ", ".join(map(str, reply.get("blockers") or ()))
    print(safe(f"{args.session}: {text}" + (f" (blockers: {blockers})" if blockers else "")))
    if reply.get("note"):
        note(args, str(reply["note"]))
    return DONE


def _wake(args: argparse.Namespace) -> dict[str, Any]:
    fields: dict[str, Any] = {"session": args.session, "by": whoami(), "wait": not args.no_wait}
    if args.timeout:
        fields["timeout_s"] = seconds_of(args.timeout, "--timeout")
    last: dict[str, Any] = {}
    for reply in follow(find_city(args), "wake", **fields):
        if text := reply.get("text") or reply.get("progress"):
            note(args, str(text))
        if "outcome" in reply:
            last = reply
    return last


def _sleep(args: argparse.Namespace) -> dict[str, Any]:
    fields = {"session": args.session, "by": whoami(), "force": args.force}
    return ask(find_city(args), "sleep", **fields)
