"""`gc wake` and `gc sleep`: ask, wait for the stated outcome, report it by words and exit code.

Source: DESIGN §11 (R25, R26, R64, R71); surface "Command line"
"""

from __future__ import annotations

import argparse
from typing import Any

from gascity.cli.ask import ask, exit_of, follow
from gascity.cli.failure import DONE, Failure
from gascity.cli.output import note, print_json
from gascity.cli.place import find_city, whoami
from gascity.cli.spans import seconds_of


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
    """Wake or put to sleep one session."""
    return _wake(args) if args.command == "wake" else _sleep(args)


def _wake(args: argparse.Namespace) -> int:
    city = find_city(args)
    fields: dict[str, Any] = {
        "session": args.session,
        "by": whoami(),
        "wait": not args.no_wait,
    }
    if args.timeout:
        fields["timeout_s"] = seconds_of(args.timeout, "--timeout")
    last: dict[str, Any] = {}
    for reply in follow(city, "wake", **fields):
        if reply.get("progress"):
            note(args, str(reply["progress"]))
        if "outcome" in reply:
            last = reply
    return _report(args, last)


def _sleep(args: argparse.Namespace) -> int:
    city = find_city(args)
    reply = ask(city, "sleep", session=args.session, by=whoami(), force=args.force)
    return _report(args, reply)


def _report(args: argparse.Namespace, reply: dict[str, Any]) -> int:
    """Print how it ended; a bad outcome is a failure with the exit code that fits it."""
    if not reply:
        raise Failure("the controller ended before it told the outcome", "see `gc status`")
    code = exit_of(reply)
    outcome = {k: v for k, v in reply.items() if k not in {"v", "ok", "end"}}
    if args.json:
        print_json(outcome)
        return code
    words = str(reply.get("outcome", "")).replace("_", " ")
    state = reply.get("state") or ""
    text = f"{words} (state {state})" if state and state not in words else words
    if code != DONE:
        do = str(reply.get("do") or f"see `gc why {args.session}`")
        raise Failure(f"{args.session}: {reply.get('what') or text}", do, exit=code)
    blockers = ", ".join(map(str, reply.get("blockers") or ()))
    print(f"{args.session}: {text}" + (f" (blockers: {blockers})" if blockers else ""))
    return DONE
