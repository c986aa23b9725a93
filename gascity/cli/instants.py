"""Instants on the command line: ISO dates and times; without a zone they are local (R76)."""

from __future__ import annotations

from gascity.cli.failure import USAGE, Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

HOW = "write it as 18:30, 2026-03-01T18:30 or 2026-03-01T18:30Z"


def instant_of(text: str, option: str, *, now: datetime) -> datetime:
    """The aware instant of `2026-03-01T18:30`, `2026-03-01`, or the next `18:30` after `now`.

    Raises:
        Failure: no such instant; names the option and what to write (exit 2).
    """
    from datetime import datetime, time, timedelta

    try:
        if "-" not in text and ":" in text and "T" not in text.upper():
            at = time.fromisoformat(text)
            zone = at.tzinfo
            today = now.astimezone(zone)
            found = datetime.combine(today.date(), at)
            if found.astimezone() <= now:
                found += timedelta(days=1)
        else:
            found = datetime.fromisoformat(text)
        return found.astimezone()
    except (ValueError, OverflowError) as error:
        raise Failure(f"{option} {text!r}: {error}", HOW, exit=USAGE) from None
