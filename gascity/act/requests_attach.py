"""`gc attach`: hand over the terminal of a running session, or have it woken first.

The tables of `decide/attach.py` say what happens; this walks them. The intent is durable before it
is announced, carries its holder, and is taken back when the client leaves or loses patience. Only
the controller starts the session. A failure is shown, never retried.

Source: DESIGN §12 (ATT-01..25, META-10, R55, R65)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from secrets import token_hex
from typing import Final

import anyio

from gascity.act.operate import (
    Desk,
    Reply,
    Say,
    find,
    hold_of,
    is_leaving,
    is_up,
    seen_now,
)
from gascity.act.ports import Refused
from gascity.act.requests_attach_wait import follow, is_fresh, ready
from gascity.act.save import Gone
from gascity.beads.store import Conflict, StoreUnavailable
from gascity.decide.attach import (
    CONCURRENT,
    FRESH_CONSEQUENCE,
    LONGEST_LIFE,
    SHORTEST_LIFE,
    AttachState,
    Stand,
    intent_life,
    opening,
)
from gascity.model.city import City, WakeMode
from gascity.model.events import Event
from gascity.model.session import Session, SleepReason, State, WakeNote
from gascity.model.world import Sighting, Truth

TAKE_BACK_S: Final = 2.0


async def attach(
    desk: Desk,
    said: str,
    *,
    say: Say,
    by: str = "operator",
    confirm_fresh: bool = False,
    timeout_s: float | None = None,
) -> Reply:
    """Get the terminal of a session, waking it when it may be woken.

    Returns:
        `ready` with the `argv` to run; or `confirm` with the `consequence` to be agreed to, with
        nothing written; or an `outcome` with `exit`, `what`, `do`.

    Raises:
        Refused: it cannot be attached to, is held, or another attach is waking it.
    """
    session = find(desk.snapshot(), said)
    argv = desk.runtime_of(session).attach_command(session.name)
    if not argv:
        raise Refused(
            f"{session.name} runs in {session.runtime}, which has no terminal to attach to",
            f"read it with gc session peek {session.name}",
        )
    sight = await seen_now(desk, session)
    holder = token_hex(8)

    def intent(now: datetime) -> WakeNote:
        life = _life(desk.snapshot().city, timeout_s)
        return WakeNote(holder=holder, by=by, at=now, expires_at=now + life)

    try:
        first, written, recorded = await _open(
            desk, session, sight, intent, confirmed=confirm_fresh
        )
        note = written.attach_intent if written is not None else None
        if written is None or note is None:
            return _opened(first, session, argv)
        reply = await follow(
            desk, written, note, argv, say=say, timeout_s=timeout_s, recorded=recorded
        )
    except anyio.get_cancelled_exc_class():
        await _take_back(desk, session, holder)
        raise
    if "outcome" in reply:
        await _take_back(desk, session, holder)
    return reply


def _opened(first: AttachState, session: Session, argv: tuple[str, ...]) -> Reply:
    """The reply of an attach that wrote nothing."""
    if first is AttachState.READY:
        return ready(session, argv)
    if first is AttachState.CONFIRM:
        return {
            "confirm": True,
            "session": session.name,
            "wake_mode": WakeMode.FRESH.value,
            "consequence": FRESH_CONSEQUENCE,
        }
    raise Refused(CONCURRENT, f"attach again when it is up: gc attach {session.name}")


async def cancel(desk: Desk, said: str, *, holder: str) -> Reply:
    """Take back the intent that `holder` wrote; `gone` when it was used up already (ATT-16)."""
    session = find(desk.snapshot(), said)
    taken = await _take_back(desk, session, holder)
    return {"outcome": "canceled" if taken else "gone", "session": session.name}


async def _open(
    desk: Desk,
    session: Session,
    sight: Sighting,
    intent: Callable[[datetime], WakeNote],
    *,
    confirmed: bool,
) -> tuple[AttachState, Session | None, bool]:
    """The first step, judged on the record as it is then; that record if the intent went on it.

    And whether it is on disk: a store that takes no writes keeps nobody out (R75).

    Raises:
        Refused: it is held.
    """
    city = desk.snapshot().city
    first = AttachState.REFUSED

    def begin(now_is: Session, now: datetime) -> tuple[Session, tuple[Event, ...]]:
        nonlocal first
        note = now_is.attach_intent
        first = opening(
            stand_of(now_is, sight, city, now),
            fresh=is_fresh(now_is, city),
            confirmed=confirmed,
            other=note is not None and note.expires_at > now,
        )
        if first is AttachState.REFUSED:
            raise hold_of(now_is, city, now) or _put_away(now_is)
        if first is not AttachState.ACCEPTED:
            raise Refused(first.value)
        return replace(now_is, attach_intent=intent(now)), ()

    try:
        written, recorded = await desk.ask(session.id, begin)
    except Refused:
        if first is AttachState.REFUSED:
            raise
        return first, None, True
    return first, written, recorded


def stand_of(session: Session, sight: Sighting, city: City, now: datetime) -> Stand:
    """How a session stands for somebody who wants in."""
    runs = sight.truth is Truth.RUNNING
    if runs and is_up(session):
        return Stand.AWAKE
    if hold_of(session, city, now) is not None or _is_put_away(session):
        return Stand.HELD
    if runs and is_leaving(session):
        return Stand.DRAINING
    if not session.was_started:
        return Stand.NEW
    if session.state is State.CREATING or (runs and session.state is State.AWAKE):
        return Stand.STARTING
    return Stand.ASLEEP


def _is_put_away(session: Session) -> bool:
    return session.state is State.ASLEEP and session.sleep_reason is SleepReason.OPERATOR


def _put_away(session: Session) -> Refused:
    return Refused(
        f"{session.name} was put to sleep by an operator", f"wake it with gc wake {session.name}"
    )


def _life(city: City, timeout_s: float | None) -> timedelta:
    if timeout_s is None:
        return intent_life(city.session.startup_timeout)
    return min(max(timedelta(seconds=timeout_s), SHORTEST_LIFE), LONGEST_LIFE)


async def _take_back(desk: Desk, session: Session, holder: str) -> bool:
    """Clear the intent `holder` wrote, best effort, even while being cancelled (ATT-12)."""
    if desk.forget(session.id, holder=holder):
        return True
    mine = False

    def clear(now_is: Session, now: datetime) -> tuple[Session, tuple[Event, ...]]:
        nonlocal mine
        note = now_is.attach_intent
        mine = note is not None and note.holder == holder
        if not mine:
            raise Refused("gone")
        return replace(now_is, attach_intent=None), ()

    with anyio.move_on_after(TAKE_BACK_S, shield=True):
        try:
            await desk.change(session.id, clear)
        except (Refused, Gone, Conflict, StoreUnavailable):
            return False
    return mine
