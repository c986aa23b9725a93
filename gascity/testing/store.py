"""A store whose every call is a cut, named by what it writes; several controllers, one memory.

Source: DESIGN §11, §H (HARN-01, HARN-03, HARN-04)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from gascity.beads.bead import SESSION, TASK, WAIT, Bead
from gascity.beads.memory import MemoryStore
from gascity.beads.store import (
    Applied,
    Batch,
    Conflict,
    EventQuery,
    Query,
    StoreBroken,
    StoreUnavailable,
    Update,
)
from gascity.model.events import Event
from gascity.testing.script import AFTER, BEFORE, Script

Witness = Callable[[Batch, Applied, "dict[str, Bead]"], None]


@dataclass(slots=True)
class ScriptedStore:
    """A controller's handle on the records in `memory`.

    `demand_unclear` non-empty: work and waits cannot be read. `refuse` names saves that fail, as
    `name_of` names them: {name: error}, each once. `witness` sees every write: the batch, what it
    became, and the records as they were before. After a `StoreBroken` every call fails with it, as
    on the real one: `broken` is what it said.
    """

    memory: MemoryStore
    script: Script
    demand_unclear: str = ""
    refuse: dict[str, Exception] = field(default_factory=dict)
    witness: Witness | None = None
    broken: str = ""

    def _check(self) -> None:
        if self.broken:
            raise StoreBroken(self.broken)

    async def get(self, bead_id: str) -> Bead | None:
        """One record."""
        bead = await self.memory.get(bead_id)
        subject = _subject(bead)
        await self.script.reach(BEFORE, "get", subject)
        self._check()
        bead = await self.memory.get(bead_id)
        await self.script.reach(AFTER, "get", subject)
        return bead

    async def query(self, query: Query) -> Sequence[Bead]:
        """Matching records; the cut is named `query session`, `query task` or `query wait`."""
        name = f"query {query.type}".rstrip()
        await self.script.reach(BEFORE, name)
        self._check()
        if self.demand_unclear and query.type in (TASK, WAIT):
            await self.script.reach(AFTER, name, note=self.demand_unclear, failed=True)
            raise StoreUnavailable(self.demand_unclear)
        found = await self.memory.query(query)
        await self.script.reach(AFTER, name)
        return found

    async def apply(self, batch: Batch, *, now: datetime) -> Applied:
        """Write the batch; each record in it is a cut of its own name."""
        names = await self._names(batch)
        for name, subject in names:
            await self.script.reach(BEFORE, name, subject)
        before = {}
        for update in batch.updates:
            bead = await self.memory.get(update.id)
            if bead is not None:
                before[update.id] = bead
        try:
            refusal = next(
                (self.refuse.pop(name) for name, _ in names if name in self.refuse), None
            )
            self._check()
            if refusal is not None:
                raise refusal
            applied = await self.memory.apply(batch, now=now)
        except Exception as problem:
            self._note(problem)
            why = f"conflict: {problem}" if isinstance(problem, Conflict) else str(problem)
            for name, subject in names:
                await self.script.reach(AFTER, name, subject, note=why, failed=True)
            raise
        if self.witness is not None:
            self.witness(batch, applied, before)
        for name, subject in names:
            await self.script.reach(AFTER, name, subject)
        return applied

    async def events(self, query: EventQuery) -> Sequence[Event]:
        """Stored events."""
        return await self.memory.events(query)

    async def oldest_seq(self) -> int:
        """The number of the oldest kept event."""
        return await self.memory.oldest_seq()

    async def last_seq(self) -> int:
        """The number of the newest event."""
        return await self.memory.last_seq()

    @property
    def demand_revision(self) -> int:
        """A number that changes with every write to a task or wait."""
        return self.memory.demand_revision

    async def get_note(self, key: str) -> str:
        """One fact about the city."""
        return await self.memory.get_note(key)

    async def set_note(self, key: str, value: str) -> None:
        """Keep one fact about the city; the cut is `save note`."""
        await self.script.reach(BEFORE, "save note", key)
        self._check()
        try:
            await self.memory.set_note(key, value)
        except StoreBroken as problem:
            self._note(problem)
            raise
        await self.script.reach(AFTER, "save note", key)

    async def prune_events(self, *, before: datetime, max_bytes: int) -> int:
        """Forget the oldest events."""
        return await self.memory.prune_events(before=before, max_bytes=max_bytes)

    async def close(self) -> None:
        """The records stay; the next handle is opened over them."""

    def _note(self, problem: Exception) -> None:
        if isinstance(problem, StoreBroken):
            self.broken = str(problem)

    async def _names(self, batch: Batch) -> list[tuple[str, str]]:
        """[(name of the cut, session name)] of everything in the batch."""
        found = [
            ("create" if new.type == SESSION else f"create {new.type}", new.title)
            for new in batch.creates
        ]
        for update in batch.updates:
            if update == Update(id=update.id, expect_version=update.expect_version):
                continue  # it only insists that nobody wrote
            bead = await self.memory.get(update.id)
            kind = bead.type if bead is not None else SESSION
            found.append((name_of(update, kind), _subject(bead)))
        return found or [("save events", "")]


def name_of(update: Update, kind: str = SESSION) -> str:
    """What a log would call this write: the lifecycle word it sets, else what it is about."""
    if kind != SESSION:
        return f"save {kind}"
    if update.status == "closed":
        return "save removed"
    said = update.metadata
    intent = said.get("sleep_intent")
    if intent:
        return f"save {intent}"
    if said.get("state"):
        return f"save {said['state']}"
    if intent == "":
        return "clear intent"
    if "stop_note" in said:
        return "save stop note"
    return "save ready" if said.get("ready_at") else "save record"


def _subject(bead: Bead | None) -> str:
    return bead.metadata.get("session_name", "") if bead is not None else ""
