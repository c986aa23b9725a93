"""Where an agent's input is on a screen, and what it holds: between rules, on a line, in a panel.

The history is full of prompt glyphs, so an input counts only where its whole shape is there and
little stands below it.

Source: DESIGN §8 (R15)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gascity.runtimes.screens.text import Line, without_sides

_SIDES: Final = frozenset("│┃|")
_INPUT_ROWS: Final = 20
_RULE: Final = re.compile(r"^\s{0,2}(?=.*[─━▀▄]{8})[─━▀▄╭╰┌└┏┗]{2}.*[─━▀▄╮╯┐┘┓┛]$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The shape of one program's screen; every field is data of its rule file.

    `finds` are the ways to look for the input, tried in order. `glyphs` may stand before it, and
    those of `drafts` mean that a mode is on, as does a panel whose last line matches `modes`;
    what is sent in a mode is nobody's message. `placeholders` are patterns for a whole input that
    nobody typed. A line that matches `starts` begins an output or a message, one that matches
    `settled` shows that a menu above it is over. `lead` spaces may stand before a glyph or a rule;
    more than `footer_rows` lines below it rule an input out (0: any number do not). Something has
    to stand above it where `needs_above`; lines that match `chrome` are always there: where nothing
    else is, the status row may be cut off.
    """

    finds: tuple[str, ...] = ("box",)
    glyphs: str = "❯>"
    drafts: str = ""
    modes: str = ""
    placeholders: tuple[str, ...] = ()
    starts: str = r"[●⏺❯>]"
    settled: str = r"[●⏺❯>]"
    lead: int = 0
    footer_rows: int = 0
    needs_footer: bool = False
    needs_above: bool = True
    chrome: str = ""
    ticking: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """An input: the row above which the rest stands, the last row of its own, what is in it.

    `width` cuts off what stands to the right of it, as a side bar does; 0 for nothing.
    """

    top: int
    bottom: int
    content: str  # "empty", or "draft: " and what was typed
    width: int = 0


def is_rule(line: Line, lead: int) -> bool:
    """A rule across the screen, or the edge of a box, at most `lead` columns from the left."""
    text = line.text.rstrip()
    if _RULE.match(text) is None:
        return False
    return len(text) - len(text.lstrip()) <= max(lead, 1)


def find_input(lines: Sequence[Line], layout: Layout) -> Input | None:
    """The input, found in the first of the ways that finds one."""
    for way in layout.finds:
        found = WAYS[way](lines, layout)
        if found is not None:
            return found
    return None


def _in_box(lines: Sequence[Line], layout: Layout) -> Input | None:
    """Between the lowest pair of rules, with a prompt glyph right below the first."""
    rules = [row for row, line in enumerate(lines) if is_rule(line, layout.lead)]
    if len(rules) < 2:
        return None
    bottom, top = rules[-1], rules[-2]
    if not 1 < bottom - top <= _INPUT_ROWS or _crowded(lines, bottom, layout):
        return None
    first = lines[top + 1].text
    if first.lstrip()[:1] in _SIDES:
        content = without_sides(lines[top + 1]).text.lstrip()
    else:
        content = first.removeprefix(" " * min(layout.lead, len(first) - len(first.lstrip())))
    if content[:1] not in set(layout.glyphs):
        return None
    rows = [without_sides(line) for line in lines[top + 1 : bottom]]
    return Input(top=top, bottom=bottom, content=_content(rows, layout))


def _on_line(lines: Sequence[Line], layout: Layout) -> Input | None:
    """The lowest line that begins with a glyph and opens no menu; its footer is a block below."""
    signs = re.escape(layout.glyphs)
    opens = re.compile(rf"^[{signs}](?!\s+\d{{1,2}}[.)])(?=\s|$)")
    rows = [row for row, line in enumerate(lines) if opens.match(line.text)]
    if not rows:
        return None
    top = rows[-1]
    below = lines[top + 1 :]
    if any(re.match(layout.settled, line.text) or is_rule(line, 1) for line in below):
        return None
    blocks = _blocks(lines, top + 1)
    own = blocks.pop(0) if blocks and blocks[0][0] == top + 1 and not _is_keys(lines, top) else None
    footer = blocks.pop() if blocks else None
    extra = [lines[row] for block in blocks for row in block]
    if footer and layout.footer_rows and len(footer) > layout.footer_rows:
        return None
    content = [lines[top], *(lines[row] for row in own or ()), *extra]
    bottom = footer[0] - 1 if footer else len(lines) - 1
    return Input(top=top, bottom=bottom, content=_content(content, layout))


def _is_keys(lines: Sequence[Line], top: int) -> bool:
    """Right below an old composer stands its row of keys, without a blank line between."""
    return top + 1 < len(lines) and lines[top + 1].text.lstrip().startswith("⏎")


def _blocks(lines: Sequence[Line], start: int) -> list[list[int]]:
    """Runs of rows with something on them."""
    blocks: list[list[int]] = []
    for row in range(start, len(lines)):
        if lines[row].is_blank:
            continue
        if blocks and blocks[-1][-1] == row - 1:
            blocks[-1].append(row)
        else:
            blocks.append([row])
    return blocks


_FOOT: Final = re.compile(r"^(?P<pad>\s*)╹(?P<foot>▀{8,})")


def _in_panel(lines: Sequence[Line], layout: Layout) -> Input | None:
    """A panel with a bar at its left and a foot; the last line in it names mode and model."""
    feet = [(row, found) for row, line in enumerate(lines) if (found := _FOOT.match(line.text))]
    if not feet:
        return None
    bottom, foot = feet[-1]
    column = len(foot["pad"])
    width = column + 1 + len(foot["foot"])
    top = bottom
    while top > 0 and lines[top - 1].text[column : column + 1] == "┃":
        top -= 1
    rows = [beside(line, width).after(column + 1) for line in lines[top:bottom]]
    said = [row for row in rows if not row.is_blank]
    is_cut = not top and bool(rows) and not rows[0].is_blank  # it may have lost its first rows
    if not said or is_cut or _crowded(lines, bottom, layout, width):
        return None
    content = _content([Line("", ""), *said[:-1]], layout)
    if layout.modes and re.fullmatch(layout.modes, said[-1].text.strip()):
        content = f"draft: {said[-1].text.strip()}"
    return Input(top=top, bottom=bottom, content=content, width=width)


def beside(line: Line, width: int) -> Line:
    """The line without what stands to the right of `width`, unless one word reaches across."""
    across = line.text[width - 1 : width + 1]
    return line if len(across) == 2 and " " not in across else line.cut(0, width)


def _crowded(lines: Sequence[Line], bottom: int, layout: Layout, width: int = 0) -> bool:
    """Whether more stands below than a footer has."""
    below = lines[bottom + 1 :]
    filled = [line for line in below if not (beside(line, width) if width else line).is_blank]
    return bool(layout.footer_rows) and len(filled) > layout.footer_rows


def _content(rows: list[Line], layout: Layout) -> str:
    """What the input holds, its first row with the glyph."""
    start = len(rows[0].text) - len(rows[0].text.lstrip())
    glyph = rows[0].text[start : start + 1]
    rows = [rows[0].after(start + 1), *rows[1:]]
    said = [row for row in rows if not row.is_blank]
    if glyph and glyph in layout.drafts:
        return f"draft: {glyph}"
    if not said or all(row.is_faint for row in said):
        return "empty"
    text = re.sub(r"\s+", " ", " ".join(row.text for row in said)).strip()
    if len(_looks(said)) <= 1 and any(re.fullmatch(one, text) for one in layout.placeholders):
        return "empty"
    return f"draft: {text}"


def _looks(rows: list[Line]) -> set[str]:
    """The looks of what is written; one inverse sign at the beginning is the cursor."""
    signs = [
        sign
        for row in rows
        for ch, sign in zip(row.text, row.look, strict=True)
        if not ch.isspace()
    ]
    return set(signs[1:] if signs[:1] == ["i"] else signs)


WAYS: Final[Mapping[str, Callable[[Sequence[Line], Layout], Input | None]]] = {
    "box": _in_box,
    "line": _on_line,
    "panel": _in_panel,
}
