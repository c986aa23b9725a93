"""`gc sling`, `gc bead ...`, `gc hook`: work in the embedded store.

Source: DESIGN §11 (R19, R71); surface "Command line", "Work beads"
"""

from __future__ import annotations

import argparse
import os

from gascity.cli.ask import ask
from gascity.cli.failure import DONE, FAILED, USAGE, Failure, NoController
from gascity.cli.output import print_json, print_table
from gascity.cli.place import find_city, whoami
from gascity.report.table import local_time, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STATUSES = ("open", "in_progress", "blocked", "closed")


def configure(command: str, parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gc sling`, `gc bead` or `gc hook`."""
    if command == "sling":
        parser.add_argument("target", metavar="TARGET", help="an agent, a pool or a session")
        parser.add_argument("title", metavar="TITLE", nargs="+", help="what is to be done")
        _priority(parser)
    elif command == "hook":
        parser.add_argument("--claim", action="store_true", help="take it")
    else:
        _configure_bead(parser)
        return
    _json(parser)


def _configure_bead(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    lists = actions.add_parser("list", help="beads that are not closed")
    lists.add_argument("--type", default="", metavar="T", help="task, session, ...")
    lists.add_argument("--status", default="", choices=STATUSES, help="only these")
    lists.add_argument("--assignee", default="", metavar="A", help="only theirs")
    show = actions.add_parser("show", help="one bead whole")
    claim = actions.add_parser("claim", help="take it: assign it and set it in progress")
    claim.add_argument("--assignee", default="", metavar="A", help="for whom (the one who asks)")
    close = actions.add_parser("close", help="it is done")
    close.add_argument("--reason", default="", metavar="R", help="how it ended")
    update = actions.add_parser("update", help="change fields")
    update.add_argument("--status", choices=STATUSES)
    update.add_argument("--assignee", metavar="A", help='"" for nobody')
    update.add_argument("--title", metavar="TEXT")
    update.add_argument("--metadata", action="append", metavar="KEY=VALUE", default=[])
    update.add_argument("--blocked-by", action="append", metavar="ID", help='"" for none')
    _priority(update)
    for one in (show, claim, close, update):
        one.add_argument("id", metavar="ID")
    for one in (lists, show, claim, close, update):
        _json(one)


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="the answer as JSON")


def _priority(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--priority", type=int, metavar="N", help="0 is the most urgent (2)")


def run(args: argparse.Namespace) -> int:
    """Do what the command says."""
    if args.command == "sling":
        return _sling(args)
    if args.command == "hook":
        return _hook(args)
    action = args.action
    if action == "list":
        return _list(args)
    bead = _one(args, action)
    if args.json:
        print_json(bead)
    elif action == "show":
        _show(bead)
    else:
        done = {"claim": "claimed", "close": "closed", "update": "updated"}[action]
        print(f"{safe(bead['id'])}: {done}")
    return DONE


def _sling(args: argparse.Namespace) -> int:
    fields: dict[str, Any] = {"target": args.target, "title": " ".join(args.title)}
    if args.priority is not None:
        fields["priority"] = args.priority
    bead = _answer(args, "sling", **fields)["bead"]
    if args.json:
        print_json(bead)
    else:
        print(safe(bead["id"]))
    return DONE


def _hook(args: argparse.Namespace) -> int:
    """The session's next workable bead; exit 1 without one."""
    session = os.environ.get("GC_SESSION_ID", "")
    if not session:
        raise Failure("GC_SESSION_ID is not set", "run it inside a session of the city", exit=USAGE)
    bead = _answer(args, "hook", session_id=session, claim=args.claim)["bead"]
    if args.json:
        print_json(bead)
    elif bead:
        print(f"{safe(bead['id'])} {safe(bead['title'])}")
    return DONE if bead else FAILED


def _list(args: argparse.Namespace) -> int:
    reply = _answer(args, "beads", type=args.type, status=args.status, assignee=args.assignee)
    beads = reply["beads"]
    if args.json:
        print_json(beads)
        return DONE
    rows = [
        [
            str(one["id"]),
            str(one["type"]),
            str(one["status"]),
            str(one["assignee"] or (one.get("metadata") or {}).get("gc.routed_to") or "-"),
            str(one["title"]),
        ]
        for one in beads
    ]
    print_table(["ID", "TYPE", "STATUS", "FOR", "TITLE"], rows)
    return DONE


def _one(args: argparse.Namespace, action: str) -> dict[str, Any]:
    if action == "show":
        reply = _answer(args, "bead", id=args.id)
    elif action == "claim":
        reply = _answer(args, "bead_claim", id=args.id, assignee=args.assignee or whoami())
    elif action == "close":
        reply = _answer(args, "bead_close", id=args.id, reason=args.reason)
    else:
        reply = _answer(args, "bead_update", id=args.id, **_changes(args))
    bead: dict[str, Any] = reply["bead"]
    return bead


def _changes(args: argparse.Namespace) -> dict[str, Any]:
    """The fields that were given, as the request wants them."""
    names = ("status", "assignee", "title", "priority")
    changes = {one: getattr(args, one) for one in names if getattr(args, one) is not None}
    metadata = {}
    for pair in args.metadata:
        key, sign, value = pair.partition("=")
        if not sign or not key:
            raise Failure(f"--metadata {pair!r} has no key", "write it as KEY=VALUE", exit=USAGE)
        metadata[key] = value
    if metadata:
        changes["metadata"] = metadata
    if args.blocked_by is not None:
        changes["blocked_by"] = [one for one in args.blocked_by if one]
    if not changes:
        raise Failure("nothing to change", "see `gc bead update --help`", exit=USAGE)
    return changes


def _show(bead: dict[str, Any]) -> None:
    for key, value in bead.items():
        if key == "metadata":
            for name, text in sorted(value.items()):
                print(f"  {safe(name)} = {safe(text)}")
            continue
        if value in (None, "", []):
            continue
        if key.endswith("_at"):
            value = local_time(value)
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        print(f"{safe(key)}: {safe(text)}")


def _answer(args: argparse.Namespace, op: str, **fields: Any) -> dict[str, Any]:
    """Ask the controller; without one, read or write the store under the lock."""
    city = find_city(args)
    try:
        return ask(city, op, **fields)
    except NoController:
        from gascity.cli import offline

        return offline.answer(city, op, fields)
