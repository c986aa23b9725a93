"""Nudge: said now, or kept until it can be; never lost, never typed where it would do harm."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gascity.act.requests_message import messages, nudge, unsend
from gascity.beads.bead import MESSAGE, Bead
from gascity.beads.notices import Delivery, begin_delivery, end_delivery
from gascity.beads.store import Batch, EventQuery, Query
from gascity.model.events import Event
from gascity.model.reading import Known
from gascity.model.session import SleepIntent, State, StopNote, StopReason
from gascity.model.world import Pending, ScreenVerdict, Sighting
from gascity.testing.people import at_once
from tests.desk import FakeDesk, a_session, awake, refusal, run, running

HOUR = 3600.0


def stored(desk: FakeDesk) -> Sequence[Bead]:
    return at_once(desk.store.query(Query(type=MESSAGE)))


def told(desk: FakeDesk) -> Sequence[Event]:
    return at_once(desk.store.events(EventQuery()))


def end(desk: FakeDesk, how: Delivery) -> None:
    """The controller delivers the one message there is."""
    [message] = stored(desk)
    begun = at_once(desk.apply(Batch(updates=(begin_delivery(message),)))).beads[message.id]
    at_once(desk.apply(Batch(updates=(end_delivery(begun, how),))))


def test_a_line_is_typed_at_once_into_the_session_that_carries_the_token() -> None:
    """A session at its prompt hears it now; one line, fenced by the run's token (R63)."""
    desk = FakeDesk(awake())
    assert run(desk, nudge, "mayor", "go on\nplease")["outcome"] == "sent"
    assert desk.runtime.typed == [("mayor", "go on please", "token-1")]
    assert stored(desk) == []


def test_a_sleeper_is_not_told_without_a_word_about_waking_it() -> None:
    """F26: neither woken nor forgotten by default; both ways out are named."""
    refused = refusal(FakeDesk(a_session()), nudge, "mayor", "hello")
    assert (refused.exit, "--wake" in refused.do, "--queue" in refused.do) == (3, True, True)


@pytest.mark.parametrize(("mode", "outcome"), [("wake", "waking"), ("queue", "queued")])
def test_a_message_to_a_sleeper_is_kept_and_the_sender_knows_whether_it_wakes(
    mode: str, outcome: str
) -> None:
    """F26: stored durably before it is acknowledged; the text stays out of the log (E8)."""
    desk = FakeDesk(a_session())
    reply = run(desk, nudge, "mayor", "the secret", mode=mode, by="ann")
    assert reply["outcome"] == outcome
    assert ("wakes nobody" in reply["text"]) is (mode == "queue")
    [message] = stored(desk)
    assert message.id == reply["id"]
    assert (message.metadata["text"], message.metadata["mode"]) == ("the secret", mode)
    assert not any("secret" in str(event) for event in told(desk))


@pytest.mark.parametrize("mode", ["", "wake", "queue"])
@pytest.mark.parametrize("name", ["suspended", "quarantined"])
def test_a_held_session_is_not_told(mode: str, name: str) -> None:
    """F26, R26: refused with the command that lifts the hold, in every mode."""
    desk = FakeDesk(a_session())
    later = desk.clock.now().replace(year=2099)
    held = {
        "suspended": {"state": State.SUSPENDED, "suspended_at": desk.clock.now()},
        "quarantined": {"state": State.QUARANTINED, "quarantined_until": later},
    }[name]
    desk.put("gc-mayor", **held)
    refused = refusal(desk, nudge, "mayor", "hello", mode=mode)
    assert (refused.exit, "gc resume mayor" in refused.do) == (3, True)
    assert stored(desk) == []


UNSAFE = [
    running(pending=Known(Pending(kind="permission"))),
    running(screen=ScreenVerdict.PENDING),
    running(screen=ScreenVerdict.DRAFT),
    running(screen=ScreenVerdict.PAGER),
    running(screen=ScreenVerdict.SHELL),
    Sighting.unknown("no answer"),
]


@pytest.mark.parametrize("sight", UNSAFE)
def test_a_nudge_never_answers_a_question_or_sends_a_draft(sight: Sighting) -> None:
    """What a typed line would answer, send or run is left alone; doubt too (R15, R79)."""
    desk = FakeDesk(awake())
    desk.runtime.truths["mayor"] = sight
    refusal(desk, nudge, "mayor", "yes")
    assert desk.runtime.typed == []


@pytest.mark.parametrize("how", [Delivery.DELIVERED, Delivery.UNCLEAR])
def test_a_sender_to_a_session_that_is_up_hears_how_it_ended(how: Delivery) -> None:
    """F26: told, or the doubt is said with exit 1."""
    desk = FakeDesk(awake())
    desk.steps = [lambda here: end(here, how)]
    reply = run(desk, nudge, "mayor", "hello", mode="queue")
    assert (reply["outcome"], reply.get("exit", 0)) == (how.value, int(how is Delivery.UNCLEAR))


def test_nothing_overtakes_what_was_said_before() -> None:
    """F26: a line to a session that has not heard an earlier one goes behind it."""
    desk = FakeDesk(awake())
    run(desk, nudge, "mayor", "first", mode="queue")
    assert run(desk, nudge, "mayor", "second")["outcome"] == "queued"
    assert [one.metadata["text"] for one in stored(desk)] == ["first", "second"]
    assert desk.runtime.typed == []


def test_a_line_to_a_session_on_its_way_to_sleep_is_kept() -> None:
    """F26: typed into a session about to stop it would be lost; kept, it cancels the drain."""
    desk = FakeDesk(awake(sleep_intent=SleepIntent.PENDING))
    assert run(desk, nudge, "mayor", "stay")["outcome"] == "queued"
    assert desk.runtime.typed == []


def test_a_session_being_stopped_for_another_reason_is_told_directly_or_not_at_all() -> None:
    """R34: while it still runs it is typed to; nothing is promised for later unasked."""
    note = StopNote(reason=StopReason.KILL, generation=1, at=FakeDesk().clock.now())
    desk = FakeDesk(awake(stop_note=note))
    assert run(desk, nudge, "mayor", "hello")["outcome"] == "sent"


def test_a_message_can_be_taken_back_until_it_is_being_delivered() -> None:
    """F26: what holds a session up can be withdrawn."""
    desk = FakeDesk(a_session())
    first = run(desk, nudge, "mayor", "one", mode="queue")["id"]
    assert run(desk, unsend, first)["outcome"] == "taken back"
    assert stored(desk) == []
    assert [one["state"] for one in run(desk, messages, "mayor", all=True)["messages"]] == [
        "canceled"
    ]
    second = run(desk, nudge, "mayor", "two", mode="queue")["id"]
    [message] = stored(desk)
    at_once(desk.apply(Batch(updates=(begin_delivery(message),))))
    assert refusal(desk, unsend, second).exit == 3
    assert refusal(desk, unsend, "gc-none").exit == 2


def test_an_unknown_mode_no_words_or_too_many_are_mistakes() -> None:
    """Usage errors."""
    assert refusal(FakeDesk(awake()), nudge, "mayor", "x", mode="loud").exit == 2
    assert refusal(FakeDesk(awake()), nudge, "mayor", "\x1b[2J\n").exit == 2
    assert refusal(FakeDesk(awake()), nudge, "mayor", "x" * 9000).exit == 2
