"""`[screens.NAME]` → rules about screens: what an operator adds to the rules that ship.

Source: DESIGN §8 (R15)
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from gascity.config.problems import Problem, Problems, Where
from gascity.config.rows import Row
from gascity.config.schema_file import ScreenRuleTable, ScreensTable
from gascity.model.screens import BASES, PLACE, REGIONS, SHARED, ScreenRule, ScreenRules
from gascity.model.world import ScreenVerdict


def screen_rules(
    tables: Mapping[str, Row[ScreensTable]], problems: Problems
) -> dict[str, ScreenRules]:
    """{name: rules}; what is wrong with a rule is reported, and that rule left out."""
    found = {}
    for name, row in tables.items():
        table, where = row.table, row.where
        base = table.base or (name if name in BASES else "")
        if table.base and table.base not in BASES:
            remedy = problems.near_names(table.base, BASES)
            what = "there are no rules of this name to begin with"
            problems.add(where.error(what, remedy, key="base", value=table.base))
        for key in ("placeholders", "ticking"):
            for pattern in getattr(table, key):
                for problem in _bad_pattern(pattern, where, key):
                    problems.add(problem)
        found[name] = ScreenRules(
            name=name,
            base=base,
            placeholders=tuple(table.placeholders),
            ticking=tuple(table.ticking),
            rules=tuple(_rules(table.rules, where, problems)),
        )
    return found


def _rules(
    tables: Collection[ScreenRuleTable], where: Where, problems: Problems
) -> Iterator[ScreenRule]:
    for index, table in enumerate(tables):
        place = where.below(f"[[{where.table.strip('[]')}.rules]] {table.name}", "rules", index)
        wrong = list(_wrong(table, place, problems))
        for problem in wrong:
            problems.add(problem)
        if wrong:
            continue
        verdict = ScreenVerdict(table.verdict)
        is_question = verdict is ScreenVerdict.PENDING
        yield ScreenRule(
            name=table.name,
            verdict=verdict,
            region=table.region,
            pattern=table.pattern,
            unless=table.unless,
            kind=(table.kind or "choice") if is_question else "",
        )


def _wrong(table: ScreenRuleTable, place: Where, problems: Problems) -> Iterator[Problem]:
    if table.region not in REGIONS:
        remedy = problems.near_names(table.region, REGIONS)
        yield place.error("no part of a screen", remedy, key="region", value=table.region)
    for key in ("pattern", "unless"):
        yield from _bad_pattern(getattr(table, key), place, key)


def _bad_pattern(pattern: str, place: Where, key: str) -> Iterator[Problem]:
    """What is wrong with one pattern."""
    for name in PLACE.findall(pattern):
        if name not in SHARED:
            remedy = f"the shared patterns are {', '.join(SHARED)}"
            yield place.error(f"{{{{{name}}}}} stands for nothing", remedy, key=key, value=pattern)
    try:
        re.compile(PLACE.sub("(?:)", pattern))
    except (re.error, RecursionError, OverflowError) as problem:
        yield place.error(f"is no pattern: {problem}", "see `pydoc re`", key=key, value=pattern)
