"""Which markers a patrol clears before it judges anything."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from gascity.decide.normalize import normalize, normalize_session
from gascity.model.reading import Known, Unclear, Unsupported
from gascity.model.session import Session, SleepIntent, SleepReason, State
from gascity.model.world import Sighting, Walk
from gascity.testing.builders import (
    NOON,
    a_city,
    a_note,
    a_pin,
    a_world,
    agent,
    ago,
    asleep,
    awake,
    cold,
    confirmed,
    draining,
    running,
    stopped,
    unseen,
)


def clean(session: Session, seen: Sighting) -> Session:
    return normalize_session(session, seen, now=NOON)


@pytest.mark.parametrize("intent", [SleepIntent.PENDING, SleepIntent.CONFIRMED])
@pytest.mark.parametrize("seen", [running(), stopped()], ids=["running", "stopped"])
def test_a_cold_session_has_no_intent_left(intent: SleepIntent, seen: Sighting) -> None:
    """Asleep for idleness: a leftover idle intent goes (NORM-08)."""
    assert clean(cold(sleep_intent=intent), seen).sleep_intent is SleepIntent.NONE


def test_a_stale_confirmed_marker_goes_when_it_runs() -> None:
    """Confirmed, not asleep, running: the marker is stale (NORM-09, R30)."""
    assert clean(confirmed(), running()).sleep_intent is SleepIntent.NONE


def test_the_crash_window_between_confirm_and_commit_is_kept() -> None:
    """Confirmed and stopped is what recovery must still commit (R30, REC-06)."""
    before = confirmed(detached_at=None)
    assert clean(before, stopped()) is before


@pytest.mark.parametrize(
    "session", [confirmed(), draining(), cold(sleep_intent="idle-stop-pending")]
)
def test_unknown_truth_clears_no_intent(session: Session) -> None:
    """What cannot be seen is left as it is (R29)."""
    assert clean(session, unseen()) is session


def test_a_pending_marker_of_a_running_session_is_kept() -> None:
    """It is a drain under way (REC-02)."""
    assert clean(draining(), running()).sleep_intent is SleepIntent.PENDING


@pytest.mark.parametrize("kind", ["attach_intent", "wake_request"])
def test_an_expired_request_is_cleared_before_roots(kind: str) -> None:
    """An expired intent cannot act as a root; one with a second left can (NORM-10, ATT-04)."""
    late = clean(cold(**{kind: a_note(left=0)}), stopped())
    assert getattr(late, kind) is None
    timely = cold(**{kind: a_note(left=1)})
    assert clean(timely, stopped()) is timely


def test_expired_pins_go_one_by_one() -> None:
    """A pin ends at its own time (R18)."""
    kept = a_pin("bob", left=1)
    assert clean(cold(pins=(a_pin(left=0), kept)), stopped()).pins == (kept,)


def test_helpers_of_the_latch_go_with_another_reason() -> None:
    """Suppression helpers serve idle sleep only (NORM-11)."""
    other = asleep(SleepReason.IDLE_TIMEOUT, latch_generation=3)
    assert clean(other, stopped()).latch_generation == 0
    assert clean(cold(), stopped()).latch_generation == 1


IDLE_OWNED = {
    "sleep_intent", "latch_generation", "attach_intent", "wake_request", "pins", "detached_at",
}  # fmt: skip


@pytest.mark.parametrize("seen", [running(), running(attached=Known(1)), stopped(), unseen()])
@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("reason", SleepReason)
@pytest.mark.parametrize("intent", SleepIntent)
def test_only_markers_of_idle_sleep_are_touched(
    seen: Sighting, state: State, reason: SleepReason, intent: SleepIntent
) -> None:
    """Legacy breadcrumbs are neither rewritten nor reinterpreted (NORM-12, NORM-13)."""
    before = awake(
        state=state, sleep_reason=reason, sleep_intent=intent, attach_intent=a_note(left=0),
        held_until=ago(1), last_exit="x", quarantined_until=ago(1), latch_generation=1,
    )  # fmt: skip
    after = clean(before, seen)
    changed = {
        one.name for one in fields(Session) if getattr(before, one.name) != getattr(after, one.name)
    }
    assert changed <= IDLE_OWNED


def test_the_detach_edge_starts_the_clock() -> None:
    """Detached and not noted: noted now (IDLE-03, IDLE-05, TEST-06, R51)."""
    assert clean(awake(detached_at=None), running()).detached_at == NOON


def test_the_detach_clock_is_kept_while_detached() -> None:
    """Stored value stays, also after a restart (IDLE-06..IDLE-08, TEST-08)."""
    before = awake(detached_at=ago(77))
    assert clean(before, running()) is before


def test_attachment_ends_the_detach_clock_and_the_attach_intent() -> None:
    """Attached: the clock is cleared, and the intent has done its work (IDLE-04, ATT-04)."""
    after = clean(awake(attach_intent=a_note()), running(attached=Known(2)))
    assert (after.detached_at, after.attach_intent) == (None, None)
    settled = awake(detached_at=None)
    assert clean(settled, running(attached=Known(1))) is settled


@pytest.mark.parametrize("reading", [Unclear("timed out"), Unsupported()])
@pytest.mark.parametrize("noted", [None, ago(77)])
def test_doubt_neither_starts_nor_moves_the_detach_clock(reading: object, noted: object) -> None:
    """An ambiguous or missing attachment reading leaves it alone (IDLE-09, IDLE-11)."""
    before = awake(detached_at=noted)
    assert clean(before, running(attached=reading)) is before


def test_a_stopped_session_has_no_detach_edge() -> None:
    """Nobody detaches from what does not run (R51)."""
    before = cold(detached_at=None)
    assert clean(before, stopped()) is before


def test_walked_and_foreign_sessions_are_left_alone() -> None:
    """A walk writes its session itself; another tool's state is not ours (NORM-13, R73)."""
    city = a_city(agent("a"), agent("b"), agent("c"))
    notes = [awake(name, attach_intent=a_note(left=0)) for name in "abc"]
    notes[1] = replace(notes[1], foreign_state="frozen")
    world = a_world(city, *notes, walks={"a": Walk(kind="drain")})
    after = normalize(world)
    touched = {one for one in world.sessions if after.sessions[one] is not world.sessions[one]}
    assert touched == {"gc-c"}
    assert after.sessions["gc-c"].attach_intent is None
