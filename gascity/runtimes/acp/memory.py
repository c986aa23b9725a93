"""What is kept of an agent's conversation between its runs: its id, and who ran it last.

The agent itself keeps the conversation; without this note nobody would know which one to load.

Source: DESIGN §8, §W (R10, R62)
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """`conversation` "" is none; `has_turns` False: there is nothing in it to come back to.

    `token` is that of the run that went on at the time of writing, "" after a clean end.
    """

    conversation: str = ""
    has_turns: bool = False
    token: str = ""


def read_note(file: Path) -> Note:
    """The note; an unreadable one is none."""
    try:
        said: Any = json.loads(file.read_bytes())
        return Note(
            conversation=str(said.get("conversation", "")),
            has_turns=said.get("has_turns") is True,
            token=str(said.get("token", "")),
        )
    except (OSError, ValueError, AttributeError, RecursionError):
        return Note()


def write_note(file: Path, note: Note) -> None:
    """Write it whole or not at all.

    Raises:
        OSError: the folder cannot be written.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.write_text(json.dumps(asdict(note)), encoding="utf-8")
    new.chmod(0o600)
    new.replace(file)
