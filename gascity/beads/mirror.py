"""`.gc/events.jsonl`: the event log as a file that other tools can follow.

A mirror, not the log: it is written after the commit, nothing waits for it, and no failure of it
reaches the store. Whatever it misses (a crash, a full disk) is refilled from the store at the next
chance; a torn last line is cut off first.

Source: DESIGN §11 (R74)
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from gascity.beads.times import time_text
from gascity.model.events import Event

_TAIL_BYTES: Final = 1024 * 1024  # readers of this format give up on longer lines


def event_object(event: Event) -> dict[str, Any]:
    """The event as the JSON object that `gc events` and the mirror both show."""
    return {
        "seq": event.seq,
        "type": str(event.type),
        "ts": time_text(event.ts),
        "actor": event.actor,
        "subject": event.subject,
        "message": event.message,
        "payload": dict(event.payload),
    }


def event_line(event: Event) -> str:
    """The event as one line of JSON, without the line end; valid UTF-8 that is safe to look at.

    Readers follow the file with `tail -f`: what moves a cursor or hides is written escaped (E11).
    """
    line = json.dumps(event_object(event), ensure_ascii=False, separators=(",", ":"))
    if line.isprintable():
        return line
    line = line.encode("utf-8", "replace").decode("utf-8")
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line)


class EventMirror:
    """Appends events to one file and rotates it: `events.jsonl.1` is the youngest old one.

    `failure` is the last reason why a write did not happen, "" while all is well.
    """

    def __init__(self, path: Path, *, max_bytes: int = 16 * 1024 * 1024, keep: int = 2) -> None:
        assert max_bytes > 0
        assert keep >= 1
        self.path = path
        self.failure = ""
        self._max_bytes = max_bytes
        self._keep = keep
        self._handle = -1
        self._last: int | None = None  # the last number in the file; None: not looked yet

    def follow(
        self, new: Sequence[Event], last: int, kept_after: Callable[[int], Iterable[Event]]
    ) -> None:
        """Bring the file up to event number `last`; `new` are the latest, if they are at hand.

        `kept_after(n)` gives stored events above n in order, some at a time. Never raises for the
        file's sake.
        """
        try:
            at = self._open() if self._last is None else self._last
            if at > last:  # the store is an older copy: its numbers would come twice
                self._rotate()
                self._open()
                self._last = at = 0
            if new and new[0].seq == at + 1:
                self._append(new)
                at = new[-1].seq
            while at < last:
                missed = list(kept_after(at))
                if not missed:
                    break
                self._append(missed)
                at = missed[-1].seq
            self.failure = ""
        except OSError as failure:
            self.failure = f"{self.path}: {failure.strerror or failure}"
            self._drop()

    def close(self) -> None:
        """Release the file."""
        self._drop()

    def _open(self) -> int:
        """Open or create the file and learn the last number in it, mending its end."""
        self._drop()
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        self._handle = os.open(self.path, flags, 0o600)
        if os.fstat(self._handle).st_mode & 0o177:
            os.fchmod(self._handle, 0o600)
        size = os.fstat(self._handle).st_size
        start = max(0, size - _TAIL_BYTES)
        tail = os.pread(self._handle, size - start, start)
        if tail and not tail.endswith(b"\n"):
            whole = tail.rfind(b"\n") + 1
            os.ftruncate(self._handle, start + whole)
            tail = tail[:whole]
        self._last = _last_number(tail or self._youngest_old_tail())
        return self._last

    def _append(self, events: Sequence[Event]) -> None:
        if os.fstat(self._handle).st_size >= self._max_bytes:
            last = self._last
            self._rotate()
            self._open()
            self._last = last
        data = "".join(event_line(event) + "\n" for event in events).encode()
        while data:
            data = data[os.write(self._handle, data) :]
        self._last = events[-1].seq

    def _rotate(self) -> None:
        self._drop()
        for number in range(self._keep, 0, -1):
            older = self._old(number)
            newer = self._old(number - 1) if number > 1 else self.path
            with suppress(FileNotFoundError):
                newer.replace(older)

    def _old(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")

    def _youngest_old_tail(self) -> bytes:
        """The end of the file that was rotated away: we may have died right after that."""
        try:
            with self._old(1).open("rb") as old:
                old.seek(max(0, self._old(1).stat().st_size - _TAIL_BYTES))
                return old.read()
        except FileNotFoundError:
            return b""

    def _drop(self) -> None:
        if self._handle >= 0:
            with suppress(OSError):
                os.close(self._handle)
        self._handle = -1
        self._last = None


def _last_number(tail: bytes) -> int:
    """The number in the last line that can be read; 0 when there is none."""
    for line in reversed(tail.splitlines()):
        try:
            return int(json.loads(line)["seq"])
        except (ValueError, KeyError, TypeError):
            continue
    return 0
