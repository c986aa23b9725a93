"""Rule files → detectors: one TOML file a program in `data/`, and what an operator adds to it.

A file has a `[layout]`, which says how the screen is cut, and `[[rules]]`. `{{name}}` in a pattern
stands for a pattern of `common.toml`.

Source: DESIGN §8 (R15)
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, Final

from gascity.model.screens import PLACE, REGIONS, ScreenRule, ScreenRules
from gascity.model.world import ScreenVerdict
from gascity.runtimes.screens import generic, layouts, shell
from gascity.runtimes.screens.inputs import Layout
from gascity.runtimes.screens.rules import Detector, in_order

DATA: Final = Path(__file__).with_name("data")
COMMON: Final = "common"
GENERIC: Final = "generic"
_CUTS: Final = {
    "prompt": (generic.regions, generic.steady),
    "cursor": (shell.regions, generic.steady),
}


def shipped() -> tuple[str, ...]:
    """The programs that have a rule file."""
    return tuple(sorted(path.stem for path in DATA.glob("*.toml") if path.stem != COMMON))


@cache
def detector_of(name: str) -> Detector:
    """The detector of a shipped rule file.

    Raises:
        FileNotFoundError: there is none of that name.
    """
    raw = tomllib.loads((DATA / f"{name}.toml").read_text(encoding="utf-8"))
    rules = tuple(_rule(one) for one in raw["rules"])
    return _detector(name, _layout(raw["layout"]), rules)


@lru_cache(maxsize=64)
def extended(own: ScreenRules) -> Detector:
    """The detector of an operator's `[screens.NAME]`: its rules first, never idle before the rest.

    A rule of a name that the base has as well takes its place.
    """
    base = own.base or (own.name if own.name in shipped() else GENERIC)
    known = detector_of(base)
    replaced = {rule.name for rule in own.rules}
    kept = [rule for rule in known.rules if rule.name not in replaced]
    rules = in_order(kept, before=(_expanded(rule) for rule in own.rules))
    raw = tomllib.loads((DATA / f"{base}.toml").read_text(encoding="utf-8"))["layout"]
    layout = _layout(raw)
    if isinstance(layout, str):
        return replace(known, name=own.name, rules=rules)
    layout = replace(
        layout,
        placeholders=(*layout.placeholders, *own.placeholders),
        ticking=(*layout.ticking, *own.ticking),
    )
    return _detector(own.name, layout, rules)


def _layout(raw: Mapping[str, Any]) -> Layout | str:
    """How the screen is cut: by an input at the bottom, or the word for another way."""
    if "cut" in raw:
        return str(raw["cut"])
    unknown = raw.keys() - {field.name for field in fields(Layout)}
    assert not unknown, f"unknown layout keys {sorted(unknown)}"
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in raw.items()}
    return Layout(**values)


def _detector(name: str, layout: Layout | str, rules: tuple[ScreenRule, ...]) -> Detector:
    ordered = in_order(rules)
    if isinstance(layout, str):
        cut, steady = _CUTS[layout]
        return Detector(name=name, regions=cut, rules=ordered, steady=steady)
    return Detector(
        name=name,
        regions=lambda screen, _prefix: layouts.regions(screen, layout),
        rules=ordered,
        steady=partial(layouts.steady, layout=layout),
    )


def _rule(raw: Mapping[str, Any]) -> ScreenRule:
    rule = ScreenRule(**{**raw, "verdict": ScreenVerdict(raw["verdict"])})
    assert rule.region in REGIONS, f"unknown region {rule.region!r}"
    return _expanded(rule)


def _expanded(rule: ScreenRule) -> ScreenRule:
    return replace(rule, pattern=_full(rule.pattern), unless=_full(rule.unless))


def _full(pattern: str) -> str:
    """The pattern with the shared ones in place; what is no name of one stays as it is."""
    return PLACE.sub(lambda found: _shared().get(found[1], found[0]), pattern)


def shared_pattern(name: str) -> str:
    """The pattern of `common.toml` with that name."""
    return _shared()[name]


@cache
def _shared() -> Mapping[str, str]:
    raw = tomllib.loads((DATA / f"{COMMON}.toml").read_text(encoding="utf-8"))
    patterns: dict[str, str] = raw["patterns"]
    # Flags hold for a whole pattern, so a shared one brings them as a group of its own.
    return {name: re.sub(r"^\(\?i\)(.*)$", r"(?i:\1)", text) for name, text in patterns.items()}
