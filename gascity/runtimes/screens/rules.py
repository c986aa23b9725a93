"""The one evaluator of rules about a screen, and what a detector is made of.

A layout cuts the screen into named regions; the first rule that matches gives the verdict. Idle
needs a rule of its own: what nothing matches is unknown. Whatever order rules are written in, those
that say idle come after all that speak against it.

Source: DESIGN §8 (R15, R79)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from gascity.model.screens import ScreenRule
from gascity.model.world import ScreenVerdict
from gascity.runtimes.screens.text import Screen

Regions = Mapping[str, str]
SAID: Final = 400  # characters kept of what a rate limit screen says


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a screen shows, by which rule; kind and question only for a dialog.

    `said` is the text of a rate limit from its first word on.
    """

    verdict: ScreenVerdict
    rule: str
    kind: str = ""
    question: str = ""
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detector:
    """How one kind of program shows its state. `steady` is its text without what merely ticks."""

    name: str
    regions: Callable[[Screen, str], Regions]
    rules: tuple[ScreenRule, ...]
    steady: Callable[[Screen], str]

    def judge(self, screen: Screen, prefix: str) -> Judgement:
        """The first rule that matches, else unknown."""
        regions = self.regions(screen, prefix)
        for rule in self.rules:
            found = _found(rule, regions.get(rule.region, ""))
            if found is None:
                continue
            is_limit = rule.verdict is ScreenVerdict.RATELIMIT
            return Judgement(
                verdict=rule.verdict,
                rule=f"{self.name}.{rule.name}",
                kind=rule.kind,
                question=regions.get("question", "") if rule.kind else "",
                said=_sentence(found) if is_limit else "",
            )
        return Judgement(verdict=ScreenVerdict.UNKNOWN, rule=f"{self.name}.none")


def in_order(
    rules: Iterable[ScreenRule], *, before: Iterable[ScreenRule] = ()
) -> tuple[ScreenRule, ...]:
    """The rules with those of `before` ahead of them, and everything that says idle at the end."""
    listed = [*before, *rules]
    idle = [rule for rule in listed if rule.verdict is ScreenVerdict.IDLE]
    return (*(rule for rule in listed if rule.verdict is not ScreenVerdict.IDLE), *idle)


def _found(rule: ScreenRule, text: str) -> re.Match[str] | None:
    if not text:
        return None
    found = re.search(rule.pattern, text, re.MULTILINE)
    if found is None or (rule.unless and re.search(rule.unless, text, re.MULTILINE)):
        return None
    return found


def _sentence(found: re.Match[str]) -> str:
    """The text from the match on, with wrapped lines joined."""
    return re.sub(r"\s+", " ", found.string[found.start() :])[:SAID].strip()
