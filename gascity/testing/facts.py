"""Who needs a session, read from the bare records: shares nothing with the rules under test.

Only what tests bring about is understood: work by assignee, waits and messages, requests
and pins by expiry, suspension, and dependents at every level.

Source: DESIGN §5 (R18, R19, R27); X2 of the reliability targets
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from gascity.beads.bead import MESSAGE, SESSION, TASK, WAIT, Bead


@dataclass(frozen=True, slots=True)
class Records:
    """A copy of every open record at one instant. `edges` is {template: what it depends on}."""

    beads: tuple[Bead, ...]
    now: datetime
    edges: Mapping[str, tuple[str, ...]]

    def session(self, name: str) -> Bead | None:
        """The open record of the session of that name."""
        return next((bead for bead in self.sessions() if name_of(bead) == name), None)

    def sessions(self) -> Iterator[Bead]:
        """Every open session record."""
        return (bead for bead in self.beads if bead.type == SESSION)

    def asked(self, bead: Bead) -> frozenset[str]:
        """What is asked of a session by its own record: operator, pin."""
        found = set()
        for key in ("attach_intent", "wake_request"):
            note = json.loads(bead.metadata.get(key) or "null")
            if note is not None and _time(note["expires_at"]) > self.now:
                found.add("operator")
        pins = json.loads(bead.metadata.get("pins") or "[]")
        if any(_time(pin["expires_at"]) > self.now for pin in pins):
            found.add("pin")
        return frozenset(found)

    def demanded(self, bead: Bead) -> frozenset[str]:
        """What is asked of a session by other records: work, wait."""
        found = set()
        for other in self.beads:
            if other.type == TASK and other.assignee in (name_of(bead), bead.id):
                found.add("work")
            if other.type == WAIT and other.metadata.get("session_id") == bead.id:
                due = other.metadata.get("due_at")
                if other.metadata.get("state") == "ready" or (due and _time(due) <= self.now):
                    found.add("wait")
            wakes = other.type == MESSAGE and other.metadata.get("mode") == "wake"
            if wakes and other.metadata.get("session_id") == bead.id:
                found.add("wait")
        return frozenset(found)

    def needs(self, name: str) -> frozenset[str]:
        """Every durable hard wake of a session: its own, and `dependency` for its dependents'."""
        bead = self.session(name)
        if bead is None or is_held(bead):
            return frozenset()
        found = set(self.asked(bead) | self.demanded(bead))
        if any(self.asked(one) or self.demanded(one) for one in self.dependents(bead)):
            found.add("dependency")
        return frozenset(found)

    def dependents(self, bead: Bead) -> list[Bead]:
        """Sessions that need this one's template, directly or not, and are not held."""
        wanted = below(bead.metadata.get("template", ""), self.edges)
        return [
            one
            for one in self.sessions()
            if one.metadata.get("template") in wanted and not is_held(one)
        ]


def below(template: str, edges: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """The templates that depend on this one, at every level."""
    found: set[str] = set()
    grown = True
    while grown:
        more = {name for name, on in edges.items() if template in on or found & set(on)} - found
        grown = bool(more)
        found |= more
    return frozenset(found - {template})


def name_of(bead: Bead) -> str:
    """The session's name."""
    return bead.metadata.get("session_name", "")


def is_held(bead: Bead) -> bool:
    """Whether an administrator or its own failures hold it, whatever the demand (R26)."""
    return bool(bead.metadata.get("suspended_at") or bead.metadata.get("quarantined_until"))


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
