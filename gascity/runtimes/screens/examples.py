"""Screens drawn from the programs, each with the verdict it must get; they ship with the rules.

A file of `corpus/` has lines `name: value` (verdict, detector, and where it matters kind, rule,
title, cursor, prefix, alternate, until), a line `----`, and the screen, with `␛` for the escape
character.

Source: DESIGN §8 (R15)
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from gascity.model.world import ScreenVerdict
from gascity.runtimes.screens import Judgement, judge
from gascity.runtimes.screens.text import Screen, read_screen

CORPUS: Final = Path(__file__).with_name("corpus")
ESCAPE: Final = "␛"
SEEN_AT: Final = datetime.fromisoformat("2026-08-27T12:00:00+02:00")
"""When the limits of the corpus are taken to have been seen: a Thursday noon."""
_LINE: Final = "----\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One screen and what is expected of it; empty where nothing is.

    `until` is when a limit ends that was first seen at `SEEN_AT`, as an RFC 3339 time.
    """

    name: str
    screen: Screen
    detector: str
    verdict: ScreenVerdict
    prefix: str = ""
    rule: str = ""
    kind: str = ""
    until: str = ""

    def judged(self) -> Judgement:
        """What the rules say."""
        return judge(self.screen, detector=self.detector, prefix=self.prefix)

    def is_met(self, found: Judgement) -> bool:
        """Whether that is what is expected."""
        return (
            found.verdict is self.verdict
            and found.rule == (self.rule or found.rule)
            and found.kind == (self.kind or found.kind)
        )


def corpus() -> Iterator[Example]:
    """Every screen that ships, by name."""
    for path in sorted(CORPUS.glob("*.txt")):
        yield read_example(path.stem, path.read_text(encoding="utf-8"))


def is_example(text: str) -> bool:
    """Whether a text is a file of this kind, and not a bare capture."""
    return re.match(r"(\w+: .*\n)*verdict: \w+\n(\w+: .*\n)*----\n", text) is not None


def read_example(name: str, text: str) -> Example:
    """The example that a file of the corpus holds.

    Raises:
        ValueError: it has no head, or a word in it is unknown.
    """
    head, line, shown = text.partition(_LINE)
    if not line:
        raise ValueError("no line of four dashes")
    facts = dict(fact.split(": ", 1) for fact in head.splitlines())
    cursor = tuple(map(int, facts["cursor"].split(","))) if "cursor" in facts else None
    return Example(
        name=name,
        screen=read_screen(
            shown.replace(ESCAPE, "\x1b"),
            cursor=(cursor[0], cursor[1]) if cursor else None,
            is_alternate="alternate" in facts,
            title=facts.get("title", ""),
        ),
        detector=facts["detector"],
        verdict=ScreenVerdict(facts["verdict"]),
        prefix=str(ast.literal_eval(facts["prefix"])) if "prefix" in facts else "",
        rule=facts.get("rule", ""),
        kind=facts.get("kind", ""),
        until=facts.get("until", ""),
    )
