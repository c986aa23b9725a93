"""`gc doctor`: what is wrong with this city, why that matters, and what to do about it.

Source: DESIGN §11 (R37, R44, R46, R61, R67, R70, R71); surface "Command line"
"""

from __future__ import annotations

import argparse
import asyncio
import os
from pathlib import Path
from typing import Final

from gascity.cli import checks_city, checks_running, doctor_screens
from gascity.cli.failure import DONE, FAILED, Failure
from gascity.cli.findings import ERROR, attempt
from gascity.cli.output import print_json, wants_colour
from gascity.cli.place import find_city
from gascity.report.table import RED, YELLOW, painted, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gascity.cli.check_script import Check

CHECKS: Final = (
    ("files", checks_city.files),
    ("config", checks_city.config),
    ("agents", checks_city.agents),
    ("beads", checks_city.foreign_beads),
    ("tmux", checks_running.tmux),
    ("controller", checks_running.controller),
    ("foreign sessions", checks_running.foreign_sessions),
    ("sleepers", checks_running.sleepers),
)


def configure(command: str, parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gc doctor`."""
    parser.add_argument("--json", action="store_true", help="the findings as objects")
    topics = parser.add_subparsers(dest="topic", metavar="TOPIC", title="look at one thing alone")
    runtime = topics.add_parser("runtime", help="try a session script with a throw-away session")
    runtime.add_argument("script", metavar="exec:SCRIPT", help="as session = takes it, or a path")
    runtime.add_argument("--json", action="store_true", help="one object")
    doctor_screens.configure(topics.add_parser("screens", help="what captured screens show"))


def run(args: argparse.Namespace) -> int:
    """Look at everything, change nothing; exit 1 when something is wrong."""
    if args.topic == "runtime":
        return _runtime(args)
    if args.topic == "screens":
        return doctor_screens.run(args)
    city = Path(find_city(args))
    findings = [finding for name, check in CHECKS for finding in attempt(name, check, city)]
    is_wrong = any(finding.severity == ERROR for finding in findings)
    if args.json:
        print_json(
            {"schema": 1, "ok": not is_wrong, "findings": [one.as_dict() for one in findings]}
        )
        return FAILED if is_wrong else DONE
    colours = wants_colour(args)
    for one in findings:
        mark = "wrong" if one.severity == ERROR else "note"
        colour = (RED if one.severity == ERROR else YELLOW) if colours else ""
        print(f"{painted(mark, colour)}: {safe(one.check)}: {safe(one.what)}")
        if one.why:
            print(f"    why: {safe(one.why)}")
        if one.fix:
            print(f"    fix: {safe(one.fix)}")
    if not findings:
        print(f"nothing is wrong ({', '.join(name for name, _ in CHECKS)} looked at)")
    return FAILED if is_wrong else DONE


def _runtime(args: argparse.Namespace) -> int:
    """Try one session script; exit 1 when it does something wrong."""
    from gascity.cli.check_script import WRONG, report, trial_of

    try:
        folder = Path(find_city(args))
    except Failure:
        folder = Path.cwd()
    trial = trial_of(args.script, folder)
    if not os.path.isfile(trial.script.path):  # noqa: PTH113  Path.is_file raises on odd names
        raise Failure(f"there is no script {trial.script.path}", "give exec:PATH or a path")

    async def tried() -> list[Check]:
        return [one async for one in trial.run()]

    checks = asyncio.run(tried())
    if args.json:
        print_json(report(trial, checks))
    else:
        for one in checks:
            line = f"{one.result:8}{one.op} ({one.ms} ms)"
            print(safe(f"{line}: {one.what}" if one.what else line))
        print(f"class: {trial.kind}")
    return FAILED if any(one.result == WRONG for one in checks) else DONE
