"""A screen cut into the regions that rules name, for programs that keep an input at the bottom.

The input stays visible during a turn, dialogs replace it or stand above it, and quoted screens are
everywhere, so a menu counts only where nothing but chrome follows it.

Source: DESIGN §8 (R15, R79)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from gascity.runtimes.screens import generic
from gascity.runtimes.screens.inputs import Input, Layout, beside, find_input, is_rule
from gascity.runtimes.screens.menus import KEYS, Menu, is_border, last_menu, question_above
from gascity.runtimes.screens.rules import Regions
from gascity.runtimes.screens.text import Line, Screen, joined

_TAIL: Final = 25
_LIVE: Final = 6
_DIALOG: Final = 30
_BELOW_MENU: Final = 6


def regions(screen: Screen, layout: Layout) -> Regions:
    """The parts of the screen by name (`REGIONS`); absent parts are empty."""
    field = _field(screen.lines, layout)
    lines = _narrowed(screen.lines, field)
    menu = _open_menu(lines, field, layout)
    body = lines[: field.top] if field else lines
    tail = [line.text.rstrip() for line in body if not line.is_blank][-_TAIL:]
    is_shown = not layout.needs_above or any(
        not (layout.chrome and re.match(layout.chrome, text)) for text in tail
    )
    below = screen.lines[field.bottom + 1 :] if field else ()
    footer = [line.text.rstrip() for line in below if not line.is_blank]
    filled = screen.filled
    keys = joined(filled[-4:]) if field is None else ""
    return {
        "title": screen.title,
        "last": filled[-1].text.strip() if filled else "",
        "bottom": joined(filled[-4:]),
        "top": joined(filled[:_DIALOG]) if field is None else "",
        "tail": joined(filled[-_DIALOG:]) if field is None else "",
        "menu": ("cursor" if menu.has_cursor else "listed") if menu else "",
        "dialog": _dialog(lines, menu, field, layout) if menu or KEYS.search(keys) else "",
        "keys": keys if KEYS.search(keys) else "",
        "status": "\n".join(tail),
        "live": "\n".join(tail[-_LIVE:]),
        "ending": "\n".join(_ending(tail, layout)),
        "footer": "\n".join(footer),
        "input": field.content if field and is_shown else "",
        "alternate": "on" if screen.is_alternate else "",
        "question": menu.question if menu else question_above(lines, len(lines)),
    }


def _field(lines: Sequence[Line], layout: Layout) -> Input | None:
    """The input; one whose footer is cut off may be anything where the footer tells."""
    field = find_input(lines, layout)
    if field is None or not layout.needs_footer:
        return field
    return field if any(not line.is_blank for line in lines[field.bottom + 1 :]) else None


def steady(screen: Screen, layout: Layout) -> str:
    """The text down to the end of the input; what stands below or beside it ticks by itself."""
    field = find_input(screen.lines, layout)
    lines = _narrowed(screen.lines, field)
    kept = lines[: field.bottom] if field else lines
    ticking = [re.compile(one) for one in layout.ticking]
    return generic.squeezed(
        line for line in kept if not any(one.search(line.text) for one in ticking)
    )


def _narrowed(lines: Sequence[Line], field: Input | None) -> list[Line]:
    """The lines without what stands beside the input."""
    if field is None or not field.width:
        return list(lines)
    return [beside(line, field.width) for line in lines]


def _open_menu(lines: Sequence[Line], field: Input | None, layout: Layout) -> Menu | None:
    """The lowest menu if it is on: no input and little below, or bordered off above the input."""
    body = lines[: field.top] if field else lines
    menu = last_menu(body)
    if menu is None:
        return None
    below = [line for line in body[menu.end :] if not line.is_blank]
    if any(re.match(layout.settled, line.text) for line in below) or len(below) > _BELOW_MENU:
        return None
    if field is None:
        return menu
    has_keys = KEYS.search(joined(below)) is not None
    above = [line.text for line in body[: menu.start]]
    starts = [row for row, text in enumerate(above) if re.match(layout.starts, text)]
    borders = [row for row, text in enumerate(above) if is_border(text) and text.strip()[0] != "-"]
    is_bordered = bool(borders) and borders[-1] > (starts[-1] if starts else -1)
    # Quoted menus are indented like the text around them; a real one stands at the edge.
    at_edge = any(re.match(r"\s?[❯›●] \d", line.text) for line in body[menu.start : menu.end])
    return menu if has_keys or is_bordered or at_edge else None


def _dialog(lines: Sequence[Line], menu: Menu | None, field: Input | None, layout: Layout) -> str:
    """The text of the dialog, from the border above its menu; without a menu the last lines."""
    end = field.top if field else len(lines)
    if menu is None:
        return "" if field else joined([line for line in lines[-_DIALOG:] if not line.is_blank])
    start = max(0, menu.start - _TAIL)
    for row in range(menu.start - 1, start, -1):
        if is_rule(lines[row], layout.lead):
            start = row
            break
    return joined(lines[start:end])


def _ending(tail: Sequence[str], layout: Layout) -> Sequence[str]:
    """What came last: from the last output or message on."""
    starts = [row for row, text in enumerate(tail) if re.match(layout.starts, text)]
    return tail[starts[-1] :] if starts else tail
