"""The tables that decide, as a page people can read: `python -m gascity.testing.tables`.

The page is made from the tables themselves, and a test fails when it is stale.

Source: DESIGN §8, §10; `docs/TABLES.md`
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from gascity.act.requests_why import ENDS
from gascity.decide import recovery
from gascity.decide.capability import CLASS
from gascity.decide.drain import DRAIN, Verdict
from gascity.decide.recovery import RECOVERY
from gascity.decide.structural import DRIFT_WAITS_FOR, IDLE_TIMEOUT_WAITS_FOR
from gascity.model.plan import Cause

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "TABLES.md"

INTRODUCTION: Final = """\
# The tables that decide

Printed from the code by `python -m gascity.testing.tables`; do not edit. Tests prove that each is
total: `tests/unit/decide/test_recovery.py`, `test_drain.py` and `test_capability.py`.
"""


def page() -> str:
    """The whole page, with its last newline."""
    return "\n".join(
        (
            INTRODUCTION,
            "## Recovery\n",
            "At every patrol, and so after every restart, exactly one row describes a session",
            "(`gascity/decide/recovery.py`). An empty cell is any value.\n",
            *recovery_rows(),
            "",
            *meanings(),
            "",
            "## The idle drain\n",
            "One row an effect; the columns are what the look after it says",
            "(`gascity/decide/drain.py`). The cell is the phase that follows.\n",
            *drain_rows(),
            "",
            "## Capability\n",
            "What a routed runtime can answer, and the class it earns",
            "(`gascity/decide/capability.py`).\n",
            *class_rows(),
            "",
            "## Blockers\n",
            "Every blocker puts off idle sleep. Some put off a restart, too: for a changed config",
            '(R32), or of `idle_timeout` (R40; "counted": three windows in a row at most). See',
            "`gascity/decide/structural.py` and `docs/reference/blockers.md`.\n",
            *blocker_rows(),
            "",
        )
    )


def recovery_rows() -> Iterator[str]:
    """RECOVERY as a Markdown table."""
    heads = ("row", "runtime", "recorded", "intent", "hard wake", "structural", "path")
    yield from _table(heads, ((row.label, *map(_cell, _facts(row)), row.path) for row in RECOVERY))


def _facts(row: recovery.Row) -> Sequence[object]:
    return (row.truth, row.noted, row.intent, row.wake, row.structural)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) or "none"


def meanings() -> Iterator[str]:
    """What each label stands for, from the table's own charter."""
    for label, text in re.findall(r"^(@[A-Z])  (.+)$", recovery.__doc__ or "", re.MULTILINE):
        yield f"- **{label}** {text}"


def drain_rows() -> Iterator[str]:
    """DRAIN as a Markdown table."""
    yield from _table(
        ("phase", "effect", *Verdict),
        (
            (phase, step.effect, *(step.follow(verdict) for verdict in Verdict))
            for phase, step in DRAIN.items()
        ),
    )


def class_rows() -> Iterator[str]:
    """CLASS as a Markdown table."""
    yield from _table(
        ("activity clock", "idle boundary", "class"),
        ((_cell(clock), _cell(boundary), kind) for (clock, boundary), kind in CLASS.items()),
    )


def blocker_rows() -> Iterator[str]:
    """What each blocker word holds back, as a Markdown table."""
    yield from _table(
        ("blocker", "a restart for drift", "a restart of idle_timeout"),
        (
            (
                f"`{name}`",
                "waits" if name in DRIFT_WAITS_FOR else "",
                "waits"
                if name in IDLE_TIMEOUT_WAITS_FOR
                else "counted"
                if name == Cause.WORK
                else "",
            )
            for name in ENDS
        ),
    )


def _table(heads: Iterable[object], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    names = [str(head) for head in heads]
    yield f"| {' | '.join(names)} |"
    yield f"|{'---|' * len(names)}"
    for row in rows:
        yield f"| {' | '.join(map(str, row))} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.name}")
