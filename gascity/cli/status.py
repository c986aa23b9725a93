"""`gc status`: one line a session, with or without a controller.

Source: DESIGN §11 (STAT-01..11, R44, R71); surface "`gc status`"
"""

from __future__ import annotations

import argparse
import sys

from gascity.cli.ask import ask, follow
from gascity.cli.failure import DONE, NoController
from gascity.cli.output import note, print_json, wants_colour
from gascity.cli.place import find_city
from gascity.report.lines import lines
from gascity.report.table import columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

CLEAR = "\x1b[H\x1b[2J"


def configure(command: str, parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gc status`."""
    parser.add_argument("sessions", nargs="*", metavar="SESSION", help="only these")
    parser.add_argument("--watch", action="store_true", help="print again after every change")
    parser.add_argument("--json", action="store_true", help="the whole object (schema 1)")


def run(args: argparse.Namespace) -> int:
    """Print the status; with --watch until interrupted."""
    city = find_city(args)
    if args.watch:
        for reply in follow(city, "watch", sessions=args.sessions):
            if "status" in reply:
                _show(args, reply["status"], again=True)
        return DONE
    try:
        status = ask(city, "status", sessions=args.sessions)["status"]
    except NoController:
        status = _recorded(city, args.sessions)
        note(args, "no controller is running; shown is what was last recorded")
    _show(args, status)
    return DONE


def _recorded(city: str, wanted: list[str]) -> dict[str, Any]:
    from gascity.cli.offline import recorded_status

    return recorded_status(city, wanted)


def _show(args: argparse.Namespace, status: Mapping[str, Any], *, again: bool = False) -> None:
    if args.json:
        print_json(status, one_line=again)
        return
    if again and sys.stdout.isatty():
        sys.stdout.write(CLEAR)
    sessions = status.get("sessions") or []
    for line in lines(sessions, colour=wants_colour(args)):
        print(line)
    if not sessions:
        print("no sessions")
    for line in _pools(status.get("pools") or []):
        print(line)
    sys.stdout.flush()
    for warning in status.get("warnings") or []:
        note(args, f"warning: {warning}")


def _pools(pools: list[Mapping[str, Any]]) -> list[str]:
    """One line a pool; none for a city without pools."""
    keys = ("desired", "effective_desired", "realized", "awake", "asleep")
    return columns(
        [
            [str(one.get("template")), "pool", " ".join(f"{k}={one.get(k)}" for k in keys)]
            for one in pools
        ],
        least=(8, 7),
    )
