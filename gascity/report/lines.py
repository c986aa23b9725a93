"""One line a session: the text of `gc status`, made from the entries of its JSON.

Hot commands load this module; it needs no model and no framework.

Source: DESIGN §11 (STAT-03..10); surface "`gc status`"
"""

from __future__ import annotations

from gascity.report.table import BLUE, GREEN, GREY, RED, YELLOW, columns, painted, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

WIDTHS = (8, 7)  # of name and state; two spaces follow (STAT-09)
QUIET_BLOCKERS = ("keep_warm",)  # left to --json and `gc why`
COLOURS = {
    "awake": GREEN,
    "starting": YELLOW,
    "draining": YELLOW,
    "asleep": BLUE,
    "suspended": GREY,
    "stopped": GREY,
    "quarantined": RED,
}


def lines(objects: Iterable[Mapping[str, Any]], *, colour: bool = False) -> list[str]:
    """One line for each entry of `sessions`, columns aligned (STAT-05..09).

    Whatever the entries hold, each renders on exactly one line. `colour` paints the state.
    """
    entries = list(objects)
    plain = columns(
        [[str(e.get("name", "")), str(e.get("state", "")), details(e)] for e in entries],
        least=WIDTHS,
    )
    if not colour:
        return plain
    start = max([WIDTHS[0], *(len(safe(e.get("name", ""))) for e in entries)]) + 2
    painted_lines = []
    for entry, line in zip(entries, plain, strict=True):
        state = safe(entry.get("state", ""))
        end = start + len(state)
        paint = painted(state, COLOURS.get(state, ""))
        painted_lines.append(line[:start] + paint + line[end:])
    return painted_lines


def details(entry: Mapping[str, Any]) -> str:
    """The third column: `reason=` of a sleeper, then `sleep=<window>(<words>)`."""
    policy = entry.get("policy") or {}
    words = " ".join(f"{key}={value}" for key, value in _words(entry) if value)
    effective = policy.get("effective") or "unknown"
    reason = entry.get("sleep_reason") if entry.get("state") == "asleep" else ""
    lead = f"reason={reason} " if reason else ""
    return f"{lead}sleep={effective}({words})"


def _words(entry: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The words in the brackets, in the fixed order; empty ones say nothing."""
    policy = entry.get("policy") or {}
    capability = entry.get("capability") or {}
    effective = policy.get("effective") or ""
    sleeps_when_idle = entry.get("state") == "awake" and effective not in {"", "off"}
    adjustments = [policy.get("adjustment") or "", capability.get("adjustment") or ""]
    blockers = [str(one) for one in entry.get("blockers") or () if one not in QUIET_BLOCKERS]
    return [
        ("masked_by", entry.get("masked_by") or ""),
        ("source", policy.get("source") or "unknown"),
        ("capability", (capability.get("class") or "") if sleeps_when_idle else ""),
        ("adjustment", ",".join(dict.fromkeys(one for one in adjustments if one))),
        ("suppressed", "yes" if entry.get("config_wake_suppressed") else ""),
        ("blockers", ",".join(blockers)),
    ]
