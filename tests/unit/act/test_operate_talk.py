"""Peek."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gascity.act.requests_talk import peek, plain
from tests.desk import FakeDesk, awake, run


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
