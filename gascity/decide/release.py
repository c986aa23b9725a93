"""Work that a quarantined session holds goes back to its agent, once it certainly does not run.

Removal and trimming release in the batch that closes the record; see `act/release.py`.

Source: DESIGN §5 (R9, R68)
"""

from __future__ import annotations

from gascity.decide.idle import demand_doubt
from gascity.model.plan import Release
from gascity.model.session import Session, State
from gascity.model.world import Truth, World


def release(session: Session, world: World) -> Release | None:
    """The release of one session's work, or None.

    Args:
        session: The record as this tick leaves it.
    """
    if not world.demand.in_progress.get(session.id) or not world.writable:
        return None
    if session.id in world.memory.walks or not may_release(session, world):
        return None
    return Release(session_id=session.id)


def may_release(session: Session, world: World) -> bool:
    """Whether it is quarantined and stopped for certain, and nothing about demand is unclear."""
    if session.state is not State.QUARANTINED or session.quarantined_until is None:
        return False
    if world.sighting(session.id).truth is not Truth.STOPPED or session.foreign_state:
        return False
    return session.quarantined_until > world.now and not demand_doubt(session, world.demand)
