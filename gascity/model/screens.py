"""Rules about what a session shows, as data: shipped ones and those an operator adds.

A rule says that a pattern in a named region of the screen means a verdict. Which text a region
holds is the runtime's business; the names are fixed here, so that a rule can be checked where it
is written.

Source: DESIGN §8 (R15)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class ScreenVerdict(StrEnum):
    """What a session shows, judged from its screen and processes (R15)."""

    IDLE = "idle"
    BUSY = "busy"
    PENDING = "pending"
    BACKGROUND = "background"
    DRAFT = "draft"
    RATELIMIT = "ratelimit"
    SHELL = "shell"
    PAGER = "pager"
    UNKNOWN = "unknown"


BASES: Final = ("claude", "codex", "copilot", "gemini", "generic", "opencode", "shell")
"""The programs whose rules ship."""
SHARED: Final = ("asks", "braille", "crashed", "keys", "limit", "pager", "secret")
"""Patterns that every rule may use, as `{{name}}`."""
PLACE: Final = re.compile(r"\{\{(\w+)\}\}")

REGIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "title": "the terminal's title",
        "last": "the lowest line with anything on it",
        "bottom": "the four lowest lines, joined to one",
        "top": "the first 30 lines, joined to one, while no input is found",
        "tail": "the last 30 lines, joined to one, while no input is found",
        "menu": "`cursor` or `listed` while a numbered menu is open",
        "dialog": "the text of the open dialog, joined to one line",
        "keys": "the lowest lines while no input is found and they name keys that answer",
        "status": "the 25 lines above the input, one below the other",
        "live": "the six lines above the input",
        "above": "the two lines above a shell's prompt",
        "ending": "what came last above the input: from the last output or message on",
        "footer": "the lines below the input",
        "input": "`empty`, or `draft: ` and what was typed; nothing while no input is found",
        "alternate": "`on` while a full-screen program runs",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenRule:
    """`pattern` in `region` means `verdict`, unless `unless` is found there too.

    `kind` is the kind of question of a pending verdict: permission, plan, choice, trust, ...
    """

    name: str
    verdict: ScreenVerdict
    region: str
    pattern: str
    unless: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenRules:
    """What an operator says about one kind of program, on top of the rules of `base`.

    `placeholders` are patterns for a whole input that nobody typed; lines that match one of
    `ticking` change by themselves and are no activity (R13).
    """

    name: str
    base: str = ""
    rules: tuple[ScreenRule, ...] = ()
    placeholders: tuple[str, ...] = ()
    ticking: tuple[str, ...] = ()
