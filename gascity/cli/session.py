"""`gc session list|peek|nudge|respond|messages|unsend|kill`.

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
    """Add the subcommands."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    lists = actions.add_parser("list", help="every session with its state")
    lists.add_argument("--json", action="store_true", help="a list of objects")
    peek = actions.add_parser("peek", help="its last visible lines; never counts as activity")
    peek.add_argument("session", metavar="SESSION")
    peek.add_argument("--lines", type=int, default=40, metavar="N", help="how many (40)")
    nudge = actions.add_parser("nudge", help="type a line into it")
    nudge.add_argument("session", metavar="SESSION")
    nudge.add_argument("text", metavar="TEXT", nargs="+", help="what is typed, then Enter")
    how = nudge.add_mutually_exclusive_group()
    how.add_argument("--wake", action="store_true", help="wake it for that, if it sleeps")
    how.add_argument("--queue", action="store_true", help="say it at its next wake, if it sleeps")
    respond = actions.add_parser("respond", help="answer the question it waits on, or show it")
    respond.add_argument("session", metavar="SESSION")
    respond.add_argument(
        "answer", metavar="ANSWER", nargs="*", help="an option's number or name, allow, deny"
    )
    respond.add_argument("--request", default="", metavar="ID", help="only if that is asked")
    messages = actions.add_parser("messages", help="messages that were not delivered yet")
    messages.add_argument("session", metavar="SESSION", nargs="?", default="")
    messages.add_argument("--all", action="store_true", help="those that are over too")
    messages.add_argument("--json", action="store_true", help="a list of objects")
    unsend = actions.add_parser("unsend", help="take back a message that was not delivered")
    unsend.add_argument("id", metavar="ID")
    kill = actions.add_parser("kill", help="stop it now, whatever it does")
    kill.add_argument("session", metavar="SESSION")


def run(args: argparse.Namespace) -> int:
    """Do one of them."""
    if args.action == "list":
        return _list(args)
    city = find_city(args)
    if args.action == "peek":
        text = ask(city, "peek", session=args.session, lines=args.lines)["text"]
        for line in str(text).splitlines():
            print(safe(line))
        return DONE
    if args.action == "messages":
        return _messages(args, city)
    if args.action == "respond":
        return _respond(args, city)
    if args.action == "unsend":
        reply = ask(city, "unsend", id=args.id, by=whoami())
        print(f"{safe(args.id)}: {safe(reply['outcome'])}")
        return DONE
    if args.action == "nudge":
        mode = "wake" if args.wake else "queue" if args.queue else "send"
        fields = {"text": " ".join(args.text), "mode": mode, "by": whoami()}
        reply = ask(city, "nudge", session=args.session, **fields)
    else:
        reply = ask(city, "kill", session=args.session, by=whoami())
    words = str(reply.get("text") or reply.get("outcome") or "done")
    print(f"{safe(args.session)}: {safe(words)}")
    return DONE


def _respond(args: argparse.Namespace, city: str) -> int:
    """The question with its options, or what was answered."""
    fields = {"answer": " ".join(args.answer), "request": args.request, "by": whoami()}
    reply = ask(city, "respond", session=args.session, **fields)
    print(safe(f"{reply['session']} asks: {reply['question']}"))
    if reply["outcome"] == "answered":
        print(safe(f"answered: {reply['chosen']}"))
        return DONE
    for number, option in enumerate(reply["options"], 1):
        print(safe(f"  {number}. {option}"))
    return DONE


def _messages(args: argparse.Namespace, city: str) -> int:
    """Who is still to be told what; with --all also how it ended."""
    found = ask(city, "messages", session=args.session, all=args.all)["messages"]
    if args.json:
        print_json(found)
        return DONE
    rows = [
        [
            str(one["id"]),
            str(one["session"]),
            str(one["state"]),
            str(one["mode"]),
            str(one["by"]),
            str(one["text"]),
        ]
        for one in found
    ]
    print_table(["ID", "SESSION", "STATE", "MODE", "BY", "TEXT"], rows)
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
