"""Rule files, what an operator adds to them, and the order in which rules are asked."""

from __future__ import annotations

from typing import Final

import tomli

from gascity.model.screens import BASES, REGIONS, SHARED, ScreenRule, ScreenRules
from gascity.model.world import ScreenVerdict
from gascity.runtimes.screens import DETECTORS, judge, read_screen, rulefile, steady_text
from gascity.runtimes.screens.rulefile import DATA

RULE: Final = "─" * 40
IDLE: Final = f"● done\n{RULE}\n❯ \n{RULE}\n  ? for shortcuts\n"
BUSY: Final = f"✻ Pondering… (3s)\n{RULE}\n❯ \n{RULE}\n  esc to interrupt\n"


def rule(name: str, verdict: ScreenVerdict, region: str, pattern: str) -> ScreenRule:
    """A rule of an operator."""
    kind = "choice" if verdict is ScreenVerdict.PENDING else ""
    return ScreenRule(name=name, verdict=verdict, region=region, pattern=pattern, kind=kind)


def shown(text: str, own: ScreenRules) -> tuple[ScreenVerdict, str]:
    """Verdict and rule with an operator's rules."""
    found = judge(read_screen(text), detector=own.name, own=own)
    return found.verdict, found.rule


def test_what_a_configuration_may_name_is_what_ships() -> None:
    """Bases, shared patterns and regions are the same in the nouns and in the rule files (R15)."""
    assert set(BASES) == set(DETECTORS) == set(rulefile.shipped())
    common = tomli.loads((DATA / "common.toml").read_text(encoding="utf-8"))
    assert set(SHARED) == set(common["patterns"])
    used = {one.region for detector in DETECTORS.values() for one in detector.rules}
    assert used <= set(REGIONS)


def test_rules_are_data() -> None:
    """Each program has one file, and every rule in force stands in it (R15)."""
    for name, detector in DETECTORS.items():
        written = tomli.loads((DATA / f"{name}.toml").read_text(encoding="utf-8"))["rules"]
        assert {one["name"] for one in written} == {one.name for one in detector.rules}
        assert len(written) == len(detector.rules)


def test_whatever_speaks_against_idle_is_asked_before_what_says_it() -> None:
    """No order in a file lets a rule that says idle win over one that says otherwise (R15)."""
    for detector in DETECTORS.values():
        verdicts = [one.verdict is ScreenVerdict.IDLE for one in detector.rules]
        assert verdicts == sorted(verdicts)


def test_a_rule_of_the_operator_comes_first() -> None:
    """A banner of one's own is busy although the shipped rules see an idle prompt (R15)."""
    mine = rule("indexing", ScreenVerdict.BUSY, "footer", "indexing")
    own = ScreenRules(name="claude", rules=(mine,))
    assert shown(IDLE, own) == (ScreenVerdict.IDLE, "claude.box")
    busy = IDLE.replace("? for shortcuts", "indexing 40%")
    assert shown(busy, own) == (ScreenVerdict.BUSY, "claude.indexing")


def test_no_rule_of_the_operator_makes_a_busy_screen_idle() -> None:
    """A rule that says idle is asked after all that speak against it (R15)."""
    own = ScreenRules(
        name="claude", rules=(rule("always", ScreenVerdict.IDLE, "status", "Pondering"),)
    )
    assert shown(BUSY, own) == (ScreenVerdict.BUSY, "claude.spinner")


def test_a_rule_of_the_same_name_takes_the_place_of_the_shipped_one() -> None:
    """What a new version of a program says otherwise can be mended in the city (R15)."""
    mine = rule("interrupt-hint", ScreenVerdict.BUSY, "footer", "press x to stop")
    own = ScreenRules(name="claude", rules=(mine,))
    text = IDLE.replace("? for shortcuts", "esc to interrupt")
    assert shown(text, own)[0] is ScreenVerdict.IDLE
    assert shown(text.replace("esc to interrupt", "press x to stop"), own)[0] is ScreenVerdict.BUSY


def test_a_program_of_ones_own_begins_with_the_rules_of_another() -> None:
    """`base` gives layout and rules; without one it is a plain prompt (R15)."""
    own = ScreenRules(name="mine", base="claude", placeholders=("Say something",))
    assert shown(IDLE, own) == (ScreenVerdict.IDLE, "mine.box")
    assert shown(IDLE.replace("❯ ", "❯ Say something"), own)[0] is ScreenVerdict.IDLE
    assert shown(IDLE.replace("❯ ", "❯ Say nothing"), own)[0] is ScreenVerdict.DRAFT
    plain = ScreenRules(
        name="plain", rules=(rule("asks", ScreenVerdict.PENDING, "last", "{{asks}}"),)
    )
    assert shown("Go on? [y/n]\n", plain) == (ScreenVerdict.PENDING, "plain.asks")
    assert shown("done\n❯ \n", plain) == (ScreenVerdict.IDLE, "plain.prompt")


def test_a_ticking_line_is_no_activity() -> None:
    """Lines the operator names as ticking are left out of the text whose change counts (R13)."""
    one, two = (f"● done\n  queue: {n}\n{IDLE}" for n in (1, 2))
    own = ScreenRules(name="claude", ticking=(r"^\s*queue: \d+",))
    assert steady_text(read_screen(one), "claude", own) == steady_text(
        read_screen(two), "claude", own
    )
    assert steady_text(read_screen(one), "claude") != steady_text(read_screen(two), "claude")
