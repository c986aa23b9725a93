"""The policy block to start with, and putting it into a text that people wrote."""

from __future__ import annotations

import pytest
import tomli

from gascity.config.proposal import CannotEdit, diff, edited, proposed
from gascity.model.city import City, SessionClass
from gascity.model.duration import OFF, seconds

CITY = City(name="c", path="/c")
ALL = {
    SessionClass.INTERACTIVE_RESUME: seconds(60),
    SessionClass.INTERACTIVE_FRESH: OFF,
}


def test_a_window_is_proposed_for_what_is_there_and_silent() -> None:
    """By class and by what runtimes allow; what is said already stays (CFG-19, CFG-20)."""
    kinds = list(SessionClass)
    full = {kind.value: str(window) for kind, window in proposed(CITY, kinds, is_safe=True).items()}
    assert full == {
        "interactive_resume": "60s",
        "interactive_fresh": "off",
        "noninteractive": "0s",
    }
    timed = proposed(CITY, [SessionClass.NONINTERACTIVE], is_safe=False)
    assert [str(window) for window in timed.values()] == ["30s"]
    said = City(name="c", path="/c", session_sleep={SessionClass.NONINTERACTIVE: OFF})
    assert proposed(said, [SessionClass.NONINTERACTIVE], is_safe=True) == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[workspace]",
        '[workspace]\nname = "c"  # mine\n\n\n[[agent]]\nname = "a"\n# last words',
        '\ufeff[workspace]\r\nname = "c"\r\n',
        '[session_sleep]  # here\nnoninteractive = "0s"\n[workspace]\nname = "c"\n',
        'x = """\n[session_sleep]\n"""\n',
    ],
)
def test_every_other_line_stays(text: str) -> None:
    """The old lines are all there in their order, and the result says what was meant."""
    after = edited(text, ALL)
    kept = iter(after.splitlines())
    assert all(line in kept for line in text.splitlines())
    table = tomli.loads(after.removeprefix("\ufeff"))["session_sleep"]
    assert table["interactive_resume"] == "60s"
    assert table["interactive_fresh"] == "off"
    assert ("\r\n" in text) is (after.count("\r\n") == after.count("\n") > 0)
    assert after.startswith("\ufeff") is text.startswith("\ufeff")
    assert diff("city.toml", text, after).count("\n+") >= 2


@pytest.mark.parametrize(
    "text",
    [
        'session_sleep = { noninteractive = "0s" }\n',
        'session_sleep.noninteractive = "0s"\n',
        '[ session_sleep ]\nnoninteractive = "0s"\n',
        '[session_sleep]\ninteractive_resume = "5m"\n',
    ],
)
def test_what_cannot_be_added_to_safely_is_refused(text: str) -> None:
    """Nothing is guessed in a file that somebody runs."""
    with pytest.raises(CannotEdit):
        edited(text, ALL)
