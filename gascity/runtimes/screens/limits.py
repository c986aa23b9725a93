"""A provider's limit: whether a program ended with one on its lips, and when it says it is over.

Times on screens are local, mostly without date or zone: the next such time after the line appeared.
A minute is added, for clocks differ. What cannot be read is no time.

Source: DESIGN §8 (R15, R41)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from gascity.model.screens import ScreenRules
from gascity.model.world import Limit, ScreenVerdict
from gascity.runtimes.screens import detector_named
from gascity.runtimes.screens.rulefile import shared_pattern
from gascity.runtimes.screens.text import Screen

MARGIN: Final = timedelta(minutes=1)
LAST_LINES: Final = 12
_SENTENCE_LINES: Final = 4  # what follows is the shell's, with times of its own
_DEAD: Final = "Pane is dead"  # tmux's own line, with the date
_UNITS: Final = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_SPAN: Final = re.compile(
    r"(?i)\b(?:in|after|for) ((?:\d+ ?(?:days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)"
    r"[ ,]*(?:and )?)+)"
)
_PART: Final = re.compile(r"(?i)(\d+) ?([dhms])")
_MONTHS: Final = [
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
]
_DAYS: Final = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
_CLOCK: Final = (
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?(?::\d{2})? ?(?P<half>[apAP]\.?[mM]\b\.?)?"
    r"(?: ?\(?(?P<zone>UTC|GMT|Z)?(?P<offset>[+-]\d{1,2}(?::?\d{2})?)?"
    r"(?P<place>[A-Z][A-Za-z]+(?:/[A-Za-z_]+)+)?\)?)?"
)
_WORDS: Final = r"(?i:resets?|reset at|again|until|at|on|available|after)"
_DATED: Final = re.compile(
    rf"(?i:\b(?P<month>{'|'.join(_MONTHS)})[a-z]*\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?"
    rf"(?:,? (?P<year>20\d{{2}}))?,?(?: at)?) {_CLOCK}"
)
_ISO: Final = re.compile(
    r"\b(20\d{2}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:?\d{2})?)"
)
_UNIX: Final = re.compile(r"\|(\d{10})\b")
_WEEKLY: Final = re.compile(rf"(?i:\b(?P<weekday>{'|'.join(_DAYS)})[a-z]*\.?,?(?: at)?) {_CLOCK}")
_DAILY: Final = re.compile(rf"\b{_WORDS}:? (?i:at |on )?{_CLOCK}")


def last_words(screen: Screen, detector: str, own: ScreenRules | None) -> str:
    """What a program that has ended said about a limit, in its last lines; "" when nothing."""
    lines = [line.text.rstrip() for line in screen.filled[-LAST_LINES:]]
    text = "\n".join(line for line in lines if not line.startswith(_DEAD))
    for pattern in _limit_patterns(detector, own):
        found = re.search(pattern, text, re.MULTILINE)
        if found is not None:
            said = text[found.start() :].split("\n")[:_SENTENCE_LINES]
            return re.sub(r"\s+", " ", " ".join(said)).strip()[:400]
    return ""


def _limit_patterns(detector: str, own: ScreenRules | None) -> Iterable[str]:
    rules = detector_named(detector, own).rules
    yield from (one.pattern for one in rules if one.verdict is ScreenVerdict.RATELIMIT)
    yield shared_pattern("limit")


def limit_of(said: str, *, since: float) -> Limit | None:
    """The limit of which a screen says that since the unix second `since`; None for no words."""
    if not said:
        return None
    seen = datetime.fromtimestamp(since).astimezone()
    return Limit(said=said, until=over_at(said, since=seen))


def over_at(said: str, *, since: datetime) -> datetime | None:
    """When the limit is over, for a text that appeared at `since`, an aware local time.

    None when the text says no time that can be read.
    """
    try:
        found = _read(said, since)
    except (ValueError, OverflowError):
        return None
    return found + MARGIN if found is not None and found > since else None


def _read(said: str, since: datetime) -> datetime | None:
    if found := _ISO.search(said):
        at = datetime.fromisoformat(found[1].replace("Z", "+00:00"))
        return at if at.tzinfo else at.replace(tzinfo=since.tzinfo)
    if found := _UNIX.search(said):
        return datetime.fromtimestamp(int(found[1]), tz=since.tzinfo)
    if found := _DATED.search(said):
        return _dated(found, since)
    if found := _SPAN.search(said):
        seconds = sum(int(n) * _UNITS[unit.lower()] for n, unit in _PART.findall(found[1]))
        return since + timedelta(seconds=seconds)
    if found := _WEEKLY.search(said):
        at = _clock(found, since)
        wanted = _DAYS.index(found["weekday"].lower())
        at += timedelta(days=(wanted - at.weekday()) % 7)
        return at if at > since else at + timedelta(days=7)
    if found := _DAILY.search(said):
        at = _clock(found, since)
        return at if at > since else at + timedelta(days=1)
    return None


def _dated(found: re.Match[str], since: datetime) -> datetime:
    at = _clock(found, since)
    month = _MONTHS.index(found["month"].lower()) + 1
    year = int(found["year"]) if found["year"] else since.year
    at = at.replace(year=year, month=month, day=int(found["day"]))
    if found["year"] or at > since:
        return at
    return at.replace(year=year + 1)


def _clock(found: re.Match[str], since: datetime) -> datetime:
    """That time of the day on which `since` lies, in the zone that the text names."""
    hour, half = int(found["hour"]), (found["half"] or "").lower()
    if half:
        hour = hour % 12 + (12 if half.startswith("p") else 0)
    elif found["minute"] is None:
        raise ValueError("a number, and no time")
    there = since.astimezone(_zone(found)) if _zone(found) is not None else since
    return there.replace(hour=hour, minute=int(found["minute"] or 0), second=0, microsecond=0)


def _zone(found: re.Match[str]) -> timezone | ZoneInfo | None:
    if found["place"]:
        try:
            return ZoneInfo(found["place"])
        except ZoneInfoNotFoundError:
            return None
    if found["offset"]:
        sign = -1 if found["offset"].startswith("-") else 1
        digits = found["offset"][1:].replace(":", "")
        hours, minutes = int(digits[:2]), int(digits[2:] or 0)
        return timezone(sign * timedelta(hours=hours, minutes=minutes))
    return UTC if found["zone"] else None
