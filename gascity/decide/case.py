"""One session on its path: what the path may look at, and what it may answer.

Source: DESIGN §X stage 5
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from gascity.decide.judge import Judged
from gascity.decide.recovery import Row
from gascity.model.events import Event, EventType
from gascity.model.plan import Action, Blocker
from gascity.model.session import Session, SleepIntent, StopReason
from gascity.model.world import Sighting, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One session with everything its path may need."""

    session: Session
    seen: Sighting
    world: World
    row: Row
    structural: StopReason | None
    judged: Judged | None  # None only for a session the config no longer names


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The record after this tick, the action, the events, and what holds a wanted start back."""

    session: Session
    action: Action | None = None
    events: tuple[Event, ...] = ()
    held_back: str = ""
    blockers: tuple[Blocker, ...] = ()


def stopped_event(case: Case, session: Session, reason: str, **extra: Any) -> Event:
    """`session.stopped` for a record that went down without a stop of ours (EVT-04)."""
    payload: dict[str, Any] = {"reason": reason, **extra}
    if reason == "idle":
        payload |= {"suppressed": True, "fingerprint": session.fingerprint}
    return Event(
        type=EventType.STOPPED,
        ts=case.world.now,
        subject=session.name,
        message=f"asleep: {reason}" if reason == "idle" else reason,
        payload=payload,
    )


def drop_intent(case: Case, *blockers: str) -> tuple[Session, tuple[Event, ...]]:
    """Clear idle markers; an announced drain is reported as aborted (EVT-03, R54)."""
    session = case.session
    if session.sleep_intent is SleepIntent.NONE:
        return session, ()
    now = case.world.now
    cleared = replace(
        session,
        sleep_intent=SleepIntent.NONE,
        limited_until=None,
        latch_generation=0,
        diagnostics=replace(session.diagnostics, abort_blockers=blockers, blocked_at=now),
    )
    payload: dict[str, Any] = {
        "reason": blockers[0] if blockers else "",
        "blockers": list(blockers),
        "aborted": True,
    }
    if case.judged is not None:
        payload["capability"] = str(case.judged.capability.kind)
    event = Event(
        type=EventType.SLEEP_ABORTED,
        ts=now,
        subject=session.name,
        message=f"idle drain aborted: {', '.join(blockers)}",
        payload=payload,
    )
    return cleared, (event,)
