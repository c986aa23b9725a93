"""Work beads and `gc why` on request."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gascity.act import requests_work as work
from gascity.act.requests_why import why
from gascity.beads.store import Conflict, EventQuery
from gascity.model.city import Agent, Pool
from gascity.model.session import Session
from tests.desk import CITY, FakeDesk, a_session, awake, nothing, refusal, run
from tests.unit.act.test_operate_hold import judged

WORKER = Agent(identity="worker", name="worker", attach=False, pool=Pool(min=0, max=2))
POOLED = replace(CITY, agents={**CITY.agents, "worker": WORKER})


def slot(number: int) -> Session:
    """One slot of the pool."""
    return a_session(f"worker-{number}", template="worker", slot=number)


def events(desk: FakeDesk) -> list[tuple[str, str]]:
    """Type and subject of every event."""

    async def read(desk: FakeDesk) -> list[tuple[str, str]]:
        return [(str(one.type), one.subject) for one in await desk.store.events(EventQuery())]

    return run(desk, read)


def test_work_for_an_agent_is_routed_and_for_a_session_assigned() -> None:
    """A pool's name is the pool; a slot's name is the slot (R19, R20)."""
    desk = FakeDesk(slot(1), slot(2), city=POOLED)
    pooled = run(desk, work.sling, "worker", "dig")["bead"]
    named = run(desk, work.sling, "worker-2", "dig")["bead"]
    assert (pooled["assignee"], pooled["metadata"]["gc.routed_to"]) == ("", "worker")
    assert (named["assignee"], named["metadata"].get("gc.routed_to", "")) == ("worker-2", "")


def test_new_work_and_its_event_are_one_write() -> None:
    """The event names the bead (R43)."""
    desk = FakeDesk(slot(1), city=POOLED)
    made = run(desk, work.sling, "worker", "dig")["bead"]
    assert events(desk) == [("bead.created", made["id"])]


def test_a_hook_gives_work_once() -> None:
    """Claimed by one slot, it is not offered to the other (R20)."""
    desk = FakeDesk(slot(1), slot(2), city=POOLED)
    made = run(desk, work.sling, "worker", "dig")["bead"]
    assert run(desk, work.hook, "gc-worker-1")["bead"]["id"] == made["id"]
    taken = run(desk, work.hook, "gc-worker-1", claim_it=True)["bead"]
    assert (taken["status"], taken["assignee"]) == ("in_progress", "worker-1")
    assert run(desk, work.hook, "gc-worker-2", claim_it=True)["bead"] is None


def test_a_claim_that_was_beaten_looks_again() -> None:
    """Another writer between reading and writing costs a retry, not a lost update (F43)."""
    desk = FakeDesk(slot(1), city=POOLED)
    made = run(desk, work.sling, "worker", "dig")["bead"]
    desk.store.fail_next = Conflict("beaten")  # type: ignore[attr-defined]
    assert run(desk, work.hook, "gc-worker-1", claim_it=True)["bead"]["id"] == made["id"]


def test_closing_twice_changes_nothing() -> None:
    """One event (R42)."""
    desk = FakeDesk(slot(1), city=POOLED)
    made = run(desk, work.sling, "worker", "dig")["bead"]
    for _ in range(2):
        assert run(desk, work.close, made["id"], reason="done")["bead"]["status"] == "closed"
    assert events(desk).count(("bead.closed", made["id"])) == 1
    assert refusal(desk, work.claim, made["id"], assignee="worker-1").exit == 3


def test_blocked_work_is_nobodys_next() -> None:
    """A blocker that is open hides it (R19)."""
    desk = FakeDesk(slot(1), city=POOLED)
    first = run(desk, work.sling, "worker-1", "first")["bead"]
    second = run(desk, work.sling, "worker-1", "second")["bead"]
    run(desk, work.update, second["id"], blocked_by=[first["id"]], priority=0)
    assert run(desk, work.hook, "worker-1")["bead"]["id"] == first["id"]


@pytest.mark.parametrize(
    "change", [{"status": "lost"}, {"priority": 99}, {"blocked_by": ["gc-none"]}]
)
def test_a_change_that_makes_no_sense_is_refused(change: dict[str, object]) -> None:
    """Unknown words, numbers and beads are usage errors."""
    desk = FakeDesk(slot(1), city=POOLED)
    made = run(desk, work.sling, "worker", "dig")["bead"]
    assert refusal(desk, work.update, made["id"], **change).exit == 2


def test_beads_are_listed_by_status() -> None:
    """Closed ones only when asked for."""
    desk = FakeDesk(slot(1), city=POOLED)
    made = run(desk, work.sling, "worker", "dig")["bead"]
    run(desk, work.close, made["id"])
    assert run(desk, work.beads)["beads"] == []
    assert [one["id"] for one in run(desk, work.beads, status="closed")["beads"]] == [made["id"]]


def test_work_for_nobody_is_refused() -> None:
    """A name that means nobody, and a title that says nothing."""
    assert refusal(FakeDesk(awake()), work.sling, "nobody", "dig").exit == 2
    assert refusal(FakeDesk(awake()), work.sling, "mayor", "  ").exit == 2


def test_why_names_blockers_signals_policy_and_what_would_change_it() -> None:
    """The whole judgement, JSON-ready, without asking any runtime (STAT-11, BLK-07)."""
    desk = FakeDesk(awake())
    desk.plan, desk.steps, desk.runtime.hangs = judged("attached", "keep_warm"), [nothing], True
    told = run(desk, why, "mayor")["why"]
    json.dumps(told)
    assert [one["name"] for one in told["blockers"]] == ["attached", "keep_warm"]
    assert {"running", "attached", "activity", "pending", "work"} <= {
        one["name"] for one in told["signals"]
    }
    assert told["policy"]["source"] == "agent"
    assert "the last client detaches" in told["changes"]


def test_why_answers_before_the_first_patrol() -> None:
    """A session nobody judged yet says so (R44)."""
    told = run(FakeDesk(a_session()), why, "mayor")["why"]
    assert "no patrol" in told["verdict"]
    assert told["changes"] == ["the first patrol"]
