"""What a rule about a screen is, and the one evaluator that applies a table of them.

A detector cuts the screen into named regions and lists rules over those regions; the first rule
that matches gives the verdict. Idle needs a rule of its own: what nothing matches is unknown.

Source: DESIGN §8 (R15, R79)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gascity.model.world import ScreenVerdict
from gascity.runtimes.screens.text import Screen

Regions = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a screen shows, by which rule; kind and question only for a dialog."""

    verdict: ScreenVerdict
    rule: str
    kind: str = ""
    question: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """`pattern` in `region` means `verdict`, unless `unless` is found there too."""

    name: str
    verdict: ScreenVerdict
    region: str
    pattern: str
    unless: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detector:
    """How one kind of program shows its state. `steady` is its text without what merely ticks."""

    name: str
    regions: Callable[[Screen, str], Regions]
    rules: tuple[Rule, ...]
    steady: Callable[[Screen], str]

    def judge(self, screen: Screen, prefix: str) -> Judgement:
        """The first rule that matches, else unknown."""
        regions = self.regions(screen, prefix)
        for rule in self.rules:
            if _matches(rule, regions.get(rule.region, "")):
                return Judgement(
                    verdict=rule.verdict,
                    rule=f"{self.name}.{rule.name}",
                    kind=rule.kind,
                    question=regions.get("question", "") if rule.kind else "",
                )
        return Judgement(verdict=ScreenVerdict.UNKNOWN, rule=f"{self.name}.none")


def _matches(rule: Rule, text: str) -> bool:
    if not text or re.search(rule.pattern, text, re.MULTILINE) is None:
        return False
    return not rule.unless or re.search(rule.unless, text, re.MULTILINE) is None
