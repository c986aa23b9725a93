"""A city whose agents come from a pack: they sleep by the pack's word, and follow its changes."""

from __future__ import annotations

import pytest

from tests.integration.city import RealCity, city_toml, needs_tmux, running_city, standin
from tests.polling import wait_until

pytestmark = [*needs_tmux, pytest.mark.slow]

RIG = '[[rigs]]\nname = "app"\n[rigs.imports.crew]\nsource = "crew"\n'


def hand(city: RealCity, name: str, window: str) -> None:
    """Write an agent of the pack."""
    folder = city.path / "crew" / "agents" / name
    folder.mkdir(parents=True, exist_ok=True)
    command = standin().replace("'", '"')
    (folder / "agent.toml").write_text(
        f"start_command = '{command}'\nsleep_after_idle = \"{window}\"\n", encoding="utf-8"
    )


def test_agents_of_a_pack_live_as_any_other() -> None:
    """One sleeps by its pack's window in its rig, another appears, the pack goes and nobody dies.

    (R3, R6, R6a, R6b)
    """
    with running_city(city_toml()) as city:
        pack = city.path / "crew"
        hand(city, "hand", "1s")
        (pack / "pack.toml").write_text('[pack]\nname = "crew"\nschema = 2\n', encoding="utf-8")
        city.configure(city_toml(RIG))
        entry = city.wait_cold("app--crew__hand")
        assert (entry["template"], entry["rig"]) == ("app/crew.hand", "app")
        assert entry["policy"]["source"] == "agent"
        hand(city, "late", "off")
        city.wait_up("app--crew__late")
        seen, pids = city.seq(), city.tree("app--crew__late")
        pack.rename(city.path / "elsewhere")
        city.wait_event("controller.config_reloaded", after=seen)
        city.patrol(8)
        assert city.tree("app--crew__late") == pids
        assert city.events("session.removed", after=seen) == []
        wait_until(lambda: any("incomplete" in one for one in city.status()["warnings"]))
        ran = city.gc("config", "validate", "--strict")
        assert ran.code == 2
