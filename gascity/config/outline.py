"""The outline of a TOML text, read in one cheap pass before any parser sees it.

Answers two questions: is the text within limits that a parser survives (a dotted key of 60 KB
makes parsers build gigabytes), and on which line does each key stand. It judges no syntax: where it
loses the thread it goes on with the next line, and the parser has the last word.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Final

MOST_KEY_PARTS: Final = 32
MOST_NESTING: Final = 32
MOST_DIGITS: Final = 4_300
# A dotted key costs a parser about half a kilobyte a part; this many is about 30 MiB.
MOST_DOTTED_PARTS: Final = 60_000

Path = tuple[str | int, ...]

_GAP: Final = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*+")
_BLANK: Final = re.compile(r"[ \t]*+")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_BASIC: Final = re.compile(r'"(?:[^"\\\n]++|\\[^\n])*+"')
_LITERAL: Final = re.compile(r"'[^'\n]*+'")
_LONG_BASIC: Final = re.compile(r'"""(?:[^"\\]++|\\.|"(?!""))*+"""+', re.DOTALL)
_LONG_LITERAL: Final = re.compile(r"'''(?:[^']++|'(?!''))*+'''+")
_MARK: Final = re.compile(r"[\[\]{},\"'#\n]")
_DIGITS: Final = re.compile(rf"[0-9_]{{{MOST_DIGITS + 1}}}")


class BeyondLimits(ValueError):
    """The text would cost a parser too much: `what` is too much, and on which `line`."""

    def __init__(self, what: str, line: int) -> None:
        super().__init__(what)
        self.what = what
        self.line = line


@dataclass(slots=True)
class _Reader:
    """Where the pass stands, and what it has seen."""

    text: str
    pos: int = 0
    lines: dict[Path, int] = field(default_factory=dict)
    last_index: dict[Path, int] = field(default_factory=dict)
    dotted_parts: int = 0
    starts: list[int] = field(default_factory=list)

    def line(self) -> int:
        """The line of the place where the pass stands, from 1."""
        return bisect_right(self.starts, self.pos)

    def refuse(self, what: str) -> BeyondLimits:
        """A refusal at this line."""
        return BeyondLimits(what, self.line())


def outline(text: str) -> dict[Path, int]:
    """{path of a table or key: its line}, elements of arrays of tables counted from 0.

    Raises:
        BeyondLimits: a key of more than 32 parts, values nested deeper than 32, a number of more
            than 4,300 digits, or too many dotted keys in all.
    """
    reader = _Reader(text)
    reader.starts = [0, *(match.end() for match in re.finditer("\n", text))]
    table: Path = ()
    while True:
        reader.pos = _GAP.match(text, reader.pos).end()  # type: ignore[union-attr]
        if reader.pos >= len(text):
            return reader.lines
        if text[reader.pos] == "[":
            table = _header(reader, table)
        else:
            _statement(reader, table)


def _header(reader: _Reader, table: Path) -> Path:
    """Read `[a.b]` or `[[a.b]]`; the path it opens, or the old one if it is no header."""
    is_array = reader.text.startswith("[[", reader.pos)
    line = reader.line()
    reader.pos += 2 if is_array else 1
    parts = _key(reader)
    if not parts:
        _skip_line(reader)
        return table
    path: Path = ()
    for part in parts[:-1]:
        path = (*path, part)
        if path in reader.last_index:
            path = (*path, reader.last_index[path])
    path = (*path, parts[-1])
    if is_array:
        index = reader.last_index.get(path, -1) + 1
        reader.last_index[path] = index
        path = (*path, index)
    elif path in reader.last_index:
        path = (*path, reader.last_index[path])
    reader.lines.setdefault(path, line)
    _skip_line(reader)
    return path


def _statement(reader: _Reader, table: Path) -> None:
    """Read `key = value`, however many lines the value takes."""
    line = reader.line()
    parts = _key(reader)
    if not parts or not reader.text.startswith("=", reader.pos):
        _skip_line(reader)
        return
    path = table
    for part in parts:
        path = (*path, part)
        reader.lines.setdefault(path, line)
    reader.pos += 1
    _value(reader, path)


def _key(reader: _Reader) -> list[str]:
    """The parts of a dotted key, the blanks around it skipped; [] if none is there."""
    parts: list[str] = []
    while True:
        reader.pos = _BLANK.match(reader.text, reader.pos).end()  # type: ignore[union-attr]
        found = (
            _BARE.match(reader.text, reader.pos)
            or _BASIC.match(reader.text, reader.pos)
            or _LITERAL.match(reader.text, reader.pos)
        )
        if found is None:
            break
        word = found.group()
        parts.append(word[1:-1] if word[0] in "\"'" else word)
        if len(parts) > MOST_KEY_PARTS:
            raise reader.refuse(f"a key of more than {MOST_KEY_PARTS} parts")
        reader.pos = _BLANK.match(reader.text, found.end()).end()  # type: ignore[union-attr]
        if not reader.text.startswith(".", reader.pos):
            break
        reader.pos += 1
    if len(parts) > 1:
        reader.dotted_parts += len(parts)
        if reader.dotted_parts > MOST_DOTTED_PARTS:
            raise reader.refuse("too many dotted keys and nested tables")
    return parts


def _value(reader: _Reader, path: Path) -> None:
    """Skip a value to the end of its line; note the lines of keys in inline tables."""
    text, open_ones, paths = reader.text, [""], [path]
    start = reader.pos
    while True:
        mark = _MARK.search(text, reader.pos)
        end = mark.start() if mark else len(text)
        if end - start > MOST_DIGITS and _DIGITS.search(text, start, end):
            raise reader.refuse(f"a number of more than {MOST_DIGITS} digits")
        reader.pos = end
        if mark is None:
            return
        sign = mark.group()
        if sign in "\"'":
            _skip_text(reader)
        elif sign == "#":
            newline = text.find("\n", reader.pos)
            reader.pos = len(text) if newline < 0 else newline
        elif sign in "[{":
            if len(open_ones) > MOST_NESTING:
                raise reader.refuse(f"values nested deeper than {MOST_NESTING}")
            open_ones.append(sign)
            paths.append(paths[-1])
            reader.pos += 1
        elif sign == "\n" and len(open_ones) == 1:
            return
        else:
            reader.pos += 1
            if sign in "]}" and len(open_ones) > 1:
                open_ones.pop()
                paths.pop()
        start = reader.pos
        if sign in "{," and open_ones[-1] == "{":
            _inline_key(reader, paths)


def _inline_key(reader: _Reader, paths: list[Path]) -> None:
    """Note the line of the next key of an inline table."""
    reader.pos = _GAP.match(reader.text, reader.pos).end()  # type: ignore[union-attr]
    line = reader.line()
    parts = _key(reader)
    if parts:
        paths[-1] = (*paths[-2], *parts)
        reader.lines.setdefault(paths[-1], line)


def _skip_text(reader: _Reader) -> None:
    """Go past the string that begins here; past its line if it has no end."""
    text, pos = reader.text, reader.pos
    if text.startswith('"""', pos) or text.startswith("'''", pos):
        long = (_LONG_BASIC if text[pos] == '"' else _LONG_LITERAL).match(text, pos)
        reader.pos = long.end() if long else len(text)
        return
    short = (_BASIC if text[pos] == '"' else _LITERAL).match(text, pos)
    if short:
        reader.pos = short.end()
    else:
        newline = text.find("\n", pos)
        reader.pos = len(text) if newline < 0 else newline


def _skip_line(reader: _Reader) -> None:
    """Go to the next line, past the strings on this one."""
    _value(reader, ())
