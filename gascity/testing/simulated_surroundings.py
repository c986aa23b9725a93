"""What a simulated controller meets instead of commands, files and chance.

Source: DESIGN §1, §H (HARN-01)
"""

from __future__ import annotations

import contextlib
import random
import secrets
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import anyio
from anyio.abc import TaskGroup

from gascity.daemon.config_watch import Reloaded
from gascity.model.city import City
from gascity.model.events import Event, EventType
from gascity.model.reading import Reading, Unclear

UNREAD: Final = Unclear("no answer within 10s")


@dataclass(slots=True)
class Said:
    """What the pool checks said last: {pool: reading}; one that was never given has failed."""

    counts: dict[str, Reading[int]] = field(default_factory=dict)

    def ask(self, city: City, group: TaskGroup, sessions: object = None) -> None:
        """The answers are there already."""

    def desired(self, identity: str) -> Reading[int]:
        """The count a pool's check printed."""
        return self.counts.get(identity, UNREAD)

    def has_work(self, identity: str) -> Reading[bool]:
        """No work query is used here."""
        return UNREAD


@dataclass(slots=True)
class EditedConfig:
    """The config as somebody edits it: the `ConfigWatch` of a city without files.

    `written` None is a file that cannot be read. `readings` are the agents that the last complete
    readings named.
    """

    written: City | None
    problem: str = ""
    look_s: float = 3600.0  # nothing is ever found by looking
    readings: list[frozenset[str]] = field(default_factory=list)

    def begin(self) -> None:
        """A controller starts with what is written."""
        self.readings.clear()
        self._note()

    def _note(self) -> None:
        if self.written is not None and not self.written.incomplete:
            self.readings.append(frozenset(self.written.agents))
            del self.readings[:-5]

    def has_changed(self) -> bool:
        """An edit is announced by a reload."""
        return False

    async def read(self, current: City, *, now: datetime) -> Reloaded | None:
        """What a reading of the real files would give."""
        await anyio.lowlevel.checkpoint()
        if self.written is None:
            if self.problem:
                return None
            self.problem = "half a file"
            event = Event(type=EventType.CONFIG_REJECTED, ts=now, message=self.problem)
            return Reloaded(city=None, event=event, problem=self.problem)
        self.problem = ""
        self._note()
        if self.written == current:
            return None
        event = Event(type=EventType.CONFIG_RELOADED, ts=now, message="reloaded")
        return Reloaded(city=self.written, event=event)


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Tokens and keys come from the seed, so that a life can be lived again."""
    chance = random.Random(f"tokens of {seed}")
    kept = secrets.token_bytes, uuid.uuid4

    def token_bytes(nbytes: int | None = None) -> bytes:
        return chance.randbytes(32 if nbytes is None else nbytes)

    def uuid4() -> uuid.UUID:
        return uuid.UUID(bytes=chance.randbytes(16), version=4)

    secrets.token_bytes, uuid.uuid4 = token_bytes, uuid4
    try:
        yield
    finally:
        secrets.token_bytes, uuid.uuid4 = kept
