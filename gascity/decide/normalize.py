"""Stage 1: clear stale idle-sleep markers, keep the clocks of people and turns, spread doubt.

Owns idle-prefixed markers and expired intents, nothing else (NORM-12, NORM-13).

Source: DESIGN §4, §6 (NORM-07..13, IDLE-03..12, R14, R30, R48, R51)
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final

from gascity.decide.doubt import spread_doubt
from gascity.model.reading import Known
from gascity.model.session import Pin, Session, SleepIntent, SleepReason, State
from gascity.model.world import Memory, Sighting, Truth, World

_BLANK: Final = Memory()


def normalize(world: World) -> World:
    """The same world with every session's own markers cleaned; unchanged records stay identical.

    What cannot be read of a dependent is in doubt upstream as well (R9).
    """
    sessions = {
        session_id: session
        if session.foreign_state or session_id in world.memory.walks
        else normalize_session(session, world.sighting(session_id), world.memory, now=world.now)
        for session_id, session in world.sessions.items()
    }
    return spread_doubt(replace(world, sessions=sessions))


def normalize_session(
    session: Session, seen: Sighting, memory: Memory = _BLANK, *, now: datetime
) -> Session:
    """One session after the normalisation pass."""
    cleaned = _clear_intent(session, seen)
    cleaned = _clear_latch(cleaned)
    cleaned = _expire(cleaned, memory, now)
    cleaned = _keep_turn(cleaned, memory, now)
    return _keep_detach_clock(cleaned, seen, now)


def _clear_intent(session: Session, seen: Sighting) -> Session:
    """Drop an idle intent that its drain has outlived (NORM-08, NORM-09)."""
    if session.sleep_intent is SleepIntent.NONE:
        return session
    if session.is_cold and seen.truth is not Truth.UNKNOWN:
        return replace(session, sleep_intent=SleepIntent.NONE)
    # Only a running runtime makes a confirmed stop stale: stopped, it is the crash window between
    # confirm and commit, which recovery must still finish (R30).
    confirmed = session.sleep_intent is SleepIntent.CONFIRMED
    if confirmed and session.state is not State.ASLEEP and seen.truth is Truth.RUNNING:
        return replace(session, sleep_intent=SleepIntent.NONE)
    return session


def _clear_latch(session: Session) -> Session:
    """Suppression helpers serve idle sleep only (NORM-11)."""
    asleep_otherwise = (
        session.state is State.ASLEEP and session.sleep_reason is not SleepReason.IDLE
    )
    if asleep_otherwise and session.sleep_intent is SleepIntent.NONE and session.latch_generation:
        return replace(session, latch_generation=0)
    return session


def _expire(session: Session, memory: Memory, now: datetime) -> Session:
    """Expired requests stop being roots before roots are computed (NORM-10)."""
    intent, wake = session.attach_intent, session.wake_request
    pins = tuple(
        pin for pin in session.pins if pin.expires_at > now and _is_held(session, pin, memory)
    )
    if intent is not None and intent.expires_at <= now:
        intent = None
    if wake is not None and wake.expires_at <= now:
        wake = None
    if (intent, wake, pins) == (session.attach_intent, session.wake_request, session.pins):
        return session
    return replace(session, attach_intent=intent, wake_request=wake, pins=pins)


def _is_held(session: Session, pin: Pin, memory: Memory) -> bool:
    """Whether the turn a pin hangs on is open, or may still be announced again (R18)."""
    if not pin.held or memory.turns_unsure_until is not None:
        return True
    return any(turn.owner == pin.owner for turn in memory.turns.get(session.id, ()))


def _keep_detach_clock(session: Session, seen: Sighting, now: datetime) -> Session:
    """Set, keep or clear `detached_at` by a clear reading; doubt leaves it alone (IDLE-04..11)."""
    if seen.truth is not Truth.RUNNING or not isinstance(seen.attached, Known):
        return session
    if seen.attached.value > 0:
        return _attached(session)
    if session.detached_at is None:
        return replace(session, detached_at=now)
    return session


def _attached(session: Session) -> Session:
    """Somebody is there: the detach clock ends, and so does the attach intent (ATT-04)."""
    if session.detached_at is None and session.attach_intent is None:
        return session
    return replace(session, detached_at=None, attach_intent=None)


def _keep_turn(session: Session, memory: Memory, now: datetime) -> Session:
    """Note an open turn, so that no restart of ours loses it; its end is activity (R13, R48).

    While a turn that the last controller knew may still be announced again, its note stays.
    """
    token = session.instance_token
    if any(turn.token == token for turn in memory.turns.get(session.id, ())):
        return session if session.open_turn == token else replace(session, open_turn=token)
    if not session.open_turn:
        return session
    if session.open_turn != token:
        return replace(session, open_turn="")
    if memory.turns_unsure_until is not None:
        return session
    return replace(session, open_turn="", turn_ended_at=now)
