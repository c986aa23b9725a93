"""What a fresh look says about a drain under way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gascity.decide.drain import Phase, Verdict
from gascity.decide.judge import fixed_place, judge, place_of
from gascity.decide.relook import DrainContext, Looked, is_marked, relook
from gascity.model.city import NamedSession
from gascity.model.duration import OFF, seconds
from gascity.model.plan import Cause
from gascity.model.reading import Known, Unclear
from gascity.model.roster import fixed_places
from gascity.model.session import SleepRequest, StopReason
from gascity.model.world import Demand, ScreenVerdict, World
from gascity.testing.builders import (
    a_city,
    a_world,
    agent,
    ago,
    awake,
    cold,
    draining,
    headless,
    pooled,
    running,
    stopped,
    unseen,
)
from tests.unit.decide.test_wake import ON_A_SLEEPER, SEEN

CITY = a_city(agent())
BEFORE = (Phase.PROBE, Phase.RECORD)
AFTER = (Phase.STOP, Phase.CONFIRM, Phase.COMMIT)


def looked(
    world: World, phase: Phase, *, name: str = "mayor", structural: str = "", **context: Any
) -> Looked:
    """The look at one session, under the context its drain started from."""
    session = world.sessions.get(f"gc-{name}")
    fingerprint = ""
    if session is not None:
        found = judge(session, a_world(CITY, session) if name == "mayor" else world, ())
        fingerprint = found.fingerprint.value if found else ""
    fields: dict[str, Any] = {"fingerprint": fingerprint, "generation": 1}
    return relook(
        world,
        f"gc-{name}",
        phase=phase,
        context=DrainContext(**(fields | context)),
        structural=lambda _: structural,
    )


def seen_at(phase: Phase) -> Any:
    return stopped() if phase in AFTER else running()


@pytest.mark.parametrize("phase", [*BEFORE, *AFTER])
def test_nothing_against_it_is_clear(phase: Phase) -> None:
    """The quiet session goes on through every phase (DRAIN-01..DRAIN-07)."""
    found = looked(a_world(CITY, draining(), seen=seen_at(phase)), phase)
    assert (found.verdict, found.blockers) == (Verdict.CLEAR, ())


@pytest.mark.parametrize("phase", [*BEFORE, *AFTER])
@pytest.mark.parametrize("cause", Cause)
def test_every_cause_at_every_phase_is_seen(cause: Cause, phase: Phase) -> None:
    """The plan's own rule, dependents and demand included (R27, DRAIN-03, DRAIN-05, REC-19)."""
    base = ON_A_SLEEPER[cause]()
    was = base.sessions["gc-mayor"]
    session = draining(
        attach_intent=was.attach_intent, wake_request=was.wake_request, pins=was.pins
    )
    seen = base.sighting("gc-mayor") if cause in SEEN else seen_at(phase)
    world = replace(
        base,
        sessions={**base.sessions, session.id: session},
        sightings={**base.sightings, session.id: seen},
    )
    found = looked(world, phase)
    assert found.verdict is Verdict.WOKEN
    assert str(cause) in {blocker.name for blocker in found.blockers}


@pytest.mark.parametrize("phase", [*BEFORE, *AFTER])
@pytest.mark.parametrize(
    "city",
    [a_city(agent(sleep_after_idle=OFF)), a_city(agent(sleep_after_idle=seconds(59)))],
    ids=["off", "changed"],
)
def test_a_reload_that_ends_the_policy_ends_the_drain(phase: Phase, city: Any) -> None:
    """It never goes on under a policy or fingerprint that no longer holds (R35)."""
    found = looked(a_world(city, draining(), seen=seen_at(phase)), phase)
    assert found.verdict is Verdict.WOKEN
    assert found.blockers[0].detail == "the sleep policy changed"


@pytest.mark.parametrize("phase", BEFORE)
def test_activity_since_the_probe_voids_it(phase: Phase) -> None:
    """An answer older than the last activity is void (R33, RACE-01, RACE-02)."""
    world = a_world(CITY, draining(), seen=running(idle_s=70))
    assert looked(world, phase, probed_at=ago(71)).blockers[0].detail == "active since the probe"
    assert looked(world, phase, probed_at=ago(69)).verdict is Verdict.CLEAR
    in_that_instant = looked(world, phase, probed_at=ago(70), idle_since=ago(90))
    assert in_that_instant.blockers[0].detail == "active since the probe"
    known = looked(world, phase, probed_at=ago(70), idle_since=ago(70))
    assert known.verdict is Verdict.CLEAR
    warm = a_world(CITY, draining(), seen=running(idle_s=1))
    assert looked(warm, phase).blockers[0].detail == "active again"


@pytest.mark.parametrize("screen", [ScreenVerdict.BUSY, ScreenVerdict.BACKGROUND])
def test_a_screen_that_became_busy_ends_it(screen: ScreenVerdict) -> None:
    """Something runs again (PROBE-02, R15)."""
    world = a_world(CITY, draining(), seen=running(screen=screen))
    assert looked(world, Phase.RECORD).verdict is Verdict.WOKEN


DOUBTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "attachment": ({"attached": Unclear("?")}, {}),
    "pending": ({"pending": Unclear("?")}, {}),
    "demand": ({}, {"demand": Demand(unclear="?")}),
}


@pytest.mark.parametrize("doubt", DOUBTS)
@pytest.mark.parametrize("phase", BEFORE)
def test_doubt_before_the_stop_is_unsure(doubt: str, phase: Phase) -> None:
    """An unclear reading neither wakes nor lets it go on (DRAIN-10, DRAIN-11, R9)."""
    seen, around = DOUBTS[doubt]
    found = looked(a_world(CITY, draining(), seen=running(**seen), **around), phase)
    assert found.verdict is Verdict.UNSURE
    assert found.blockers


@pytest.mark.parametrize("phase", [*BEFORE, *AFTER])
def test_unknown_truth_is_unsure(phase: Phase) -> None:
    """Nobody can say whether it stopped: nothing is confirmed (R29, R10)."""
    assert looked(a_world(CITY, draining(), seen=unseen()), phase).verdict is Verdict.UNSURE


def test_once_stopped_an_unclear_attachment_holds_nothing() -> None:
    """Nobody is attached to what does not run (R28)."""
    gone = stopped(attached=Unclear("?"), pending=Unclear("?"))
    for phase in AFTER:
        assert looked(a_world(CITY, draining(), seen=gone), phase).verdict is Verdict.CLEAR


def test_a_seen_stop_is_recorded_whatever_the_demand_and_committed_only_when_clear() -> None:
    """Confirm at once; commit waits for clear demand (R9, R28)."""
    world = a_world(CITY, draining(), seen=stopped(), demand=Demand(unclear="?"))
    assert looked(world, Phase.STOP).verdict is Verdict.CLEAR
    assert looked(world, Phase.CONFIRM).verdict is Verdict.UNSURE


@pytest.mark.parametrize("phase", AFTER)
def test_a_runtime_that_still_runs_is_no_stop(phase: Phase) -> None:
    """A stop that returned is not proof (R28, F53)."""
    assert looked(a_world(CITY, draining(), seen=running()), phase).verdict is Verdict.RUNNING


@pytest.mark.parametrize("phase", BEFORE)
def test_a_runtime_that_went_by_itself_is_left_to_the_patrol(phase: Phase) -> None:
    """Stopped before we asked: an exit to classify, not our doing (R56, CRASH-01)."""
    assert looked(a_world(CITY, draining(), seen=stopped()), phase).verdict is Verdict.TAKEN


@pytest.mark.parametrize("reason", ["suspended", "excess", "orphaned"])
@pytest.mark.parametrize("phase", [*BEFORE, *AFTER])
def test_a_structural_change_takes_it(reason: str, phase: Phase) -> None:
    """Any structural reason outranks wakes and the drain (DRAIN-12..DRAIN-16)."""
    world = a_world(CITY, draining(), seen=seen_at(phase), work={"mayor": "w"})
    found = looked(world, phase, structural=reason)
    assert (found.verdict, found.blockers[0].name) == (Verdict.TAKEN, f"draining:{reason}")


def test_a_drifted_session_that_is_down_is_started_again() -> None:
    """Its restart is the start (DRAIN-12, R32)."""
    world = a_world(CITY, draining(), seen=stopped())
    drift = str(StopReason.CONFIG_DRIFT)
    assert looked(world, Phase.STOP, structural=drift).verdict is Verdict.WOKEN
    up = a_world(CITY, draining())
    assert looked(up, Phase.STOP, structural=drift).verdict is Verdict.TAKEN


def test_another_run_is_not_ours_to_stop() -> None:
    """A new generation ends the walk of the old one (R63)."""
    found = looked(a_world(CITY, draining(generation=2)), Phase.RECORD)
    assert (found.verdict, found.blockers[0].name) == (Verdict.TAKEN, "draining:operator")


def test_a_session_that_is_gone_is_taken() -> None:
    """No record, or a config that no longer names it (DRAIN-15)."""
    assert looked(a_world(CITY), Phase.RECORD).verdict is Verdict.TAKEN
    unnamed = a_world(a_city(headless()), draining())
    assert looked(unnamed, Phase.RECORD).verdict is Verdict.TAKEN


def test_an_operators_drain_needs_no_policy() -> None:
    """`gc sleep` on a session with `off` goes on; a wake still ends it (R64)."""
    city = a_city(agent(), session_sleep={})
    asked = draining(sleep_request=SleepRequest(by="ann", at=ago(1)))
    world = a_world(city, asked, seen=running(idle_s=30))
    assert looked(world, Phase.RECORD, operator=True).verdict is Verdict.CLEAR
    woken = a_world(city, asked, work={"mayor": "w"})
    assert looked(woken, Phase.RECORD, operator=True).verdict is Verdict.WOKEN


def test_a_forced_drain_ignores_all_but_doubt_about_the_runtime() -> None:
    """`--force` closes its eyes to wakes and demand, never to the truth (R64, R29)."""
    busy = running(idle_s=1, attached=Unclear("?"), screen=ScreenVerdict.BUSY)
    world = a_world(CITY, draining(), seen=busy, work={"mayor": "w"}, demand=Demand(unclear="?"))
    assert looked(world, Phase.RECORD, forced=True).verdict is Verdict.CLEAR
    lost = a_world(CITY, draining(), seen=unseen())
    assert looked(lost, Phase.STOP, forced=True).verdict is Verdict.UNSURE


def test_work_routed_to_its_pool_cancels_the_drain_of_the_only_free_slot() -> None:
    """Ready pool work is seen by the re-look, before and after the stop (R20, R27, F03)."""
    city = a_city(pooled())
    for phase in (*BEFORE, *AFTER):
        world = a_world(city, draining("worker-1"), seen=seen_at(phase), routed={"worker": "w1"})
        assert looked(world, phase, name="worker-1").verdict is Verdict.WOKEN
        helped = a_world(
            city, draining("worker-2"), awake("worker-1"),
            seen={"worker-2": seen_at(phase), "worker-1": running()}, routed={"worker": "w1"},
        )  # fmt: skip
        assert looked(helped, phase, name="worker-2").verdict is Verdict.CLEAR


def test_a_relook_finds_the_place_as_the_tick_does() -> None:
    """Both ways to a place agree, whatever the session (R27)."""
    named = (NamedSession(identity="boss", template="mayor"),)
    city = a_city(agent(), headless("r/clerk"), pooled(), named_sessions=named)
    fixed = fixed_places(city)
    for name in ("boss", "mayor", "r--clerk", "worker", "nobody"):
        for owner in city.agents.values():
            place = fixed.get(name)
            expected = place if place is not None and place.template == owner.identity else None
            assert fixed_place(name, owner, city) == expected
    assert place_of(cold("worker-1"), city) is not None
    assert place_of(cold("clerk-1", template="r/clerk"), city) is None
    assert place_of(cold("gone"), city) is None


def test_a_mark_is_any_idle_intent() -> None:
    """An announced drain is one with either marker (META-09)."""
    assert is_marked(draining())
    assert not is_marked(awake())


def test_an_attached_person_is_seen_whatever_the_probe_said() -> None:
    """Attachment during or after the probe aborts (PROBE-02, RACE-02, RACE-03)."""
    world = a_world(CITY, draining(), seen=running(attached=Known(1)))
    assert looked(world, Phase.PROBE, probed_at=ago(1)).verdict is Verdict.WOKEN
