"""What an exit means: whose doing it was, whether it counts, and what is recorded.

Source: DESIGN §10 (CRASH-01..06, REC-07, REC-14, REC-22, R31, R41, R56, R78)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from gascity.decide.judge import Judged
from gascity.model.city import DaemonSettings, SessionClass
from gascity.model.duration import OFF
from gascity.model.events import Event, EventType
from gascity.model.session import (
    ExitClass,
    Session,
    SleepIntent,
    SleepReason,
    State,
    StopReason,
)
from gascity.model.world import Exit, Sighting, Truth

QUARANTINE_FIRST: Final = timedelta(minutes=5)
QUARANTINE_MOST: Final = timedelta(hours=2)
BACKOFF_MOST: Final = timedelta(seconds=60)
LIMIT_UNSTATED: Final = timedelta(hours=1)
"""How long a provider's limit holds that does not say when it is over."""
STOP_TAKES_AT_MOST: Final = timedelta(seconds=60)
"""How long an announced stop may still take effect after whoever asked for it is gone."""

ASLEEP_AFTER: Final[Mapping[StopReason, SleepReason]] = {
    # A stop we asked for outside the idle path, and what the record says after it.
    StopReason.IDLE: SleepReason.IDLE,
    StopReason.CONFIG_DRIFT: SleepReason.NONE,
    StopReason.EXCESS: SleepReason.NONE,
    StopReason.ORPHANED: SleepReason.NONE,
    StopReason.SUSPENDED: SleepReason.SUSPENDED,
    StopReason.OPERATOR: SleepReason.OPERATOR,
    StopReason.IDLE_TIMEOUT: SleepReason.IDLE_TIMEOUT,
    StopReason.CITY_STOP: SleepReason.CITY_STOP,
    StopReason.KILL: SleepReason.NONE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitRecord:
    """The record after an exit, with the events that report it."""

    session: Session
    events: tuple[Event, ...] = ()


def classify_exit(
    session: Session,
    seen: Sighting,
    judged: Judged | None,
    *,
    doubtful: bool,
    marker: SleepIntent = SleepIntent.NONE,
) -> ExitClass | None:
    """Whose doing it was that a session recorded awake is found stopped.

    None: it never ran, or nobody can say yet.

    Args:
        marker: The idle-stop marker on the record. A confirmed one is our own doing (CRASH-02).
        judged: Its judgement now; None when the config no longer names it.
        doubtful: Demand is unclear, so "nobody needs it" cannot be said.
    """
    ending = seen.exit or Exit()
    note = session.stop_note
    if note is not None and note.generation == session.generation:
        return ExitClass.OPERATOR_STOP
    if not session.was_started:
        return None
    if marker is SleepIntent.CONFIRMED:
        return ExitClass.IDLE_CONTROLLER_STOP
    if ending.host_gone:
        return ExitClass.HOST_RESTART
    if seen.limit is not None:
        return ExitClass.RATE_LIMIT
    if session.state is State.CREATING:
        return ExitClass.FAILED_START if ending != Exit() else None
    headless = judged is not None and (
        judged.policy.session_class is SessionClass.NONINTERACTIVE
        and judged.policy.effective is not OFF
        and not judged.wakes
    )
    failed = bool(ending.signal) or ending.code not in (None, 0) or seen.agent_exited
    if headless and not failed and marker is SleepIntent.NONE:
        # While demand is unclear this is neither a crash nor a reason to go cold (R9).
        return None if doubtful else ExitClass.IDLE_SELF_EXIT
    return ExitClass.UNEXPECTED_EXIT


def record_exit(
    session: Session,
    kind: ExitClass | None,
    *,
    seen: Sighting,
    judged: Judged | None,
    settings: DaemonSettings,
    now: datetime,
) -> ExitRecord:
    """Write down one exit. Crashes and failed starts count on the slot, nothing else does (R41)."""
    if kind is None:
        return ExitRecord(session=session)
    ending = str(seen.exit or Exit())
    base = replace(session, stop_note=None, last_exit=f"{kind} ({ending})")
    if kind is ExitClass.IDLE_SELF_EXIT and judged is not None:
        return ExitRecord(session=go_cold(base, judged, now=now))
    if kind is ExitClass.OPERATOR_STOP:
        reason = ASLEEP_AFTER[session.stop_note.reason] if session.stop_note else SleepReason.NONE
        return _exempt(fall_asleep(base, reason, now=now), kind, ending, now)
    if kind in (ExitClass.HOST_RESTART, ExitClass.IDLE_CONTROLLER_STOP):
        return _exempt(fall_asleep(base, SleepReason.NONE, now=now), kind, ending, now)
    if kind is ExitClass.RATE_LIMIT:
        limited = fall_asleep(base, SleepReason.RATE_LIMIT, now=now)
        return ExitRecord(session=replace(limited, limited_until=_limit_of(seen, now)))
    if kind is ExitClass.FAILED_START:
        return record_failed_start(base, ending, settings=settings, now=now)
    fallen = fall_asleep(base, SleepReason.CRASH, now=now)
    return _count(fallen, kind, ending, settings=settings, now=now)


def _exempt(session: Session, kind: ExitClass, ending: str, now: datetime) -> ExitRecord:
    """An end that counts nothing is told all the same: nobody goes down without a word (X3)."""
    said = {"reason": str(session.sleep_reason or kind), "exit_intent": str(kind), "exit": ending}
    event = _event(EventType.STOPPED, session, now, f"stopped: {kind}", said)
    return ExitRecord(session=session, events=(event,))


def _limit_of(seen: Sighting, now: datetime) -> datetime:
    """When the next try is due: at the time it said, else a while from now."""
    said = seen.limit.until if seen.limit is not None else None
    return said if said is not None and said > now else now + LIMIT_UNSTATED


def record_failed_start(
    session: Session, why: str, *, settings: DaemonSettings, now: datetime
) -> ExitRecord:
    """One more start that did not come up; the requests that wanted it end with it (ATT-15)."""
    failed = replace(
        fall_asleep(session, session.sleep_reason, now=now),
        failed_starts=_recent(session.failed_starts, settings, now),
        attach_intent=None,
        wake_request=None,
        last_error=f"start failed: {why}",
    )
    event = _event(
        EventType.CRASHED,
        failed,
        now,
        f"start failed: {why}",
        {"exit_intent": str(ExitClass.FAILED_START), "count": len(failed.failed_starts)},
    )
    return _maybe_quarantine(
        failed, len(failed.failed_starts), ExitClass.FAILED_START, (event,), settings, now
    )


def _count(
    session: Session, kind: ExitClass, ending: str, *, settings: DaemonSettings, now: datetime
) -> ExitRecord:
    counted = replace(session, exits=_recent(session.exits, settings, now))
    event = _event(
        EventType.CRASHED,
        counted,
        now,
        f"exited: {ending}",
        {"exit_intent": str(kind), "exit": ending, "count": len(counted.exits)},
    )
    return _maybe_quarantine(counted, len(counted.exits), kind, (event,), settings, now)


def _maybe_quarantine(
    session: Session,
    count: int,
    kind: ExitClass,
    events: tuple[Event, ...],
    settings: DaemonSettings,
    now: datetime,
) -> ExitRecord:
    if settings.max_restarts == 0 or count < settings.max_restarts:
        return ExitRecord(session=session, events=events)
    length = min(QUARANTINE_FIRST * 2 ** min(session.quarantine_cycle, 8), QUARANTINE_MOST)
    until = now + length
    held = replace(
        session,
        state=State.QUARANTINED,
        sleep_reason=SleepReason.QUARANTINE,
        quarantined_until=until,
        quarantine_cycle=session.quarantine_cycle + 1,
        exits=(),
        failed_starts=(),
        attach_intent=None,
        wake_request=None,
    )
    event = _event(
        EventType.QUARANTINED,
        held,
        now,
        f"quarantined after {count} failures",
        {
            "until": until.isoformat(),
            "exit_intent": str(kind),
            "count": count,
        },
    )
    return ExitRecord(session=held, events=(*events, event))


def _recent(
    instants: tuple[datetime, ...], settings: DaemonSettings, now: datetime
) -> tuple[datetime, ...]:
    """The failures inside the restart window, this one included."""
    since = now - settings.restart_window.delta
    return (*(at for at in instants if since < at <= now), now)


def restart_backoff(session: Session, now: datetime) -> timedelta:
    """How much longer a restart waits: nothing after one failure, then 2, 4, 8 ... 60 s."""
    count = len(session.exits) + len(session.failed_starts)
    if count < 2:
        return timedelta(0)
    last = max((*session.exits, *session.failed_starts))
    wait = min(timedelta(seconds=2 ** min(count - 1, 8)), BACKOFF_MOST)
    return max(timedelta(0), min(last, now) + wait - now)


def fall_asleep(session: Session, reason: SleepReason, *, now: datetime) -> Session:
    """The record of a session that is down for a reason other than idleness."""
    return replace(
        session,
        state=State.ASLEEP,
        sleep_reason=reason,
        sleep_intent=SleepIntent.NONE,
        since=now,
        slept_at=now,
        detached_at=None,
        ready_at=None,
        latch_generation=0,
        sleep_request=None,
    )


def go_cold(session: Session, judged: Judged, *, now: datetime) -> Session:
    """The record of a session that is asleep because it was idle, with its latch (WAKE-14).

    One that was put to sleep at its provider's limit has none: at the reset it comes back.
    """
    limited = session.limited_until is not None and session.limited_until > now
    return replace(
        session,
        state=State.ASLEEP,
        sleep_reason=SleepReason.RATE_LIMIT if limited else SleepReason.IDLE,
        sleep_intent=SleepIntent.NONE,
        since=now,
        slept_at=now,
        detached_at=None,
        ready_at=None,
        stop_note=None,
        sleep_request=None,
        latch_generation=0 if limited else session.generation,
        fingerprint=judged.fingerprint.value,
        fingerprint_inputs=judged.fingerprint.inputs,
    )


def forget_old_stop(session: Session, seen: Sighting, *, now: datetime) -> Session:
    """The record without the note of a stop that came to nothing, or whose session is down anyway.

    Left there it would pass a later exit off as ours, and keep everything from being told (R41).
    """
    note = session.stop_note
    if note is None or seen.truth is Truth.UNKNOWN:
        return session
    if seen.truth is Truth.RUNNING and timedelta(0) <= now - note.at <= STOP_TAKES_AT_MOST:
        return session
    return replace(session, stop_note=None)


def _event(
    kind: EventType, session: Session, now: datetime, message: str, payload: dict[str, Any]
) -> Event:
    return Event(type=kind, ts=now, subject=session.name, message=message, payload=payload)
