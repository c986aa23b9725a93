"""What a session shows, judged from its visible screen alone: detectors as data, one evaluator.

A verdict counts only beside a living agent process; that, foreground programs and children are the
runtime's business.

Source: DESIGN §8 (R15, R79)
"""

from __future__ import annotations

from typing import Final

from gascity.runtimes.screens.claude import CLAUDE
from gascity.runtimes.screens.generic import CAUTIOUS, GENERIC, LINES
from gascity.runtimes.screens.rules import Detector, Judgement
from gascity.runtimes.screens.shell import SHELL
from gascity.runtimes.screens.text import Screen, read_screen

DETECTORS: Final[dict[str, Detector]] = {one.name: one for one in (GENERIC, CLAUDE, SHELL)}


MARKER_RULE: Final = "generic.busy"  # the rule that a busy marker is somewhere near the bottom


def detector_named(name: str) -> Detector:
    """The detector of that name; one that never says idle for a name that has no rules yet."""
    return DETECTORS.get(name or GENERIC.name, CAUTIOUS)


def judge(screen: Screen, *, detector: str = "", prefix: str = "") -> Judgement:
    """What the screen shows; `prefix` is the agent's `ready_prompt_prefix`, "" for the default."""
    return detector_named(detector).judge(screen, prefix)


def judge_any(screen: Screen, *, prefix: str = "") -> Judgement:
    """What a screen of an unnamed program shows: by the detectors that know shapes of their own."""
    found = CLAUDE.judge(screen, prefix)
    return GENERIC.judge(screen, prefix) if found.rule == "claude.none" else found


def judge_lines(screen: Screen, *, prefix: str = "") -> Judgement:
    """Like the generic `judge` for a program that surely waits for a line: no marker counts."""
    return LINES.judge(screen, prefix)


def steady_text(screen: Screen, detector: str = "") -> str:
    """The text whose change is activity: without status lines that tick by themselves (R13)."""
    return detector_named(detector).steady(screen)


__all__ = [
    "DETECTORS",
    "MARKER_RULE",
    "Judgement",
    "Screen",
    "judge",
    "judge_any",
    "judge_lines",
    "read_screen",
    "steady_text",
]
