"""Which optional operations a script knows, learnt from its own answers and kept across restarts.

A script cannot be asked about sessions that sleep, so what it showed while one ran is written down:
else each restart of the controller would take sleepers for sessions of another class. Until an
operation was answered well once, the script does not know it; a changed script is learnt anew.

Source: DESIGN §8 (CAP-06, CAP-13, CAP-20)
"""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import Any, Final

AGAIN_S: Final = 60.0
OPTIONAL: Final = ("is-attached", "pending", "wait-for-idle")


class Lore:
    """What is known of one script; `file` keeps it."""

    def __init__(self, script: Path, file: Path) -> None:
        self._script = script
        self._file = file
        self._known: dict[str, bool] = {}
        self._edition = ""
        self._is_current = False
        self._again_at = 0.0
        with contextlib.suppress(OSError, ValueError, AttributeError, TypeError, RecursionError):
            said: Any = json.loads(file.read_bytes())
            self._edition = str(said.get("edition", ""))
            ops = said.get("ops")
            self._known = {op: ops.get(op) is True for op in OPTIONAL if op in ops}
            self._is_current = self._known.keys() >= set(OPTIONAL)

    def knows(self, op: str) -> bool:
        """Whether the script is known to answer it."""
        return self._known.get(op, False)

    def unlearnt(self) -> tuple[str, ...]:
        """The operations to try: those never tried, and all after the script changed."""
        edition = self._now()
        if edition != self._edition:
            self._edition = edition
            self._is_current = False
            self._again_at = 0.0
        done = self._is_current or time.monotonic() < self._again_at
        return () if done else OPTIONAL

    def learn(self, found: dict[str, bool]) -> None:
        """Keep what was found; what gave no answer is tried again, some time later."""
        self._known |= found
        self._is_current = found.keys() >= set(OPTIONAL)
        self._again_at = time.monotonic() + AGAIN_S
        text = json.dumps({"edition": self._edition, "ops": self._known})
        with contextlib.suppress(OSError):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            new = self._file.with_suffix(".new")
            new.write_text(text, encoding="utf-8")
            new.replace(self._file)

    def _now(self) -> str:
        try:
            found = self._script.stat()
        except (OSError, ValueError):
            return self._edition
        return f"{found.st_mtime_ns}:{found.st_size}"
