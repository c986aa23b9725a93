"""`gc wake`: a durable request that always ends in a stated outcome, never in silence.

The outcomes: woke, already awake, queued (nobody waits for the rest), refused (why, and what lifts
it), timed out (with what is seen of it), failed (with what the start said). Asking twice asks once:
a second caller waits for the same request. A timeout takes nothing back.

Source: DESIGN §12 (R24, R25, R26, WAKE-18)
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from secrets import token_hex
from typing import Final

from gascity.act.operate import (
    EXIT_FAILED,
    EXIT_TIMED_OUT,
    HEARTBEAT_S,
    UNRECORDED,
    Desk,
    Look,
    Reply,
    Say,
    came_up,
    current,
    decision_of,
    find,
    hold_of,
    is_drained,
    is_up,
    next_progress,
    seen_now,
    start_failure,
)
from gascity.act.ports import Refused
from gascity.beads.store import Batch, StoreBroken, StoreUnavailable
from gascity.decide.attach import intent_life, span_text
from gascity.model.events import Event, EventType
from gascity.model.session import Session, SleepReason, WakeNote
from gascity.model.world import Truth

LOST: Final = "its start failed and could not be recorded; .gc/controller.log says why"


async def wake(
    desk: Desk,
    said: str,
    *,
    say: Say,
    by: str = "operator",
    wait: bool = True,
    timeout_s: float | None = None,
) -> Reply:
    """Ask for a session to be awake; wait until it is, unless `wait` is False.

    Returns:
        `outcome`, `session`, `state`; `exit`, `what`, `do` when it did not come up; `recorded`
        False and a `note` when the store takes no writes (R75).

    Raises:
        Refused: it is unknown or held; an event `session.wake_refused` says so too.
    """
    try:
        session = find(desk.snapshot(), said)
        if await _is_simply_awake(desk, session):
            return _done("already awake", await _keep_warm(desk, session))
        asked, recorded = await _ask(desk, session, by=by)
    except Refused as refusal:
        await _note_refusal(desk, said, refusal, by=by)
        raise
    if asked.wake_request is None:
        return _done("already awake", asked)
    besides: Reply = {} if recorded else {"recorded": False, "note": UNRECORDED}
    if not wait:
        held_back = _held_back(desk.snapshot(), asked)
        return {**_done("queued", asked), "state": "queued", "held_back": held_back, **besides}
    note = asked.wake_request
    reply = await _wait(desk, asked, note, say=say, timeout_s=timeout_s, recorded=recorded)
    return {**reply, **besides} if reply["outcome"] == "woke" else reply


async def _keep_warm(desk: Desk, session: Session) -> Session:
    """A whole window from now on; where that cannot be written nobody is put to sleep anyway."""
    try:
        return await desk.change(session.id, _keep_warm_again)
    except StoreBroken:
        raise
    except StoreUnavailable:
        return session


def _keep_warm_again(session: Session, now: datetime) -> tuple[Session, tuple[Event, ...]]:
    """Whoever is told "awake" has a whole window from now on; without a policy nothing changes."""
    if session.policy.effective in ("", "off"):
        return session, ()
    return replace(session, woke_at=now), ()


async def _is_simply_awake(desk: Desk, session: Session) -> bool:
    """Whether it runs and nothing is about to take it away, so that nothing has to be written."""
    if not is_up(session) or session.sleep_request is not None or session.wake_request is not None:
        return False
    return (await seen_now(desk, session)).truth is Truth.RUNNING


async def _ask(desk: Desk, session: Session, *, by: str) -> tuple[Session, bool]:
    """Make the request, or join the one that is open. The operator's latest word wins."""
    city = desk.snapshot().city
    life = intent_life(city.session.startup_timeout)

    def request(now_is: Session, now: datetime) -> tuple[Session, tuple[Event, ...]]:
        hold = hold_of(now_is, city, now)
        if hold is not None and not is_drained(now_is):
            raise hold
        note = now_is.wake_request
        if note is None or note.expires_at <= now:
            note = WakeNote(holder=token_hex(8), by=by, at=now, expires_at=now + life)
        reason = SleepReason.NONE if is_drained(now_is) else now_is.sleep_reason
        return replace(now_is, wake_request=note, sleep_request=None, sleep_reason=reason), ()

    return await desk.ask(session.id, request)


async def _wait(
    desk: Desk,
    before: Session,
    note: WakeNote,
    *,
    say: Say,
    timeout_s: float | None,
    recorded: bool,
) -> Reply:
    """Follow the request to its end, saying how it stands."""
    began, shown, said_at = desk.clock.monotonic(), "", -HEARTBEAT_S
    longest = timedelta(seconds=timeout_s) if timeout_s else note.expires_at - note.at
    until = began + longest.total_seconds()
    seen = desk.progress
    while True:
        look = desk.snapshot()
        session = current(look, before)
        open_note = session.wake_request
        ours = open_note is not None and open_note.holder == note.holder
        note = open_note if ours and open_note is not None else note
        if came_up(look, session, since=note.at, recorded=recorded):
            return _done("woke", session)
        if failure := start_failure(before, session):
            return _failed(session, failure)
        now, at = desk.clock.now(), desk.clock.monotonic()
        if now >= note.expires_at or at >= until:
            return await _timed_out(desk, session, longest)
        if not ours:
            return _failed(session, "the request was taken back" if recorded else LOST)
        text = _held_back(look, session) or f"waking {session.name}"
        if text != shown or at - said_at >= HEARTBEAT_S:
            shown, said_at = text, at
            left = span_text(timedelta(seconds=round(until - at)))
            await say({"progress": text, "left": left, "session": session.name})
        lapses = at + (note.expires_at - now).total_seconds()
        seen = await next_progress(desk, seen, until=min(until, lapses, at + HEARTBEAT_S))


def _held_back(look: Look, session: Session) -> str:
    """Why its start has to wait, as the last patrol put it."""
    decision = decision_of(look, session)
    if decision is not None and decision.held_back:
        return f"{session.name} is held back: {decision.held_back}"
    if look.plan is not None and session.id in look.plan.queued:
        return f"{session.name} is queued for a start"
    return ""


def _done(outcome: str, session: Session) -> Reply:
    return {"outcome": outcome, "session": session.name, "state": "running"}


def _failed(session: Session, why: str) -> Reply:
    return {
        "outcome": "failed",
        "session": session.name,
        "state": "stopped",
        "exit": EXIT_FAILED,
        "what": f"{session.name} did not start: {why}",
        "do": f"look at gc why {session.name}",
    }


async def _timed_out(desk: Desk, session: Session, longest: timedelta) -> Reply:
    """What is seen at the end of patience; the request itself stays until it lapses."""
    truth = (await seen_now(desk, session)).truth.value
    return {
        "outcome": "timed out",
        "session": session.name,
        "state": truth,
        "exit": EXIT_TIMED_OUT,
        "what": f"{session.name} was not ready within {span_text(longest)}: {truth}",
        "do": f"it may still come up; look at gc why {session.name}",
    }


async def _note_refusal(desk: Desk, said: str, refusal: Refused, *, by: str) -> None:
    """Leave the refusal in the event log; one that cannot be written changes nothing."""
    event = Event(
        type=EventType.WAKE_REFUSED,
        ts=desk.clock.now(),
        subject=said,
        message=refusal.what,
        actor=by,
        payload={"reason": refusal.what, "remedy": refusal.do},
    )
    try:
        await desk.apply(Batch(events=(event,)))
    except StoreUnavailable:
        return
