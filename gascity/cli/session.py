"""`gc session list|peek|nudge|kill`.

Source: DESIGN §11 (R32, R44, R71); surface "Command line"
"""

from __future__ import annotations

import argparse

from gascity.cli.ask import ask
from gascity.cli.failure import DONE, NoController
from gascity.cli.output import note, print_json, print_table
from gascity.cli.place import find_city, whoami
from gascity.report.table import local_time, safe


def configure(command: str, parser: argparse.ArgumentParser) -> None:
    """Add the four subcommands."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    lists = actions.add_parser("list", help="every session with its state")
    lists.add_argument("--json", action="store_true", help="a list of objects")
    peek = actions.add_parser("peek", help="its last visible lines; never counts as activity")
    peek.add_argument("session", metavar="SESSION")
    peek.add_argument("--lines", type=int, default=40, metavar="N", help="how many (40)")
    nudge = actions.add_parser("nudge", help="type a line into it")
    nudge.add_argument("session", metavar="SESSION")
    nudge.add_argument("text", metavar="TEXT", nargs="+", help="what is typed, then Enter")
    nudge.add_argument("--wake", action="store_true", help="wake it first when it sleeps")
    kill = actions.add_parser("kill", help="stop it now, whatever it does")
    kill.add_argument("session", metavar="SESSION")


def run(args: argparse.Namespace) -> int:
    """Do one of the four."""
    if args.action == "list":
        return _list(args)
    city = find_city(args)
    if args.action == "peek":
        text = ask(city, "peek", session=args.session, lines=args.lines)["text"]
        for line in str(text).splitlines():
            print(safe(line))
        return DONE
    if args.action == "nudge":
        fields = {"text": " ".join(args.text), "mode": "wake" if args.wake else "send"}
        reply = ask(city, "nudge", session=args.session, **fields)
    else:
        reply = ask(city, "kill", session=args.session, by=whoami())
    print(f"{safe(args.session)}: {safe(reply.get('outcome', 'done'))}")
    return DONE


def _list(args: argparse.Namespace) -> int:
    city = find_city(args)
    try:
        status = ask(city, "status", sessions=[])["status"]
    except NoController:
        from gascity.cli.offline import recorded_status

        status = recorded_status(city, [])
        note(args, "no controller is running; shown is what was last recorded")
    if args.json:
        print_json(status["sessions"])
        return DONE
    rows = [
        [
            str(one["name"]),
            str(one["state"]),
            str(one["template"]),
            str(one["runtime"]),
            local_time(one["since"]),
            str(one["id"]),
        ]
        for one in status["sessions"]
    ]
    print_table(["SESSION", "STATE", "AGENT", "RUNTIME", "SINCE", "ID"], rows)
    return DONE
