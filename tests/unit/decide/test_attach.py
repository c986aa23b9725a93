"""The attach tables: total, unambiguous, and safe for a conversation."""

from __future__ import annotations

from datetime import timedelta
from itertools import product

import pytest

from gascity.decide.attach import (
    CONCURRENT,
    ENDS,
    FRESH_CONSEQUENCE,
    OPENING,
    STEPS,
    AttachState,
    Seen,
    Stand,
    accepted_text,
    intent_life,
    opening,
    span_text,
    step,
)
from gascity.model.duration import NS_PER_S, Duration

EVERY = list(product(Stand, (False, True), (False, True), (False, True)))


@pytest.mark.parametrize("facts", EVERY)
def test_exactly_one_line_describes_how_an_attach_begins(
    facts: tuple[Stand, bool, bool, bool],
) -> None:
    """Every combination of facts has one first step, never none and never two (ATT-13)."""
    assert len([row for row in OPENING if row.matches(facts)]) == 1


def test_every_waiting_state_knows_where_each_sight_leads() -> None:
    """A state either ends the attach or has a step for everything that can be seen."""
    assert set(STEPS) | ENDS == set(AttachState)
    assert not set(STEPS) & ENDS
    assert all(len(row) == len(Seen) for row in STEPS.values())


@pytest.mark.parametrize(("stand", "fresh", "confirmed", "other"), EVERY)
def test_a_fresh_conversation_never_replaces_another_without_confirmation(
    stand: Stand, fresh: bool, confirmed: bool, other: bool
) -> None:
    """One that may have something to lose is confirmed before anything is written (ATT-18)."""
    first = opening(stand, fresh=fresh, confirmed=confirmed, other=other)
    if fresh and not confirmed and stand in {Stand.ASLEEP, Stand.DRAINING}:
        assert first in {AttachState.CONFIRM, AttachState.CONCURRENT}


@pytest.mark.parametrize("stand", [one for one in Stand if one not in (Stand.AWAKE, Stand.HELD)])
def test_a_second_attach_is_told_of_the_first(stand: Stand) -> None:
    """An intent of somebody else is never overwritten (ATT-22)."""
    for fresh, confirmed in product((False, True), repeat=2):
        first = opening(stand, fresh=fresh, confirmed=confirmed, other=True)
        assert first is AttachState.CONCURRENT


FIRST = {
    # stand: (free, somebody else holds the intent)
    Stand.AWAKE: (AttachState.READY, AttachState.READY),
    Stand.HELD: (AttachState.REFUSED, AttachState.REFUSED),
    Stand.NEW: (AttachState.ACCEPTED, AttachState.CONCURRENT),
    Stand.STARTING: (AttachState.ACCEPTED, AttachState.CONCURRENT),
    Stand.DRAINING: (AttachState.ACCEPTED, AttachState.CONCURRENT),
    Stand.ASLEEP: (AttachState.ACCEPTED, AttachState.CONCURRENT),
}


@pytest.mark.parametrize(("stand", "fresh", "confirmed", "other"), EVERY)
def test_each_stand_has_its_first_step(
    stand: Stand, fresh: bool, confirmed: bool, other: bool
) -> None:
    """A conversation that is not lost, or was given up, needs no question (ATT-13, ATT-18)."""
    expected = FIRST[stand][other]
    lossy = stand in (Stand.ASLEEP, Stand.DRAINING) and fresh and not confirmed
    if lossy and not other:
        expected = AttachState.CONFIRM
    assert opening(stand, fresh=fresh, confirmed=confirmed, other=other) is expected


def test_the_words_of_an_attach_are_exact() -> None:
    """Replies, exit messages and the manual share them (ATT-17, ATT-22)."""
    assert [str(one) for one in AttachState] == [
        "ready", "fresh confirmation required", "wake accepted", "waiting", "refused",
        "already being woken", "timed out", "failed", "canceled",
    ]  # fmt: skip
    assert FRESH_CONSEQUENCE == "will start a new session and discard prior interactive context"
    assert CONCURRENT == "session is already being woken by another attach"


@pytest.mark.parametrize(
    ("s", "text"),
    [(1.5, "1.5s"), (60, "60s"), (119, "119s"), (120, "2m"), (121, "121s"), (5400, "90m")],
)
def test_a_span_is_written_as_people_write_it(s: float, text: str) -> None:
    """Whole minutes from two on, seconds else (ATT-08)."""
    assert span_text(timedelta(seconds=s)) == text


def test_an_awake_session_is_handed_over_whatever_else_holds() -> None:
    """Nothing is written or asked for a session that runs (ATT-06, R55)."""
    firsts = {opening(Stand.AWAKE, fresh=f, confirmed=c, other=o) for _, f, c, o in EVERY}
    assert firsts == {AttachState.READY}


def test_only_a_certain_failure_is_called_a_failure() -> None:
    """An expired intent is a timeout, whatever the session does meanwhile (ATT-14)."""
    leads = {seen: step(AttachState.WAITING, seen) for seen in Seen}
    assert [seen for seen, state in leads.items() if state is AttachState.FAILED] == [Seen.FAILED]
    assert leads[Seen.EXPIRED] is AttachState.TIMED_OUT


@pytest.mark.parametrize("state", sorted(ENDS))
def test_an_attach_that_ended_stays_ended(state: AttachState) -> None:
    """No sight revives an attach: a failure is shown, never retried (ATT-15)."""
    assert {step(state, seen) for seen in Seen} == {state}


@pytest.mark.parametrize(
    ("startup_s", "life_s"), [(10, 30), (30, 30), (60, 60), (300, 300), (600, 300), (0, 30)]
)
def test_an_intent_lives_as_long_as_a_start_may_take(startup_s: int, life_s: int) -> None:
    """The start-up time, within half a minute and five minutes (ATT-05)."""
    life = intent_life(Duration(startup_s * NS_PER_S, "x"))
    assert life.total_seconds() == life_s


def test_the_accepted_line_names_session_and_timeout() -> None:
    """The exact words of an accepted wake (ATT-08)."""
    life = intent_life(Duration(60 * NS_PER_S, "1m"))
    assert accepted_text("mayor", life) == "waking mayor... (timeout 60s)"
    assert span_text(intent_life(Duration(600 * NS_PER_S, "10m"))) == "5m"
