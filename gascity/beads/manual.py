"""Writes `docs/reference/metadata.md` from the list of keys: `python -m gascity.beads.manual FILE`.

Source: DESIGN §11 (META-01..18)
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from gascity.beads.keys import (
    COURTESY_KEYS,
    KEYS,
    MESSAGE_KEYS,
    NOTE_KEYS,
    TASK_KEYS,
    WAIT_KEYS,
)

HEAD: Final = """\
# Metadata of records

Made from the list of keys by `python -m gascity.beads.manual docs/reference/metadata.md`.

Every key that is ever persisted is here. Metadata is flat text to text. A missing key and an empty
one mean the same, and writing an empty value clears a key. Times are RFC 3339 in UTC with
microseconds (`2026-01-02T03:04:05.000006Z`); other zones and precisions are read. Keys that are
not listed belong to other tools: they are kept and never acted on. So is a `state` that is not
listed; `active` is read as `awake`, and `drained` as `asleep` for the reason `drained`.

A value that cannot be read is left as it is and reported. Until somebody writes it anew, a
hold counts as holding, a number as 0, a request as not made and a note for people as empty.
"""
OWNERS: Final = {
    "roster": "written once, when the session gets its record",
    "controller": "written by the controller; decisions depend on it",
    "operator": "written by a command; decisions depend on it",
    "others": "written by other tools; decisions depend on it",
    "policy": "written by the controller for people; no decision reads it, except to see an edge",
}


def manual() -> str:
    """The whole page as Markdown."""
    words = [f"| `{owner}` | {meaning} |" for owner, meaning in OWNERS.items()]
    sessions = [
        f"| `{key.name}` | {key.format.name} | `{key.owner}` | {key.meaning} |" for key in KEYS
    ]
    parts = [
        HEAD,
        "## Sessions\n\nRecords of type `session`. Owners:\n",
        table(("owner", "means"), words),
        table(("key", "format", "owner", "meaning"), sessions),
        "Written at creation for other tools, never read:\n",
        table(("key", "meaning"), _pairs(COURTESY_KEYS)),
        "## Work\n\nRecords of type `task`.\n",
        table(("key", "meaning"), _pairs(TASK_KEYS)),
        "## Waits\n\nRecords of type `gate`, labelled `gc:wait` and `session:<id>`.\n",
        table(("key", "meaning"), _pairs(WAIT_KEYS)),
        "## Messages\n\nRecords of type `message`, labelled `gc:message` and `session:<id>`.\n",
        table(("key", "meaning"), _pairs(MESSAGE_KEYS)),
        "## The city\n\nNotes beside the records.\n",
        table(("key", "meaning"), _pairs(NOTE_KEYS)),
    ]
    return "\n".join(parts)


def table(head: Iterable[str], rows: Iterable[str]) -> str:
    """A Markdown table with its rows already drawn."""
    names = list(head)
    top = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    return "\n".join([*top, *rows]) + "\n"


def _pairs(keys: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, meaning in keys:
        yield f"| `{name}` | {meaning} |"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(manual(), encoding="utf-8")
