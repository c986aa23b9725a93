"""The decision shown for a session the config no longer names.

Source: DESIGN §9, §10 (R6a, R21)
"""

from __future__ import annotations

from gascity.decide.case import Settled
from gascity.decide.explain import display_state
from gascity.decide.recovery import Row
from gascity.model.city import SessionClass, Source
from gascity.model.duration import OFF
from gascity.model.plan import Blocker, Capability, CapabilityClass, Decision, Policy
from gascity.model.session import Session
from gascity.model.world import World


def orphan_decision(session: Session, world: World, row: Row, settled: Settled) -> Decision:
    """It is removed after a second complete reading misses it too, and left alone until then."""
    if session.foreign_state:
        why = f"state {session.foreign_state} belongs to another tool; left as it is"
    elif world.city.incomplete:
        why = "not named by a config that is incomplete; left as it is"
    elif settled.action is not None:
        why = "no longer in the config; being removed"
    else:
        why = "no longer in the config; removed if the next reading misses it too"
    return Decision(
        session_id=session.id,
        name=session.name,
        state=display_state(session, world),
        row=row.label,
        path=row.path,
        policy=Policy(
            requested=OFF,
            effective=OFF,
            source=Source.LEGACY_OFF,
            session_class=SessionClass.NONINTERACTIVE,
        ),
        capability=Capability(
            kind=CapabilityClass.DISABLED,
            has_activity_clock=False,
            has_idle_boundary=False,
            has_pending_signal=False,
            has_attachment_signal=False,
        ),
        blockers=(Blocker(name="draining:orphaned"),) if settled.action is not None else (),
        held_back=why,
        verdict=why,
    )
