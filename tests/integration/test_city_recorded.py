"""A real city records its ticks, is killed, goes on, and every tick is decided again as it was."""

from __future__ import annotations

import json
import stat

import pytest

from tests.integration.city import agent, city_toml, needs_tmux, running_city
from tests.polling import wait_until

pytestmark = [*needs_tmux, pytest.mark.slow]
RECORDS = 'record_ticks = 5000\nshutdown_timeout = "1s"'


def test_ticks_of_a_real_city_replay_without_a_difference() -> None:
    """NORM-07, R73, R78: drains, a wake, a reload, kill -9 and what a person asked are in it."""
    secret = "s3cret-value"
    tables = [agent("poet"), f'{agent("mayor")}[agent.env]\nAPI_KEY = "{secret}"\n']
    quiet = city_toml(*tables, sleep={"interactive_resume": "1s"}, daemon='shutdown_timeout = "1s"')
    with running_city(quiet) as city:
        folder = city.path / ".gc" / "ticks"
        city.wait_up("mayor")
        assert not folder.exists()  # nobody asked for it
        city.configure(city_toml(*tables, sleep={"interactive_resume": "1s"}, daemon=RECORDS))
        wait_until(lambda: city.patrol() or folder.exists(), what="a recording began")
        city.wait_cold("mayor")
        assert city.gc("wake", "mayor").code == 0
        city.kill9()
        city.start()
        city.wait_cold("mayor")
        city.wait_cold("poet")
        assert city.gc("stop").code == 0
        file = folder / "ticks.jsonl"
        modes = [stat.S_IMODE(one.stat().st_mode) for one in (folder, file)]
        assert modes == [0o700, 0o600]
        text = file.read_text(encoding="utf-8")
        ran = city.gc("replay", str(file))
        found = city.gc("replay", str(file), "--json").json
    assert (ran.code, ran.out.endswith("no difference\n")) == (0, True), ran.out + ran.err
    assert found["same"]
    assert found["unknown_fields"] == found["absent_fields"] == {}
    whole = [json.loads(line) for line in text.splitlines() if line.endswith("}")]
    actions = [fact["action"] for tick in whole for fact in tick["decisions"].values()]
    assert "drain" in actions
    assert "start operator" in actions
    assert secret not in text
    assert "API_KEY" in text
