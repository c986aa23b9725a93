"""A program about which only its prompt is known: `ready_prompt_prefix`, by default `❯ `.

Idle means that the prompt stands below everything else, empty or with dim text only. A line that
was submitted earlier cuts off what is above it: a busy marker in the history counts no more.

Source: DESIGN §8 (R15)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from gascity.runtimes.screens.menus import KEYS, is_border, last_menu, question_above
from gascity.runtimes.screens.rules import Regions
from gascity.runtimes.screens.text import Line, Screen, joined, without_sides

PREFIX: Final = "❯ "
_STATUS_LINES: Final = 10
_DIALOG_LINES: Final = 30
_BELOW_PROMPT: Final = 4
_HINT: Final = re.compile(r"^\s*(\? for shortcuts|⏵⏵|⏸|ctrl\+|/help|← for|shift\+tab)")


def prompt_row(lines: tuple[Line, ...], prefix: str, cursor: tuple[int, int] | None) -> int | None:
    """The row of the lowest prompt, if nothing but chrome stands below it."""
    sign = prefix.rstrip() or prefix
    for row in range(len(lines) - 1, max(-1, len(lines) - 8), -1):
        text = without_sides(lines[row]).text.strip()
        if text.startswith(sign):
            is_last = all(_is_chrome(line) for line in lines[row + 1 :])
            on_it = cursor is not None and cursor[1] == row
            few = len([one for one in lines[row + 1 :] if not one.is_blank]) <= _BELOW_PROMPT
            if cursor is not None and cursor[1] > row and not is_last:
                return None
            return row if is_last or (on_it and few) else None
    return None


def _is_chrome(line: Line) -> bool:
    return line.is_blank or is_border(line.text) or _HINT.match(line.text) is not None


def typed(line: Line, prefix: str) -> str:
    """What the input line holds: "empty" for nothing or a placeholder, else "draft: …"."""
    bare = without_sides(line)
    start = bare.text.find(prefix.rstrip() or prefix) + len(prefix.rstrip() or prefix)
    rest = bare.after(start)
    if not rest.text.strip() or rest.is_faint:
        return "empty"
    return f"draft: {rest.text.strip()}"


def regions(screen: Screen, prefix: str) -> Regions:
    """`menu`, `keys`, `last`, `status`, `dialog`, `input`, `alternate` and `question`."""
    prefix = prefix or PREFIX
    lines = screen.lines
    row = prompt_row(lines, prefix, screen.cursor)
    is_below = screen.cursor is not None and row is not None and screen.cursor[1] > row
    menu = last_menu(lines)
    below = [line for line in lines[menu.end :] if not line.is_blank] if menu else []
    is_open = menu is not None and len(below) <= _BELOW_PROMPT and menu.has_cursor
    status = _since_submitted(lines, prefix, row)
    last = screen.filled[-1].text.strip() if screen.filled else ""
    keys = joined(screen.filled[-3:])
    return {
        "menu": "open" if is_open else "listed" if menu and len(below) <= 2 else "",
        "keys": keys if KEYS.search(keys) else "",
        "last": last,
        "status": "\n".join(line.text for line in status),
        "dialog": joined(screen.filled[-_DIALOG_LINES:]) if is_open else "",
        "input": typed(lines[row], prefix) if row is not None and not is_below else "",
        "alternate": "on" if screen.is_alternate else "",
        "question": menu.question if menu else question_above(lines, len(lines)),
    }


def _since_submitted(lines: tuple[Line, ...], prefix: str, prompt: int | None) -> list[Line]:
    """The lowest filled lines, down from the input that was submitted last."""
    sign = prefix.rstrip() or prefix
    start = 0
    for row, line in enumerate(lines):
        text = without_sides(line).text.strip()
        if row != prompt and text.startswith(sign) and text[len(sign) :].strip():
            start = row
    filled = [line for line in lines[start:] if not line.is_blank]
    return filled[-_STATUS_LINES:]


def squeezed(lines: Iterable[Line]) -> str:
    """The text without spaces and rules, so that a window of another width changes little."""
    return re.sub(r"[\s─━═]+", "", "".join(line.text for line in lines))


def steady(screen: Screen) -> str:
    """All visible text."""
    return squeezed(screen.lines)
