"""The second half of an attach: from the durable intent to the terminal, or to what went wrong.

Source: DESIGN §12 (ATT-08..16, R24)
"""

from __future__ import annotations

from datetime import timedelta

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
    hold_of,
    next_progress,
    seen_now,
    start_failure,
)
from gascity.decide.attach import (
    ENDS,
    FRESH_CONSEQUENCE,
    LONGEST_LIFE,
    AttachState,
    Seen,
    accepted_text,
    span_text,
    step,
)
from gascity.model.city import City, WakeMode
from gascity.model.session import Session, WakeNote


def is_fresh(session: Session, city: City) -> bool:
    """Whether a start of it begins a new conversation (ATT-17)."""
    agent = city.agents.get(session.template)
    return agent is not None and agent.wake_mode is WakeMode.FRESH


async def follow(
    desk: Desk,
    before: Session,
    note: WakeNote,
    argv: tuple[str, ...],
    *,
    say: Say,
    timeout_s: float | None,
    recorded: bool = True,
) -> Reply:
    """Wait for the session to come up, fail, or run out of time, saying how it stands.

    `before` is the record as the intent was written on it.
    """
    city = desk.snapshot().city
    longest = note.expires_at - note.at
    patience = timedelta(seconds=timeout_s) if timeout_s else longest
    accepted: Reply = {
        "progress": accepted_text(before.name, min(patience, LONGEST_LIFE)),
        "attach": AttachState.ACCEPTED.value,
        "timeout_s": min(patience, LONGEST_LIFE).total_seconds(),
        "holder": note.holder,
        "session": before.name,
    }
    if is_fresh(before, city):
        accepted["consequence"] = FRESH_CONSEQUENCE
    if not recorded:
        accepted["progress"] = f"{accepted['progress']}; {UNRECORDED}"
    await say(accepted)
    began = said_at = desk.clock.monotonic()
    # The expiry moves when the start is attempted (R24), so the client's own limit is kept apart.
    until = began + patience.total_seconds() if timeout_s else float("inf")
    state, seen, shown = AttachState.ACCEPTED, desk.progress, f"still waking {before.name}"
    while True:
        look = desk.snapshot()
        session = current(look, before)
        intent = session.attach_intent
        if intent is not None and intent.holder == note.holder:
            note = intent
        sees, why = _sees(desk, look, before, session, note, until=until, recorded=recorded)
        state = step(state, sees)
        if state in ENDS:
            break
        at = desk.clock.monotonic()
        text = _waiting_text(look, session)
        if text != shown or at - said_at >= HEARTBEAT_S:
            shown, said_at = text, at
            waited = at - began
            await say(
                {
                    "progress": f"{text} ({waited:.0f}s)",
                    "attach": state.value,
                    "session": session.name,
                }
            )
        lapses = at + (note.expires_at - desk.clock.now()).total_seconds()
        seen = await next_progress(desk, seen, until=min(until, lapses, at + HEARTBEAT_S))
    if state is AttachState.READY:
        return {**ready(session, argv), "holder": note.holder}
    return await _ended(desk, session, state, why, min(patience, LONGEST_LIFE))


def _sees(
    desk: Desk,
    look: Look,
    before: Session,
    session: Session,
    note: WakeNote,
    *,
    until: float,
    recorded: bool,
) -> tuple[Seen, str]:
    """What there is to see of the wake, most certain first."""
    if came_up(look, session, since=note.at, recorded=recorded):
        return Seen.UP, ""
    if failure := start_failure(before, session):
        return Seen.FAILED, failure
    if desk.clock.now() >= note.expires_at or desk.clock.monotonic() >= until:
        return Seen.EXPIRED, ""
    intent = session.attach_intent
    if intent is None or intent.holder != note.holder:
        hold = hold_of(session, look.city, desk.clock.now())
        return Seen.LEFT, hold.what if hold else "the intent was taken back"
    return Seen.GOING_ON, ""


def _waiting_text(look: Look, session: Session) -> str:
    decision = decision_of(look, session)
    if decision is not None and decision.held_back:
        return f"still waiting for {session.name}: {decision.held_back}"
    if look.plan is not None and session.id in look.plan.queued:
        return f"still waiting for {session.name}: queued for a start"
    return f"still waking {session.name}"


def ready(session: Session, argv: tuple[str, ...]) -> Reply:
    """The terminal is there: the command a person's terminal becomes."""
    return {"ready": True, "argv": list(argv), "session": session.name, "holder": ""}


async def _ended(
    desk: Desk, session: Session, state: AttachState, why: str, patience: timedelta
) -> Reply:
    """An attach that did not begin: what is known for certain, and no more than that (ATT-14)."""
    truth = (await seen_now(desk, session)).truth.value
    if state is AttachState.TIMED_OUT:
        code = EXIT_TIMED_OUT
        what = f"attach did not begin within {span_text(patience)}; {session.name} is seen {truth}"
        do = f"it may still come up; look at gc why {session.name}"
    elif state is AttachState.FAILED:
        code = EXIT_FAILED
        what, do = f"{session.name} did not start: {why}", f"look at gc why {session.name}"
    else:
        code = EXIT_FAILED
        what, do = f"no longer waiting for {session.name}: {why}", "attach again"
    return {
        "outcome": state.value,
        "session": session.name,
        "state": truth,
        "exit": code,
        "what": what,
        "do": do,
    }
