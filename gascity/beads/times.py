"""Instants as text: RFC 3339 in UTC with six digits and `Z`, so that text order is time order.

Source: DESIGN §11 (R38)
"""

from __future__ import annotations

from datetime import UTC, datetime


def time_text(at: datetime) -> str:
    """An aware instant as `2026-01-02T03:04:05.000006Z`."""
    assert at.tzinfo is not None, "instants are aware"
    return at.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def time_of(text: str) -> datetime:
    """The aware UTC instant that an RFC 3339 text names; finer digits are cut off.

    Raises:
        ValueError: not an instant, or one without a zone.
    """
    try:
        at = datetime.fromisoformat(text)
        if at.tzinfo is None:
            raise ValueError(f"no time zone: {text!r}")
        return at.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"outside the calendar: {text!r}") from None
