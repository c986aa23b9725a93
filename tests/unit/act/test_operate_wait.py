"""Waits and agents' pins on request: durable, checked when they are made, over only once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from gascity.act.requests_hold import pin
from gascity.act.requests_wait import add, cancel, ready, waits
from gascity.act.requests_work import close, sling
from gascity.beads.notices import begin_delivery
from gascity.beads.store import Batch, EventQuery
from gascity.beads.times import time_text
from gascity.testing.people import at_once
from tests.desk import FakeDesk, a_session, refusal, run


def desk() -> FakeDesk:
    return FakeDesk(a_session())


def listed(here: FakeDesk, **fields: Any) -> dict[str, str]:
    found = run(here, waits, **fields)["waits"]
    return {one["id"]: one["state"] for one in found}


def types(here: FakeDesk) -> list[str]:
    return [str(event.type) for event in at_once(here.store.events(EventQuery()))]


def test_a_wait_for_a_time_is_pending_and_then_ready() -> None:
    """F15, R76: stored in UTC; whether it is ready is derived, nothing is written when it is."""
    here = desk()
    made = run(here, add, "mayor", for_s=90.0, note="look\n here", by="ann")["wait"]
    assert made["due_at"] == time_text(here.clock.now() + timedelta(seconds=90))
    assert (made["state"], made["kind"], made["note"]) == ("pending", "time", "look here")
    here.clock.advance(91)
    assert listed(here) == {made["id"]: "ready"}
    assert types(here) == ["bead.created"]


def test_a_time_that_has_passed_is_ready_at_once() -> None:
    """F15: late is better than never."""
    here = desk()
    past = time_text(here.clock.now() - timedelta(hours=1))
    assert run(here, add, "mayor", until=past)["wait"]["state"] == "ready"


@pytest.mark.parametrize(("any_of", "after_one"), [(False, "pending"), (True, "ready")])
def test_a_wait_for_beads_is_ready_when_all_or_any_are_closed(any_of: bool, after_one: str) -> None:
    """R66: as it was asked."""
    here = desk()
    first, second = (run(here, sling, "mayor", title)["bead"]["id"] for title in ("a", "b"))
    wait = run(here, add, "mayor", bead_ids=[first, second], any_of=any_of)["wait"]["id"]
    assert listed(here) == {wait: "pending"}
    run(here, close, first)
    assert listed(here) == {wait: after_one}
    run(here, close, second)
    assert listed(here) == {wait: "ready"}


def test_a_wait_can_be_declared_ready_or_canceled() -> None:
    """Each with its event; canceled it is closed."""
    here = desk()
    one, two = (run(here, add, "mayor", for_s=90.0)["wait"]["id"] for _ in range(2))
    assert run(here, ready, one)["wait"]["state"] == "ready"
    assert run(here, cancel, two)["wait"]["state"] == "canceled"
    assert listed(here, said="mayor") == {one: "ready"}
    assert listed(here, all=True) == {one: "ready", two: "canceled"}
    assert types(here)[2:] == ["bead.updated", "bead.closed"]


def test_a_wait_that_is_over_or_being_delivered_is_left_alone() -> None:
    """F26: what an agent may be reading now cannot be taken back."""
    here = desk()
    wait = run(here, add, "mayor", for_s=90.0, note="x")["wait"]["id"]
    found = at_once(here.store.get(wait))
    assert found is not None
    at_once(here.apply(Batch(updates=(begin_delivery(found),))))
    assert refusal(here, cancel, wait).exit == 3
    other = run(here, add, "mayor", for_s=90.0)["wait"]["id"]
    run(here, cancel, other)
    assert refusal(here, ready, other).exit == 3


MISTAKES: dict[str, dict[str, Any]] = {
    "no condition": {},
    "two conditions": {"for_s": 1.0, "bead_ids": ["gc-1"]},
    "a time without a zone": {"until": "2026-03-01T12:00:00"},
    "no time": {"until": "soon"},
    "a bead nobody knows": {"bead_ids": ["gc-none"]},
    "any of nothing": {"for_s": 1.0, "any_of": True},
    "over before it is due": {"for_s": 90.0, "expires_s": 60.0},
    "beyond the calendar": {"for_s": 1e12},
    "a note as long as a book": {"for_s": 1.0, "note": "x" * 2001},
}


@pytest.mark.parametrize("what", MISTAKES)
def test_a_wait_that_cannot_be_meant_is_a_mistake(what: str) -> None:
    """Exit 2, and nothing is stored."""
    here = desk()
    assert refusal(here, add, "mayor", **MISTAKES[what]).exit == 2
    assert listed(here) == {}


def test_a_wait_for_a_session_record_is_a_mistake() -> None:
    """A session is never closed by being done."""
    from gascity.beads.store import NewBead

    here = desk()
    record = NewBead(type="session", id="gc-s")
    at_once(here.apply(Batch(creates=(record,))))
    assert refusal(here, add, "mayor", bead_ids=["gc-s"]).exit == 2


@pytest.mark.parametrize("for_s", [None, 24 * 3600.0 + 1])
def test_an_agent_s_pin_has_to_end_within_a_day(for_s: float | None) -> None:
    """R18: nobody would miss the pin of an agent that is gone."""
    refused = refusal(desk(), pin, "mayor", owner="mayor", agent=True, for_s=for_s)
    assert (refused.exit, "--for" in refused.do) == (2, True)


def test_an_agent_may_pin_and_a_person_needs_no_end() -> None:
    """R18, R78: a day for agents, eight hours by default for people, longer when said."""
    here = desk()
    now = here.clock.now()
    for owner, fields, hours in (
        ("mayor", {"agent": True, "for_s": 24 * 3600.0}, 24),
        ("ann", {}, 8),
        ("bob", {"for_s": 72 * 3600.0}, 72),
    ):
        made = run(here, pin, "mayor", owner=owner, **fields)["pin"]
        assert made["expires_at"] == time_text(now + timedelta(hours=hours))
    assert {one.owner for one in here.sessions["gc-mayor"].pins} == {"mayor", "ann", "bob"}
