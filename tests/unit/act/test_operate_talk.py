"""Peek and nudge."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gascity.act.requests_talk import nudge, peek, plain
from gascity.model.reading import Known
from gascity.model.world import Pending, ScreenVerdict, Sighting
from tests.desk import FakeDesk, Said, a_session, awake, comes_up, refusal, run, running


def test_a_nudge_is_typed_into_the_session_that_carries_the_token() -> None:
    """One line, fenced by the run's token (R63)."""
    desk = FakeDesk(awake())
    assert run(desk, nudge, "mayor", "go on\nplease", say=Said())["outcome"] == "sent"
    assert desk.runtime.typed == [("mayor", "go on please", "token-1")]


def test_a_nudge_wakes_nobody_by_itself() -> None:
    """A sleeper is refused with the way to wake it."""
    refused = refusal(FakeDesk(a_session()), nudge, "mayor", "hello", say=Said())
    assert (refused.exit, "gc wake mayor" in refused.do) == (3, True)


def test_a_nudge_told_to_wake_wakes_first() -> None:
    """Woken by request, then typed to."""
    desk = FakeDesk(a_session())
    desk.steps = [comes_up()]
    assert run(desk, nudge, "mayor", "hello", say=Said(), mode="wake")["outcome"] == "sent"


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
    refusal(desk, nudge, "mayor", "yes", say=Said())
    assert desk.runtime.typed == []


def test_a_nudge_in_an_unknown_mode_or_without_words_is_a_mistake() -> None:
    """Usage errors."""
    assert refusal(FakeDesk(awake()), nudge, "mayor", "x", say=Said(), mode="loud").exit == 2
    assert refusal(FakeDesk(awake()), nudge, "mayor", "\x1b[2J\n", say=Said()).exit == 2


def test_a_peek_shows_text_and_touches_nothing() -> None:
    """No control sequence reaches the terminal of whoever looks; nothing is written (R44)."""
    desk = FakeDesk(awake())
    desk.runtime.screen = (
        "\x1b]0;title\x07\x1b[31mred\x1b[0m\r\n\x1b]52;c;aGk=\x1b\\done\x1b(B\x07\x9b2J"
    )
    assert run(desk, peek, "mayor")["text"] == "red\ndone"
    assert desk.writes == []


@given(st.text())
def test_plain_text_holds_no_control_character(text: str) -> None:
    """Whatever is on a screen (R44)."""
    shown = plain(text)
    assert all(one in "\n\t" or one >= " " for one in shown)
    assert not {"\x7f", "\x9b", "\u202e"} & set(shown)
