"""`gc replay`: decides recorded ticks again with this version, and shows what comes out otherwise.

Needs no city and no controller: a recorded file holds everything.

Source: DESIGN §X (NORM-07), §11 (R73)
"""

from __future__ import annotations

import argparse
import json
from itertools import groupby
from pathlib import Path
from typing import Any

from gascity.cli.failure import DONE, FAILED, USAGE, Failure
from gascity.cli.output import note, print_json
from gascity.report.table import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gascity.report.replay import Difference, Replayed


def configure(command: str, parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gc replay`."""
    parser.add_argument("file", metavar="FILE", help="a recorded file of .gc/ticks/")
    parser.add_argument("--session", default="", metavar="S", help="only this name or id")
    parser.add_argument("--json", action="store_true", help="everything as one object")


def run(args: argparse.Namespace) -> int:
    """Replay the file; 1 when anything differs or could not be read."""
    from gascity.decide.tick import decide
    from gascity.report.replay import replay
    from gascity.report.ticks import read

    only = (lambda *names: args.session in names) if args.session else None
    try:
        with Path(args.file).open("rb") as file:
            found = replay(read(file), decide, only=only)
    except OSError as problem:
        raise Failure(
            f"cannot read {args.file}: {problem.strerror}",
            "record ticks with `record_ticks` in [daemon]",
            exit=USAGE,
        ) from None
    if args.session and not found.decisions and found.ticks:
        raise Failure(f"no session {args.session!r} in it", _names(found), exit=USAGE)
    if not found.ticks and not found.skipped:
        raise Failure("there is no tick in it", "record some first")
    if args.json:
        print_json(as_json(found))
    else:
        _tell(args, found)
    return DONE if found.is_same else FAILED


def _names(found: Replayed) -> str:
    return "it has " + (", ".join(sorted(set(found.names.values()))) or "none")


def as_json(found: Replayed) -> dict[str, Any]:
    """The whole result for scripts."""
    from gascity import __version__

    return {
        "schema": 1,
        "version": __version__,
        "recorded_by": dict(found.versions),
        "ticks": found.ticks,
        "decisions": found.decisions,
        "same": found.is_same,
        "differences": [
            {
                "line": one.line,
                "now": one.at,
                "session": one.name,
                "session_id": one.session_id,
                "fact": one.fact,
                "then": one.then,
                "decided": one.now,
            }
            for one in found.differences
        ],
        "skipped": [{"line": one.line, "why": one.why, "torn": one.torn} for one in found.skipped],
        "unknown_fields": dict(found.unknown),
        "absent_fields": dict(found.absent),
    }


def _tell(args: argparse.Namespace, found: Replayed) -> None:
    for one in found.skipped:
        note(args, f"line {one.line} skipped: {one.why}")
    for name, count in sorted(found.unknown.items()):
        note(args, f"{name} is not known to this version ({count} ticks)")
    for name, count in sorted(found.absent.items()):
        note(args, f"{name} was not known to the version that recorded it ({count} ticks)")
    others = [name or "an unnamed version" for name in found.versions if name != _here()]
    if others:
        note(args, f"recorded by {', '.join(others)}; this is {_here()}")
    for (line, at), apart in groupby(found.differences, key=lambda one: (one.line, one.at)):
        print(f"line {line}  {safe(at)}")
        for difference in apart:
            print(f"  {_line(difference)}")
    count = len(found.differences)
    what = "no difference" if not count else f"{count} difference{'s' if count > 1 else ''}"
    unread = sum(not one.torn for one in found.skipped)
    more = f", {unread} not understood" if unread else ""
    print(f"{found.ticks} ticks, {found.decisions} decisions, {what}{more}")


def _line(one: Difference) -> str:
    who = one.name or "(city)"
    return safe(f"{who}  {one.fact}: {_word(one.then)} -> {_word(one.now)}")


def _word(value: Any) -> str:
    """A value as people read it; JSON where it is no plain word."""
    return value if isinstance(value, str) and value else json.dumps(value)


def _here() -> str:
    from gascity import __version__

    return __version__
