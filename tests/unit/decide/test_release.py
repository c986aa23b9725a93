"""When the work of a quarantined session goes back to its agent."""

from __future__ import annotations

from typing import Any

import pytest

from gascity.decide.tick import decide
from gascity.model.plan import Release
from gascity.model.reading import Unclear
from gascity.model.session import Session, SleepReason, State
from gascity.model.world import Demand, Sighting, Walk, World
from gascity.testing.builders import (
    a_city,
    a_world,
    agent,
    ago,
    ahead,
    asleep,
    awake,
    running,
    stopped,
    unseen,
)

CITY = a_city(agent("mayor"))
ID = "gc-mayor"
HOLDS = Demand(in_progress={ID: ("t-1",)})


def quarantined(**over: Any) -> Session:
    fields = {"state": State.QUARANTINED, "quarantined_until": ahead(600), **over}
    return asleep(SleepReason.QUARANTINE, "mayor", **fields)


def world(
    session: Session | None = None,
    seen: Sighting | None = None,
    demand: Demand = HOLDS,
    **more: Any,
) -> World:
    return a_world(CITY, session or quarantined(), seen=seen or stopped(), demand=demand, **more)


def test_a_quarantined_session_that_is_stopped_gives_its_work_back() -> None:
    """R68."""
    assert decide(world()).actions == (Release(session_id=ID),)


OTHERWISE: dict[str, dict[str, Any]] = {
    "it holds nothing": {"demand": Demand()},
    "it may still run": {"seen": unseen()},
    "it runs": {"seen": running()},
    "all demand is unclear": {"demand": Demand(unclear="locked")},
    "its own demand is unclear": {
        "demand": Demand(in_progress={ID: ("t-1",)}, work={ID: Unclear("elsewhere")})
    },
    "the store takes no writes": {"writable": False},
    "it is on a walk": {"walks": {"mayor": Walk(kind="release")}},
    "its quarantine is over": {"session": quarantined(quarantined_until=ago(1))},
    "it is suspended only": {
        "session": asleep(
            SleepReason.SUSPENDED, "mayor", state=State.SUSPENDED, suspended_at=ago(1)
        )
    },
    "it works": {"session": awake("mayor"), "seen": running()},
}


@pytest.mark.parametrize("why", OTHERWISE)
def test_nothing_is_released_when(why: str) -> None:
    """R9, R68, R75."""
    plan = decide(world(**OTHERWISE[why]))
    assert not any(isinstance(action, Release) for action in plan.actions)
