"""Who needs a session, read from the bare records: shares nothing with the rules under test.

Only what tests bring about is understood: work by assignee and route, blocked or put off, waits and
messages, requests and pins by expiry, suspension, and dependents at every level.

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
    """A copy of every open record at one instant. `edges` is {template: what it depends on}.

    `suspended` are the templates that the config suspends.
    """

    beads: tuple[Bead, ...]
    now: datetime
    edges: Mapping[str, tuple[str, ...]]
    suspended: frozenset[str] = frozenset()

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
            if other.type == TASK and self._is_for(other, bead) and self.can_be_done(other):
                found.add("work")
            if other.metadata.get("session_id") != bead.id or _is_begun(other):
                continue
            wakes = other.type == MESSAGE and other.metadata.get("mode") == "wake"
            if wakes or (other.type == WAIT and self._is_met(other)):
                found.add("wait")
        return frozenset(found)

    def can_be_done(self, task: Bead) -> bool:
        """Whether somebody could act on it now: neither blocked nor put off (R19)."""
        later = task.metadata.get("defer_until")
        held = any(other.id in task.blocked_by for other in self.beads)
        return not held and not (later and _time(later) > self.now)

    def routed_to(self, template: str) -> bool:
        """Whether there is work for whichever slot of a pool takes it."""
        return any(
            one.type == TASK
            and (one.assignee or one.metadata.get("gc.routed_to", "")) == template
            and self.can_be_done(one)
            for one in self.beads
        )

    def _is_for(self, task: Bead, session: Bead) -> bool:
        """Whether it names this one session; the name of a pool names no slot of it (R19)."""
        names = {name_of(session), session.id}
        if not session.metadata.get("pool_slot"):
            names.add(session.metadata.get("template", ""))
        return (task.assignee or task.metadata.get("gc.routed_to", "")) in names

    def _is_met(self, wait: Bead) -> bool:
        said = wait.metadata
        if said.get("state") == "ready":
            return True
        if said.get("kind") == "beads":
            live = {bead.id for bead in self.beads}
            return not any(one in live for one in said.get("dep_ids", "").split(","))
        due = said.get("due_at", "")
        return bool(due) and _time(due) <= self.now

    def needs(self, name: str) -> frozenset[str]:
        """Every durable hard wake of a session: its own, and `dependency` for its dependents'."""
        bead = self.session(name)
        if bead is None or self.is_held(bead):
            return frozenset()
        found = set(self.asked(bead) | self.demanded(bead))
        if self._bears(bead) and any(
            self.asked(one) or self.demanded(one) for one in self.dependents(bead)
        ):
            found.add("dependency")
        return frozenset(found)

    def is_held(self, bead: Bead) -> bool:
        """Whether the config, an administrator or its own failures hold it, whatever the demand."""
        until = bead.metadata.get("quarantined_until")
        own = bool(bead.metadata.get("suspended_at")) or bool(until and _time(until) > self.now)
        return own or bead.metadata.get("template") in self.suspended

    def _bears(self, bead: Bead) -> bool:
        """Whether it would be the one of its template that others stand on (R22).

        Of several slots only one is needed; while another one is up and stays, this one is free.
        """
        return not any(
            one.id != bead.id
            and one.metadata.get("template") == bead.metadata.get("template")
            and one.metadata.get("state") == "awake"
            and not one.metadata.get("sleep_intent")
            for one in self.sessions()
        )

    def dependents(self, bead: Bead) -> list[Bead]:
        """Sessions that need this one's template, directly or not, and are not held."""
        wanted = below(bead.metadata.get("template", ""), self.edges)
        return [
            one
            for one in self.sessions()
            if one.metadata.get("template") in wanted and not self.is_held(one)
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


def _is_begun(notice: Bead) -> bool:
    """Whether somebody began to tell it: told or unclear, but never told again (R43, R66)."""
    key = "state" if notice.type == MESSAGE else "delivery"
    return notice.metadata.get(key) == "delivering"


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
