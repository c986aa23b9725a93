"""The detectors against a corpus of screens; each file says in its header what it shows.

R15: what is not surely idle is never called idle.
"""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gascity.model.world import ScreenVerdict
from gascity.runtimes.screens import (
    DETECTORS,
    Judgement,
    Screen,
    judge,
    judge_any,
    read_screen,
    steady_text,
)
from gascity.runtimes.screens.examples import corpus

EXAMPLES: Final = {one.name: one for one in corpus()}
NOT_IDLE: Final = [one for one in EXAMPLES.values() if one.verdict is not ScreenVerdict.IDLE]
each_detector: Final = pytest.mark.parametrize("detector", sorted(DETECTORS))


def is_idle(found: Judgement) -> bool:
    return found.verdict is ScreenVerdict.IDLE


@each_detector
def test_each_screen_is_judged_as_its_header_says(detector: str) -> None:
    """Verdict, and rule and kind where the header names them (CAP-32, R15)."""
    found = {one.name: one.judged() for one in EXAMPLES.values() if one.detector == detector}
    wrong = {name: said for name, said in found.items() if not EXAMPLES[name].is_met(said)}
    assert found
    assert wrong == {}


@each_detector
def test_nothing_else_passes_for_idle_when_nobody_names_the_program(detector: str) -> None:
    """A screen judged without knowing its program is idle even less (R15)."""
    others = [one for one in NOT_IDLE if one.detector == detector]
    assert [one.name for one in others if is_idle(judge_any(one.screen))] == []


def test_the_corpus_covers_every_verdict() -> None:
    """Each verdict has screens of its own, and there are enough of them."""
    assert {example.verdict for example in EXAMPLES.values()} == set(ScreenVerdict)
    assert len(EXAMPLES) >= 150


@each_detector
def test_each_rule_decides_some_screen(detector: str) -> None:
    """A rule that no screen of the corpus needs is not there (R15)."""
    decided = {one.judged().rule for one in EXAMPLES.values() if one.detector == detector}
    rules = DETECTORS[detector].rules
    assert [rule.name for rule in rules if f"{detector}.{rule.name}" not in decided] == []


@pytest.mark.parametrize("detector", sorted(DETECTORS.keys() - {"generic", "shell"}))
def test_nothing_else_passes_for_idle_when_its_rows_are_cut(detector: str) -> None:
    """A low window that shows little above the input proves nothing (R15)."""
    wrong = []
    for example in NOT_IDLE:
        if example.detector != detector:
            continue
        lines = example.screen.lines
        for cut in range(1, min(3, len(lines) - 1) + 1):
            low = Screen(lines=lines[cut:], title=example.screen.title)
            if is_idle(judge(low, detector=detector, prefix=example.prefix)):
                wrong.append((example.name, cut))
    assert wrong == []


@pytest.mark.parametrize("detector", sorted(DETECTORS))
@given(text=st.text(alphabet="❯>$ 1.ab│─╭╰\n\x1b[0mé…✻(", max_size=200))
@settings(max_examples=60, deadline=None)
def test_any_text_gets_a_verdict(detector: str, text: str) -> None:
    """No screen, however broken, makes a detector fail."""
    screen = read_screen(text)
    assert judge(screen, detector=detector).verdict in ScreenVerdict
    assert "\x1b" not in steady_text(screen, detector)


def test_a_name_without_rules_is_never_idle() -> None:
    """A program that has a name but no detector is not judged by the generic prompt (R15)."""
    assert judge(read_screen("❯ "), detector="nobody").verdict is ScreenVerdict.UNKNOWN


def test_status_lines_are_not_steady_text() -> None:
    """What ticks below the input box is left out of what counts as activity (R13)."""
    box = f"● done\n{'─' * 40}\n❯ \n{'─' * 40}\n"
    one, two = (read_screen(f"{box}  12:00:0{n} | $1.42") for n in (1, 2))
    assert steady_text(one, "claude") == steady_text(two, "claude")
    assert steady_text(one, "generic") != steady_text(two, "generic")


def test_a_wider_window_is_not_new_text() -> None:
    """The same text wrapped elsewhere is the same text (R13)."""
    one, two = (
        read_screen("● a long sentence\n  goes on\n"),
        read_screen("● a long\n  sentence goes on"),
    )
    assert steady_text(one) == steady_text(two)


def test_a_question_is_told() -> None:
    """A dialog's verdict carries what it asks (R79)."""
    assert EXAMPLES["claude-permission-100"].judged().question == "Do you want to proceed?"
