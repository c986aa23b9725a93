"""Claude Code's screens, from the boxed input of 1.x to the full-screen renderer.

The input box stays visible during a turn, dialogs replace it, and the history is full of prompt
glyphs, so verdicts come from the shape of status lines in column one, the footer below the box, and
the lowest menu. Idle needs the whole box, empty, and nothing else that fits.

Source: DESIGN §8 (R15, R79)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gascity.model.world import ScreenVerdict
from gascity.runtimes.screens import generic
from gascity.runtimes.screens.menus import KEYS, Menu, is_border, last_menu, question_above
from gascity.runtimes.screens.rules import Detector, Regions, Rule
from gascity.runtimes.screens.text import Line, Screen, joined, without_sides

GLYPHS: Final = "❯>!#"
SPINNERS: Final = "·✢✳✶✻✽*"
_RULE: Final = re.compile(r"^\s?(?=.*[─━]{8})[─━╭╰┌└]{2}.*[─━╮╯┐┘]$")
_HISTORY: Final = re.compile(rf"^([●⏺❯>]|[{SPINNERS}] .* for \d|\s*⎿)")
_INPUT_ROWS: Final = 20
_TAIL: Final = 25


@dataclass(frozen=True, slots=True)
class Box:
    """The input box: its content is between the rows `top` and `bottom`."""

    top: int
    bottom: int


def input_box(lines: Sequence[Line]) -> Box | None:
    """The lowest pair of rules with a prompt glyph right below the first."""
    rules = [row for row, line in enumerate(lines) if _RULE.match(line.text.rstrip())]
    if len(rules) < 2:
        return None
    bottom, top = rules[-1], rules[-2]
    if not 1 < bottom - top <= _INPUT_ROWS:
        return None
    first = lines[top + 1].text
    is_boxed = first.lstrip()[:1] in set("│┃|")
    content = without_sides(lines[top + 1]).text.lstrip() if is_boxed else first
    return Box(top, bottom) if content[:1] in set(GLYPHS) else None


def content_of(lines: Sequence[Line], box: Box) -> str:
    """What the input holds: "empty" or "draft: …"."""
    rows = [without_sides(line) for line in lines[box.top + 1 : box.bottom]]
    start = len(rows[0].text) - len(rows[0].text.lstrip())
    glyph = rows[0].text[start : start + 1]
    rows[0] = rows[0].after(start + 1)
    said = [row for row in rows if not row.is_blank]
    if glyph in "!#":
        return f"draft: {glyph}"
    if not said or all(row.is_faint for row in said):
        return "empty"
    text = " ".join(row.text.strip() for row in said)
    if not any(sign != "." for row in said for sign in row.look) and _is_hint(text):
        return "empty"
    return f"draft: {text}"


def _is_hint(text: str) -> bool:
    """The placeholder of a fresh session, where a capture has lost its colours."""
    return re.fullmatch(r'Try ".*"', text) is not None


def _open_menu(lines: Sequence[Line], box: Box | None) -> Menu | None:
    """The lowest menu if it is on: no box and little below it, or bordered off above the box."""
    body = lines[: box.top] if box else lines
    menu = last_menu(body)
    if menu is None:
        return None
    below = [line for line in body[menu.end :] if not line.is_blank]
    if any(_HISTORY.match(line.text) for line in below) or len(below) > 6:
        return None
    if box is None:
        return menu
    has_keys = KEYS.search(joined(tuple(below))) is not None
    above = [line.text for line in body[: menu.start]]
    starts = [row for row, text in enumerate(above) if re.match(r"[●⏺❯>]", text)]
    borders = [row for row, text in enumerate(above) if is_border(text) and text.strip()[0] != "-"]
    is_bordered = bool(borders) and borders[-1] > (starts[-1] if starts else -1)
    # Quoted menus are indented like the text around them; a real one stands at the edge.
    at_edge = any(re.match(r"\s?❯ \d", line.text) for line in body[menu.start : menu.end])
    return menu if has_keys or is_bordered or at_edge else None


def _dialog(lines: Sequence[Line], menu: Menu | None, box: Box | None) -> str:
    """The text of the dialog, from the border above its menu; without a menu the last lines."""
    end = box.top if box else len(lines)
    if menu is None:
        return "" if box else joined(tuple(line for line in lines[-30:] if not line.is_blank))
    start = max(0, menu.start - 25)
    for row in range(menu.start - 1, start, -1):
        if _RULE.match(lines[row].text.rstrip()):
            start = row
            break
    return joined(tuple(lines[start:end]))


def _ending(tail: Sequence[str]) -> Sequence[str]:
    """What came last: from the last output or message on."""
    starts = [row for row, text in enumerate(tail) if re.match(r"[●⏺❯>]", text)]
    return tail[starts[-1] :] if starts else tail


def regions(screen: Screen, prefix: str) -> Regions:
    """The parts of the screen that the rules below name; absent parts are empty."""
    lines = screen.lines
    box = input_box(lines)
    menu = _open_menu(lines, box)
    body = lines[: box.top] if box else lines
    tail = [line.text.rstrip() for line in body if not line.is_blank][-_TAIL:]
    footer = (
        [line.text.rstrip() for line in lines[box.bottom + 1 :] if not line.is_blank] if box else []
    )
    last = screen.filled[-1].text.strip() if screen.filled else ""
    keys = joined(screen.filled[-4:]) if box is None else ""
    return {
        "menu": ("cursor" if menu.has_cursor else "listed") if menu else "",
        "dialog": _dialog(lines, menu, box) if menu or KEYS.search(keys) else "",
        "keys": keys if KEYS.search(keys) else "",
        "overlay": joined(screen.filled[-4:]),
        "heading": joined(screen.filled[:30]) if box is None else "",
        "status": "\n".join(tail),
        "live": "\n".join(tail[-6:]),
        "ending": "\n".join(_ending(tail)),
        "footer": "\n".join(footer),
        "input": content_of(lines, box) if box and tail else "",
        "last": last,
        "title": screen.title,
        "question": menu.question if menu else question_above(lines, len(lines)),
    }


def _pending(name: str, pattern: str, *, kind: str = "", region: str = "dialog") -> Rule:
    return Rule(
        name=name,
        verdict=ScreenVerdict.PENDING,
        region=region,
        pattern=f"(?i){pattern}",
        kind=kind or name,
    )


_LIMIT: Final = (
    r"(?i)^\s*+[⎿●⏺]?\s*+(You've (hit|reached) your .{0,40}limit|Claude( AI)? usage limit reached"
    r"|\S+ ?(hour|weekly|daily|session|usage) limit reached|.{0,20}spend limit reached"
    r"|API Error: Request rejected \(429\)|Credit balance is too low)"
)
_COUNTED: Final = (
    r"\b\d+ (background |local |remote )?"
    r"(shells?|bash(es)?|agents?|tasks?|workflows?|monitors?|terminals?|teammates?)\b"
)

RULES: Final = (
    Rule(
        name="crashed",
        verdict=ScreenVerdict.SHELL,
        region="last",
        pattern=r"^\S*\w@[\w.-]++[: ].*[$#%] ?$|^(ba|z|da|k|fi)?sh[-\d.]*[$#%>] ?$|^[$#%] ?$"
        r"|command not found$|^Killed$|Segmentation fault",
    ),
    Rule(
        name="overlay",
        verdict=ScreenVerdict.UNKNOWN,
        region="overlay",
        pattern=r"(?i)Showing detailed transcript|ctrl\+[or] to toggle|esc to close|⌕ Search",
    ),
    Rule(
        name="scrolled-up",
        verdict=ScreenVerdict.UNKNOWN,
        region="live",
        pattern=r"Jump to bottom|^\s+\d+ new messages?\b",
    ),
    Rule(
        name="picker",
        verdict=ScreenVerdict.UNKNOWN,
        region="heading",
        pattern=r"(?i)\bSelect model\b|\bResume session\b|\bBackground tasks\b",
    ),
    _pending("trust", r"Quick safety check|I trust this folder|Do you trust the files"),
    _pending("bypass", r"Bypass Permissions mode.{0,4000}No, exit", kind="startup"),
    _pending(
        "startup",
        r"custom API key in your environment|Select login method|Choose the text style"
        r"|text style that looks best|new MCP servers? found|MCP servers? .{0,40}\.mcp\.json"
        r"|Resume (from summary|full session)|fullscreen",
    ),
    _pending(
        "plan",
        r"Ready to code\?|Here is Claude's plan|ready to execute\. Would you like to proceed"
        r"|auto-accept edits|keep planning",
    ),
    _pending(
        "permission",
        r"Do you want to |requires approval|wants to |Run a dynamic workflow\?"
        r"|don't ask again|Network request outside|allow .{0,40}\?",
    ),
    _pending(
        "choice",
        r"Enter to select|Chat about this|Type something\.|Ready to submit your answers",
    ),
    _pending("menu", r"cursor|listed", region="menu", kind="choice"),
    _pending("keys", r".", region="keys", kind="choice"),
    _pending("asks", generic.ASKS.removeprefix("(?i)"), region="last", kind="choice"),
    Rule(
        name="waiting",
        verdict=ScreenVerdict.BACKGROUND,
        region="ending",
        pattern=rf"^[{SPINNERS}] Waiting for \d+ .*",
    ),
    Rule(
        name="spinner",
        verdict=ScreenVerdict.BUSY,
        region="status",
        # Any sign that opens no output, question or row of a list may be a spinner.
        pattern=r"^[^\w\s●⏺⎿❯>!#─│╭╰◯○☐☒✔] \S.*…($| [(·])|^[●⏺] \S.*… \(\d+[smh]"
        r"|^\s{0,2}[^\w\s⎿❯>│] \S.*\((.* · )?(esc|ctrl\+c) to interrupt",
    ),
    Rule(
        name="interrupt-hint",
        verdict=ScreenVerdict.BUSY,
        region="footer",
        pattern=r"(?i)\b(esc|ctrl\+c) to interrupt\b",
    ),
    Rule(
        name="retrying",
        verdict=ScreenVerdict.BUSY,
        region="live",
        pattern=r"Retrying in \d+ ?s|Waiting for API response|No response from API"
        r"|⎿\s+(Running|Waiting)…|ctrl\+b .{0,200}to run in background",
    ),
    Rule(
        name="queued",
        verdict=ScreenVerdict.BUSY,
        region="live",
        pattern=r"Press up to edit queued messages",
    ),
    Rule(
        name="queued-hint",
        verdict=ScreenVerdict.BUSY,
        region="footer",
        pattern=r"Press up to edit queued messages",
    ),
    Rule(name="title", verdict=ScreenVerdict.BUSY, region="title", pattern=r"^[\u2801-\u28ff]"),
    Rule(
        name="still-running",
        verdict=ScreenVerdict.BACKGROUND,
        region="ending",
        pattern=rf"^[{SPINNERS}] .*\bstill running\b",
    ),
    Rule(
        name="counted",
        verdict=ScreenVerdict.BACKGROUND,
        region="footer",
        pattern=rf"{_COUNTED}|↓ to (manage|view)",
    ),
    Rule(name="draft", verdict=ScreenVerdict.DRAFT, region="input", pattern="^draft"),
    Rule(name="limit", verdict=ScreenVerdict.RATELIMIT, region="ending", pattern=_LIMIT),
    Rule(
        name="footer-keys",
        verdict=ScreenVerdict.UNKNOWN,
        region="footer",
        pattern=rf"{KEYS.pattern}|again to (exit|clear)",
    ),
    Rule(name="box", verdict=ScreenVerdict.IDLE, region="input", pattern="^empty$"),
    Rule(name="pager", verdict=ScreenVerdict.PAGER, region="last", pattern=generic.PAGER),
)


def steady(screen: Screen) -> str:
    """The text down to the end of the input box: what stands below it ticks by itself."""
    box = input_box(screen.lines)
    lines = screen.lines[: box.bottom] if box else screen.lines
    return generic.squeezed(lines)


CLAUDE: Final = Detector(name="claude", regions=regions, rules=RULES, steady=steady)
