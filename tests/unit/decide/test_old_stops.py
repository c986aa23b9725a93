"""A stop that was announced and came to nothing leaves nothing behind."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gascity.decide.tick import decide
from gascity.model.plan import Stop
from gascity.model.session import Session, SleepReason, StopNote, StopReason
from gascity.model.world import Sighting
from gascity.testing.builders import (
    a_city,
    a_session,
    a_world,
    action_of,
    ago,
    asleep,
    awake,
    cold,
    decided,
    fresh,
    headless,
    record_of,
    running,
    stopped,
    unseen,
)


def noted(session: Session, *, since: float, reason: StopReason = StopReason.KILL) -> Session:
    """The record with a stop announced so many seconds ago."""
    note = StopNote(reason=reason, generation=session.generation, at=ago(since))
    return replace(session, stop_note=note)


@pytest.mark.parametrize("since", [61, 86_400, -86_400])
def test_a_kill_that_failed_leaves_no_mark_on_a_session_that_runs(since: float) -> None:
    """Else a later crash would count as ours and nothing would be told to it (R41, F26)."""
    city = a_city(fresh("mayor"))
    world = a_world(city, noted(awake("mayor"), since=since), seen=running())
    assert record_of(decide(world), world).stop_note is None


def test_a_stop_that_may_still_take_effect_is_not_forgotten() -> None:
    """What dies by a signal already sent is not a crash (R41, L8)."""
    world = a_world(a_city(fresh("mayor")), noted(awake("mayor"), since=20), seen=running())
    assert record_of(decide(world), world).stop_note is not None


@pytest.mark.parametrize(
    "session",
    [a_session("w"), cold("w"), asleep(SleepReason.CRASH, "w", failed_starts=(ago(1),) * 2)],
)
def test_the_kill_of_a_session_that_was_down_is_over(session: Session) -> None:
    """There was nothing to stop (R41)."""
    world = a_world(a_city(headless("w")), noted(session, since=5), seen=stopped())
    assert record_of(decide(world), world, "w").stop_note is None


@pytest.mark.parametrize(("seen", "suspended"), [(unseen(), None), (running(), ago(600))])
def test_a_stop_that_is_asked_for_or_in_doubt_keeps_its_note(
    seen: Sighting, suspended: object
) -> None:
    """The exit that is still to come is ours (R9, R41)."""
    session = noted(awake("mayor"), since=600, reason=StopReason.SUSPENDED)
    world = a_world(a_city(), replace(session, suspended_at=suspended), seen=seen)
    plan = decide(world)
    assert record_of(plan, world).stop_note is not None
    assert suspended is None or isinstance(action_of(plan, "mayor"), Stop)
    assert decided(world)[0].name == "mayor"
