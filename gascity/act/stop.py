"""Stop one session outside the idle path: announce it, stop, look, record what it became.

Source: DESIGN §10 (DRAIN-12..15, R21, R28, R32, R40, R63, R64, COEX-01)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import anyio

from gascity.act.drain import STOP_SLACK_S
from gascity.act.probe import can_probe, probe
from gascity.act.release import given_back
from gascity.act.save import TRIES, apply, change, noting, read
from gascity.act.start import Launch, start
from gascity.beads.bead import CLOSED
from gascity.beads.store import Batch, Conflict, Update
from gascity.decide.exits import ASLEEP_AFTER, fall_asleep
from gascity.model.events import Event, EventType
from gascity.model.session import (
    ExitClass,
    Session,
    SleepIntent,
    SleepReason,
    State,
    StopNote,
    StopReason,
)
from gascity.model.world import ProbeResult, Truth
from gascity.observe.ports import Ports
from gascity.observe.world import Lookout
from gascity.runtimes.base import RuntimeUnreachable

ASKS_FOR_BOUNDARY: Final = frozenset({StopReason.CONFIG_DRIFT, StopReason.IDLE_TIMEOUT})
"""Restarts that wait for a safe boundary where the runtime can show one (R32, R40)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopWalk:
    """One stop. `still_wanted` is asked right before it: it may have become pointless.

    `restarting` is told when the stop is done and the start that follows begins.
    """

    session_id: str
    reason: StopReason
    restart: bool = False
    retire: bool = False
    by: str = "gc"
    grace_s: float | None = None
    still_wanted: Callable[[Session], bool] = lambda _: True
    restarting: Callable[[], None] = lambda: None


async def stop(walk: StopWalk, ports: Ports, lookout: Lookout) -> bool:
    """Stop the session; whether it was seen stopped and recorded so.

    Whatever fails leaves the note of the announced stop, so that the exit is not taken for a crash
    and the next patrol goes on.
    """
    _, session = await read(ports, walk.session_id)
    if walk.reason in ASKS_FOR_BOUNDARY and not await _at_boundary(session, ports):
        return False
    session = await change(ports, walk.session_id, lambda s, now: (_noted(s, walk, now), ()))
    if session.stop_note is None or not await _stop_runtime(session, walk, ports):
        return False
    world = await lookout.session(walk.session_id)
    if world.sighting(walk.session_id).truth is not Truth.STOPPED:
        return await _say(ports, walk.session_id, f"stop ({walk.reason}): it still runs")
    if walk.retire:
        await retire(walk.session_id, walk.reason, ports)
        return True
    await change(ports, walk.session_id, lambda s, now: _recorded(s, walk, now))
    if walk.restart:
        walk.restarting()
        await start(Launch(session_id=walk.session_id, why=(f"{walk.reason}",)), ports)
    return True


async def _at_boundary(session: Session, ports: Ports) -> bool:
    """Whether nothing in front of it would be cut off; runtimes that cannot tell say yes."""
    if not can_probe(session, ports):
        return True
    found = await probe(session, ports)
    ports.memory.probes[session.id] = found
    return found.result in (ProbeResult.IDLE, ProbeResult.UNSUPPORTED)


def _noted(session: Session, walk: StopWalk, now: datetime) -> Session:
    """The announcement, fenced by generation; the idle path ends with it."""
    if not walk.still_wanted(session):
        return replace(session, stop_note=None) if session.stop_note else session
    note = session.stop_note
    known = note is not None and note.generation == session.generation
    if known and note is not None and note.reason is walk.reason:
        return session
    return replace(
        session,
        sleep_intent=SleepIntent.NONE,
        stop_note=StopNote(reason=walk.reason, generation=session.generation, at=now),
    )


async def _stop_runtime(session: Session, walk: StopWalk, ports: Ports) -> bool:
    runtime = ports.runtime(session.runtime)
    if runtime is None:
        return False
    default = ports.city.daemon.shutdown_timeout.seconds
    grace = default if walk.grace_s is None else walk.grace_s
    try:
        with anyio.fail_after(grace + STOP_SLACK_S):
            await runtime.stop(session.name, token=session.instance_token, grace_s=grace)
    except TimeoutError:
        return await _say(ports, session.id, f"stop: no answer within {grace + STOP_SLACK_S:g}s")
    except RuntimeUnreachable as problem:
        return await _say(ports, session.id, f"stop: {problem}")
    return True


def _recorded(session: Session, walk: StopWalk, now: datetime) -> tuple[Session, tuple[Event, ...]]:
    """The record of a session that was stopped for this reason (R41: never a crash)."""
    after = replace(
        fall_asleep(session, ASLEEP_AFTER[walk.reason], now=now),
        stop_note=None,
        last_exit=str(ExitClass.OPERATOR_STOP),
        last_error="",
    )
    if walk.reason is StopReason.SUSPENDED:
        after = replace(after, state=State.SUSPENDED, attach_intent=None, wake_request=None)
    if walk.reason is StopReason.IDLE_TIMEOUT:
        after = replace(after, sleep_reason=SleepReason.IDLE_TIMEOUT)
    said: dict[str, Any] = {"reason": str(walk.reason), "by": walk.by, "restart": walk.restart}
    event = Event(
        type=EventType.STOPPED,
        ts=now,
        subject=session.name,
        actor=walk.by,
        message=f"stopped: {walk.reason}",
        payload=said,
    )
    return after, (event,)


async def retire(session_id: str, reason: StopReason, ports: Ports) -> bool:
    """Close the record of a session that does not run and is no longer asked for.

    The work it holds goes back to its agent in the same batch (R68).
    """
    for _ in range(TRIES):
        bead, session = await read(ports, session_id)
        now = ports.clock.now()
        given = await given_back(session, str(reason), ports.store, now=now, for_good=True)
        event = Event(
            type=EventType.REMOVED,
            ts=now,
            subject=session.name,
            message=f"removed: {reason}",
            payload={"reason": str(reason), "id": session.id, "template": session.template},
        )
        closing = Update(id=session_id, expect_version=bead.version, status=CLOSED)
        batch = Batch(
            updates=(closing, *given.updates),
            events=(event, *given.events),
            expect_demand=given.revision,
        )
        try:
            await apply(ports, batch)
        except Conflict:
            continue
        ports.forget(session_id)
        return True
    raise Conflict(f"{session_id} kept changing")


async def _say(ports: Ports, session_id: str, why: str) -> bool:
    """Show what went wrong; always False."""
    await change(ports, session_id, noting(why))
    return False
