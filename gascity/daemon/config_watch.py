"""The config on disk: read again when it changed, kept as it was when the new one is bad.

Source: DESIGN §1 (R6, R6a, R21; F48)
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import anyio.to_thread

from gascity.config.apart import load_apart
from gascity.config.files import MOST_BYTES
from gascity.config.problems import LoadResult
from gascity.config.reload import compare
from gascity.model.city import City
from gascity.model.events import Event, EventType


@dataclass(frozen=True, slots=True, kw_only=True)
class Reloaded:
    """One reading of a changed config: the new city or None, and the event that reports it."""

    city: City | None
    event: Event
    problem: str = ""


@dataclass(slots=True)
class ConfigWatch:
    """Watches the files a city was read from, every `look_s` seconds."""

    folder: Path
    files: tuple[Path, ...] = ()
    problem: str = ""
    loaded_at: datetime | None = None
    look_s: float = 1.0
    _seen: dict[Path, bytes] = field(default_factory=dict, init=False)

    def remember(self, result: LoadResult) -> None:
        """Take the files of a successful reading as the ones to watch."""
        self.files = _files(result, self.folder)
        self._seen = _digests(self.files)

    def has_changed(self) -> bool:
        """Whether any file differs from what was read last; reads each of them."""
        return _digests(self.files) != self._seen

    async def read(self, current: City, *, now: datetime) -> Reloaded | None:
        """Read the config again; None when it means what it meant, or fails as it failed.

        A rename of the workspace is refused: it needs a restart (R6).
        """
        before = await anyio.to_thread.run_sync(_digests, self.files)
        result = await anyio.to_thread.run_sync(load_apart, self.folder)
        self.files = _files(result, self.folder)
        # What changed while it was read differs from `before` and is read again.
        self._seen = {**await anyio.to_thread.run_sync(_digests, self.files), **before}
        self._seen = {file: self._seen[file] for file in self.files}
        city = result.city
        if city is None:
            return self._rejected(map(str, result.errors), now)
        refused = compare(current, city).refused
        if refused:
            return self._rejected([refused], now)
        self.problem = ""
        self.loaded_at = now
        if _meaning(city) == _meaning(current):
            return None
        return Reloaded(city=city, event=_reloaded(current, city, now))

    def _rejected(self, problems: Iterable[str], now: datetime) -> Reloaded | None:
        """The last good config stays; each bad state is reported once."""
        text = "; ".join(problems)
        if text == self.problem:
            return None
        self.problem = text
        event = Event(
            type=EventType.CONFIG_REJECTED,
            ts=now,
            message=f"config rejected, the last good one stays: {text}"[:2000],
            payload={"problems": text},
        )
        return Reloaded(city=None, event=event, problem=text)


def _meaning(city: City) -> City:
    """The city without where things were written: a moved line changes nothing."""
    return replace(city, revision="", origins={})


def _reloaded(old: City, new: City, now: datetime) -> Event:
    """What the reload changes; sleepers whose policy changes are re-armed by it (R6, R80)."""
    change = compare(old, new)
    return Event(
        type=EventType.CONFIG_RELOADED,
        ts=now,
        message=f"config reloaded: {len(change.changed)} sessions change class or policy",
        payload={
            "added": list(change.added),
            "removed": list(change.removed),
            "unseen": list(change.unseen),
            "changed": [str(one) for one in change.changed],
            "revision": new.revision,
        },
    )


def _files(result: LoadResult, folder: Path) -> tuple[Path, ...]:
    """Every file that took part, the city's own first."""
    return tuple(folder / name for name in result.files) or (folder / "city.toml",)


def _digests(files: Iterable[Path]) -> dict[Path, bytes]:
    """A hash of each file's content, a folder's being its names; what is missing has one too."""
    found = {}
    for file in files:
        try:
            found[file] = hashlib.sha256(_content(file)).digest()
        except (OSError, ValueError) as problem:
            found[file] = type(problem).__name__.encode()
    return found


def _content(file: Path) -> bytes:
    """What is in a file or folder, without waiting at a pipe and not past what a config may have.

    Raises:
        OSError: missing, or not ours to read.
    """
    handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        kind = os.fstat(handle).st_mode
        if stat.S_ISDIR(kind):
            return os.fsencode("\0".join(sorted(os.listdir(handle))))  # noqa: PTH208 - by handle
        if not stat.S_ISREG(kind):
            return b""
        with os.fdopen(handle, "rb", closefd=False) as stream:
            return stream.read(MOST_BYTES + 1)
    finally:
        os.close(handle)
