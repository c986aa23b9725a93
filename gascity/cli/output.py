"""What commands print: JSON for scripts, tables for people, colours only for a terminal.

Source: surface "Command line" (R76)
"""

from __future__ import annotations

import os
import sys

from gascity.report.table import columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def wants_colour(args: Any) -> bool:
    """Whether colours may be used: a terminal, and neither --no-color nor NO_COLOR."""
    if args.no_color or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty()


def print_json(value: Any, *, one_line: bool = False) -> None:
    """The value as JSON in ASCII, so that no byte of it can move a cursor."""
    import json

    print(json.dumps(value, indent=None if one_line else 2), flush=one_line)


def print_table(header: list[str], rows: list[list[str]]) -> None:
    """Columns with a header on a terminal, without one when piped."""
    shown = [header, *rows] if sys.stdout.isatty() and rows else rows
    for line in columns(shown):
        print(line)


def note(args: Any, text: str) -> None:
    """A remark beside the answer, on stderr, on one line."""
    from gascity.report.table import safe

    print(f"gc {args.command}: {safe(text)}", file=sys.stderr)
