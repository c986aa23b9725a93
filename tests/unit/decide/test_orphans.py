"""The decision shown for a session the config no longer names."""

from __future__ import annotations

import pytest

from gascity.decide.tick import decide
from gascity.model.city import SessionClass, Source
from gascity.model.duration import OFF
from gascity.model.plan import (
    Blocker,
    Capability,
    CapabilityClass,
    Decision,
    DisplayState,
    Policy,
)
from gascity.model.world import World
from gascity.testing.builders import a_city, a_world, agent, awake, decision_of

OTHERS = a_city(agent("other"))
GONE = frozenset({"mayor"})
LEFT = {
    "seen missing once": (
        a_world(OTHERS, awake()),
        "no longer in the config; removed if the next reading misses it too",
        (),
    ),
    "seen missing twice": (
        a_world(OTHERS, awake(), missing=GONE),
        "no longer in the config; being removed",
        (Blocker(name="draining:orphaned"),),
    ),
    "the config is incomplete": (
        a_world(a_city(agent("other"), incomplete=True), awake(), missing=GONE),
        "not named by a config that is incomplete; left as it is",
        (),
    ),
    "it is of another tool": (
        a_world(OTHERS, awake(foreign_state="theirs"), missing=GONE),
        "state theirs belongs to another tool; left as it is",
        (),
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_an_orphan_says_what_becomes_of_it(name: str) -> None:
    """The whole decision: no policy, no capability, and one sentence (R6a, R21, X1)."""
    world: World
    world, why, blockers = LEFT[name]
    decision = decision_of(decide(world), "mayor")
    assert decision == Decision(
        session_id="gc-mayor",
        name="mayor",
        state=DisplayState.AWAKE,
        row=decision.row,
        path=decision.path,
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
        blockers=blockers,
        held_back=why,
        verdict=why,
    )
    assert decision.row
