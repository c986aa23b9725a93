"""Paths of a session that does not run: what its exit meant, and whether it starts or rests.

Source: DESIGN §9, §10 (REC-10..14, CRASH-01..06, R26, R41, R56)
"""

from __future__ import annotations

from dataclasses import replace

from gascity.decide.case import Case, Settled, stopped_event
from gascity.decide.exits import (
    ExitRecord,
    classify_exit,
    go_cold,
    record_exit,
    restart_backoff,
)
from gascity.decide.idle import demand_doubt
from gascity.decide.wake import config_wakes, held_reason, rests_unstarted
from gascity.model.duration import OFF
from gascity.model.plan import Start
from gascity.model.session import ExitClass, Session, SleepReason, State
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
    return replace(resting, events=(*exited.events, *resting.events))


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


def after_exit(case: Case) -> ExitRecord:
    """The record once an exit that was not written down yet is accounted for."""
    session = case.session
    if session.state not in (State.AWAKE, State.CREATING):
        return ExitRecord(session=session, kind=None)
    doubtful = bool(demand_doubt(session, case.world.demand))
    kind = classify_exit(session, case.seen, case.judged, doubtful=doubtful)
    record = record_exit(
        session,
        kind,
        seen=case.seen,
        judged=case.judged,
        settings=case.world.city.daemon,
        now=case.world.now,
    )
    if kind is ExitClass.IDLE_SELF_EXIT:
        event = stopped_event(case, record.session, "idle", exit_intent=str(kind))
        return replace(record, events=(*record.events, event))
    return record


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
