"""What the shell may touch: the store, the runtimes by route, the clock, and a way to look again.

Source: DESIGN §X, §8 (CAP-08, R6c)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from gascity.beads.bead import CLOSED, SESSION
from gascity.beads.record import session_of
from gascity.beads.store import Applied, Store
from gascity.model.city import City
from gascity.model.plan import Plan
from gascity.model.session import Session
from gascity.model.world import World
from gascity.observe.clock import Clock
from gascity.observe.demand import Answers
from gascity.observe.recollection import Recollection
from gascity.runtimes.base import Runtime, WaitsForIdle


@dataclass(slots=True, kw_only=True)
class Ports:
    """The controller's hands. `city` is the last good config; it changes at a reload.

    `foreign_demand` says why work is kept elsewhere (R61), or "". `writable` turns False when the
    store refused a write, and True again with the next one that succeeds (R75). `records` is what
    is on disk, for readers that must not wait. `notes` hands
    over facts about hosts to be stored. `answers` is what commands of the config said.
    `find_foreign` looks again why work is kept elsewhere. `record` takes what a tick saw and
    decided, or the fault it ended with, and never waits; it is asked where `record_ticks` is set.
    `active_at` is what a session's own probe said of its last activity.
    `why_absent` says what to do about a runtime that is not here, "" when there is nothing.
    """

    store: Store
    clock: Clock
    runtimes: Mapping[str, Runtime]
    city: City
    memory: Recollection = field(default_factory=Recollection)
    foreign_demand: str = ""
    writable: bool = True
    poke: Callable[[], None] = lambda: None
    records: dict[str, Session] = field(default_factory=dict)
    notes: Callable[[], Mapping[str, str]] = dict
    answers: Answers | None = None
    find_foreign: Callable[[City], str] | None = None
    record: Callable[[World, Plan | Exception], None] = lambda _world, _outcome: None
    active_at: Callable[[Session], datetime | None] = lambda _session: None
    why_absent: Callable[[str], str] = lambda _kind: ""

    def written(self, applied: Applied) -> None:
        """Keep `records` ({session id: current record}) equal to what was just written.

        Of two writes the one that ended first may be told last: the newer record stays.
        """
        for bead in applied.beads.values():
            if bead.type != SESSION:
                continue
            known = self.records.get(bead.id)
            if bead.status == CLOSED:
                self.forget(bead.id)
            elif known is None or known.version <= bead.version:
                self.records[bead.id] = session_of(bead)

    def shown(self) -> dict[str, Session]:
        """The records with what people asked for and could not be written (R75)."""
        return {key: self.memory.with_asked(one) for key, one in self.records.items()}

    def forget(self, session_id: str) -> None:
        """The session is gone."""
        self.records.pop(session_id, None)

    def runtime(self, kind: str) -> Runtime | None:
        """The runtime behind a route; None when there is none of that kind here."""
        return self.runtimes.get(kind)

    def missing(self, kind: str) -> str:
        """Why there is no runtime of that kind, for people."""
        return f"there is no runtime {kind!r} here{self.why_absent(kind)}"

    def prober(self, kind: str) -> WaitsForIdle | None:
        """The same, when it can confirm an idle boundary."""
        found: object = self.runtimes.get(kind)
        return found if isinstance(found, WaitsForIdle) else None
