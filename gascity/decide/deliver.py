"""Who is told something now: a session that is up, ready, at its prompt, and asked nothing.

`may_be_told` is the one rule: the plan asks it, and so does the delivery right before it types.

Source: DESIGN §5 (R66, R79); F26
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from gascity.decide.probing import Entry
from gascity.model.plan import CloseNotices, Deliver
from gascity.model.reading import Known, Unclear, Unsupported
from gascity.model.session import Session, SleepIntent, State
from gascity.model.world import ScreenVerdict, Truth, World

TRY_AGAIN: Final = timedelta(seconds=5)
"""How soon a session that could not be told is looked at again."""


def deliver(entry: Entry, world: World) -> Deliver | None:
    """The delivery to one session, or None: nothing to tell, or not now."""
    session = entry.settled.session
    bead_ids = world.demand.notices.get(session.id, ())
    if not bead_ids or entry.settled.action is not None or not world.writable:
        return None
    if session.id in world.memory.walks or not may_be_told(session, world):
        return None
    return Deliver(session_id=session.id, bead_ids=bead_ids)


def may_be_told(session: Session, world: World) -> bool:
    """Whether a line typed now would be read as one: by the agent, at its prompt.

    A screen that was not judged in this look forbids nothing; the delivery judges it itself.
    """
    seen = world.sighting(session.id)
    leaving = session.stop_note is not None and session.stop_note.generation == session.generation
    if leaving or session.sleep_intent is not SleepIntent.NONE or session.foreign_state:
        return False
    if session.state is not State.AWAKE or session.ready_at is None:
        return False
    if seen.truth is not Truth.RUNNING or seen.agent_exited:
        return False
    if seen.token and seen.token != session.instance_token:
        return False
    asked = seen.pending
    if isinstance(asked, Unclear) or (isinstance(asked, Known) and asked.value is not None):
        return False
    return seen.screen in (None, ScreenVerdict.IDLE)


def was_judged(session: Session, world: World) -> bool:
    """Whether the look judged its screen, where its runtime can."""
    support = world.support.get(session.id, Unsupported())
    offered = support.value if isinstance(support, Known) else None
    judges = offered is not None and offered.idle_boundary and offered.screen
    return not judges or world.sighting(session.id).screen is not None


def close_notices(world: World) -> tuple[CloseNotices, ...]:
    """Waits that expired, and deliveries that no walk is at: each is written down once."""
    demand = world.demand
    left = tuple(
        bead_id
        for session_id, ids in demand.interrupted.items()
        if session_id not in world.memory.walks
        for bead_id in ids
    )
    if not world.writable or not (demand.lapsed or left):
        return ()
    return (CloseNotices(lapsed=demand.lapsed, interrupted=left),)
