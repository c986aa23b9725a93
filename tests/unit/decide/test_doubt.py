"""Doubt about a dependent holds what it stands on; certain answers stay as they are."""

from __future__ import annotations

from typing import Any

import pytest

from gascity.decide.doubt import spread_doubt
from gascity.decide.tick import decide
from gascity.model.plan import Drain, Retire
from gascity.model.reading import Known, Unclear
from gascity.model.world import Demand, World
from gascity.testing.builders import (
    a_city,
    a_world,
    action_of,
    awake,
    cold,
    decision_of,
    headless,
    pooled,
    running,
    stopped,
    unseen,
)

HUNG = Unclear("no answer within 10s")
CHAIN = a_city(headless("a"), headless("b", depends_on=("a",)), headless("c", depends_on=("b",)))


def a_chain(**over: Any) -> World:
    """a, b and c, all awake and idle."""
    return a_world(CHAIN, awake("a"), awake("b"), awake("c"), **over)


@pytest.mark.parametrize(
    "doubt",
    [
        {"work": {"c": HUNG}},
        {"waits": {"c": HUNG}},
        {"seen": {"c": running(attached=HUNG)}},
        {"seen": {"c": running(pending=HUNG)}},
        {"seen": {"c": unseen()}},
    ],
    ids=["work", "wait", "attachment", "question", "runtime"],
)
def test_who_might_be_needed_is_not_put_to_sleep(doubt: dict[str, Any]) -> None:
    """R9, DEP-01: what c asks for cannot be read, so b and a stay and say whose doubt it is."""
    plan = decide(a_chain(**doubt))
    for name in ("a", "b"):
        decision = decision_of(plan, name)
        assert action_of(plan, name) is None
        assert "demand_unknown" in decision.blocker_names
        assert any(one.detail.startswith("c: ") for one in decision.blockers)


@pytest.mark.parametrize(
    ("why", "said"), [("hung", "c: hung"), ("", "c: its runtime gives no answer")]
)
def test_the_doubt_that_reaches_it_is_told(why: str, said: str) -> None:
    """R9: whose doubt it is and what could not be read, never an empty reason."""
    plan = decide(a_chain(seen={"c": unseen(why)}))
    assert said in [one.detail for one in decision_of(plan, "a").blockers]


def test_nobody_can_be_attached_to_what_does_not_run() -> None:
    """R52: an unclear attachment or question of a stopped session is no doubt."""
    for reading in ("attached", "pending"):
        world = a_chain(seen={"c": stopped(**{reading: HUNG})})
        assert spread_doubt(world) is world


def test_doubt_goes_up_and_not_down() -> None:
    """R52: an answer missing about b says nothing against c, which needs it."""
    plan = decide(a_chain(work={"b": HUNG}))
    assert isinstance(action_of(plan, "c"), Drain)
    assert action_of(plan, "a") is None


def test_doubt_wakes_nobody() -> None:
    """R9: it keeps what is; a cold dependency stays cold."""
    world = a_world(CHAIN, cold("a"), cold("b"), awake("c"), work={"c": HUNG})
    assert decide(world).actions == ()


def test_certain_work_upstream_stays_certain() -> None:
    """R9: wake reasons already known still hold."""
    spread = spread_doubt(a_chain(work={"c": HUNG, "a": "w1"}))
    assert spread.demand.work["gc-a"] == Known(("w1",))
    assert isinstance(spread.demand.work["gc-b"], Unclear)


def test_a_pool_that_might_be_needed_is_not_trimmed() -> None:
    """R9, R21, POOL-08: the floor cannot be said, so slot 1 stays."""
    city = a_city(pooled("p"), headless("c", depends_on=("p",)))
    kept = decide(a_world(city, cold("p-1"), cold("c"), work={"c": HUNG}))
    gone = decide(a_world(city, cold("p-1"), cold("c")))
    assert action_of(kept, "p-1") is None
    assert isinstance(action_of(gone, "p-1"), Retire)


def test_a_pool_whose_routed_work_is_unread_holds_what_it_stands_on() -> None:
    """R9: also while it has no slot yet."""
    city = a_city(headless("a"), pooled("p", depends_on=("a",)))
    plan = decide(a_world(city, awake("a"), routed={"p": HUNG}))
    assert decision_of(plan, "a").blocker_names == ("demand_unknown",)


def test_a_world_without_doubt_is_the_same_world() -> None:
    """R42: nothing is made anew where nothing is in doubt."""
    world = a_chain()
    assert spread_doubt(world) is world
    unread = a_chain(demand=Demand(unclear="no store"))
    assert spread_doubt(unread) is unread


def test_a_check_without_an_answer_holds_the_slots_that_are() -> None:
    """R9, F12: neither slept nor trimmed on account of a count that nobody knows."""
    city = a_city(pooled("p", check="count-them"))
    plan = decide(a_world(city, awake("p-1"), cold("p-2"), checks={"p": HUNG}))
    assert plan.actions == ()
    assert decision_of(plan, "p-1").blocker_names == ("demand_unknown",)
