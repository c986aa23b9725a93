"""A captured screen as lines of text, with what is dim or inverse kept beside the letters.

Escape sequences are read for their look and dropped, no-break spaces become spaces, and the sides
of boxes come off. Nothing here knows any program.

Source: DESIGN §8 (R15)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

# What is dim is a placeholder or a suggestion. Some programs use a grey instead of the attribute.
_DIM_COLOURS: Final = frozenset({"90", "38;5;8", *(f"38;5;{n}" for n in range(240, 247))})
_ESCAPE: Final = re.compile(
    r"\x1b\[(?P<sgr>[0-9;:]*)m"
    r"|\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\)"
    r"|\x1b[()*+][0-9A-Za-z]"
    r"|\x1b.?"
    r"|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f]"
)
_SIDES: Final = "│┃║|"


@dataclass(frozen=True, slots=True)
class Line:
    """One line. `look` has a sign for each character: `.` plain, `d` dim, `i` inverse."""

    text: str
    look: str

    @property
    def is_blank(self) -> bool:
        """Nothing on it."""
        return not self.text.strip()

    def after(self, start: int) -> Line:
        """The part from column `start` on."""
        return Line(self.text[start:], self.look[start:])

    def cut(self, start: int, end: int) -> Line:
        """The part from column `start` up to column `end`."""
        return Line(self.text[start:end], self.look[start:end])

    @property
    def is_faint(self) -> bool:
        """Everything on it is dim; one inverse character, the cursor's, may stand before that."""
        signs = [sign for ch, sign in zip(self.text, self.look, strict=True) if not ch.isspace()]
        if signs and signs[0] == "i":
            signs = signs[1:]
        return bool(signs) and all(sign == "d" for sign in signs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """What is visible. `cursor` is (column, row), None when hidden or not known."""

    lines: tuple[Line, ...]
    cursor: tuple[int, int] | None = None
    is_alternate: bool = False
    title: str = ""

    @property
    def is_blank(self) -> bool:
        """Nothing has been printed."""
        return all(line.is_blank for line in self.lines)

    @property
    def filled(self) -> tuple[Line, ...]:
        """Lines with something on them."""
        return tuple(line for line in self.lines if not line.is_blank)


@dataclass(slots=True)
class _Pen:
    """The attributes in force while a capture is read; they carry over from line to line."""

    dim: bool = False
    inverse: bool = False
    grey: bool = False
    chars: list[str] = field(default_factory=list)
    looks: list[str] = field(default_factory=list)

    def write(self, text: str) -> None:
        sign = "i" if self.inverse else "d" if self.dim or self.grey else "."
        self.chars.append(text)
        self.looks.append(sign * len(text))

    def take_line(self) -> Line:
        line = Line("".join(self.chars), "".join(self.looks))
        self.chars, self.looks = [], []
        return line

    def style(self, sgr: str) -> None:
        codes = sgr.replace(":", ";").split(";")
        while codes:
            code = codes.pop(0)
            if code in {"38", "48"}:
                taken = 4 if codes[:1] == ["2"] else 2
                colour = ";".join((code, *codes[:taken]))
                del codes[:taken]
                self.grey = colour in _DIM_COLOURS if code == "38" else self.grey
            elif code in {"", "0"}:
                self.dim = self.inverse = self.grey = False
            elif code == "2":
                self.dim = True
            elif code == "22":
                self.dim = False
            elif code in {"7", "27"}:
                self.inverse = code == "7"
            elif re.fullmatch(r"3[0-79]|9[0-7]", code):
                self.grey = code in _DIM_COLOURS


def read_screen(
    raw: str,
    *,
    cursor: tuple[int, int] | None = None,
    is_alternate: bool = False,
    title: str = "",
) -> Screen:
    """The screen that `raw`, a capture with or without escape sequences, shows."""
    pen = _Pen()
    lines = []
    for text in raw.replace("\r\n", "\n").replace("\u00a0", " ").split("\n"):
        position = 0
        for found in _ESCAPE.finditer(text):
            pen.write(text[position : found.start()])
            position = found.end()
            if found["sgr"] is not None:
                pen.style(found["sgr"])
        pen.write(text[position:])
        lines.append(pen.take_line())
    while lines and lines[-1].is_blank:
        lines.pop()
    return Screen(lines=tuple(lines), cursor=cursor, is_alternate=is_alternate, title=title)


def without_sides(line: Line) -> Line:
    """The line without the sides of a box around it."""
    start = len(line.text) - len(line.text.lstrip())
    end = len(line.text.rstrip())
    if end - start >= 1 and line.text[start] in _SIDES:
        start += 1
        if end - start >= 1 and line.text[end - 1] in _SIDES:
            end -= 1
        return Line(line.text[start:end], line.look[start:end])
    return line


def joined(lines: Iterable[Line]) -> str:
    """The lines as one text in which a phrase that wrapped reads on; runs of space are one."""
    return re.sub(r"\s+", " ", " ".join(without_sides(line).text for line in lines)).strip()
