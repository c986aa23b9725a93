"""Start one session: announce it, start the runtime, record it; readiness is watched apart.

Source: DESIGN §X, §10 (R24, R62, R63, R66, R75)
"""

from __future__ import annotations

import os
import secrets
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from gascity.act.deliver import fired
from gascity.act.launch import build_spec
from gascity.act.save import Gone, change, noting
from gascity.beads.store import Conflict, StoreBroken, StoreUnavailable
from gascity.decide.exits import record_failed_start
from gascity.decide.judge import place_of
from gascity.model.city import WakeMode
from gascity.model.drift import start_hash
from gascity.model.events import Event, EventType
from gascity.model.roster import Place, is_suspended
from gascity.model.session import Session, SleepIntent, SleepReason, State, WakeNote
from gascity.model.world import Truth
from gascity.observe.ports import Ports
from gascity.observe.world import Lookout
from gascity.report.log import logger
from gascity.runtimes.base import RuntimeUnreachable, StartFailed

log = logger("start")
MOST_LIFE: Final = timedelta(minutes=5)
READY_LOOK_S: Final = 0.1
READY_LOOK_MOST_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsaved:
    """What a patrol made of one record, with what it reports of it, and could not write."""

    session: Session
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One start: its reasons, and the environment a session inherits.

    `unsaved` goes on disk with the announcement, so that no end of a run is forgotten over it.
    """

    session_id: str
    why: tuple[str, ...]
    unsaved: Unsaved | None = None
    inherited: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


async def start(launch: Launch, ports: Ports) -> bool:
    """Start the session; whether its runtime was started.

    A definite failure is counted on the slot and ends the requests that wanted it (R41, ATT-15).
    An unclear one leaves the announced start for the next patrol to find.
    """
    announced = await _announce(launch, ports)
    if announced is None:
        return False
    session, previous = announced
    place = place_of(session, ports.city)
    runtime = ports.runtime(session.runtime)
    if place is None or runtime is None:
        await _failed(session, previous, ports, ports.missing(session.runtime))
        return False
    try:
        spec = build_spec(session, place, ports.city, inherited=launch.inherited)
        if _is_held(ports.records.get(session.id, session), place, ports):
            return False  # since it was announced; the next patrol records what that comes to
        await runtime.start(spec)
    except StartFailed as problem:
        await _failed(session, previous, ports, str(problem))
        return False
    except RuntimeUnreachable as problem:
        await change(ports, session.id, noting(f"start: {problem}"))
        return False
    await _record(session, previous, launch, ports)
    return True


async def _announce(launch: Launch, ports: Ports) -> tuple[Session, SleepReason] | None:
    """Save the new generation and token before anything runs under them (R63); None: held (R26).

    Whoever was suspended since the start was decided is left to the next patrol.

    A store that takes no writes does not keep anybody from waking: the runtime carries the token,
    and the record is adopted from it later (R75).
    """
    before: list[Session] = []  # empty: it is held

    def announce(session: Session, now: datetime) -> tuple[Session, tuple[Event, ...]]:
        before.clear()
        events: tuple[Event, ...] = ()
        if launch.unsaved is not None:
            if launch.unsaved.session.version != session.version:
                raise Conflict(f"{session.name} changed since it was judged")
            session, events = launch.unsaved.session, launch.unsaved.events
        place = place_of(session, ports.city)
        if _is_held(session, place, ports):
            return session, ()
        before[:] = [session]
        return (_announced(session, place, ports, now), events) if place else (session, ())

    try:
        session = await change(ports, launch.session_id, announce)
    except StoreBroken:
        raise
    except StoreUnavailable:
        if not before:
            raise
        session, _ = announce(before[0], ports.clock.now())
    return (session, before[0].sleep_reason) if before else None


def _is_held(session: Session, place: Place | None, ports: Ports) -> bool:
    """Whether an administrator or the config holds it by now (R26)."""
    if session.suspended_at is not None:
        return True
    return place is not None and bool(is_suspended(ports.city, place.agent))


def _announced(session: Session, place: Place, ports: Ports, now: datetime) -> Session:
    agent = place.agent
    keeps_key = bool(session.session_key) and agent.wake_mode is not WakeMode.FRESH
    return replace(
        session,
        state=State.CREATING,
        since=now,
        sleep_reason=SleepReason.NONE,
        sleep_intent=SleepIntent.NONE,
        woke_at=now,
        ready_at=None,
        detached_at=None,
        generation=session.generation + 1,
        instance_token=secrets.token_hex(16),
        session_key=session.session_key if keeps_key else str(uuid.uuid4()),
        runtime=place.runtime,
        started_hash=start_hash(agent, ports.city),
        fingerprint="",
        fingerprint_inputs="",
        latch_generation=0,
        quarantined_until=None,  # it is over, and a clock that is set back must not revive it
        limited_until=None,
        stop_note=None,
        sleep_request=None,
        idle_timeout_deferrals="",
        last_error="",
        attach_intent=_counted_from_start(session.attach_intent, now),
        wake_request=_counted_from_start(session.wake_request, now),
    )


def _counted_from_start(note: WakeNote | None, now: datetime) -> WakeNote | None:
    """The expiry of a request counts from the start attempt, at most 5 minutes in all (R24)."""
    if note is None or note.started_at is not None:
        return note
    life = note.expires_at - note.at
    return replace(note, started_at=now, expires_at=min(now + life, note.at + MOST_LIFE))


async def _record(session: Session, previous: SleepReason, launch: Launch, ports: Ports) -> None:
    """Write that it is up; what cannot be written now is adopted from the runtime later."""

    def up(current: Session, now: datetime) -> tuple[Session, tuple[Event, ...]]:
        if current.generation != session.generation:
            return current, ()
        event = Event(
            type=EventType.WOKE,
            ts=now,
            subject=current.name,
            message=f"woke: {', '.join(launch.why)}",
            payload=_woke_payload(current, previous, launch, now),
        )
        return replace(current, state=State.AWAKE, since=now), (event,)

    try:
        await change(ports, session.id, up, besides=lambda: fired(session, ports))
    except StoreBroken:
        raise
    except (StoreUnavailable, Conflict, Gone):
        return


def _woke_payload(
    session: Session, previous: SleepReason, launch: Launch, now: datetime
) -> dict[str, Any]:
    """Why it woke, what it slept for, and how long the start took (EVT-05)."""
    began = session.woke_at or now
    return {
        "reason": launch.why[0] if launch.why else "",
        "reasons": list(launch.why),
        "previous_sleep_reason": str(previous),
        "generation": session.generation,
        "start_seconds": round((now - began).total_seconds(), 6),
    }


async def _failed(session: Session, previous: SleepReason, ports: Ports, why: str) -> None:
    """Count one failed start on the slot; it is down for the reason it had, unless that was idle.

    The attempt ended that sleep, latch included; only a look at every wake may call it idle again
    (R31, WAKE-11, WAKE-14).
    """
    left = SleepReason.NONE if previous is SleepReason.IDLE else previous

    def failed(current: Session, now: datetime) -> tuple[Session, tuple[Event, ...]]:
        if current.generation != session.generation:
            return current, ()
        asleep = replace(current, sleep_reason=left)
        record = record_failed_start(asleep, why, settings=ports.city.daemon, now=now)
        return record.session, record.events

    stored = await change(ports, session.id, failed)
    if stored.generation < session.generation:
        # It was never announced, so nobody counts it: whoever asked learns of it now, instead of
        # having it tried at each patrol (R41, R75).
        ports.memory.asked.pop(session.id, None)
        log.warning("start failed, not recorded", session=session.name, problem=why)


async def await_ready(session_id: str, ports: Ports, lookout: Lookout) -> bool:
    """Watch a started session until it is ready once, ends, or `startup_timeout` is over (R66).

    Whether a patrol should look at it now.
    """
    clock = ports.clock
    limit = ports.city.session.startup_timeout.seconds
    began = clock.monotonic()
    pause = READY_LOOK_S
    while True:
        world = await lookout.session(session_id)
        session = world.sessions.get(session_id)
        if session is None or session.ready_at is not None or session.state is not State.AWAKE:
            return False
        seen = world.sighting(session_id)
        if seen.truth is Truth.STOPPED:
            return True
        late = clock.monotonic() - began >= limit
        if (seen.truth is Truth.RUNNING and seen.ready) or late:
            await _save_ready(session, ports)
            return True
        await clock.sleep_until(clock.monotonic() + pause)
        pause = min(pause * 1.2, READY_LOOK_MOST_S)


async def _save_ready(watched: Session, ports: Ports) -> None:
    await change(ports, watched.id, lambda current, now: (_ready(current, watched, now), ()))


def _ready(current: Session, watched: Session, now: datetime) -> Session:
    """The first readiness of this generation: the window starts, the wake request is answered."""
    if current.generation != watched.generation or current.ready_at is not None:
        return current
    return replace(current, ready_at=now, wake_request=None)
