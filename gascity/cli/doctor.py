"""`gc doctor`: what is wrong with this city, why that matters, and what to do about it.

Source: DESIGN §11 (R37, R44, R46, R61, R67, R70, R71); surface "Command line"
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from gascity.cli import checks_city, checks_running
from gascity.cli.failure import DONE, FAILED
from gascity.cli.findings import ERROR, attempt
from gascity.cli.output import print_json, wants_colour
from gascity.cli.place import find_city
from gascity.report.table import RED, YELLOW, painted, safe

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


def run(args: argparse.Namespace) -> int:
    """Look at everything, change nothing; exit 1 when something is wrong."""
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
