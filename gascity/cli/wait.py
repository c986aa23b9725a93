"""`gc wait add|list|ready|cancel`: durable waits, with or without a controller.

Source: DESIGN §5 (R66, R71, R76); surface "Command line"
"""

from __future__ import annotations

import argparse
import os

from gascity.cli.ask import ask
from gascity.cli.failure import DONE, USAGE, Failure, NoController
from gascity.cli.output import print_json, print_table
from gascity.cli.place import find_city, whoami
from gascity.cli.spans import seconds_of
from gascity.report.table import local_time, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def configure(command: str, parser: argparse.ArgumentParser) -> None:
    """Add the four subcommands."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    add = actions.add_parser("add", help="wake a session at a time, or once beads are closed")
    add.add_argument("session", nargs="?", metavar="SESSION", help="inside a session: itself")
    when = add.add_mutually_exclusive_group(required=True)
    when.add_argument("--for", dest="span", metavar="D", help="so long from now")
    when.add_argument("--until", metavar="T", help="18:30, 2026-03-01T18:30; local without a zone")
    when.add_argument("--on-beads", nargs="+", metavar="ID", help="until these beads are closed")
    add.add_argument("--any", action="store_true", help="one of the beads is enough")
    add.add_argument("--note", default="", metavar="TEXT", help="typed into it when it is awake")
    add.add_argument("--elapsed", action="store_true", help="type how long it really took with it")
    add.add_argument("--expires", metavar="D", help="gives up if it is not ready by then")
    lists = actions.add_parser("list", help="waits that are not over")
    lists.add_argument("--session", default="", metavar="S", help="only this session's")
    lists.add_argument("--all", action="store_true", help="those that are over too")
    ready = actions.add_parser("ready", help="declare it ready now")
    cancel = actions.add_parser("cancel", help="end it; it wakes nobody")
    for one in (ready, cancel):
        one.add_argument("id", metavar="ID")
    for one in (add, lists, ready, cancel):
        one.add_argument("--json", action="store_true", help="the answer as JSON")


def run(args: argparse.Namespace) -> int:
    """Do what the command says; says when a wait is due, in local time (R76)."""
    if args.action == "list":
        return _list(args)
    if args.action == "add":
        wait = _add(args)
    else:
        wait = _answer(args, f"wait_{args.action}", id=args.id, by=whoami())["wait"]
    if args.json:
        print_json(wait)
    elif args.action == "add":
        print(f"{safe(wait['id'])}: {safe(wait['session'])} waits {_condition(wait)}")
    else:
        print(f"{safe(wait['id'])}: {safe(wait['state'])}")
    return DONE


def _add(args: argparse.Namespace) -> dict[str, Any]:
    fields: dict[str, Any] = {"session": _session(args), "note": args.note, "by": whoami()}
    if args.any and not args.on_beads:
        raise Failure("--any goes with --on-beads", "see `gc wait add --help`", exit=USAGE)
    if args.span:
        fields["for_s"] = _positive(args.span, "--for")
    elif args.until:
        fields["until"] = _utc(args.until)
    else:
        fields |= {"bead_ids": args.on_beads, "any_of": args.any}
    if args.elapsed:
        fields["elapsed"] = True
    if args.expires:
        fields["expires_s"] = _positive(args.expires, "--expires")
    wait: dict[str, Any] = _answer(args, "wait_add", **fields)["wait"]
    return wait


def _session(args: argparse.Namespace) -> str:
    """The session named, else the one this runs in."""
    if args.session:
        return str(args.session)
    inside = os.environ.get("GC_SESSION_NAME", "")
    if not inside:
        raise Failure("name a SESSION", "inside a session it is the session's own", exit=USAGE)
    return inside


def _positive(text: str, option: str) -> float:
    seconds = seconds_of(text, option)
    if seconds <= 0:
        do = "write it as 90s or 1h30m"
        raise Failure(f"{option} must be longer than nothing", do, exit=USAGE)
    return seconds


def _utc(text: str) -> str:
    from datetime import UTC, datetime

    from gascity.cli.instants import instant_of

    at = instant_of(text, "--until", now=datetime.now(UTC))
    return at.astimezone(UTC).isoformat()


def _condition(wait: dict[str, Any]) -> str:
    if wait["kind"] == "time":
        return f"until {local_time(wait['due_at'])}"
    which = "any" if wait["mode"] == "any" else "all"
    ready = " (ready now)" if wait["state"] == "ready" else ""
    return f"for {which} of {safe(', '.join(wait['beads']))}{ready}"


def _list(args: argparse.Namespace) -> int:
    waits = _answer(args, "waits", session=args.session, all=args.all)["waits"]
    if args.json:
        print_json(waits)
        return DONE
    rows = [
        [one["id"], one["session"], one["state"], _condition(one), str(one["note"])]
        for one in waits
    ]
    print_table(["ID", "SESSION", "STATE", "WAITS", "NOTE"], rows)
    return DONE


def _answer(args: argparse.Namespace, op: str, **fields: Any) -> dict[str, Any]:
    """Ask the controller; without one, read or write the store under the lock."""
    city = find_city(args)
    try:
        return ask(city, op, **fields)
    except NoController:
        from gascity.cli import offline

        return offline.answer(city, op, fields)
