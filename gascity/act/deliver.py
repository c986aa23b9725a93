"""Tell a session what it is to be told: once, in order, each notice saved before it is typed.

A delivery that nobody saw end is closed as unclear and reported; it is never typed again.

Source: DESIGN §5 (R43, R63, R66); F26
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from gascity.act.save import NOTHING, Besides, apply
from gascity.beads.bead import CLOSED, WAIT, Bead
from gascity.beads.notices import (
    Delivery,
    begin_delivery,
    delivery_of,
    end_delivery,
    tells_elapsed,
    text_of,
)
from gascity.beads.store import Batch, Conflict, Query
from gascity.beads.times import time_text
from gascity.beads.work import WaitState, settle_wait, wait_state
from gascity.decide.deliver import may_be_told, was_judged
from gascity.model.events import Event, EventType
from gascity.model.plan import CloseNotices
from gascity.model.session import Session
from gascity.model.world import Truth
from gascity.observe.ports import Ports
from gascity.observe.world import Lookout
from gascity.report.table import span
from gascity.runtimes.base import Ability, RuntimeUnreachable

SETTLE_S: Final = 0.5  # between two lines: how long an agent may take to show what the first does
ANSWER_S: Final = 2.0  # after the last: nobody is slept before it could begin to act on it


async def deliver(session_id: str, bead_ids: Iterable[str], ports: Ports, lookout: Lookout) -> bool:
    """Deliver in this order until one cannot be; whether any was.

    Each is preceded by a fresh look: the line before it may have brought up a question.
    """
    told = typed = False
    for bead_id in bead_ids:
        notice = await ports.store.get(bead_id)
        if notice is None or notice.status == CLOSED:
            continue
        if delivery_of(notice) is not Delivery.QUEUED:
            break
        if typed:
            await _pause(SETTLE_S, ports)
        session = await _listener(session_id, ports, lookout, typing=bool(text_of(notice)))
        if session is None:
            break
        try:
            typed = await _tell(session, notice, ports, lookout) or typed
        except Conflict:  # it was canceled meanwhile
            break
        told = True
    if typed:
        await _pause(ANSWER_S, ports)
    return told


async def _pause(seconds: float, ports: Ports) -> None:
    await ports.clock.sleep_until(ports.clock.monotonic() + seconds)


async def _listener(
    session_id: str, ports: Ports, lookout: Lookout, *, typing: bool
) -> Session | None:
    """The session, when it may be told right now."""
    world = await lookout.session(session_id)
    session = world.sessions.get(session_id)
    if session is None or not may_be_told(session, world):
        return None
    return session if not typing or was_judged(session, world) else None


async def _tell(session: Session, notice: Bead, ports: Ports, lookout: Lookout) -> bool:
    """Type one notice and write down how that ended; whether anything was typed."""
    text = said_of(notice, ports.clock.now())
    runtime = ports.runtime(session.runtime)
    if not text or runtime is None:
        await _close(notice, Delivery.DELIVERED, session.name, ports)
        return False
    if Ability.SEND not in runtime.abilities:
        # A wait did its part by waking it; a message nobody can read must not hold it for ever.
        how = Delivery.DELIVERED if notice.type == WAIT else Delivery.FAILED
        why = f"its runtime {runtime.kind} takes no text"
        await _close(notice, how, session.name, ports, why=why)
        return False
    begun = await apply(ports, Batch(updates=(begin_delivery(notice),)))
    notice = begun.beads[notice.id]
    try:
        await runtime.send(session.name, text, token=session.instance_token)
    except RuntimeUnreachable as problem:
        await _close(notice, Delivery.UNCLEAR, session.name, ports, why=str(problem))
        return True
    world = await lookout.session(session.id)
    seen = world.sighting(session.id)
    gone = seen.truth is Truth.STOPPED or seen.token not in ("", session.instance_token)
    how = Delivery.UNCLEAR if gone else Delivery.DELIVERED
    why = "it ended while it was told" if gone else ""
    await _close(notice, how, session.name, ports, why=why)
    return True


def said_of(notice: Bead, now: datetime) -> str:
    """What is typed now; "" for nothing."""
    text = text_of(notice)
    if not text or not tells_elapsed(notice):
        return text
    passed = (now - notice.created_at).total_seconds()
    return f"{text} (waited {span(passed)}, since {time_text(notice.created_at)[:19]}Z)"


async def _close(notice: Bead, how: Delivery, session: str, ports: Ports, *, why: str = "") -> None:
    event = notice_event(notice, how.value, session, now=ports.clock.now(), why=why)
    await apply(ports, Batch(updates=(end_delivery(notice, how),), events=(event,)))


async def fired(session: Session, ports: Ports) -> Besides:
    """Ready waits without a note of a session that was just started: they did their part.

    Written with the record that says that it is up, so that one which runs for a moment only, and
    is never seen ready, is not started for them again.
    """
    waits = await ports.store.query(Query(type=WAIT, metadata={"session_id": session.id}))
    if not waits:
        return NOTHING
    now = ports.clock.now()
    live = {bead.id: bead for bead in await ports.store.query(Query())}
    over = [
        wait
        for wait in waits
        if not text_of(wait)
        and delivery_of(wait) is Delivery.QUEUED
        and wait_state(wait, live, now) is WaitState.READY
    ]
    how = Delivery.DELIVERED
    return Besides(
        updates=tuple(end_delivery(wait, how) for wait in over),
        events=tuple(notice_event(wait, how.value, session.name, now=now) for wait in over),
    )


async def close_notices(action: CloseNotices, ports: Ports) -> None:
    """Write down what is over, unless somebody was quicker."""
    for bead_id in (*action.lapsed, *action.interrupted):
        notice = await ports.store.get(bead_id)
        if notice is None or notice.status == CLOSED:
            continue
        session = notice.metadata.get("session_name", "")
        lapsed = bead_id in action.lapsed
        if not lapsed and notice.metadata.get("session_id", "") in ports.memory.walks:
            continue
        how = WaitState.EXPIRED.value if lapsed else Delivery.UNCLEAR.value
        change = (
            settle_wait(notice, WaitState.EXPIRED)
            if lapsed
            else end_delivery(notice, Delivery.UNCLEAR)
        )
        why = "" if lapsed else "nobody saw its delivery end"
        event = notice_event(notice, how, session, now=ports.clock.now(), why=why)
        try:
            await apply(ports, Batch(updates=(change,), events=(event,)))
        except Conflict:
            continue


def notice_event(notice: Bead, how: str, session: str, *, now: datetime, why: str = "") -> Event:
    """`bead.closed` for a notice: how it ended, never what it says (E8)."""
    kind = "wait" if notice.type == WAIT else "message"
    payload: dict[str, Any] = {"kind": kind, "session": session, "state": how}
    if why:
        payload["why"] = why
    return Event(
        type=EventType.BEAD_CLOSED,
        ts=now,
        subject=notice.id,
        message=f"{kind} for {session}: {how}",
        payload=payload,
    )
