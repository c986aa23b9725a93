"""Paths of a session that does not run: what its exit meant, and whether it starts or rests.

Source: DESIGN §9, §10 (REC-10..14, CRASH-01..06, R26, R41, R56)
"""

from __future__ import annotations

from dataclasses import replace

from gascity.decide.case import Case, Settled, drop_intent, stopped_event
from gascity.decide.exits import (
    ExitRecord,
    classify_exit,
    go_cold,
    record_exit,
    restart_backoff,
)
from gascity.decide.fingerprint import still_holds
from gascity.decide.idle import demand_doubt
from gascity.decide.wake import config_wakes, held_reason, rests_unstarted
from gascity.model.duration import OFF
from gascity.model.events import Event, EventType
from gascity.model.plan import Commit, Start
from gascity.model.session import ExitClass, Session, SleepIntent, SleepReason, State
from gascity.model.world import World


def evaluate_stopped(case: Case) -> Settled:
    """Classify the exit, lift holds that ended, then start, rest or go cold."""
    exited = after_exit(case)
    session = _lift_hold(exited.session, case.world)
    after = replace(case, session=session)
    judged = case.judged
    assert judged is not None
    held = held_reason(session, case.world)
    if held or session.is_cold or session.state is State.QUARANTINED:
        return Settled(session=session, events=exited.events, held_back=held)
    if _config_wants(after):
        started = start_unless_held(after, ("config",))
        return replace(started, events=(*exited.events, *started.events))
    resting = _rest_cold(after)
    return replace(resting, events=_told_once(exited.events, resting.events))


def _told_once(ended: tuple[Event, ...], then: tuple[Event, ...]) -> tuple[Event, ...]:
    """An end and what follows it: where that says that it rests, the end is told by it."""
    if any(event.type is EventType.STOPPED for event in then):
        ended = tuple(event for event in ended if event.type is not EventType.STOPPED)
    return (*ended, *then)


def _config_wants(case: Case) -> bool:
    """The config reason, judged for the record as it is after its exit."""
    judged = case.judged
    assert judged is not None
    return config_wakes(
        case.session,
        case.seen,
        judged.place,
        judged.policy,
        latched=judged.latched and case.session.is_cold,
        open=judged.window.is_open,
    )


def _rest_cold(case: Case) -> Settled:
    """A headless session nobody needs and config does not want up: a healthy cold slot (REC-14)."""
    session, judged = case.session, case.judged
    assert judged is not None
    unclear = demand_doubt(session, case.world.demand)
    resting = judged.policy.effective is not OFF and rests_unstarted(session, judged.policy)
    if not resting or unclear:
        return Settled(session=session)
    cold = go_cold(session, judged, now=case.world.now)
    return Settled(session=cold, events=(stopped_event(case, cold, "idle"),))


def after_exit(case: Case, *, marker: SleepIntent = SleepIntent.NONE) -> ExitRecord:
    """The record once an exit that was not written down yet is accounted for.

    Args:
        marker: The idle-stop marker that the record carried when this tick began.
    """
    session = case.session
    if session.state not in (State.AWAKE, State.CREATING):
        return ExitRecord(session=session)
    doubtful = bool(demand_doubt(session, case.world.demand))
    kind = classify_exit(session, case.seen, case.judged, doubtful=doubtful, marker=marker)
    record = record_exit(
        session,
        kind,
        seen=case.seen,
        judged=case.judged,
        settings=case.world.city.daemon,
        now=case.world.now,
    )
    if kind is ExitClass.RATE_LIMIT:
        until = record.session.limited_until
        told = {"exit_intent": str(kind), "until": until.isoformat() if until else ""}
        event = stopped_event(case, record.session, "rate_limit", **told)
        return replace(record, events=(*record.events, event))
    if kind is ExitClass.IDLE_SELF_EXIT:
        event = stopped_event(case, record.session, "idle", exit_intent=str(kind))
        return replace(record, events=(*record.events, event))
    return record


def rest(case: Case) -> Settled:
    """A cold slot: stays cold unless its latch broke and config wants it (REC-04, WAKE-21)."""
    judged = case.judged
    assert judged is not None
    held = held_reason(case.session, case.world)
    if held or not judged.config:
        return Settled(session=case.session, held_back=held)
    return start_unless_held(case, ("config",))


def commit(case: Case) -> Settled:
    """Finish a confirmed stop, once nothing about demand is unclear (REC-06, REC-19).

    It never commits under a policy that no longer holds: then it is a sleeper like any other (R35).
    """
    if demand_doubt(case.session, case.world.demand):
        return Settled(session=case.session)
    if case.session.sleep_request is not None or _still_asks(case):
        return Settled(session=case.session, action=Commit(session_id=case.session.id))
    session, events = drop_intent(case, "keep_warm")
    exited = after_exit(replace(case, session=session), marker=case.session.sleep_intent)
    again = evaluate_stopped(replace(case, session=exited.session))
    return replace(again, events=(*events, *_told_once(exited.events, again.events)))


def _still_asks(case: Case) -> bool:
    """Whether the policy the stop was announced under still asks for sleep."""
    session, judged = case.session, case.judged
    assert judged is not None
    return judged.policy.effective is not OFF and still_holds(
        judged.fingerprint, stored=session.fingerprint, stored_inputs=session.fingerprint_inputs
    )


def preserve(case: Case) -> Settled:
    """A confirmed stop of a session asleep for another reason keeps that reason (R31)."""
    return Settled(session=replace(case.session, sleep_intent=SleepIntent.NONE))


def start_unless_held(case: Case, why: tuple[str, ...]) -> Settled:
    """Start it, unless a hold or the back-off after failures says not yet."""
    session, world = case.session, case.world
    held = held_reason(session, world)
    if held:
        return Settled(session=session, held_back=held)
    asked = session.attach_intent is not None or session.wake_request is not None
    wait = restart_backoff(session, world.now)
    if wait and not asked:
        return Settled(session=session, held_back=f"restarting in {wait.total_seconds():.0f}s")
    return Settled(session=session, action=Start(session_id=session.id, why=why))


def _lift_hold(session: Session, world: World) -> Session:
    """A suspension or quarantine that is over leaves an ordinary sleeper."""
    if held_reason(session, world):
        return session
    if session.state is State.SUSPENDED:
        return replace(session, state=State.ASLEEP, sleep_reason=SleepReason.NONE, since=world.now)
    if session.state is State.QUARANTINED:
        return replace(
            session,
            state=State.ASLEEP,
            sleep_reason=SleepReason.CRASH,
            quarantined_until=None,
            since=world.now,
        )
    return session
