"""Spans of time from operators' words: the grammar of Go's `time.ParseDuration`, to the nanosecond.

Knows two readers: `parse_duration` for any span, `parse_keep_warm` for sleep windows, where `off`
is a word and an empty text is refused rather than guessed.

Source: DESIGN §1 (R1, R2)
"""

from __future__ import annotations

import re
from typing import Final

from gascity.model.duration import OFF, Duration, KeepWarm

UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # micro sign
    "μs": 1_000,  # Greek letter mu
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60 * 1_000_000_000,
    "h": 3_600 * 1_000_000_000,
}

_INT64: Final = 1 << 63
_MOST_CHARACTERS: Final = 1_000
_DIGITS: Final = "0123456789"
_DAYS: Final = re.compile(r"(\d{1,6})d", re.ASCII)
_NUMBER: Final = re.compile(r"\d{1,12}(?:\.\d{1,9})?", re.ASCII)

HOW: Final = 'write a number with a unit: "30s", "5m", "1h30m", "500ms"'
HOW_TO_SLEEP: Final = 'write a duration such as "60s" or "5m", "0s" for at once, or "off" for never'
HOW_TO_INHERIT: Final = 'leave the key out to inherit, or write a duration such as "60s", or "off"'
HOW_TO_UNSET: Final = (
    'to fall back to the inherited value write unset = ["sleep_after_idle"]; '
    'to keep it awake write "off"'
)


class BadSpan(ValueError):
    """A text that is no span of time: `what` is wrong with it, and the `remedy`."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}; {remedy}")
        self.what = what
        self.remedy = remedy


def parse_duration(text: object) -> Duration:
    """The span a text stands for, which may be negative; its words are kept beside it.

    Raises:
        BadSpan: a ValueError that says what to write.

    Source: DESIGN §1 (R1)
    """
    if not isinstance(text, str):
        raise BadSpan(f"a duration is a text, not {_kind(text)}", f"{HOW}, in quotes")
    try:
        return Duration(_nanoseconds(text), text)
    except _NotASpan as reason:
        raise BadSpan(f"not a duration ({reason})", _remedy(text, HOW)) from None


def parse_keep_warm(text: object, *, stamps: bool = False) -> KeepWarm:
    """The keep-warm window a text stands for: `OFF`, or a span of zero or more.

    Args:
        stamps: True in a patch or override, where `""` is a wish to undo an inherited value.

    Raises:
        BadSpan: a ValueError that says what to write.

    Source: CFG-08, CFG-09, CFG-10, VAL-01, VAL-02, VAL-03 (R1, R2)
    """
    if not isinstance(text, str):
        raise BadSpan(f"a sleep window is a text, not {_kind(text)}", f"{HOW_TO_SLEEP}, in quotes")
    word = text.strip()
    if not word:
        raise BadSpan("an empty text says nothing", HOW_TO_UNSET if stamps else HOW_TO_INHERIT)
    if word.lower() == "off":
        return OFF
    try:
        ns = _nanoseconds(word)
    except _NotASpan as reason:
        raise BadSpan(
            f'neither "off" nor a duration ({reason})', _remedy(word, HOW_TO_SLEEP)
        ) from None
    if ns < 0:
        raise BadSpan("a sleep window cannot be negative", HOW_TO_SLEEP)
    return Duration(ns, word)


class _NotASpan(Exception):
    """Why the grammar does not fit."""


def _nanoseconds(text: str) -> int:
    """Integer nanoseconds, by the steps of Go's parser: same truncation, same overflow."""
    rest = text[1:] if text[:1] in ("-", "+") else text
    negative = text[:1] == "-"
    if len(text) > _MOST_CHARACTERS:
        raise _NotASpan("too long a text")
    if rest == "0":
        return 0
    if not rest:
        raise _NotASpan("nothing there" if not text else "a sign and nothing after it")
    total = 0
    while rest:
        amount, rest = _one_term(rest)
        total += amount
        if total > _INT64:
            raise _NotASpan("longer than 292 years")
    if negative:
        return -total
    if total == _INT64:
        raise _NotASpan("longer than 292 years")
    return total


def _one_term(rest: str) -> tuple[int, str]:
    """Nanoseconds of the leading `number unit`, and what follows it."""
    whole, rest = _leading_digits(rest)
    fraction = ""
    if rest.startswith("."):
        fraction, rest = _leading_digits(rest[1:])
    if not whole and not fraction:
        raise _NotASpan("no number where one belongs")
    length = next((i for i, c in enumerate(rest) if c == "." or c in _DIGITS), len(rest))
    word, rest = rest[:length], rest[length:]
    if not word:
        raise _NotASpan("no unit")
    unit = UNITS.get(word)
    if unit is None:
        raise _NotASpan(f"unknown unit {word[:20]!r}")
    # A number of 4,300 digits would be refused by int(); any of more than 20 overflows anyway.
    value = int(whole or "0") if len(whole.lstrip("0")) <= 20 else _INT64
    if value > _INT64 // unit:
        raise _NotASpan("longer than 292 years")
    return value * unit + _fraction(fraction, unit), rest


def _leading_digits(text: str) -> tuple[str, str]:
    """The ASCII digits at the start, and what follows them."""
    length = next((i for i, c in enumerate(text) if c not in _DIGITS), len(text))
    return text[:length], text[length:]


def _fraction(digits: str, unit: int) -> int:
    """Nanoseconds of the digits after a point, truncated; digits past 63 bits are dropped."""
    value, scale = 0, 1.0
    for digit in digits:
        longer = value * 10 + int(digit)
        if value > (_INT64 - 1) // 10 or longer > _INT64:
            break
        value, scale = longer, scale * 10
    return int(float(value) * (float(unit) / scale))


def _kind(value: object) -> str:
    """What a TOML value is, in TOML's words."""
    words = {bool: "a boolean", int: "a number", float: "a number", list: "an array"}
    return words.get(type(value), "a table" if isinstance(value, dict) else "a date or time")


def _remedy(text: str, general: str) -> str:
    """The exact text to write where the slip is a common one, else the general rule."""
    word = text.strip()
    days = _DAYS.fullmatch(word)
    if days:
        return f'there is no unit for days; write "{int(days[1]) * 24}h"'
    if _NUMBER.fullmatch(word):
        return f'write the unit, for example "{word}s"'
    if word != text and word.lower() != "off":
        return "write it without spaces around it"
    if any(c.isspace() for c in word) and len(word) < 40:
        return f"write it without spaces inside it; {general}"
    return general
