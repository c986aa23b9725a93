"""The end of a controller: walks come to their end, sessions go on or are stopped, then silence.

Source: DESIGN §13 (R37, R64)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Final

import anyio

from gascity.act.perform import Performer
from gascity.act.save import apply
from gascity.act.stop import StopWalk
from gascity.beads.store import Batch, StoreUnavailable
from gascity.model.events import Event, EventType
from gascity.model.session import State, StopReason
from gascity.model.world import Truth
from gascity.observe.ports import Ports
from gascity.observe.world import Lookout
from gascity.report.log import logger

STOPPING_SLACK_S: Final = 30.0
log = logger("ending")


class Ending(StrEnum):
    """How the loop is asked to end."""

    LEAVE_SESSIONS = "controller stopped; sessions go on"
    STOP_SESSIONS = "controller stopped with its sessions"


async def end(
    ending: Ending,
    ports: Ports,
    lookout: Lookout,
    performer: Performer,
    wait_moved: Callable[[], Awaitable[None]],
) -> None:
    """Finish walks, stop sessions when asked to, and write the last event."""
    grace_s = ports.city.daemon.shutdown_timeout.seconds
    await _finish_walks(ports, wait_moved, grace_s)
    if ending is Ending.STOP_SESSIONS:
        await _stop_sessions(lookout, performer)
        await _finish_walks(ports, wait_moved, grace_s + STOPPING_SLACK_S)
    event = Event(type=EventType.CONTROLLER_STOPPED, ts=ports.clock.now(), message=str(ending))
    try:
        await apply(ports, Batch(events=(event,)))
    except StoreUnavailable as problem:
        log.warning("last event not written", problem=str(problem))


async def _stop_sessions(lookout: Lookout, performer: Performer) -> None:
    """Begin the stop of every session that may run; each is recorded as `city-stop`."""
    world = await lookout.city()
    for session_id, session in world.sessions.items():
        truth = world.sighting(session_id).truth
        recorded = session.state in (State.AWAKE, State.CREATING) and session.was_started
        if truth is Truth.RUNNING or (truth is Truth.UNKNOWN and recorded):
            performer.stop(StopWalk(session_id=session_id, reason=StopReason.CITY_STOP))


async def _finish_walks(
    ports: Ports, wait_moved: Callable[[], Awaitable[None]], limit_s: float
) -> None:
    """Wait until no session is on a walk, at most `limit_s` seconds."""
    with anyio.move_on_after(limit_s):
        while ports.memory.walks:
            await wait_moved()
