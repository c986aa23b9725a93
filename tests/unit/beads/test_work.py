"""Work and waits: when they are ready and whose they are."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from gascity.beads import work
from gascity.beads.bead import BLOCKED, CLOSED, IN_PROGRESS, OPEN, SESSION, TASK, WAIT, Bead
from gascity.beads.store import NewBead
from gascity.beads.times import time_text
from gascity.beads.work import Refused, WaitState
from gascity.model.session import Session

NOW: Final = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
HOUR: Final = timedelta(hours=1)
FIXED: Final = Session(id="gc-1", version=1, name="rig--mayor", template="rig/mayor")
SLOT: Final = Session(id="gc-2", version=1, name="rig--w-2", template="rig/w", slot=2)


def bead(bead_id: str = "t", **given: Any) -> Bead:
    return Bead(**{"id": bead_id, "type": TASK, "created_at": NOW, "updated_at": NOW, **given})


def live(*beads: Bead) -> dict[str, Bead]:
    return {each.id: each for each in beads}


def stored(new: NewBead, bead_id: str = "w") -> Bead:
    metadata = {key: value for key, value in new.metadata.items() if value}
    return bead(bead_id, type=new.type, labels=new.labels, metadata=metadata)


@pytest.mark.parametrize(
    ("given", "ready", "actionable"),
    [
        ({}, True, True),
        ({"status": IN_PROGRESS}, False, True),
        ({"status": BLOCKED}, False, False),
        ({"status": CLOSED}, False, False),
        ({"type": SESSION}, False, False),
        ({"blocked_by": ("other",)}, False, False),
        ({"blocked_by": ("other",), "status": IN_PROGRESS}, False, False),
        ({"blocked_by": ("done", "gone")}, True, True),
        ({"metadata": {"defer_until": time_text(NOW + HOUR)}}, False, False),
        ({"metadata": {"defer_until": time_text(NOW)}}, True, True),
        ({"metadata": {"defer_until": "some day"}}, True, True),
    ],
)
def test_ready_is_open_unblocked_and_not_deferred(
    given: dict[str, Any], ready: bool, actionable: bool
) -> None:
    """Blocked or deferred work is nobody's to do now; a doubtful date hides no work (R19)."""
    others = live(bead("other"), bead("done", status=CLOSED))
    assert work.is_ready(bead(**given), others, NOW) is ready
    assert work.is_actionable(bead(**given), others, NOW) is actionable


@pytest.mark.parametrize(
    ("session", "assignee", "mine"),
    [
        (FIXED, "gc-1", True),
        (FIXED, "rig--mayor", True),
        (FIXED, "rig/mayor", True),
        (FIXED, "mayor", False),
        (FIXED, "", False),
        (SLOT, "gc-2", True),
        (SLOT, "rig--w-2", True),
        (SLOT, "rig/w-2", True),
        (SLOT, "rig/w", False),
        (SLOT, "rig--w", False),
        (SLOT, "rig/w-20", False),
    ],
)
def test_an_assignee_means_one_session_or_a_pool(
    session: Session, assignee: str, mine: bool
) -> None:
    """Session id, session name or agent; the name of a pool is not each of its slots (R19)."""
    assert work.is_assigned_to(bead(assignee=assignee), session) is mine
    assert work.works_for(bead(assignee=assignee), session) is mine


def test_routed_work_is_the_fixed_agents_or_the_pools() -> None:
    """Unassigned work follows its route; once assigned the route counts no more (R19, R20)."""
    to_mayor = bead(metadata={work.ROUTE: "rig/mayor"})
    to_pool = bead(metadata={work.ROUTE: "rig/w"})
    assert work.works_for(to_mayor, FIXED)
    assert not work.works_for(replace(to_mayor, assignee="x"), FIXED)
    assert not work.works_for(to_pool, SLOT)
    assert work.pool_of(to_pool, {"rig/w"}) == "rig/w"
    assert work.pool_of(bead(assignee="rig/w"), {"rig/w"}) == "rig/w"
    assert work.pool_of(replace(to_pool, assignee="rig/w-2"), {"rig/w"}) == ""
    assert work.pool_of(to_mayor, {"rig/w"}) == ""


def test_the_next_work_is_begun_then_own_then_shared() -> None:
    """Work in progress first, then assigned, then the pool's; by priority, then by age."""
    shared = bead("shared", metadata={work.ROUTE: "rig/w"}, priority=0)
    own = bead("own", assignee="rig/w-2")
    urgent = bead("urgent", assignee="gc-2", priority=1)
    begun = bead("begun", assignee="rig--w-2", status=IN_PROGRESS, priority=4)
    blocked = bead("stuck", assignee="gc-2", priority=0, blocked_by=("own",))
    taken = bead("taken", metadata={work.ROUTE: "rig/w"}, status=IN_PROGRESS)
    pile = [blocked, taken, shared, own, urgent, begun]
    order = []
    while (found := work.next_work(SLOT, live(*pile), NOW)) is not None:
        order.append(found.id)
        pile.remove(found)
        pile = [each for each in pile if each.id != "stuck"]
    assert order == ["begun", "urgent", "own", "shared"]


def test_claiming_is_checked_and_may_be_repeated() -> None:
    """A claim names the version it saw; what is held, blocked, deferred or closed is refused."""
    free = bead(metadata={work.ROUTE: "rig/w"}, version=3)
    update = work.claim(free, SLOT, {}, NOW)
    assert (update.expect_version, update.status, update.assignee) == (3, IN_PROGRESS, "rig--w-2")
    held = bead(status=IN_PROGRESS, assignee="rig--w-2")
    assert work.claim(held, SLOT, {}, NOW).assignee == "rig--w-2"
    for no, why in (
        (bead(status=IN_PROGRESS, assignee="rig--w-1"), "held by rig--w-1"),
        (bead(assignee="rig--w-1"), "held by"),
        (bead(status=CLOSED), "closed"),
        (bead(type=WAIT), "no task"),
        (bead(blocked_by=("b",)), "blocked by b"),
        (bead(metadata={"defer_until": time_text(NOW + HOUR)}), "deferred"),
    ):
        with pytest.raises(Refused, match=why):
            work.claim(no, SLOT, live(bead("b")), NOW)


def test_released_work_goes_back_to_its_agent() -> None:
    """Open again, nobody's, routed so that another slot finds it (R68)."""
    update = work.release(bead(status=IN_PROGRESS, assignee="rig--w-2"), SLOT)
    assert (update.status, update.assignee) == (OPEN, "")
    assert update.metadata == {work.ROUTE: "rig/w", "work_released_from": "rig--w-2"}
    routed = bead(status=IN_PROGRESS, assignee="gc-2", metadata={work.ROUTE: "other"})
    assert work.release(routed, SLOT).metadata[work.ROUTE] == "other"


def test_a_timed_wait_is_ready_at_its_instant() -> None:
    """Pending before, ready from then on (R66)."""
    wait = stored(work.new_wait(FIXED, until=NOW + HOUR, note="look"))
    assert wait.labels == ("gc:wait", "session:gc-1")
    assert work.wait_state(wait, {}, NOW) is WaitState.PENDING
    assert work.wait_state(wait, {}, NOW + HOUR) is WaitState.READY


@pytest.mark.parametrize(
    ("any_of", "first", "second"), [(False, "pending", "ready"), (True, "ready", "ready")]
)
def test_a_wait_for_beads_is_ready_when_they_are_closed(
    any_of: bool, first: str, second: str
) -> None:
    """All of them, or any of them."""
    wait = stored(work.new_wait(FIXED, bead_ids=("a", "b"), any_of=any_of))
    assert work.wait_state(wait, live(bead("a"), bead("b")), NOW) is WaitState.PENDING
    assert work.wait_state(wait, live(bead("a")), NOW) == first
    assert work.wait_state(wait, live(bead("a", status=CLOSED)), NOW) == second


def test_a_wait_ends_once() -> None:
    """Expiry ends a pending wait only; what was written wins over what would be."""
    wait = stored(work.new_wait(FIXED, until=NOW + 2 * HOUR, expires_at=NOW + HOUR))
    assert work.wait_state(wait, {}, NOW + HOUR) is WaitState.EXPIRED
    for state in WaitState:
        if state is not WaitState.PENDING:
            kept = replace(wait, metadata={**wait.metadata, "state": state.value})
            assert work.wait_state(kept, {}, NOW + HOUR) is state
    assert work.wait_state(replace(wait, status=CLOSED), {}, NOW) is WaitState.CLOSED
    assert work.settle_wait(wait, WaitState.READY).status is None
    assert work.settle_wait(wait, WaitState.CANCELED).status == CLOSED


@pytest.mark.parametrize("metadata", [{"kind": "time", "due_at": "?"}, {"kind": "time"}, {}])
def test_a_wait_that_cannot_be_read_wakes(metadata: dict[str, str]) -> None:
    """A sleeper that never wakes is worse than one that wakes once too often."""
    assert work.wait_state(bead(type=WAIT, metadata=metadata), {}, NOW) is WaitState.READY


def test_the_next_moment_is_the_nearest_one_ahead() -> None:
    """Deferrals, due times and expiries bring the next look forward; past ones do not (R80)."""
    beads = [
        bead("a", metadata={"defer_until": time_text(NOW + 3 * HOUR)}),
        bead("b", metadata={"defer_until": time_text(NOW - HOUR)}),
        bead("c", type=WAIT, metadata={"due_at": time_text(NOW + 2 * HOUR)}),
        bead("d", type=WAIT, metadata={"expires_at": time_text(NOW + HOUR)}),
    ]
    assert work.next_moment(beads, NOW) == NOW + HOUR
    assert work.next_moment([], NOW) is None
