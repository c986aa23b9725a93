"""`gc events`: the event log, and what is added to it.

Source: DESIGN §11 (EVT-08, R74, R76); surface "Words used everywhere"
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime, timedelta
from typing import Any

from gascity.cli.ask import follow
from gascity.cli.failure import DONE, USAGE, Failure, NoController
from gascity.cli.output import note, print_json
from gascity.cli.place import find_city
from gascity.cli.spans import seconds_of
from gascity.report.table import local_time, safe


def configure(command: str, parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gc events`."""
    parser.add_argument("--follow", action="store_true", help="go on as events happen")
    parser.add_argument("--after", type=int, default=0, metavar="SEQ", help="only later ones")
    parser.add_argument(
        "--type", dest="types", action="append", default=[], metavar="T", help="only this type"
    )
    parser.add_argument("--session", default="", metavar="S", help="only about this session")
    parser.add_argument("--since", metavar="D", help="only of the last 10m, 2h, ...")
    parser.add_argument("--json", action="store_true", help="one object a line, times in UTC")


def run(args: argparse.Namespace) -> int:
    """Print events, oldest first."""
    city = find_city(args)
    if args.after < 0:
        raise Failure("--after is a sequence number", "write 0 for all", exit=USAGE)
    fields: dict[str, Any] = {
        "after": args.after,
        "types": args.types,
        "session": args.session,
        "follow": args.follow,
    }
    if args.since:
        start = datetime.now(UTC) - timedelta(seconds=seconds_of(args.since, "--since"))
        fields["since"] = start.isoformat(timespec="microseconds").replace("+00:00", "Z")
    try:
        for reply in follow(city, "events", **fields):
            _tell(args, reply)
    except NoController:
        if args.follow:
            raise
        from gascity.cli.offline import stored_events

        for reply in stored_events(city, fields):
            _tell(args, reply)
    return DONE


def _tell(args: argparse.Namespace, reply: dict[str, Any]) -> None:
    if reply.get("note"):
        note(args, str(reply["note"]))
    event = reply.get("event")
    if event is None:
        return
    if args.json:
        print_json(event, one_line=True)
    else:
        print(line(event), flush=args.follow)


def line(event: dict[str, Any]) -> str:
    """One event on one line: number, local time, type, subject, message."""
    words = [
        safe(event.get("seq", "")).rjust(6),
        local_time(event.get("ts")),
        safe(event.get("type", "")).ljust(32),
        safe(event.get("subject", "")),
        safe(event.get("message", "")),
    ]
    return "  ".join(words).rstrip()
