"""What one session's path asks for: a cleaned record and at most one action.

`PATHS` has one short function per path of the recovery table; precedence between stages lives here
and nowhere else.

Source: DESIGN §X stage 5, §10 (REC-01..23)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from gascity.decide.case import Case, Settled, drop_intent, stopped_event
from gascity.decide.exits import fall_asleep, forget_old_stop, record_exit
from gascity.decide.idle import is_starting, sleep_is_asked
from gascity.decide.stopped import (
    after_exit,
    commit,
    evaluate_stopped,
    preserve,
    rest,
    start_unless_held,
)
from gascity.decide.structural import drift_may_restart, idle_timeout_due
from gascity.model.duration import OFF
from gascity.model.events import Event, EventType
from gascity.model.plan import (
    Action,
    AwaitReady,
    Blocker,
    CapabilityClass,
    Drain,
    Path,
    Retire,
    Stop,
)
from gascity.model.session import (
    ExitClass,
    Session,
    SleepIntent,
    SleepReason,
    State,
    StopReason,
)
from gascity.model.world import ScreenVerdict, Truth


def settle(case: Case) -> Settled:
    """Follow the session's path. Where it stops nobody, an old announcement of a stop is over."""
    settled = PATHS[case.row.path](case)
    if settled.session.stop_note is None or isinstance(settled.action, Stop | Retire):
        return settled
    session = forget_old_stop(settled.session, case.seen, now=case.world.now)
    return replace(settled, session=session)


def _hold(case: Case) -> Settled:
    return Settled(session=case.session)


def _structural(case: Case) -> Settled:
    """The idle path is dropped at once; what follows depends on whether it still runs."""
    session, events = drop_intent(case, f"draining:{case.structural}")
    running = case.seen.truth is Truth.RUNNING
    reason = case.structural
    assert reason is not None
    if running and case.seen.token not in ("", session.instance_token):
        # Its start was never recorded: a stop reaches it only under the token it carries (R63).
        session = _adopted(replace(case, session=session))
        events = (*_woke(case, "adopted"), *events)
    if reason is StopReason.CONFIG_DRIFT:
        return _drift(case, session, events)
    if running:
        retire = reason is not StopReason.SUSPENDED
        action: Action = Stop(session_id=session.id, reason=reason, retire=retire)
        return Settled(session=session, action=action, events=events)
    if reason is not StopReason.SUSPENDED:
        gone = Retire(session_id=session.id, reason=reason)
        return Settled(session=session, action=gone, events=events)
    if session.state is State.SUSPENDED:
        return Settled(session=session, events=events)
    held = fall_asleep(session, SleepReason.SUSPENDED, now=case.world.now)
    held = replace(held, state=State.SUSPENDED, stop_note=None)
    return Settled(session=held, events=(*events, stopped_event(case, held, "suspended")))


def _drift(case: Case, session: Session, events: tuple[Event, ...]) -> Settled:
    """Restart under the new config once nothing asks it to wait (R32)."""
    judged = case.judged
    assert judged is not None
    adopted = _adopted(replace(case, session=session))
    if adopted is not session and session.state is not State.CREATING:
        # Another run than the recorded one: drift is judged of it once it is on record (R63, R75).
        note = Blocker(name=f"draining:{StopReason.CONFIG_DRIFT}")
        woke = (*events, *_woke(case, "adopted"))
        return Settled(session=adopted, events=woke, blockers=(note,))
    safe = judged.capability.kind is not CapabilityClass.FULL or (
        case.seen.screen is ScreenVerdict.IDLE
    )
    note = Blocker(name=f"draining:{StopReason.CONFIG_DRIFT}")
    if is_starting(session, case.seen):
        return Settled(
            session=session,
            action=AwaitReady(session_id=session.id),
            events=events,
            blockers=(note,),
        )
    if not (safe and drift_may_restart(judged.blockers)):
        return Settled(session=session, events=events, blockers=(note,))
    restart = Stop(session_id=session.id, reason=StopReason.CONFIG_DRIFT, restart=True)
    return Settled(session=session, action=restart, events=events)


def _wake(case: Case) -> Settled:
    """Somebody needs it: markers go; it stays awake or is started."""
    judged = case.judged
    assert judged is not None
    session, events = drop_intent(case, *sorted(judged.wake_names))
    if case.seen.truth is Truth.RUNNING:
        awake = _as_awake(replace(case, session=session))
        return replace(awake, events=(*events, *_woke(case, judged.reasons[0]), *awake.events))
    exited = after_exit(replace(case, session=session), marker=case.session.sleep_intent)
    started = start_unless_held(replace(case, session=exited.session), judged.reasons)
    return replace(started, events=(*events, *exited.events, *started.events))


def _as_awake(case: Case) -> Settled:
    """A running session: recorded awake, its requests answered, its readiness watched."""
    session = _adopted(case)
    if is_starting(session, case.seen):
        return Settled(session=session, action=AwaitReady(session_id=session.id))
    if session.wake_request is not None:
        session = replace(session, wake_request=None, woke_at=case.world.now)
    return _restart_on_idle(case, session)


def _restart_on_idle(case: Case, session: Session) -> Settled:
    """`idle_timeout` is asked before idle sleep (COEX-02)."""
    judged = case.judged
    assert judged is not None
    due = idle_timeout_due(
        session,
        judged.place,
        case.world,
        blockers=judged.blockers,
        reference_at=judged.window.reference_at,
    )
    if due.deferred is not None:
        return Settled(session=due.deferred)
    if due.restart:
        stop = Stop(session_id=session.id, reason=StopReason.IDLE_TIMEOUT, restart=True)
        return Settled(session=session, action=stop, held_back=due.note)
    return Settled(session=session)


def _evaluate(case: Case) -> Settled:
    """Ordinary evaluation: idle when it runs, wake or rest when it does not."""
    if case.seen.truth is Truth.STOPPED:
        return evaluate_stopped(case)
    awake = _as_awake(case)
    if awake.action is not None or awake.session is not case.session:
        return replace(awake, events=(*_woke(case, "adopted"), *awake.events))
    return _idle(case)


def _idle(case: Case) -> Settled:
    """Begin an idle drain when nothing solid speaks against it."""
    session, judged = case.session, case.judged
    assert judged is not None
    asked = sleep_is_asked(session, judged.window.reference_at)
    wants = judged.policy.effective is not OFF or asked
    forced = asked and session.sleep_request is not None and session.sleep_request.force
    if not wants:
        return Settled(session=session)
    if judged.solid and not forced:
        return Settled(session=session)
    return Settled(session=session, action=Drain(session_id=session.id))


def _drain_on(case: Case) -> Settled:
    """An announced drain goes on; its walk looks again before it does anything (REC-02, R35)."""
    return Settled(session=case.session, action=Drain(session_id=case.session.id, resume=True))


def _adopt(case: Case) -> Settled:
    """It runs although the record says otherwise: awake again, with a new window (REC-21, R29)."""
    session, aborted = drop_intent(case, "keep_warm")
    adopted = _adopted(replace(case, session=session))
    return Settled(session=adopted, events=_woke(case, "adopted") or aborted)


def _woke(case: Case, reason: str) -> tuple[Event, ...]:
    """`session.woke` for a session not recorded as up that is found running (EVT-05, R75).

    A start that was announced is recorded by its walk; one whose end could not be written, or whose
    controller died, is told here.
    """
    if case.session.state is State.AWAKE:
        return ()
    event = Event(
        type=EventType.WOKE,
        ts=case.world.now,
        subject=case.session.name,
        message="found running; adopted",
        payload={"reason": reason, "previous_sleep_reason": str(case.session.sleep_reason)},
    )
    return (event,)


def _ambiguous(case: Case) -> Settled:
    """Nobody saw the announced stop happen: say so, count it, evaluate afresh (REC-07, REC-22)."""
    session = replace(case.session, sleep_intent=SleepIntent.NONE, latch_generation=0)
    event = Event(
        type=EventType.RECOVERY_AMBIGUOUS,
        ts=case.world.now,
        subject=session.name,
        message="stopped while an idle stop was announced but never confirmed",
        payload={"row": case.row.label, "exit_intent": str(ExitClass.UNEXPECTED_EXIT)},
    )
    if session.state not in (State.AWAKE, State.CREATING):
        again = evaluate_stopped(replace(case, session=session))
        return replace(again, events=(event, *again.events))
    counted = record_exit(
        session,
        ExitClass.UNEXPECTED_EXIT,
        seen=case.seen,
        judged=case.judged,
        settings=case.world.city.daemon,
        now=case.world.now,
    )
    again = evaluate_stopped(replace(case, session=counted.session))
    return replace(again, events=(event, *counted.events, *again.events))


def _adopted(case: Case) -> Session:
    """The record of a session that is seen running; identical when nothing is new.

    A run under a token that was never recorded is another run, and gets a generation of its own:
    what was noted about the one before does not speak of it (R63).
    """
    session, seen, now = case.session, case.seen, case.world.now
    token = seen.token or session.instance_token
    known = token == session.instance_token
    if session.state is State.AWAKE and known:
        return session
    creating = session.state is State.CREATING
    return replace(
        session,
        state=State.AWAKE,
        sleep_reason=SleepReason.NONE,
        latch_generation=0,
        limited_until=None,
        since=now if session.state is not State.AWAKE else session.since,
        woke_at=session.woke_at if creating and session.woke_at else now,
        ready_at=None if creating else now,
        instance_token=token,
        generation=max(session.generation, 1) if known else session.generation + 1,
    )


PATHS: Final[Mapping[Path, Callable[[Case], Settled]]] = {
    Path.HOLD: _hold,
    Path.STRUCTURAL: _structural,
    Path.WAKE: _wake,
    Path.EVALUATE: _evaluate,
    Path.DRAIN: _drain_on,
    Path.ADOPT: _adopt,
    Path.REST: rest,
    Path.COMMIT: commit,
    Path.PRESERVE: preserve,
    Path.AMBIGUOUS: _ambiguous,
}
