"""What a provider's limit says: when it is over, and whether a program ended at one."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import pytest

from gascity.model.screens import ScreenRule, ScreenRules
from gascity.model.world import ScreenVerdict
from gascity.runtimes.screens import read_screen
from gascity.runtimes.screens.examples import SEEN_AT, corpus
from gascity.runtimes.screens.limits import MARGIN, last_words, over_at

AT: Final = SEEN_AT.isoformat().replace("2026-08-27T12:00:00", "{}")


@pytest.mark.parametrize(
    ("said", "over"),
    [
        ("session limit · resets 3:45pm", "2026-08-27T15:45:00"),
        ("5-hour limit reached ∙ resets 3am", "2026-08-28T03:00:00"),
        ("weekly limit · resets Mon 12:00am", "2026-08-31T00:00:00"),
        ("weekly limit · resets Thu 11:00am", "2026-09-03T11:00:00"),
        ("limit reached, reset 02:00", "2026-08-28T02:00:00"),
        ("(daily; resets 00:00 UTC)", "2026-08-28T02:00:00"),
        ("or try again at 3:28 PM.", "2026-08-27T15:28:00"),
        ("or try again at Aug 29th, 2026 2:41 AM.", "2026-08-29T02:41:00"),
        ("limit · resets Jan 3 at 5pm", "2027-01-03T17:00:00"),
        ("resets 7am (America/New_York)", "2026-08-27T13:00:00"),
        ("Access resets at 2:00 PM GMT+2.", "2026-08-27T14:00:00"),
        ("try again in 2 hours and 22 minutes.", "2026-08-27T14:22:00"),
        ("will reset after 12h22m45s.", "2026-08-28T00:22:45"),
        ("usage limit reached|1787832000", "2026-08-27T14:00:00"),
        ("resets at 2026-08-28T01:00:00Z", "2026-08-28T03:00:00"),
    ],
)
def test_the_time_of_a_reset_is_read(said: str, over: str) -> None:
    """The next such time after the line appeared, in the zone it names, and a minute (R41)."""
    assert over_at(said, since=SEEN_AT) == datetime.fromisoformat(AT.format(over)) + MARGIN


@pytest.mark.parametrize(
    "said",
    [
        "Claude usage limit reached",
        "You've hit your 5 hour limit",
        "resets soon",
        "resets 99:99",
        "try again at Foo 41st, 2026 2:41 AM",
        "resets at 2020-01-01T00:00:00Z",
        "in 99999999999999999999 days",
    ],
)
def test_what_cannot_be_read_is_no_time(said: str) -> None:
    """No time, or one that is over, wakes nobody in a loop (R41)."""
    assert over_at(said, since=SEEN_AT) is None


def test_the_screens_of_limits_say_when() -> None:
    """Each limit in the corpus with a time gives that time (R41)."""
    told = [one for one in corpus() if one.until]
    assert len(told) >= 8
    for one in told:
        expected = datetime.fromisoformat(one.until) + MARGIN
        assert (one.name, over_at(one.judged().said, since=SEEN_AT)) == (one.name, expected)


@pytest.mark.parametrize(
    ("text", "detector"),
    [
        ("working\nusage limit reached, resets 02:00\n", ""),
        ("Claude AI usage limit reached|1787832000\n", "claude"),
        ("● done\n  ⎿  You've hit your session limit · resets 3:45pm\ndev@host:~$\n", "claude"),
        ("■ You've hit your usage limit. Try again at 3:28 PM.\n\n$\n", "codex"),
        ("✕ [API Error: You have exhausted your daily quota on this model.]\n", "gemini"),
        ("You have hit a limit\nPane is dead (status 1, Mon Nov 30 19:02:11 2026)\n", "mine"),
    ],
)
def test_a_program_that_ends_at_a_limit_says_so_at_last(text: str, detector: str) -> None:
    """What stands in the last lines counts, also above the prompt of the shell it left (R41)."""
    rule = ScreenRule(
        name="limit",
        verdict=ScreenVerdict.RATELIMIT,
        region="last",
        pattern="^You have hit a limit",
    )
    own = ScreenRules(name="mine", rules=(rule,)) if detector == "mine" else None
    assert last_words(read_screen(text), detector, own)


@pytest.mark.parametrize(
    "text",
    [
        "Traceback: boom\n",
        "I read that a usage limit reached them yesterday\n",
        "usage limit reached\n" + "and then all went well\n" * 12,
    ],
)
def test_other_last_words_are_no_limit(text: str) -> None:
    """A crash is a crash, whatever was talked about before (R41)."""
    assert last_words(read_screen(text), "claude", None) == ""
    assert timedelta(0) < MARGIN
