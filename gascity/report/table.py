"""Text for terminals: safe words, columns that widen together, colours, local times.

Hot commands load this module, so it needs the standard library only, and of that as little as can
be.

Source: DESIGN §11 (STAT-09, R76); surface "`gc status`"
"""

from __future__ import annotations

GAP = 2  # spaces between two columns

RED, GREEN, YELLOW, BLUE, GREY = "31", "32", "33", "34", "90"


def safe(value: object) -> str:
    r"""The value as text on one line: whatever moves a cursor or hides is shown as `\x1b`."""
    text = str(value)
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _escaped(one) for one in text)


def _escaped(one: str) -> str:
    return one.encode("unicode_escape").decode("ascii")


def painted(text: str, colour: str) -> str:
    """The text in one of the colours above; the caller knows that a terminal is looking."""
    return f"\x1b[{colour}m{text}\x1b[0m" if colour else text


def columns(rows: list[list[str]], *, least: tuple[int, ...] = ()) -> list[str]:
    """One line a row; a column is as wide as its longest cell or `least`, two spaces apart.

    Cells are made safe here. The last column is never padded.
    """
    cells = [[safe(cell) for cell in row] for row in rows]
    count = max((len(row) for row in cells), default=0)
    widths = [
        max([least[n] if n < len(least) else 0, *(len(row[n]) for row in cells if n < len(row))])
        for n in range(count)
    ]
    return [
        "".join(cell.ljust(widths[n] + GAP) for n, cell in enumerate(row)).rstrip() for row in cells
    ]


def local_time(stored: str | None) -> str:
    """A stored UTC time as local wall time with its offset, whole seconds; "-" for none (R76)."""
    if not stored:
        return "-"
    from datetime import datetime

    try:
        moment = datetime.fromisoformat(stored)
    except ValueError:
        return safe(stored)
    return moment.astimezone().isoformat(sep=" ", timespec="seconds")


def span(seconds: float) -> str:
    """A length of time in its two largest units: `45s`, `2m10s`, `3h5m`, `2d4h`."""
    whole = max(0, int(seconds))
    parts: list[str] = []
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m"), (1, "s")):
        count, whole = divmod(whole, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts[:2]) or "0s"
