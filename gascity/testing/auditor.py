"""Promises about what is written: judged at every write of a simulated city, from bare records.

Each change of state is told once and by the right name, a record is closed only for a reason that
two readings of the config agree on, what other tools wrote stays, and a broken store is let go.

Source: DESIGN §11, §12, §13 (R21, R43, R75, ATT-18; D2, D3, S8, S11, X3 of the targets)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from gascity.beads.bead import CLOSED, SESSION, Bead
from gascity.beads.store import Applied, Batch
from gascity.model.city import WakeMode
from gascity.testing.facts import name_of
from gascity.testing.script import BEFORE, Moment

if TYPE_CHECKING:
    from gascity.testing.simulated_city import SimulatedCity

FOREIGN: Final = "other_tool"
UNASKED: Final = "bob, who was not asked"
AMBIGUOUS: Final = "session.sleep_recovery_ambiguous"
LETS_GO_S: Final = 10.0
TOLD_BY: Final[Mapping[str, frozenset[str]]] = {
    # What a record may become, and the events of which one tells it.
    "awake": frozenset({"session.woke"}),
    "asleep": frozenset({"session.stopped", "session.crashed", "session.sleep_recovery_ambiguous"}),
    "suspended": frozenset({"session.stopped"}),
    "quarantined": frozenset({"session.quarantined"}),
}


@dataclass(slots=True)
class Auditor:
    """Calls `fault(promise, name, why)` for each promise that a write or a call breaks."""

    city: SimulatedCity
    fault: Callable[[str, str, str], None]
    broken_at: float | None = None  # monotonic second at which the present store broke
    counts: dict[str, int] = field(default_factory=dict)  # {event type: how often}

    def new_life(self) -> None:
        """A fresh controller over a store that was opened again."""
        self.broken_at = None

    def saw(self, moment: Moment) -> None:
        """D3: after an fsync error the process ends; it does not go on asking that store."""
        if not self.city.store.broken:
            return
        if self.broken_at is None:
            self.broken_at = moment.at
        asks = moment.call.startswith(("query ", "save ", "create", "clear ", "get"))
        if moment.when == BEFORE and asks and moment.at - self.broken_at > LETS_GO_S:
            self.fault("D3", "the store", f"{moment.call} long after it broke")

    def wrote(self, batch: Batch, applied: Applied, before: Mapping[str, Bead]) -> None:
        """One write that is durable now."""
        told: dict[str, list[str]] = {}
        for event in batch.events:
            kind = str(event.type)
            self.counts[kind] = self.counts.get(kind, 0) + 1
            told.setdefault(event.subject, []).append(kind)
        for bead_id, new in applied.beads.items():
            old = before.get(bead_id)
            if old is None:
                continue
            if old.metadata.get(FOREIGN) and not new.metadata.get(FOREIGN):
                self.fault("D2", bead_id, "what another tool wrote on it is gone")
            if new.type == SESSION and new.version != old.version:
                self._judge_change(old, new, told.get(name_of(new), []))

    def _judge_change(self, old: Bead, new: Bead, told: list[str]) -> None:
        name, was, now = name_of(new), old.metadata, new.metadata
        if new.status == CLOSED and old.status != CLOSED:
            self._judge_removal(name, now.get("template", ""), told)
            return
        state = now.get("state", "")
        if state != was.get("state"):
            self._judge_telling(name, was.get("state", ""), state, told)
        self._judge_intent(name, was, now)

    def _judge_telling(self, name: str, was: str, state: str, told: list[str]) -> None:
        """X3: one event for one transition."""
        by = TOLD_BY.get(state)
        if by is None or (was, state) in QUIET:
            return
        # A crash, or a stop that nobody saw, is counted by an event of its own.
        found = [kind for kind in told if kind in by]
        others = [kind for kind in found if kind != "session.crashed"]
        if not found or len(others) > 1 or found.count("session.crashed") > 1:
            self.fault("X3", name, f"{was} became {state}, told by {found}")

    def _judge_removal(self, name: str, template: str, told: list[str]) -> None:
        """S8, X3: closed on a whole view, told once; who is not named was missed twice (R21)."""
        if told.count("session.removed") != 1:
            self.fault("X3", name, f"removed, told by {told}")
        failed = self.city.inspector.failed_reads
        if failed:
            self.fault("S8", name, f"removed although {sorted(failed)} had no answer")
        city = self.city.ports.city
        if template in city.agents:
            return
        if city.incomplete:
            self.fault("S8", name, "removed although the config was seen in part")
        missed = [template not in names for names in self.city.edits.readings]
        if not any(one and other for one, other in pairwise(missed)):
            self.fault("S8", name, "removed although only one reading missed it")

    def _judge_intent(self, name: str, was: Mapping[str, str], now: Mapping[str, str]) -> None:
        """S11: an attach that would begin a fresh conversation is written by who agreed only."""
        intent = now.get("attach_intent", "")
        if not intent or intent == was.get("attach_intent") or UNASKED not in intent:
            return
        agent = self.city.ports.city.agents.get(now.get("template", ""))
        sleeps = was.get("state") == "asleep" and bool(was.get("instance_token"))
        if agent is not None and agent.wake_mode is WakeMode.FRESH and sleeps:
            self.fault("S11", name, "a fresh attach that nobody confirmed is waking it")


# A suspension or quarantine that is over, and a record that only learns why it is down.
QUIET: Final = frozenset({("suspended", "asleep"), ("quarantined", "asleep")})
