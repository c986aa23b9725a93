"""A plain shell as the agent: bash, zsh, fish, dash at their prompts.

The prompt is on the cursor's line. What follows it is a draft unless it is dim (suggestions) or
stands far to the right (right prompts) while the cursor is still at home. An unfinished command and
a history search are drafts as well.

Source: DESIGN §8 (R15)
"""

from __future__ import annotations

import re
from typing import Final

from gascity.runtimes.screens.rules import Regions
from gascity.runtimes.screens.text import Line, Screen

# A sign after `=` is a database's; fish ends its prompt, which names host and folder, with `>`.
_PROMPT: Final = re.compile(
    r"^➜\s+\S+(?: git:\(\S+\))?(?: ✗)?(?=\s|$)"  # the folder stands behind the sign
    r"|^[^\n]*?(?<!=)[$#%❯➜»λ](?=\s|$)|^\S+@\S+ [^\n>]*>(?=\s|$)"
)
_RIGHT: Final = re.compile(r"^\s{8,}\S")


def _row(screen: Screen) -> int | None:
    """The cursor's row; without a cursor the last line with anything on it."""
    if screen.cursor is not None:
        return screen.cursor[1] if screen.cursor[1] < len(screen.lines) else None
    filled = [row for row, line in enumerate(screen.lines) if not line.is_blank]
    return filled[-1] if filled else None


def _prompt_end(line: Line, prefix: str) -> int | None:
    """The column after the prompt, None when the line has none."""
    sign = prefix.rstrip()
    if sign:
        start = line.text.find(sign)
        return start + len(sign) if start >= 0 and not line.text[:start].strip() else None
    found = _PROMPT.match(line.text)
    return found.end() if found else None


def _input(screen: Screen, prefix: str) -> str:
    row = _row(screen)
    if row is None or any(not line.is_blank for line in screen.lines[row + 1 :]):
        return ""
    line = screen.lines[row]
    end = _prompt_end(line, prefix)
    if end is None:
        return ""
    rest = line.after(end)
    if not rest.text.strip() or rest.is_faint:
        return "empty"
    is_home = screen.cursor is not None and screen.cursor[0] <= end + 1
    return "empty" if is_home and _RIGHT.match(rest.text) else f"draft: {rest.text.strip()}"


def regions(screen: Screen, prefix: str) -> Regions:
    """`input`, `last`, `above` (two lines); `alternate` is on while a full-screen program runs."""
    row = _row(screen)
    before = [line.text.rstrip() for line in screen.lines[: row or 0] if not line.is_blank]
    return {
        "input": _input(screen, prefix),
        "above": "\n".join(before[-2:]),
        "last": screen.lines[row].text.rstrip() if row is not None else "",
        "alternate": "on" if screen.is_alternate else "",
        "question": screen.lines[row].text.strip()[:200] if row is not None else "",
    }
