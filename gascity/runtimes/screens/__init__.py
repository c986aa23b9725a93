"""What a session shows, judged from its visible screen alone: rules as data, one evaluator.

A verdict counts only beside a living agent process; that, foreground programs and children are the
runtime's business.

Source: DESIGN §8 (R15, R79)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from gascity.model.screens import ScreenRules
from gascity.model.world import ScreenVerdict
from gascity.runtimes.screens.rulefile import GENERIC, detector_of, extended, shipped
from gascity.runtimes.screens.rules import Detector, Judgement
from gascity.runtimes.screens.text import Screen, read_screen

DETECTORS: Final[dict[str, Detector]] = {name: detector_of(name) for name in shipped()}
MARKER_RULE: Final = "generic.busy"  # the rule that a busy marker is somewhere near the bottom

_GENERIC: Final = DETECTORS[GENERIC]
# For programs that read whole lines and are known to be reading one.
_LINES: Final = replace(
    _GENERIC, name="lines", rules=tuple(rule for rule in _GENERIC.rules if rule.name != "busy")
)
# For programs that have a name but no rules yet: their prompts may stay visible while they work,
# and the keys they name may mean anything.
_CAUTIOUS: Final = replace(
    _GENERIC,
    name="cautious",
    rules=tuple(
        rule
        for rule in _GENERIC.rules
        if rule.verdict is not ScreenVerdict.IDLE and rule.name != "keys"
    ),
)
# What a verdict weighs where several programs are possible: the first of these that any gives.
_WEIGHT: Final = (
    ScreenVerdict.PENDING,
    ScreenVerdict.BUSY,
    ScreenVerdict.BACKGROUND,
    ScreenVerdict.RATELIMIT,
    ScreenVerdict.PAGER,
    ScreenVerdict.SHELL,
    ScreenVerdict.UNKNOWN,
    ScreenVerdict.DRAFT,
    ScreenVerdict.IDLE,
)


def detector_named(name: str, own: ScreenRules | None = None) -> Detector:
    """The detector of that name, with what an operator adds; a cautious one where there is none."""
    if own is not None:
        return extended(own)
    return DETECTORS.get(name or GENERIC, _CAUTIOUS)


def judge(
    screen: Screen, *, detector: str = "", prefix: str = "", own: ScreenRules | None = None
) -> Judgement:
    """What the screen shows; `prefix` is the agent's `ready_prompt_prefix`, "" for the default."""
    return detector_named(detector, own).judge(screen, prefix)


def judge_any(screen: Screen, *, prefix: str = "") -> Judgement:
    """What a screen of an unnamed program shows: the busiest of what those we know would say."""
    said = [one.judge(screen, prefix) for name, one in DETECTORS.items() if name not in _SHAPELESS]
    said = [one for one in said if not one.rule.endswith(".none")]
    if not said:
        return _GENERIC.judge(screen, prefix)
    return min(said, key=lambda one: _WEIGHT.index(one.verdict))


_SHAPELESS: Final = frozenset({GENERIC, "shell"})


def judge_lines(screen: Screen, *, prefix: str = "") -> Judgement:
    """Like the generic `judge` for a program that surely waits for a line: no marker counts."""
    return _LINES.judge(screen, prefix)


def steady_text(screen: Screen, detector: str = "", own: ScreenRules | None = None) -> str:
    """The text whose change is activity: without status lines that tick by themselves (R13)."""
    return detector_named(detector, own).steady(screen)


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
