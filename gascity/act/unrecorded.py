"""Requests of people while the store takes no writes: kept in memory, honoured, written later.

With a full disk nothing is put to sleep, and nobody may be kept from waking either. What cannot be
written is seen on the record by every look of this controller, so that it is judged, queued and
started like any other; once the store takes writes again it goes on disk, if it is still open.

Source: DESIGN §13 (R75; D4 of the reliability targets)
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from gascity.act.save import Change, Gone, change
from gascity.model.events import Event
from gascity.model.plan import Plan
from gascity.model.session import Session, SleepReason
from gascity.model.world import World
from gascity.observe.ports import Ports
from gascity.observe.recollection import Asked


def ask(ports: Ports, session_id: str, fn: Change) -> Session:
    """Keep what `fn` asks for in memory; the record as it would be.

    Raises:
        Gone: there is no such session.
    """
    record = ports.records.get(session_id)
    if record is None:
        raise Gone(session_id)
    before = ports.memory.with_asked(record)
    after, _ = fn(before, ports.clock.now())
    undrained = before.sleep_reason is SleepReason.DRAINED and after.sleep_reason is not (
        SleepReason.DRAINED
    )
    ports.memory.asked[session_id] = Asked(
        attach_intent=after.attach_intent, wake_request=after.wake_request, undrains=undrained
    )
    return ports.memory.with_asked(record)


def forget(ports: Ports, session_id: str, *, holder: str) -> bool:
    """Take back an attach intent of `holder` that is in memory only; whether there was one."""
    asked = ports.memory.asked.get(session_id)
    if asked is None or asked.attach_intent is None or asked.attach_intent.holder != holder:
        return False
    if asked.wake_request is None:
        del ports.memory.asked[session_id]
    else:
        ports.memory.asked[session_id] = Asked(
            wake_request=asked.wake_request, undrains=asked.undrains
        )
    return True


def answered(ports: Ports, world: World, plan: Plan) -> None:
    """Drop what a patrol answered or let lapse."""
    memory = ports.memory
    for session_id, asked in list(memory.asked.items()):
        seen = world.sessions.get(session_id)
        if seen is None:
            continue
        left = asked.left(seen, plan.changes.get(session_id, seen))
        if left is None:
            del memory.asked[session_id]
        else:
            memory.asked[session_id] = left


async def write(ports: Ports) -> None:
    """Put what is still open on disk, now that there is room.

    Raises:
        StoreUnavailable: there is none after all; what is left stays in memory.
    """
    for session_id, asked in list(ports.memory.asked.items()):
        with suppress(Gone):
            await change(ports, session_id, _asking(asked))
        ports.memory.asked.pop(session_id, None)


def _asking(asked: Asked) -> Change:
    def put(session: Session, _: datetime) -> tuple[Session, tuple[Event, ...]]:
        return asked.on(session), ()

    return put
