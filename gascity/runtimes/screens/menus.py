"""Menus, recognised by shape: numbered lines with a cursor glyph on one of them.

The prompt glyph of an agent is also the cursor of its menus, so a menu must be ruled out before any
prompt is believed.

Source: DESIGN §8 (R15)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gascity.runtimes.screens.text import Line, without_sides

CURSORS: Final = "❯›●→▸>◉▶"
_OPTION: Final = re.compile(rf"^\s*+(?P<cursor>[{CURSORS}])?\s*+\d{{1,2}}[.)]\s+\S")
_BORDER: Final = re.compile(r"^\s*[─━═╭╮╰╯┌┐└┘╌┄┈▔▁\-_]{3,}.*$|^\s*[╭╰┌└].*$")
KEYS: Final = re.compile(
    r"(?i)\b(enter|return|esc(ape)?|tab|space|arrows?|arrow keys|↑/?↓|[yn])\b\]?\s*"
    r"(key\s*)?(to |= ?|: ?)(confirm|select|cancel|navigate|submit|(go )?back|dismiss|continue|"
    r"accept|choose|toggle|amend|exit|close|approve|reject|skip)"
    r"|↑/?↓ to (navigate|select)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Menu:
    """A run of options: rows `start` up to `end`; `question` is the text right above."""

    start: int
    end: int
    has_cursor: bool
    question: str


def is_border(text: str) -> bool:
    """A rule or the edge of a box."""
    return _BORDER.match(text) is not None


def is_option(line: Line) -> bool:
    """One line of a numbered menu."""
    return _OPTION.match(without_sides(line).text) is not None


def last_menu(lines: Sequence[Line]) -> Menu | None:
    """The lowest run of two or more options; lines between them may be their wrapped text."""
    rows = [row for row, line in enumerate(lines) if is_option(line)]
    if not rows:
        return None
    run = [rows.pop()]
    while rows and run[0] - rows[-1] <= 4 and _number(lines[rows[-1]]) < _number(lines[run[0]]):
        run.insert(0, rows.pop())
    if len(run) < 2:
        return None
    has_cursor = any(_cursor(lines[row]) for row in run)
    return Menu(
        start=run[0],
        end=_end(lines, run[-1]),
        has_cursor=has_cursor,
        question=question_above(lines, run[0]),
    )


def _number(line: Line) -> int:
    found = re.search(r"\d{1,2}", without_sides(line).text)
    return int(found[0]) if found else 0


def _cursor(line: Line) -> bool:
    found = _OPTION.match(without_sides(line).text)
    return found is not None and found["cursor"] is not None


def _end(lines: Sequence[Line], last: int) -> int:
    """The row after the last option and its indented continuation lines."""
    row = last + 1
    while row < len(lines) and lines[row].text.startswith("     ") and not lines[row].is_blank:
        row += 1
    return row


def question_above(lines: Sequence[Line], row: int) -> str:
    """The nearest line above `row` that says something, at most 200 characters."""
    for line in reversed(lines[max(0, row - 12) : row]):
        text = without_sides(line).text.strip()
        if text and not is_border(text):
            return text[:200]
    return ""
