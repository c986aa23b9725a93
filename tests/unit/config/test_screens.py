"""`[screens.NAME]`: rules about screens in the city's file."""

from __future__ import annotations

import pytest

from gascity.config.write import effective_toml
from gascity.model.screens import ScreenRule, ScreenRules
from gascity.model.world import ScreenVerdict
from tests.unit.config.loading import Compose, Load

TEXT = """
[screens.mine]
base = "claude"
placeholders = ["Say .*"]
ticking = ["^queue"]

[[screens.mine.rules]]
name = "asks"
verdict = "pending"
region = "last"
pattern = "{{asks}}"

[[agent]]
name = "a"
screens = "mine"
"""


def test_rules_are_read_and_reach_their_agents(compose: Compose) -> None:
    """An agent whose `screens` names the table is judged by it; a question has a kind (R15)."""
    city = compose(TEXT)
    rule = ScreenRule(
        name="asks",
        verdict=ScreenVerdict.PENDING,
        region="last",
        pattern="{{asks}}",
        kind="choice",
    )
    expected = ScreenRules(
        name="mine", base="claude", placeholders=("Say .*",), ticking=("^queue",), rules=(rule,)
    )
    assert city.screens_of(city.agents["a"]) == expected


def test_a_table_of_a_shipped_name_adds_to_what_ships(compose: Compose) -> None:
    """`[screens.claude]` needs no base, and agents with that preset get it (R15)."""
    city = compose(
        '[screens.claude]\n[screens.generic]\n[[agent]]\nname = "a"\nprovider = "claude"\n'
        '[[agent]]\nname = "b"\nstart_command = "x"\n[[agent]]\nname = "c"\nprovider = "codex"\n'
    )
    named = {name: city.screens_of(agent) for name, agent in city.agents.items()}
    assert named["a"] == ScreenRules(name="claude", base="claude")
    assert named["b"] == ScreenRules(name="generic", base="generic")
    assert named["c"] is None


def test_what_is_in_force_can_be_written_out(compose: Compose) -> None:
    """`gc config show` gives rules back as they are (CFG-14)."""
    city = compose(TEXT)
    assert compose(effective_toml(city)).screens == city.screens


@pytest.mark.parametrize(
    ("old", "new", "key", "said"),
    [
        ('base = "claude"', 'base = "cluade"', "base", 'did you mean "claude"'),
        ('region = "last"', 'region = "lsat"', "region", 'did you mean "last"'),
        ('pattern = "{{asks}}"', 'pattern = "("', "pattern", "is no pattern"),
        ('pattern = "{{asks}}"', 'pattern = "{{ask}}"', "pattern", "stands for nothing"),
        ('ticking = ["^queue"]', 'ticking = ["("]', "ticking", "is no pattern"),
        ('verdict = "pending"', 'verdict = "waiting"', "rules", "must be"),
    ],
)
def test_a_bad_rule_is_an_error_that_says_where(
    old: str, new: str, key: str, said: str, load: Load
) -> None:
    """The error names table and key, and what to write instead (R5, R15)."""
    found = load(TEXT.replace(old, new)).errors
    assert [problem.key for problem in found] == [key]
    assert "screens.mine" in found[0].table
    assert said in str(found[0])
