"""The controller's place while it is empty: requests answered from the store alone.

Requests see the same interface as in the controller, so that a pin means the same with and without
one. What needs a patrol or a runtime ends as "no controller is running".

Source: DESIGN §11, §12 (R71)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

from gascity.beads.bead import SESSION
from gascity.beads.record import session_of, to_update
from gascity.beads.sqlite import SqliteBeads, SqliteStore
from gascity.beads.store import Applied, Batch, Query
from gascity.cli.failure import NoController
from gascity.config.load import load_city
from gascity.model.city import City
from gascity.model.events import Event
from gascity.model.plan import Plan
from gascity.model.session import Session
from gascity.model.signals import Signal
from gascity.model.world import OpenTurn, World
from gascity.runtimes.base import Runtime

Change = Callable[[Session, datetime], tuple[Session, tuple[Event, ...]]]


class WallClock:
    """The time facts are written at; there is nothing here to wait for."""

    def now(self) -> datetime:
        """Aware UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> NoReturn:
        """Only a controller waits."""
        raise NoController

    async def sleep_until(self, monotonic_s: float, /) -> None:
        """Only a controller waits."""
        raise NoController


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """What the store says; nobody looked at anything and nothing was decided."""

    city: City
    sessions: Mapping[str, Session]
    started_at: datetime
    plan: Plan | None = None
    world: World | None = None
    patrols: int = 0
    last_patrol_at: datetime | None = None
    problems: tuple[str, ...] = field(default=())


class EmptyDesk:
    """A desk nobody sits at: records can be read and changed, nobody acts on them yet."""

    def __init__(self, beads: SqliteBeads, city: str) -> None:
        self._beads = beads
        self._started_at = datetime.now(UTC)
        self._city = city_of(city)
        self.store = SqliteStore(beads)
        self.clock = WallClock()
        self.progress = 0

    def snapshot(self) -> Records:
        """The records as they are now."""
        sessions = [session_of(bead) for bead in self._beads.query(Query(type=SESSION))]
        return Records(
            city=self._city,
            sessions={one.id: one for one in sessions},
            started_at=self._started_at,
        )

    async def change(self, session_id: str, fn: Change, /) -> Session:
        """Write what `fn` makes of the session with its events; the record as it is then."""
        bead = self._beads.get(session_id)
        assert bead is not None, "it was just read under the lock"
        now = self.clock.now()
        old = session_of(bead)
        new, events = fn(old, now)
        update = to_update(old, new, bead.metadata)
        applied = self._beads.apply(
            Batch(updates=(update,) if update.metadata else (), events=events), now=now
        )
        written = applied.beads.get(session_id)
        return session_of(written) if written is not None else new

    async def ask(self, session_id: str, fn: Change, /) -> tuple[Session, bool]:
        """Only a controller wakes sessions."""
        raise NoController

    def forget(self, session_id: str, /, *, holder: str) -> bool:
        """Nothing is kept in memory here."""
        return False

    def in_turn(self, session_id: str, turn: OpenTurn, /) -> NoReturn:
        """Only a controller puts sessions to sleep."""
        raise NoController

    def hear(self, session_id: str, said: Signal, /) -> NoReturn:
        """Only a controller listens."""
        raise NoController

    async def apply(self, batch: Batch, /) -> Applied:
        """Write a batch."""
        return self._beads.apply(batch, now=self.clock.now())

    def poke(self) -> None:
        """Nobody to wake: the next controller reads the records."""

    def reload(self) -> None:
        """Nobody to tell: the next controller reads the configuration."""

    def stop(self, *, sessions: bool) -> None:
        """Nothing runs that could be stopped."""

    def runtime_of(self, session: Session) -> Runtime:
        """Only a controller asks runtimes."""
        raise NoController

    async def wait_patrol(self) -> Records:
        """Only a controller patrols."""
        raise NoController

    async def wait_progress(self, seen: int, /) -> int:
        """Only a controller gets anywhere."""
        raise NoController

    async def kill(self, session_id: str, *, by: str) -> None:
        """Only a controller stops sessions."""
        raise NoController


def city_of(city: str) -> City:
    """The composed city; one that does not load still has its name, and no agents."""
    loaded = load_city(Path(city)).city
    return loaded if loaded is not None else City(name=Path(city).name or "city", path=city)
