"""When a session counts as idle, and what keeps it from sleeping."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from gascity.decide.capability import NO_ROUTE
from gascity.decide.idle import is_starting, keep_warm_window, sleep_is_asked
from gascity.decide.tick import decide
from gascity.model.city import SessionClass, Source
from gascity.model.duration import OFF, seconds
from gascity.model.plan import Blocker, Drain, Policy
from gascity.model.reading import Known, Unclear
from gascity.model.session import Session, SleepRequest, StopReason
from gascity.model.world import Demand, Pending, ProbeResult, ScreenVerdict, Sighting, Walk
from gascity.testing.builders import (
    NOON,
    TIMED,
    a_city,
    a_note,
    a_pin,
    a_probe,
    a_world,
    agent,
    ago,
    ahead,
    awake,
    cold,
    decided,
    headless,
    running,
    starting,
    stopped,
    unseen,
)

MINUTE = Policy(
    requested=seconds(60),
    effective=seconds(60),
    source=Source.AGENT,
    session_class=SessionClass.INTERACTIVE_RESUME,
)


def window(session: Session, seen: Sighting, *, policy: Policy = MINUTE, **over: Any) -> Any:
    return keep_warm_window(session, seen, policy, **({"now": NOON, "resumed_at": None} | over))


PARTS = {
    "last activity": (running(idle_s=30), {}, None),
    "detached_at": (running(), {"detached_at": ago(30)}, None),
    "woke_at": (running(), {"woke_at": ago(30)}, None),
    "first readiness": (running(), {"ready_at": ago(30)}, None),
    "machine resumed": (running(), {}, ago(30)),
}


@pytest.mark.parametrize("name", PARTS)
def test_the_reference_is_the_latest_of_its_parts(name: str) -> None:
    """Activity, detachment, wake, readiness, resume: each moves it (IDLE-01, IDLE-02, R14, R66)."""
    seen, fields, resumed = PARTS[name]
    found = window(awake(**fields), seen, resumed_at=resumed)
    assert (found.reference_at, found.deadline, found.is_open) == (ago(30), ahead(30), True)


@pytest.mark.parametrize("name", PARTS)
def test_a_reference_in_the_future_counts_as_now(name: str) -> None:
    """A clock that went back sleeps nobody early (R13, R39)."""
    seen, fields, resumed = PARTS[name]
    later = {key: ahead(500) for key in fields}
    seen = running(activity=Known(ahead(500))) if name == "last activity" else seen
    found = window(awake(**later), seen, resumed_at=ahead(500) if resumed else None)
    assert (found.reference_at, found.deadline) == (NOON, ahead(60))


@pytest.mark.parametrize(("idle_s", "is_open"), [(59.9, True), (60, False), (61, False)])
def test_the_window_closes_at_its_end(idle_s: float, is_open: bool) -> None:
    """Not before the window, and at the first look after it (IDLE-10)."""
    assert window(awake(), running(idle_s=idle_s)).is_open is is_open


def test_off_and_no_reference_never_close() -> None:
    """`off` has no deadline; without any reference nothing is counted (IDLE-09)."""
    off = window(awake(), running(), policy=replace(MINUTE, effective=OFF))
    assert (off.deadline, off.is_open) == (None, True)
    blank = awake(woke_at=None, ready_at=None, detached_at=None)
    nothing = window(blank, running(idle_s=None))
    assert (nothing.reference_at, nothing.deadline, nothing.is_open) == (None, None, True)


def test_gc_sleep_closes_the_window_until_something_happens() -> None:
    """`gc sleep` counts from its moment on; later activity takes it back (R64)."""
    asked = awake(sleep_request=SleepRequest(by="ann", at=ago(5)))
    closed = window(asked, running(idle_s=10))
    assert (closed.reference_at, closed.deadline, closed.is_open) == (ago(10), ago(5), False)
    assert window(asked, running(idle_s=2)).is_open
    assert sleep_is_asked(asked, None)
    assert sleep_is_asked(asked, ago(5))
    assert not sleep_is_asked(awake(), NOON)


def test_gc_sleep_without_a_policy_lapses_with_activity() -> None:
    """On a session with `off` the request drains it, unless it was active since (R64)."""
    city = a_city(agent(), session_sleep={})
    asked = awake(sleep_request=SleepRequest(by="ann", at=ago(5)))
    assert decided(a_world(city, asked, seen=running(idle_s=10)))[1] == Drain(session_id=asked.id)
    assert decided(a_world(city, asked, seen=running(idle_s=2)))[1] is None


def test_gc_sleep_respects_blockers_unless_forced() -> None:
    """The safe path is refused by a hard wake; force closes its eyes to it (R64)."""
    at = ago(5)
    for force in (False, True):
        asked = awake(sleep_request=SleepRequest(by="ann", at=at, force=force))
        busy = running(idle_s=10, attached=Known(1), screen=ScreenVerdict.BUSY)
        _, action = decided(a_world(a_city(agent()), asked, seen=busy, work={"mayor": "w1"}))
        assert (action is not None) is force


def test_a_session_is_starting_until_it_was_ready_once() -> None:
    """The start phase ends with the first readiness of this run (R66)."""
    assert is_starting(starting(), running())
    assert not is_starting(awake(), running())
    assert not is_starting(starting(), stopped())
    assert not is_starting(starting(generation=0), running())


PENDING = Pending(kind="permission", question="rm -rf?")
BLOCKERS: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    # word, fields of the record, of the sighting, of the world
    ("work", {}, {}, {"work": {"mayor": "w1"}}),
    ("wait", {}, {}, {"waits": {"mayor": "wait1"}}),
    ("attached", {}, {"attached": Known(1)}, {}),
    ("pending", {}, {"pending": Known(PENDING)}, {}),
    ("operator", {"attach_intent": a_note()}, {}, {}),
    ("pin", {"pins": (a_pin(),)}, {}, {}),
    ("demand_unknown", {}, {}, {"demand": Demand(unclear="foreign store")}),
    ("demand_unknown", {}, {}, {"work": {"mayor": Unclear("timed out")}}),
    ("demand_unknown", {}, {}, {"waits": {"mayor": Unclear("timed out")}}),
    ("demand_unknown", {}, {}, {"routed": {"mayor": Unclear("timed out")}}),
    ("attachment_unknown", {}, {"attached": Unclear("timed out")}, {}),
    ("pending_unknown", {}, {"pending": Unclear("timed out")}, {}),
    ("runtime_unknown", {}, {"activity": Unclear("timed out")}, {}),
    ("starting", {"ready_at": None}, {}, {}),
    ("keep_warm", {}, {"activity": Known(ago(10))}, {}),
    ("idle_boundary", {}, {"screen": ScreenVerdict.BUSY}, {}),
    ("idle_boundary", {}, {"screen": ScreenVerdict.DRAFT}, {}),
    ("idle_boundary", {}, {"screen": ScreenVerdict.PAGER}, {}),
    ("idle_boundary", {}, {"screen": ScreenVerdict.SHELL}, {}),
    ("idle_boundary", {}, {"screen": ScreenVerdict.UNKNOWN}, {}),
    ("idle_boundary", {}, {"screen": ScreenVerdict.RATELIMIT}, {}),
    ("background", {}, {"screen": ScreenVerdict.BACKGROUND}, {}),
    ("pending", {}, {"screen": ScreenVerdict.PENDING, "pending": None}, {}),
]


@pytest.mark.parametrize("row", BLOCKERS, ids=[f"{n}-{row[0]}" for n, row in enumerate(BLOCKERS)])
def test_each_blocker_alone_keeps_it_awake_and_is_named(row: Any) -> None:
    """Every blocker is data, and one is enough (BLK-01..04, BLK-07, R9, R15, WAKE-24, WAKE-25)."""
    word, record, sighting, around = row
    world = a_world(a_city(agent()), awake(**record), seen=running(**sighting), **around)
    decision, action = decided(world)
    assert decision.blocker_names == (word,)
    assert not isinstance(action, Drain)
    assert word in decision.verdict or decision.state == "starting"


DOUBTS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    # fields of the sighting, of the world, the detail
    ({"attached": Unclear("no client list")}, {}, "no client list"),
    ({"pending": Unclear("no screen")}, {}, "no screen"),
    ({"activity": Unclear("no clock")}, {}, "no clock"),
    ({}, {"demand": Demand(unclear="foreign store")}, "foreign store"),
    ({}, {"work": {"mayor": Unclear("locked")}}, "locked"),
]


@pytest.mark.parametrize(("sighting", "around", "detail"), DOUBTS)
def test_a_doubt_says_what_could_not_be_read(sighting: Any, around: Any, detail: str) -> None:
    """Whoever asks why it is awake reads what the runtime or the store answered (BLK-07, R9)."""
    world = a_world(a_city(agent()), awake(), seen=running(**sighting), **around)
    assert [one.detail for one in decided(world)[0].blockers] == [detail]


def test_a_lost_route_holds_and_says_so() -> None:
    """Nobody knows which runtime it is on: that alone keeps it where it is (CAP-03, R9)."""
    world = a_world(a_city(agent()), awake(), support={"mayor": Unclear(NO_ROUTE)})
    decision, action = decided(world)
    assert (decision.blockers, action) == (
        (Blocker(name="runtime_unknown", detail="its route could not be looked up"),),
        None,
    )


def test_an_unclear_attachment_without_an_attachment_signal_blocks_only_people() -> None:
    """A headless session on a runtime that reports none sleeps; a person's does not (IDLE-12)."""
    seen = running(attached=Unclear("?"))
    quiet = a_world(a_city(headless()), awake("worker"), seen=seen, support=TIMED)
    assert decided(quiet, "worker")[0].blocker_names == ()
    reported = replace(TIMED, attachment_signal=True)
    heard = a_world(a_city(headless()), awake("worker"), seen=seen, support=reported)
    assert decided(heard, "worker")[0].blocker_names == ("attachment_unknown",)
    person = a_world(a_city(agent()), awake(), seen=seen, support=TIMED)
    assert decided(person)[0].blocker_names == ("attachment_unknown",)


def test_all_that_stands_behind_a_hard_wake_is_named() -> None:
    """Two beads are two ids in the detail, in order (BLK-07)."""
    world = a_world(a_city(agent()), awake(), work={"mayor": ("w1", "w2")})
    assert [one.detail for one in decided(world)[0].blockers] == ["w1, w2"]


def test_a_screen_without_words_gives_its_verdict_as_detail() -> None:
    """Something is always said about the screen that blocks (R15)."""
    seen = running(screen=ScreenVerdict.PAGER)
    blockers = decided(a_world(a_city(agent()), awake(), seen=seen))[0].blockers
    assert blockers == (Blocker(name="idle_boundary", detail="pager"),)


def test_an_answer_as_old_as_the_activity_still_speaks() -> None:
    """Only an older one is void (R33)."""
    probe = a_probe(ProbeResult.BUSY, at=100)
    world = a_world(a_city(agent()), awake(), seen=running(idle_s=100), probes={"mayor": probe})
    assert decided(world)[0].blocker_names == ("idle_boundary",)


def test_only_a_stop_for_a_reason_blocks() -> None:
    """A walk that stops nobody, a start for instance, is no drain under way (BLK-06)."""
    for walk in (Walk(kind="start"), Walk(kind="start", reason=StopReason.EXCESS)):
        world = a_world(a_city(agent()), awake(), walks={"mayor": walk})
        assert decided(world)[0].blocker_names == ()


def test_what_does_not_run_is_not_kept_warm() -> None:
    """No window and no screen of a session that is down is a blocker (META-12)."""
    seen = stopped(screen=ScreenVerdict.BUSY)
    decision, _ = decided(a_world(a_city(agent()), cold(slept_at=ago(1)), seen=seen))
    assert decision.blockers == ()


def test_without_a_blocker_it_drains() -> None:
    """The same session with nothing against it is drained (PROBE-01)."""
    decision, action = decided(a_world(a_city(agent()), awake()))
    assert (decision.blocker_names, action) == ((), Drain(session_id="gc-mayor"))


def test_blockers_stand_in_one_order() -> None:
    """Hard wakes, doubt, phases, window, screen: always in this order (BLK-07)."""
    everything = a_world(
        a_city(agent()),
        awake(ready_at=None, wake_request=a_note(), pins=(a_pin(),)),
        seen=running(
            idle_s=10, attached=Known(2), pending=Known(PENDING), screen=ScreenVerdict.BUSY
        ),
        waits={"mayor": "x"},
        work={"mayor": ("w1", "w2")},
        routed={"mayor": Unclear("?")},
    )
    assert decided(everything)[0].blocker_names == (
        "work", "wait", "attached", "pending", "operator", "pin",
        "demand_unknown", "starting", "keep_warm", "idle_boundary",
    )  # fmt: skip


def test_a_stop_for_another_reason_blocks() -> None:
    """An unrelated drain under way is named and not replaced (BLK-06, DRAIN-17)."""
    walk = Walk(kind="stop", reason=StopReason.EXCESS)
    decision, action = decided(a_world(a_city(agent()), awake(), walks={"mayor": walk}))
    assert (decision.blocker_names, action) == (("draining:excess",), None)


def test_an_unseen_session_has_one_blocker() -> None:
    """Nobody could be asked: that alone is the reason (R10, R29)."""
    decision, action = decided(a_world(a_city(agent()), awake(), seen=unseen("hung")))
    assert (decision.blocker_names, action) == (("runtime_unknown",), None)
    assert "hung" in decision.verdict


def test_an_unclear_attachment_holds_a_headless_session_where_it_is_reported() -> None:
    """A reported attachment in doubt blocks; one never reported does not (DRAIN-10, IDLE-12)."""
    city, seen = a_city(headless()), running(attached=Unclear("?"))
    assert decided(a_world(city, awake("worker"), seen=seen), "worker")[1] is None


@pytest.mark.parametrize("result", ProbeResult)
def test_what_the_last_probe_said_is_shown_and_asked_again(result: ProbeResult) -> None:
    """A busy answer is named, and the candidate is probed again (PROBE-07, R33, PROBE-11)."""
    world = a_world(a_city(agent()), awake(), probes={"mayor": a_probe(result)})
    decision, action = decided(world)
    blocked = result in (ProbeResult.BUSY, ProbeResult.UNCLEAR)
    assert decision.blocker_names == (("idle_boundary",) if blocked else ())
    assert decision.probe_result is result
    unsupported = result is ProbeResult.UNSUPPORTED  # timed_only, inherited by people: off
    assert (action is None) is unsupported


def test_an_answer_older_than_the_activity_is_void() -> None:
    """A probe speaks of the screen it saw (R33)."""
    probe = a_probe(ProbeResult.BUSY, at=200)
    world = a_world(a_city(agent()), awake(), seen=running(idle_s=100), probes={"mayor": probe})
    assert decided(world)[0].blocker_names == ()


def test_the_word_of_the_probe_is_its_blocker() -> None:
    """A probe that found background work says so (R15, F05)."""
    probe = a_probe(ProbeResult.BUSY, blocker="background", detail="pytest")
    decision, _ = decided(a_world(a_city(agent()), awake(), probes={"mayor": probe}))
    assert [(b.name, b.detail) for b in decision.blockers] == [("background", "pytest")]


def test_a_word_both_sides_give_is_given_once() -> None:
    """Screen and probe agree: one blocker (BLK-07)."""
    world = a_world(
        a_city(agent()), awake(), seen=running(screen=ScreenVerdict.BUSY),
        probes={"mayor": a_probe()},
    )  # fmt: skip
    assert [b.name for b in decided(world)[0].blockers] == ["idle_boundary"]


def test_a_timed_only_session_is_not_judged_by_its_screen() -> None:
    """Without a boundary only the clock speaks (PROBE-09)."""
    city = a_city(headless())
    seen = running(screen=ScreenVerdict.UNKNOWN)
    probes = {"worker": a_probe()}
    world = a_world(city, awake("worker"), seen=seen, support=TIMED, probes=probes)
    assert decided(world, "worker")[1] is not None


def test_a_sleeper_shows_no_reason_to_be_awake() -> None:
    """Blockers are of the running; a sleeper shows only doubt (META-12)."""
    world = a_world(a_city(agent()), cold(), routed={"mayor": Unclear("?")})
    assert decided(world)[0].blocker_names == ("demand_unknown",)


def test_the_next_due_instant_is_the_keep_warm_deadline() -> None:
    """Time alone changes an answer at the deadline, and a patrol comes for it (R80)."""
    world = a_world(a_city(agent()), awake(), seen=running(idle_s=10))
    assert decide(world).next_due == ahead(50)


def due(session: Session, **over: Any) -> datetime | None:
    return decide(a_world(a_city(agent(idle_timeout=seconds(90))), session, **over)).next_due


def test_every_expiry_brings_a_patrol_forward() -> None:
    """Intents, requests, pins, holds, back-off and idle_timeout are due too (R80)."""
    assert due(cold(attach_intent=a_note(left=7))) == ahead(7)
    assert due(cold(wake_request=a_note(left=8))) == ahead(8)
    assert due(cold(pins=(a_pin(left=9),))) == ahead(9)
    assert due(cold(held_until=ahead(6))) == ahead(6)
    assert due(cold(quarantined_until=ahead(5))) == ahead(5)
    assert due(cold(exits=(ago(5), ago(1)))) == ahead(1)
    assert due(awake(), seen=running(idle_s=70)) == ahead(20)
    assert due(cold()) is None
