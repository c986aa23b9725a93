"""The rules of a store, without a disk: what a batch does to records, counters and events.

Both stores keep a `Ledger`. `prepare` works out a `Change` and touches nothing; the store makes it
durable; only then `commit` takes it in. So a write that fails leaves the memory as it was.

Source: DESIGN §11 (R42, R43)
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, TypeAlias

from gascity.beads.bead import CLOSED, SESSION, Bead
from gascity.beads.store import (
    CREATED_SUBJECT,
    Applied,
    Batch,
    Conflict,
    NewBead,
    Query,
    Update,
)
from gascity.model.events import Event, EventType

# Finds any record, closed ones included, with its place in the order of creation.
Find: TypeAlias = Callable[[str], tuple[int, Bead] | None]

_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_EVENT_TYPES: Final = {kind.value: kind for kind in EventType}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a batch will do: records as they will be, events with their numbers, new counters."""

    written: Mapping[str, Bead]
    unchanged: Mapping[str, Bead]
    ordinals: Mapping[str, int]  # of every written record
    created: tuple[str, ...]
    events: tuple[Event, ...]
    ordinal: int
    seq: int
    demand: int

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs from what is kept already, so that nothing is written (R42)."""
        return not (self.written or self.events)

    @property
    def applied(self) -> Applied:
        """The answer to the caller."""
        beads = {**self.unchanged, **self.written}
        return Applied(beads=beads, created=self.created, events=self.events)


@dataclass(slots=True, kw_only=True)
class Ledger:
    """Every record that is not closed, in order of creation, and the counters that never go back.

    `lock` is held for moments only, never across a disk access, so that a reader on the event loop
    waits for no fsync.
    """

    open: dict[str, Bead] = field(default_factory=dict)
    ordinals: dict[str, int] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    ordinal: int = 0
    seq: int = 0
    demand: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, bead_id: str) -> Bead | None:
        """The record if it is not closed."""
        return self.open.get(bead_id)

    def query(self, query: Query) -> list[Bead]:
        """Matching records that are not closed, oldest first."""
        with self.lock:
            beads = list(self.open.values())
        return [bead for bead in beads if matches(bead, query)]

    def prepare(self, batch: Batch, *, now: datetime, find: Find) -> Change:
        """Work out a batch without applying it.

        Raises:
            Conflict: a version or the demand revision moved, or the id of a new record is taken.
            KeyError: an update names a record that does not exist.
        """
        if batch.expect_demand is not None and batch.expect_demand != self.demand:
            raise Conflict(f"demand is at revision {self.demand}, not {batch.expect_demand}")
        draft = _Draft(ledger=self, find=find, now=now, ordinal=self.ordinal)
        created = tuple(draft.create(new) for new in batch.creates)
        for update in batch.updates:
            draft.update(update)
        written = {key: bead for key, bead in draft.beads.items() if key in draft.changed}
        demanded = any(bead.type != SESSION for bead in written.values())
        return Change(
            written=written,
            unchanged={key: bead for key, bead in draft.beads.items() if key not in written},
            ordinals={key: draft.ordinals[key] for key in written},
            created=created,
            events=tuple(
                numbered(_about(event, created), self.seq + step)
                for step, event in enumerate(batch.events, 1)
            ),
            ordinal=draft.ordinal,
            seq=self.seq + len(batch.events),
            demand=self.demand + 1 if demanded else self.demand,
        )

    def commit(self, change: Change) -> None:
        """Take in a change that is durable by now."""
        with self.lock:
            reopened = False
            for bead_id, bead in change.written.items():
                if bead.status == CLOSED:
                    self.open.pop(bead_id, None)
                    self.ordinals.pop(bead_id, None)
                    continue
                reopened |= bead_id not in self.open and bead_id not in change.created
                self.open[bead_id] = bead
                self.ordinals[bead_id] = change.ordinals[bead_id]
            if reopened:
                order = sorted(self.open, key=self.ordinals.__getitem__)
                self.open = {bead_id: self.open[bead_id] for bead_id in order}
            self.ordinal, self.seq, self.demand = change.ordinal, change.seq, change.demand


@dataclass(slots=True, kw_only=True)
class _Draft:
    """The records of one batch while it is worked out."""

    ledger: Ledger
    find: Find
    now: datetime
    ordinal: int
    beads: dict[str, Bead] = field(default_factory=dict)
    ordinals: dict[str, int] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)

    def create(self, new: NewBead) -> str:
        self.ordinal += 1
        bead_id = new.id
        if bead_id and self._known(bead_id) is not None:
            raise Conflict(f"{bead_id} exists already")
        while not bead_id:
            bead_id = f"{new.prefix}-{base36(self.ordinal)}"
            if self._known(bead_id) is not None:  # somebody chose it by hand
                bead_id = ""
                self.ordinal += 1
        self.beads[bead_id] = _first(new, bead_id, self.now)
        self.ordinals[bead_id] = self.ordinal
        self.changed.add(bead_id)
        return bead_id

    def update(self, update: Update) -> None:
        old = self._known(update.id)
        if old is None:
            raise KeyError(update.id)
        if update.expect_version and update.expect_version != old.version:
            raise Conflict(f"{old.id} is at version {old.version}, not {update.expect_version}")
        new = _updated(old, update, self.now)
        self.beads[old.id] = new
        if new is not old:
            self.changed.add(old.id)

    def _known(self, bead_id: str) -> Bead | None:
        if bead_id in self.beads:
            return self.beads[bead_id]
        bead = self.ledger.open.get(bead_id)
        if bead is not None:
            self.ordinals[bead_id] = self.ledger.ordinals[bead_id]
            return bead
        found = self.find(bead_id)
        if found is None:
            return None
        self.ordinals[bead_id] = found[0]
        return found[1]


def _first(new: NewBead, bead_id: str, now: datetime) -> Bead:
    return Bead(
        id=plain(bead_id),
        type=new.type,
        status=new.status,
        title=plain(new.title),
        labels=new.labels,
        assignee=plain(new.assignee),
        priority=new.priority,
        blocked_by=new.blocked_by,
        metadata={key: value for key, value in new.metadata.items() if value},
        created_at=now,
        updated_at=now,
        closed_at=now if new.status == CLOSED else None,
    )


def _updated(old: Bead, update: Update, now: datetime) -> Bead:
    """The record after the update; `old` itself when nothing differs."""
    metadata = {**old.metadata, **update.metadata}
    status = old.status if update.status is None else update.status
    new = replace(
        old,
        status=status,
        title=old.title if update.title is None else plain(update.title),
        assignee=old.assignee if update.assignee is None else plain(update.assignee),
        priority=old.priority if update.priority is None else update.priority,
        labels=old.labels if update.labels is None else update.labels,
        blocked_by=old.blocked_by if update.blocked_by is None else update.blocked_by,
        metadata={key: value for key, value in metadata.items() if value},
        closed_at=(old.closed_at or now) if status == CLOSED else None,
    )
    if new == old:
        return old
    return replace(new, updated_at=now, version=old.version + 1)


def matches(bead: Bead, query: Query) -> bool:
    """Whether the record is wanted. Asking for the status `closed` includes closed ones."""
    if query.type and bead.type != query.type:
        return False
    if bead.status == CLOSED and not wants_closed(query):
        return False
    if query.statuses and bead.status not in query.statuses:
        return False
    if query.label and query.label not in bead.labels:
        return False
    if query.assignee and bead.assignee != query.assignee:
        return False
    return all(bead.metadata.get(key, "") == value for key, value in query.metadata.items())


def wants_closed(query: Query) -> bool:
    """Whether closed records must be looked at."""
    return query.include_closed or CLOSED in query.statuses


def numbered(event: Event, seq: int) -> Event:
    """The event as it is kept: numbered, its payload as JSON gives it back.

    Raises:
        TypeError, ValueError: the payload is not JSON-ready.
    """
    payload: dict[str, Any] = json.loads(json.dumps(dict(event.payload), allow_nan=False))
    return replace(
        event,
        seq=seq,
        type=event_type(event.type),
        subject=plain(event.subject),
        message=plain(event.message),
        actor=plain(event.actor),
        payload=payload,
    )


def _about(event: Event, created: tuple[str, ...]) -> Event:
    """The event with the id of the new record that it is about (`store.created`)."""
    if not event.subject.startswith(CREATED_SUBJECT):
        return event
    return replace(event, subject=created[int(event.subject.removeprefix(CREATED_SUBJECT))])


def event_type(word: str) -> EventType | str:
    """The type by its word; words of other tools stay text."""
    return _EVENT_TYPES.get(word, str(word))


def plain(text: str) -> str:
    """The text as UTF-8 can hold it: a stray half character, as screens produce, becomes `?`."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def base36(number: int) -> str:
    """A positive number in digits and small letters."""
    text = ""
    while number:
        number, digit = divmod(number, 36)
        text = _DIGITS[digit] + text
    return text or "0"
