"""The detectors against a corpus of screens; each file says in its header what it shows.

R15: what is not surely idle is never called idle.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gascity.model.world import ScreenVerdict
from gascity.runtimes import screens
from gascity.runtimes.screens import (
    DETECTORS,
    Judgement,
    Screen,
    judge,
    judge_any,
    read_screen,
    steady_text,
)

CORPUS: Final = Path(screens.__file__).with_name("corpus")
ESCAPE: Final = "␛"  # how a corpus file writes the escape character


@dataclass(frozen=True)
class Example:
    """One file of the corpus."""

    screen: Screen
    detector: str
    prefix: str
    verdict: ScreenVerdict
    rule: str
    kind: str

    def judged(self) -> Judgement:
        return judge(self.screen, detector=self.detector, prefix=self.prefix)


def read_example(path: Path) -> Example:
    head, _, text = path.read_text(encoding="utf-8").partition("----\n")
    facts = dict(line.split(": ", 1) for line in head.splitlines())
    cursor = tuple(map(int, facts["cursor"].split(","))) if "cursor" in facts else None
    return Example(
        screen=read_screen(
            text.replace(ESCAPE, "\x1b"),
            cursor=cursor and (cursor[0], cursor[1]),
            title=facts.get("title", ""),
        ),
        detector=facts["detector"],
        prefix=ast.literal_eval(facts["prefix"]) if "prefix" in facts else "",
        verdict=ScreenVerdict(facts["verdict"]),
        rule=facts.get("rule", ""),
        kind=facts.get("kind", ""),
    )


FILES: Final = sorted(CORPUS.glob("*.txt"))
DRAWN: Final = {path.stem: read_example(path) for path in FILES}
# Screens were drawn from the programs first; those of programs without rules wait for theirs.
EXAMPLES: Final = {name: one for name, one in DRAWN.items() if one.detector in DETECTORS}


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_screen_is_judged_as_its_header_says(name: str) -> None:
    """Verdict, and rule and kind where the header names them (CAP-32, R15)."""
    example = EXAMPLES[name]
    found = example.judged()
    assert (found.verdict, found.rule) == (example.verdict, example.rule or found.rule)
    assert found.kind == (example.kind or found.kind)


@pytest.mark.parametrize(
    "name", [name for name, one in EXAMPLES.items() if one.verdict is not ScreenVerdict.IDLE]
)
def test_nothing_else_passes_for_idle_when_nobody_names_the_program(name: str) -> None:
    """A screen judged without knowing its program is idle even less (R15)."""
    assert judge_any(EXAMPLES[name].screen).verdict is not ScreenVerdict.IDLE


def test_the_corpus_covers_every_verdict() -> None:
    """Each verdict has screens of its own, and there are enough of them."""
    assert {example.verdict for example in EXAMPLES.values()} == set(ScreenVerdict)
    assert len(EXAMPLES) >= 60


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, one in EXAMPLES.items()
        if one.verdict is not ScreenVerdict.IDLE and one.detector == "claude"
    ],
)
def test_nothing_else_passes_for_idle_when_its_rows_are_cut(name: str) -> None:
    """A low window that shows little above the input box proves nothing (R15)."""
    example = EXAMPLES[name]
    filled = len(example.screen.lines)
    for keep in range(max(1, filled - 3), filled):
        cut = Screen(
            lines=example.screen.lines[filled - keep :],
            title=example.screen.title,
        )
        found = judge(cut, detector=example.detector, prefix=example.prefix)
        assert found.verdict is not ScreenVerdict.IDLE


@pytest.mark.parametrize("detector", sorted(DETECTORS))
@given(text=st.text(alphabet="❯>$ 1.ab│─╭╰\n\x1b[0mé…✻(", max_size=200))
@settings(max_examples=150, deadline=None)
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
