"""Slots: how many, which to wake, create and trim.

Covers TEST-24.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from gascity.decide.pools import Slot, SlotPlan, causes_of, plan_slots
from gascity.decide.tick import decide
from gascity.decide.wake import hard_wakes
from gascity.model.city import Pool
from gascity.model.duration import OFF
from gascity.model.plan import Create, Drain, PoolState, Retire, Start, Stop
from gascity.model.reading import Known, Unclear
from gascity.model.session import SleepReason, State, StopReason
from gascity.model.world import Demand, Pending, World
from gascity.testing.builders import (
    a_city,
    a_note,
    a_pin,
    a_session,
    a_world,
    agent,
    ahead,
    awake,
    cold,
    decided,
    decision_of,
    pooled,
    record_of,
    running,
    stopped,
    unseen,
)


def slots(shape: str) -> list[Slot]:
    """`A` awake, `c` cold, `H` awake and needed, `h` cold and needed, `B` bearer, `?` in doubt."""
    return [
        Slot(
            number=number,
            is_awake=sign in "AHB?",
            is_held_by_need=sign in "Hh",
            is_bearer=sign == "B",
            is_doubtful=sign == "?",
        )
        for number, sign in enumerate(shape, start=1)
        if sign != "."
    ]


def plan(shape: str, check: int | None, *, ready: int = 0, floor: int = 0, **pool: Any) -> SlotPlan:
    return plan_slots(
        slots(shape), check_desired=check, dependency_floor=floor, ready=ready, pool=Pool(**pool)
    )


ROWS: list[tuple[str, SlotPlan, dict[str, Any]]] = [
    ("POOL-05 cold is healthy", plan("ccc", 3), {}),
    ("POOL-06 excess, even asleep", plan("ccc", 1), {"trim": (3, 2)}),
    ("POOL-07 desired zero", plan("Acc", 0), {"trim": (3, 2, 1)}),
    ("POOL-08 floor keeps slot 1", plan("Bcc", 0, floor=1), {"trim": (3, 2)}),
    ("POOL-09 wakes before creating", plan("c", 2, ready=2), {"wake": (1,), "create": (2,)}),
    ("POOL-10 lowest first", plan("Accc", 3, ready=2, max=9),
     {"serve": (1,), "wake": (2, 3), "trim": (4,)}),
    ("POOL-11 highest first", plan("AAAA", 2), {"trim": (4, 3)}),
    ("POOL-13 realizes slot 1", plan("", 0, floor=1), {"create": (1,)}),
    ("POOL-15 min is realized", plan("", 0, min=2), {"create": (1, 2)}),
    ("POOL-16 trims against the max", plan("Bc", 0, floor=1), {"trim": (2,)}),
    ("POOL-17 only as many as desired", plan("ccc", 2, ready=5), {"wake": (1, 2), "trim": (3,)}),
    ("POOL-19 satisfied by sleepers", plan("cc", 2), {}),
    ("R21 never a slot with work", plan("AH", 0), {"trim": (1,)}),
    ("R21 needed raises desired", plan("HHH", 0), {}),
    ("gaps are filled", plan("c.c", 3), {"create": (2,)}),
    ("max bounds the check", plan("", 9, max=2), {"create": (1, 2)}),
    ("max never costs a needed slot", plan("HHH", 9, max=2), {}),
    ("R9 unknown check", plan("AcA", None), {}),
    ("R9 unknown check, known work", plan("ccc", None, ready=1), {"wake": (1,)}),
    ("R9 unknown check, floor", plan("", None, floor=1), {"create": (1,)}),
    ("R9 doubt keeps its turn", plan("AA?", 2), {}),
    ("R9 doubt spares itself only", plan("AA?A", 2), {"trim": (4,)}),
    ("R20 awake hands before sleepers", plan("HAc", 3, ready=1), {"serve": (2,), "wake": (3,)}),
    ("R20 a trimmed slot serves nobody", plan("HcA", 2, ready=1), {"wake": (2,), "trim": (3,)}),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_slots_are_reconciled(row: tuple[str, SlotPlan, dict[str, Any]]) -> None:
    """Wake before create, lowest; trim highest and spare (POOL-05..POOL-19, R9, R20, R21)."""
    _, found, expected = row
    parts = {name: getattr(found, name) for name in ("serve", "wake", "create", "trim")}
    assert {name: value for name, value in parts.items() if value} == expected


def test_a_held_slot_cannot_be_woken() -> None:
    """A quarantined sleeper is not chosen (R26)."""
    free = Slot(number=2, is_awake=False, is_held_by_need=False, is_bearer=False, is_doubtful=False)
    held = replace(free, number=1, can_wake=False)
    found = plan_slots(
        [held, free], check_desired=2, dependency_floor=0, ready=1, pool=Pool(max=None)
    )
    assert found.wake == (2,)


@pytest.mark.parametrize("check", [None, 0, 2, 4])
@pytest.mark.parametrize("ready", [0, 1, 9])
@pytest.mark.parametrize("floor", [0, 1])
def test_the_guarantees_hold_for_every_small_pool(
    check: int | None, ready: int, floor: int
) -> None:
    """No needed slot is trimmed, nothing is in two lists, counts agree (POOL-04, POOL-18, R21)."""
    for shape in map("".join, product("AcHh?", repeat=4)):
        found = plan(shape, check, ready=ready, floor=floor, max=None)
        by_number = {slot.number: slot for slot in slots(shape)}
        assert all(by_number[n].is_spare and not by_number[n].is_doubtful for n in found.trim)
        lists = (*found.serve, *found.wake, *found.create, *found.trim)
        assert len(lists) == len(set(lists))
        assert list(found.trim) == sorted(found.trim, reverse=True)
        assert list(found.wake) == sorted(found.wake)
        assert not (found.create and found.trim)
        if check is None:
            assert not found.trim
        left = len(by_number) - len(found.trim) + len(found.create)
        assert left >= found.effective_desired or check is None


def test_a_sleeping_slot_is_realized_and_not_replaced() -> None:
    """min=1, cold: no create, no wake, no swing (POOL-01..POOL-04, POOL-20, POOL-25, F58)."""
    world = a_world(a_city(pooled(min=1)), cold("worker-1"))
    plan_ = decide(world)
    assert plan_.actions == ()
    assert plan_.pools == (
        PoolState(template="worker", desired=1, effective_desired=1, realized=1, awake=0, asleep=1),
    )


def test_realized_is_awake_and_asleep() -> None:
    """Counted from records, not from what runs (POOL-04, POOL-22, TEST-13)."""
    city = a_city(pooled(check="true", max=9))
    world = a_world(city, awake("worker-1"), cold("worker-2"), checks={"worker": 2})
    [state] = decide(world).pools
    assert (state.realized, state.awake, state.asleep) == (2, 1, 1)


def test_excess_sleepers_are_removed_and_excess_runners_stopped() -> None:
    """Above desired: retire the cold ones, stop the warm one, highest first (POOL-06, TEST-14)."""
    city = a_city(pooled(check="true"))
    world = a_world(
        city, awake("worker-1"), awake("worker-2"), cold("worker-3"), checks={"worker": 0}
    )
    assert set(decide(world).actions) == {
        Stop(session_id="gc-worker-1", reason=StopReason.EXCESS, retire=True),
        Stop(session_id="gc-worker-2", reason=StopReason.EXCESS, retire=True),
        Retire(session_id="gc-worker-3", reason=StopReason.EXCESS),
    }


HELD: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "work": ({}, {}, {"work": {"worker-2": "w1"}}),
    "wait": ({}, {}, {"waits": {"worker-2": "t1"}}),
    "attached": ({}, {"attached": Known(1)}, {}),
    "pending": ({}, {"pending": Known(Pending(kind="plan"))}, {}),
    "pin": ({"pins": (a_pin(),)}, {}, {}),
    "operator": ({"wake_request": a_note()}, {}, {}),
    "unclear work": ({}, {}, {"work": {"worker-2": Unclear("?")}}),
    "unclear attachment": ({}, {"attached": Unclear("?")}, {}),
    "unclear question": ({}, {"pending": Unclear("?")}, {}),
}


@pytest.mark.parametrize("why", HELD)
def test_no_needed_or_doubtful_slot_is_trimmed(why: str) -> None:
    """Whatever the check says, a used slot stays, and so does one in doubt (R9, R21, F04)."""
    record, seen, around = HELD[why]
    world = a_world(
        a_city(pooled(check="true")), awake("worker-2", **record),
        seen=running(**seen), checks={"worker": 0}, **around,
    )  # fmt: skip
    _, action = decided(world, "worker-2")
    assert not isinstance(action, Stop | Drain)


def test_an_unseen_slot_is_neither_trimmed_nor_replaced() -> None:
    """Unknown truth holds everything (R29, R10)."""
    world = a_world(
        a_city(pooled(check="true")), awake("worker-1"), seen=unseen(), checks={"worker": 0}
    )
    assert decide(world).actions == ()


@pytest.mark.parametrize(
    "around",
    [
        {"checks": {"worker": Unclear("timed out")}},
        {"checks": {}},
        {"checks": {"worker": 0}, "routed": {"worker": Unclear("?")}},
        {"checks": {"worker": 0}, "demand": Demand(unclear="no store")},
    ],
    ids=["check hangs", "no check yet", "routes unclear", "no demand at all"],
)
def test_an_uncertain_answer_neither_trims_nor_creates(around: dict[str, Any]) -> None:
    """Doubt about demand leaves the pool as it is (R9, F12)."""
    world = a_world(a_city(pooled(check="true", min=9, max=None)), cold("worker-1"), **around)
    assert decide(world).actions == ()
    assert decide(world).pools[0].desired is None


def test_work_of_a_slot_that_cannot_be_read_stops_the_count() -> None:
    """One slot's unclear work makes the default count uncertain (R9)."""
    world = a_world(
        a_city(pooled()), awake("worker-1"), cold("worker-2"), work={"worker-1": Unclear("?")}
    )
    assert decide(world).actions == ()


def test_ready_work_wakes_the_lowest_sleeper_and_creates_nothing() -> None:
    """Realized is not served: the lowest cold slot wakes in that tick (F03, POOL-03, POOL-26)."""
    world = a_world(a_city(pooled(min=1)), cold("worker-1"), routed={"worker": "w2"})
    assert decide(world).actions == (Start(session_id="gc-worker-1", why=("work",)),)


def test_ready_work_beyond_the_slots_creates_more() -> None:
    """Three beads, one slot: wake one, create two, up to max (POOL-09, POOL-23)."""
    world = a_world(a_city(pooled(max=3)), cold("worker-1"), routed={"worker": tuple("abcd")})
    actions = decide(world).actions
    assert [type(one) for one in actions] == [Start, Create, Create]
    assert [one.place.name for one in actions if isinstance(one, Create)] == [
        "worker-2",
        "worker-3",
    ]


def test_work_that_waits_is_wanted_beside_the_work_being_done() -> None:
    """One claimed and one ready make two slots, where no check says otherwise (R20, POOL-17)."""
    world = a_world(
        a_city(pooled()), awake("worker-1"), work={"worker-1": "w1"}, routed={"worker": "w2"}
    )
    plan = decide(world)
    assert [one.desired for one in plan.pools] == [2]
    assert any(isinstance(one, Create) for one in plan.actions)


def test_an_idle_slot_stays_up_for_ready_work() -> None:
    """An awake free slot is the one that will take it: not slept, no other woken (R20, F21)."""
    world = a_world(a_city(pooled()), awake("worker-1"), cold("worker-2"), routed={"worker": "w1"})
    plan_ = decide(world)
    assert not [one for one in plan_.actions if not isinstance(one, Retire)]
    assert decision_of(plan_, "worker-1").blocker_names == ("work",)


def test_a_relook_sees_the_same_routed_work() -> None:
    """The re-look's causes are those of the plan (R27, R20)."""
    city = a_city(pooled(), agent())
    world = a_world(city, awake("worker-1"), awake(), routed={"worker": "w1"})
    wakes = hard_wakes(world)
    [cause] = causes_of(world.sessions["gc-worker-1"], world, wakes)
    assert (cause.cause, cause.details) == ("work", ("w1",))
    assert causes_of(world.sessions["gc-mayor"], world, wakes) == ()


def test_a_worker_that_claimed_its_work_is_inside_the_count() -> None:
    """The claim takes the bead from the route and never costs the worker (F04, R21)."""
    world = a_world(a_city(pooled()), awake("worker-2"), work={"worker-2": "w1"})
    plan_ = decide(world)
    assert plan_.actions == ()
    assert plan_.pools[0].effective_desired == 1


def test_a_dependency_wakes_an_existing_slot() -> None:
    """The floor is one awake slot; no sibling for it (POOL-12, POOL-14, POOL-16)."""
    city = a_city(pooled("db", check="true"), agent("api", depends_on=("db",)))
    world = a_world(
        city, cold("db-1"), cold("db-2"), awake("api"), work={"api": "w"}, checks={"db": 2}
    )
    assert decide(world).actions == (Start(session_id="gc-db-1", why=("dependency",)),)


def test_a_dependency_realizes_slot_one() -> None:
    """No slot and desired zero: slot 1 all the same (POOL-13, POOL-08)."""
    city = a_city(pooled("db", check="true"), agent("api", depends_on=("db",)))
    world = a_world(city, awake("api"), work={"api": "w"}, checks={"db": 0})
    [create] = decide(world).actions
    assert isinstance(create, Create)
    assert create.place.name == "db-1"


def test_warm_standby_is_a_pool_without_idle_sleep() -> None:
    """`off` keeps the slots inside desired up (POOL-21, WAKE-04)."""
    city = a_city(pooled(min=1, sleep_after_idle=OFF))
    assert decided(a_world(city, a_session("worker-1")), "worker-1")[1] is not None
    up = decided(a_world(city, awake("worker-1")), "worker-1")
    assert (up[0].reasons, up[1]) == (("config",), None)


def test_a_worker_that_leaves_by_itself_is_a_healthy_cold_slot() -> None:
    """A clean exit after its work is no crash (POOL-27, REC-14, CRASH-03)."""
    world = a_world(a_city(pooled(min=1)), awake("worker-1"), seen=stopped(0))
    plan_ = decide(world)
    after = record_of(plan_, world, "worker-1")
    assert (after.state, after.sleep_reason, after.exits) == (State.ASLEEP, SleepReason.IDLE, ())
    assert plan_.actions == ()


def test_a_suspended_pool_wakes_creates_and_trims_nothing() -> None:
    """A hold is not a trim (R26, R21)."""
    city = a_city(pooled(min=2, suspended=True))
    world = a_world(city, cold("worker-1"), routed={"worker": "w1"})
    plan = decide(world)
    assert plan.actions == ()
    assert [(one.template, one.realized, one.asleep) for one in plan.pools] == [("worker", 1, 1)]


def test_a_healthy_pool_with_an_awake_slot_is_left_alone() -> None:
    """Desired and realized agree: nothing to do (POOL-24)."""
    world = a_world(
        a_city(pooled(check="true")), awake("worker-1", pins=(a_pin(),)), checks={"worker": 1}
    )
    assert decide(world).actions == ()


def test_a_pool_of_quarantined_sleepers_wakes_nobody() -> None:
    """The hold is honoured slot by slot (R26)."""
    world: World = a_world(
        a_city(pooled()), cold("worker-1", quarantined_until=ahead(9)), routed={"worker": "w1"}
    )
    assert decide(world).actions == ()
