"""Saying what is in force: the chain of an agent, the city as TOML, a new city, a reload."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gascity.config.explain import explain
from gascity.config.export import schema_text
from gascity.config.load import load_city
from gascity.config.reload import compare
from gascity.config.requested import requested
from gascity.config.schema_file import CityFile, json_schema
from gascity.config.starters import STARTERS, starter_toml
from gascity.config.write import HIDDEN, effective_toml
from gascity.model.city import Source
from tests.unit.config.loading import Compose

ROOT = Path(__file__).resolve().parents[3]

LAYERS = """\
[session_sleep]
interactive_resume = "60s"
[[rigs]]
name = "r"
[rigs.session_sleep]
interactive_resume = "5m"
[[rigs.overrides]]
agent = "a"
sleep_after_idle = "0s"
[[agent]]
name = "a"
dir = "r"
provider = "claude"
sleep_after_idle = "30s"
[[patches.agent]]
name = "a"
dir = "r"
sleep_after_idle = "off"
"""


def test_an_explanation_shows_every_layer_with_its_place(compose: Compose) -> None:
    """The winner and the losers, each with value, file and line (POL-02, CFG-14)."""
    found = explain(compose(LAYERS), "r/a")
    assert found is not None
    assert (found.requested, found.source) == ("off", "agent_patch")
    rows = [(layer.source, layer.says, layer.line, layer.wins) for layer in found.layers]
    assert rows == [
        ("agent_patch", "off", 18, True),
        ("rig_override", "0s", 9, False),
        ("agent", "30s", 14, False),
        ("rig_default", "5m", 6, False),
        ("workspace_default", "60s", 2, False),
        ("legacy_off", "off", 0, False),
    ]
    assert found.lines()[1].endswith("city.toml:18 [[patches.agent]] a  <- wins")
    assert json.loads(json.dumps(found.as_dict()))["layers"][0]["wins"] is True


def test_an_explanation_shows_what_was_taken_back(compose: Compose) -> None:
    """`unset` is a layer of its own, and the agent's value below it has lost (R2)."""
    text = LAYERS.replace('sleep_after_idle = "off"', 'unset = ["sleep_after_idle"]')
    found = explain(compose(text), "r/a")
    assert found is not None
    says = {layer.source: (layer.says, layer.wins) for layer in found.layers}
    assert says["agent_patch"] == ("unset", False)
    assert says["rig_override"] == ("0s", False)
    assert says["rig_default"] == ("5m", True)


def test_an_explanation_always_has_one_winner(compose: Compose) -> None:
    """Whatever is left out, the last layer says off (POL-08)."""
    for drop in range(len(LAYERS.splitlines())):
        if "sleep_after_idle" not in LAYERS.splitlines()[drop]:
            continue
        lines = LAYERS.splitlines()
        del lines[drop]
        city = compose("\n".join(lines))
        found = explain(city, "r/a")
        assert found is not None
        [winner] = [layer for layer in found.layers if layer.wins]
        window, source = requested(city, city.agents["r/a"])
        assert (winner.says, winner.source) == (str(window), source.value)
    assert explain(compose(LAYERS), "nobody") is None


def test_an_explanation_names_the_mask(compose: Compose) -> None:
    """A restart that comes first is shown beside the window (VAL-10)."""
    text = LAYERS.replace('sleep_after_idle = "off"', 'sleep_after_idle = "60s"')
    text = text.replace("[[agent]]", '[[agent]]\nidle_timeout = "30s"')
    found = explain(compose(text), "r/a")
    assert found is not None
    assert found.masked_by == "idle_timeout:30s"


def test_the_effective_city_keeps_the_stamps(compose: Compose, tmp_path: Path) -> None:
    """What `show` prints loads to the same city, sources included (CFG-14)."""
    for drop in ('sleep_after_idle = "off"\n', ""):
        city = compose(LAYERS.replace(drop, "suspended = false\n") if drop else LAYERS)
        (tmp_path / "city.toml").write_text(effective_toml(city), encoding="utf-8")
        again = load_city(tmp_path).city
        assert again is not None
        assert again.agents == city.agents
        assert {agent.sleep_source for agent in again.agents.values()} <= {
            Source.RIG_OVERRIDE,
            Source.AGENT_PATCH,
        }


def test_secrets_can_be_hidden(compose: Compose) -> None:
    """Values whose names look like secrets are not printed when asked so."""
    city = compose(
        '[[agent]]\nname = "a"\nprovider = "claude"\n'
        'env = { API_KEY = "s3cret", GH_TOKEN = "s3cret", KEYBOARD = "us" }\n'
    )
    text = effective_toml(city, hide_secrets=True)
    assert "s3cret" not in text
    assert text.count(HIDDEN) == 2
    assert 'KEYBOARD = "us"' in text


@pytest.mark.parametrize("starter", STARTERS)
def test_a_starter_loads_without_a_word(compose: Compose, tmp_path: Path, starter: str) -> None:
    """The block resolves to the design's values and nothing is left to fix (CFG-19, CFG-20,
    ROLL-06, ROLL-07, ROLL-08, POL-25, POL-26)."""
    city = compose(starter_toml(starter, 'my "city"'))
    assert load_city(tmp_path).problems == ()
    assert city.name == 'my "city"'
    windows = {kind.value: str(window) for kind, window in city.session_sleep.items()}
    assert windows == {
        "interactive_resume": "60s",
        "interactive_fresh": "off",
        "noninteractive": "0s" if starter == "full" else "30s",
    }
    asked = {name: str(requested(city, agent)[0]) for name, agent in city.agents.items()}
    assert asked == {"mayor": "60s", "worker": windows["noninteractive"]}


def test_an_opt_out_keeps_its_agent_warm(compose: Compose) -> None:
    """`off` on an agent ends the look-up whatever the defaults say (CFG-22, ROLL-14, POL-27)."""
    city = compose(
        starter_toml("full", "c")
        + '[[agent]]\nname = "polecat"\nsleep_after_idle = "off"\n'
        + '[[agent]]\nname = "fresh"\nwake_mode = "fresh"\n'
    )
    asked = {name: requested(city, city.agents[name]) for name in ("polecat", "fresh")}
    assert [(str(window), source.value) for window, source in asked.values()] == [
        ("off", "agent"),
        ("off", "workspace_default"),
    ]


def test_the_shipped_cities_load(tmp_path: Path) -> None:
    """Every city to start from is one (CFG-19, CFG-20)."""
    for path in sorted((ROOT / "config").glob("*.toml")):
        (tmp_path / "city.toml").write_bytes(path.read_bytes())
        assert load_city(tmp_path).city is not None, path.name


def test_the_shipped_schema_is_current() -> None:
    """Editors are told what the loader reads (`python -m gascity.config.export`)."""
    kept = (ROOT / "config" / "gascity.schema.json").read_text(encoding="utf-8")
    assert kept == schema_text()
    assert set(json_schema()["properties"]) == set(CityFile.model_fields)


def test_the_reference_names_every_key() -> None:
    """No key is read that the reference page does not explain."""
    page = (ROOT / "docs" / "reference" / "config.md").read_text(encoding="utf-8")
    for table in json_schema()["$defs"].values():
        missing = [key for key in table["properties"] if f"`{key}`" not in page]
        assert not missing, (table["title"], missing)


def test_examples_of_the_reference_load(tmp_path: Path) -> None:
    """Each TOML block of the reference page is a city as it stands."""
    page = (ROOT / "docs" / "reference" / "config.md").read_text(encoding="utf-8")
    blocks = [block.split("```")[0] for block in page.split("```toml\n")[1:]]
    assert blocks
    for block in blocks:
        (tmp_path / "city.toml").write_text(block, encoding="utf-8")
        assert load_city(tmp_path).errors == (), block


def test_a_reload_lists_who_changes(compose: Compose) -> None:
    """Class and window changes are named session by session; pools by their slots (R6, R80)."""
    pool = '[[agent]]\nname = "p"\nattach = false\nmax_active_sessions = 3\nprovider = "claude"\n'
    old = compose(LAYERS + pool)
    text = LAYERS.replace('sleep_after_idle = "off"', 'sleep_after_idle = "5m"') + pool
    new = compose(text + '[[agent]]\nname = "n"\n' + "[workspace]\n")
    found = compare(old, new)
    assert (found.refused, found.added, found.removed) == ("", ("n",), ())
    assert [str(change) for change in found.changed] == [
        "r--a: interactive_resume off (agent_patch) -> interactive_resume 5m (agent_patch)"
    ]
    faster = compose(
        LAYERS.replace("[session_sleep]", '[session_sleep]\nnoninteractive = "0s"') + pool
    )
    [change] = compare(old, faster).changed
    assert (change.session, change.template, change.changes_window) == ("p-*", "p", True)


def test_the_same_city_changes_nothing(compose: Compose) -> None:
    """A reload without a difference says so (R6)."""
    assert compare(compose(LAYERS), compose(LAYERS)) == compare(
        compose("[workspace]\n"), compose("[workspace]\n")
    )


def test_a_renamed_workspace_needs_a_restart(compose: Compose) -> None:
    """Names of sockets and marks of sessions hang on it (R6)."""
    found = compare(compose('[workspace]\nname = "a"\n'), compose('[workspace]\nname = "b"\n'))
    assert "restart" in found.refused


def test_an_incomplete_reading_removes_nobody(compose: Compose) -> None:
    """What it no longer names stays as it is, and is told apart (R6a)."""
    old = compose('[workspace]\nname = "c"\n[[agent]]\nname = "a"\n')
    whole = compose('[workspace]\nname = "c"\n')
    part = compose('[workspace]\nname = "c"\nincludes = ["p"]\n')
    assert (compare(old, whole).removed, compare(old, whole).unseen) == (("a",), ())
    assert (compare(old, part).removed, compare(old, part).unseen) == ((), ("a",))


def test_a_revision_changes_with_any_byte(compose: Compose) -> None:
    """A later good file is always told from the one before."""
    revisions = {compose(text).revision for text in ("[workspace]\n", "[workspace]\n\n", LAYERS)}
    assert len(revisions) == 3
    assert all(len(revision) == 12 for revision in revisions)
