"""Who is told something now, and what of it is over."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gascity.decide.deliver import may_be_told, was_judged
from gascity.decide.tick import decide
from gascity.model.plan import CloseNotices, Deliver, Drain
from gascity.model.reading import Known, Unclear
from gascity.model.session import Session, SleepIntent, SleepReason, StopNote, StopReason
from gascity.model.world import Demand, Pending, ScreenVerdict, Sighting, Walk, World
from gascity.testing.builders import (
    FULL,
    NOON,
    TIMED,
    a_city,
    a_world,
    agent,
    ahead,
    asleep,
    awake,
    cold,
    decided,
    running,
    starting,
    unseen,
)

CITY = a_city(agent("mayor"))
ID = "gc-mayor"


def told(*ids: str, waking: bool = True, **more: Any) -> Demand:
    waits = {ID: Known(ids)} if waking else {}
    return Demand(notices={ID: ids}, waits=waits, **more)


def world(session: Session | None = None, seen: Sighting | None = None, **more: Any) -> World:
    given: dict[str, Any] = {"demand": told("m-1", "m-2"), **more}
    return a_world(CITY, session or awake("mayor"), seen=seen, **given)


def test_a_session_at_its_prompt_is_told_everything_in_order() -> None:
    """F26, R66: one delivery, oldest first; meanwhile `wait` keeps it up."""
    decision, action = decided(world())
    assert action == Deliver(session_id=ID, bead_ids=("m-1", "m-2"))
    assert decision.blocker_names[0] == "wait"


@pytest.mark.parametrize("waking", [True, False])
def test_what_is_undelivered_keeps_a_running_session_from_sleeping(waking: bool) -> None:
    """R66: also what would not have woken it."""
    busy = running(screen=ScreenVerdict.BUSY)
    decision, action = decided(world(seen=busy, demand=told("m-1", waking=waking)))
    assert action is None
    assert "wait" in decision.blocker_names


@pytest.mark.parametrize(("waking", "starts"), [(True, True), (False, False)])
def test_a_sleeper_is_woken_only_by_what_wakes(waking: bool, starts: bool) -> None:
    """F26: the sender was told which."""
    decision, action = decided(world(cold("mayor"), demand=told("m-1", waking=waking)))
    assert (type(action).__name__ == "Start") is starts
    assert ("wait" in decision.reasons) is starts


NOT_NOW: dict[str, dict[str, Any]] = {
    "a question is open": {"seen": running(pending=Known(Pending(kind="permission")))},
    "nobody knows whether one is": {"seen": running(pending=Unclear("timed out"))},
    "its runtime does not answer": {"seen": unseen()},
    "its agent has left": {"seen": running(agent_exited=True)},
    "it was never ready": {"session": starting("mayor")},
    "it is being stopped": {
        "session": awake("mayor", stop_note=StopNote(reason=StopReason.KILL, generation=1, at=NOON))
    },
    "it is on a walk": {"walks": {"mayor": Walk(kind="start")}},
    "the store takes no writes": {"writable": False},
    **{
        f"it shows {one}": {"seen": running(screen=one)}
        for one in ScreenVerdict
        if one is not ScreenVerdict.IDLE
    },
}


@pytest.mark.parametrize("why", NOT_NOW)
def test_nothing_is_typed_while(why: str) -> None:
    """R15, R63, R75, R79: a line typed then would not be read as one, or could not be recorded."""
    plan = decide(world(**NOT_NOW[why]))
    assert not any(isinstance(action, Deliver) for action in plan.actions)


BLANK = replace(FULL, screen=False)


@pytest.mark.parametrize(
    ("support", "screen", "judged"),
    [
        (FULL, ScreenVerdict.BUSY, True),
        (FULL, None, False),
        (BLANK, None, True),
        (replace(FULL, idle_boundary=False), None, True),
        (None, None, True),
        ({"mayor": Unclear("gone")}, None, True),
    ],
    ids=["shown", "not shown", "has no screens", "judges none", "not asked", "unclear"],
)
def test_a_screen_is_waited_for_only_where_one_is_judged(
    support: Any, screen: Any, judged: bool
) -> None:
    """R15, CAP-16: a runtime without screens has nothing to wait for."""
    around = world(seen=running(screen=screen), support=support)
    assert was_judged(around.sessions[ID], around) is judged


def test_who_has_not_been_ready_is_told_nothing() -> None:
    """R66: neither a session that is starting nor one that is recorded as down."""
    for session in (awake("mayor", ready_at=None), cold("mayor", ready_at=NOON)):
        around = world(session, seen=running())
        assert not may_be_told(around.sessions[ID], around)
    around = world()
    assert may_be_told(around.sessions[ID], around)


@pytest.mark.parametrize(
    "over",
    [
        {"foreign_state": "theirs"},
        {"sleep_intent": SleepIntent.PENDING},
        {"stop_note": StopNote(reason=StopReason.OPERATOR, at=NOON, generation=1)},
    ],
    ids=["foreign", "draining", "being stopped"],
)
def test_who_is_leaving_is_told_nothing(over: dict[str, Any]) -> None:
    """R66, R79: each alone is enough; the line would be lost with the run."""
    around = world(awake("mayor", **over))
    assert not may_be_told(around.sessions[ID], around)


def test_a_runtime_that_judges_no_screens_is_told_when_ready() -> None:
    """CAP-16: there is nothing better to go by."""
    plan = decide(world(seen=running(screen=None), support=TIMED))
    assert any(isinstance(action, Deliver) for action in plan.actions)


def test_a_held_session_is_neither_woken_nor_told() -> None:
    """R26: a suspension lifted, it is told then."""
    held = asleep(SleepReason.SUSPENDED, "mayor", suspended_at=NOON, suspended_by="ann")
    assert decide(world(held)).actions == ()


def test_a_session_that_cannot_be_told_yet_is_looked_at_again_soon() -> None:
    """R80: seconds, not a patrol; and without anything to say there is no such haste."""
    busy = running(screen=ScreenVerdict.BUSY)
    soon = decide(world(seen=busy)).next_due
    assert soon is not None
    assert soon <= ahead(5)
    assert decide(world(seen=busy, demand=Demand())).next_due != soon


def test_nothing_to_tell_leaves_idle_sleep_alone() -> None:
    """R42: no notice, no delivery."""
    _, action = decided(world(demand=Demand()))
    assert isinstance(action, Drain)


def test_what_is_over_is_written_down() -> None:
    """F26, R42: expired waits, and deliveries that nobody is at."""
    gone = Demand(lapsed=("w-1",), interrupted={ID: ("m-1",), "gc-gone": ("m-2",)})
    expected = CloseNotices(lapsed=("w-1",), interrupted=("m-1", "m-2"))
    assert expected in decide(world(demand=gone)).actions
    assert decide(world(demand=gone, writable=False)).actions == ()


def test_a_delivery_under_way_is_left_to_its_walk() -> None:
    """F26: `delivering` is how it should stand then."""
    begun = Demand(interrupted={ID: ("m-1",)})
    plan = decide(world(demand=begun, walks={"mayor": Walk(kind="deliver")}))
    assert plan.actions == ()


def test_the_next_moment_of_work_and_waits_brings_a_patrol_forward() -> None:
    """R80: a wait of 90 s is 90 s."""
    plan = decide(world(demand=Demand(next_moment=ahead(7))))
    assert plan.next_due == ahead(7)
