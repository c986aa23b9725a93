"""The volatile memory of this controller process, and its frozen form for a World.

Losing it at any instant costs nothing but a probe: everything that must survive is in the store.

Source: DESIGN §7, §10 (REC-15)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from gascity.model.session import Session, SleepReason, WakeNote
from gascity.model.signals import Heard
from gascity.model.world import Memory, OpenTurn, Probe, Walk
from gascity.observe.clock import Clock

ANNOUNCE_AGAIN_S: Final = 10.0
"""How long after a start of the controller its predecessor's turns may be announced again."""

TURNS_MOST: Final = 32
"""How many turns of one session may be announced at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What people want of a session while the store takes no writes: it wakes all the same (R75).

    `undrains`: an operator's wake, which brings back a drained one too.
    """

    attach_intent: WakeNote | None = None
    wake_request: WakeNote | None = None
    undrains: bool = False

    def on(self, session: Session) -> Session:
        """The record as it would be, had the request been written."""
        if self.attach_intent is not None:
            session = replace(session, attach_intent=self.attach_intent)
        if self.wake_request is not None:
            session = replace(session, wake_request=self.wake_request, sleep_request=None)
        if self.undrains and session.sleep_reason is SleepReason.DRAINED:
            session = replace(session, sleep_reason=SleepReason.NONE)
        return session

    def left(self, seen: Session, after: Session) -> Asked | None:
        """What a patrol that saw `seen` and made `after` of it left unanswered, or None."""
        attach, wake = self.attach_intent, self.wake_request
        if _is_over(attach, seen.attach_intent, after.attach_intent):
            attach = None
        if _is_over(wake, seen.wake_request, after.wake_request):
            wake = None
        if attach is None and wake is None:
            return None
        return replace(self, attach_intent=attach, wake_request=wake)


def _is_over(note: WakeNote | None, seen: WakeNote | None, after: WakeNote | None) -> bool:
    """Whether a patrol knew of the request and dropped it: answered, or lapsed."""
    if note is None:
        return True
    return seen is not None and seen.holder == note.holder and after is None


@dataclass(slots=True)
class Recollection:
    """Probes, walks under way, waiting starts: {session id: ...}."""

    probes: dict[str, Probe] = field(default_factory=dict)
    walks: dict[str, Walk] = field(default_factory=dict)
    waiting_since: dict[str, datetime] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()
    missing_since: float | None = None  # monotonic second of the first reading that missed somebody
    missing_in: int = 0  # which reading of the config that was
    readings: int = 0  # how often the config was read
    rereads: bool = False  # whether it is read again by itself: without that, time alone confirms
    resumed_at: datetime | None = None
    asked: dict[str, Asked] = field(default_factory=dict)  # requests that could not be written
    turns: dict[str, tuple[OpenTurn, ...]] = field(default_factory=dict)
    heard: dict[str, Heard] = field(default_factory=dict)
    turns_sure_at: float = 0.0  # monotonic second from which on no turn is announced again

    def with_asked(self, session: Session) -> Session:
        """The record with what could not be written on it."""
        asked = self.asked.get(session.id) if self.asked else None
        return asked.on(session) if asked is not None else session

    def open_turn(self, session_id: str, turn: OpenTurn) -> None:
        """A turn is announced."""
        self.turns[session_id] = (*self.turns.get(session_id, ()), turn)

    def close_turn(self, session_id: str, turn: OpenTurn) -> None:
        """The same turn is over."""
        left = tuple(one for one in self.turns.get(session_id, ()) if one is not turn)
        self.turns[session_id] = left
        if not left:
            del self.turns[session_id]

    def frozen(self, clock: Clock) -> Memory:
        """A copy that later changes do not reach, as of the time of `clock`."""
        unsure_s = self.turns_sure_at - clock.monotonic()
        return Memory(
            probes=dict(self.probes),
            walks=dict(self.walks),
            waiting_since=dict(self.waiting_since),
            missing=self.missing,
            resumed_at=self.resumed_at,
            turns=dict(self.turns),
            heard=dict(self.heard),
            turns_unsure_until=clock.now() + timedelta(seconds=unsure_s) if unsure_s > 0 else None,
        )

    def keep_only(self, sessions: Mapping[str, object]) -> None:
        """Forget what concerns sessions that are gone."""
        for table in (self.probes, self.waiting_since, self.asked, self.heard):
            for session_id in [known for known in table if known not in sessions]:
                del table[session_id]
