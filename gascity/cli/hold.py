"""`gc pin`, `unpin`, `suspend`, `resume`: durable facts, with or without a controller.

Source: DESIGN §11 (R18, R26, R71, R78); surface "Command line"
"""

from __future__ import annotations

import argparse
import os

from gascity.cli.ask import ask
from gascity.cli.failure import DONE, USAGE, Failure, NoController
from gascity.cli.output import note, print_json, print_table
from gascity.cli.place import find_city, whoami
from gascity.cli.spans import seconds_of
from gascity.report.table import local_time, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PIN_S = 8 * 3600.0  # a person's, without --for (R78)


def configure(command: str, parser: argparse.ArgumentParser) -> None:
    """Add the arguments of one of the four commands."""
    parser.add_argument("session", nargs="?", metavar="SESSION", help="a session, agent or id")
    if command == "pin":
        how = "how long (8h; inside a session it has to be said)"
        parser.add_argument("--for", dest="span", metavar="D", help=how)
        parser.add_argument("--reason", metavar="R", default="", help="why, for others to read")
        parser.add_argument("--list", action="store_true", help="the pins that hold")
    if command in {"suspend", "resume"}:
        parser.add_argument("--all", action="store_true", help="every session of the city")
    parser.add_argument("--json", action="store_true", help="the answer as an object")


def run(args: argparse.Namespace) -> int:
    """Do what the command says; says until when, or for which sessions, it holds."""
    if args.command == "pin":
        return _list(args) if args.list else _pin(args)
    if args.command == "unpin":
        return _unpin(args)
    return _suspension(args)


def _pin(args: argparse.Namespace) -> int:
    fields: dict[str, Any] = {"owner": _owner(), "reason": args.reason, "agent": _is_agent()}
    if args.span:
        fields["for_s"] = seconds_of(args.span, "--for")
        if fields["for_s"] <= 0:
            do = "write it as 90s or 1h30m"
            raise Failure("--for must be longer than nothing", do, exit=USAGE)
    elif not _is_agent():
        fields["for_s"] = PIN_S
    reply = _write(args, "pin", session=_session(args), **fields)
    pin = reply["pin"]
    if reply.get("note"):
        note(args, str(reply["note"]))
    if args.json:
        print_json(pin)
    else:
        print(f"{safe(_session(args))}: pinned until {local_time(pin.get('expires_at'))}")
    return DONE


def _unpin(args: argparse.Namespace) -> int:
    reply = _write(args, "unpin", session=_session(args), owner=_owner() if _is_agent() else "")
    if args.json:
        print_json({"removed": reply["removed"]})
    else:
        print(f"{safe(_session(args))}: {'unpinned' if reply['removed'] else 'was not pinned'}")
    return DONE


def _list(args: argparse.Namespace) -> int:
    pins = _write(args, "pins")["pins"]
    if args.json:
        print_json(pins)
        return DONE
    rows = [
        [
            str(pin.get("session", "")),
            "its command ends" if pin.get("held") else local_time(pin.get("expires_at")),
            str(pin.get("owner", "")),
            str(pin.get("reason", "")),
        ]
        for pin in pins
    ]
    print_table(["SESSION", "UNTIL", "OWNER", "REASON"], rows)
    return DONE


def _suspension(args: argparse.Namespace) -> int:
    if args.all == bool(args.session):
        raise Failure("name one SESSION or --all", f"see `gc {args.command} --help`", exit=USAGE)
    target: dict[str, Any] = {"all": True} if args.all else {"session": args.session}
    names = _write(args, args.command, by=whoami(), **target)["sessions"]
    if args.json:
        print_json({"sessions": names})
        return DONE
    word = "suspended" if args.command == "suspend" else "resumed"
    for name in names:
        print(f"{safe(name)}: {word}")
    if not names:
        print(f"nothing to {args.command}")
    return DONE


def _session(args: argparse.Namespace) -> str:
    """The session named, else the one this runs in."""
    session = args.session or os.environ.get("GC_SESSION_NAME", "")
    if not session:
        raise Failure("name a SESSION", f"see `gc {args.command} --help`", exit=USAGE)
    return str(session)


def _is_agent() -> bool:
    """Whether an agent asks, from inside its session: its pins have to end (R18)."""
    return bool(os.environ.get("GC_SESSION_NAME"))


def _owner() -> str:
    """An agent by its identity, a person by name."""
    return (os.environ.get("GC_AGENT") or whoami()) if _is_agent() else whoami()


def _write(args: argparse.Namespace, op: str, **fields: Any) -> dict[str, Any]:
    """Ask the controller; without one, write the fact under the lock."""
    city = find_city(args)
    try:
        return ask(city, op, **fields)
    except NoController:
        from gascity.cli import offline

        return offline.answer(city, op, fields)
