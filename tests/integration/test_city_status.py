"""The four renderings of `gc status`, from a real city."""

from __future__ import annotations

from typing import Final

import pytest

from tests.integration.city import RealCity, needs_tmux, real_city, standin
from tests.polling import wait_until

pytestmark = [*needs_tmux, pytest.mark.slow]

TOML: Final = f"""\
[workspace]
name = "t"
[daemon]
patrol_interval = "1s"
[session_sleep]
interactive_resume = "60s"
interactive_fresh = "off"
noninteractive = "1h"

[[agent]]
name = "mayor"
start_command = "{standin()}"

[[agent]]
name = "polecat"
start_command = "{standin()}"
wake_mode = "fresh"

[[agent]]
name = "api"
start_command = "{standin()}"
sleep_after_idle = "60s"
idle_timeout = "30s"

[[agent]]
name = "worker-1"
dir = "app"
start_command = "{standin()}"
attach = false

[[rigs]]
name = "app"
path = "app"
[[rigs.overrides]]
agent = "worker-1"
sleep_after_idle = "0s"
"""
LINES: Final = [
    "mayor         awake    sleep=60s(source=workspace_default capability=full blockers=attached)",
    "polecat       awake    sleep=off(source=workspace_default adjustment=fresh-agent-default)",
    "api           awake    sleep=60s(masked_by=idle_timeout:30s source=agent capability=full)",
    "app--worker-1 asleep   reason=idle sleep=0s(source=rig_override suppressed=yes)",
]


def shown(city: RealCity) -> list[str]:
    """The lines of `gc status`, with the spaces between name and state made one width."""
    words = (line.split(maxsplit=1) for line in city.gc("status").out.splitlines())
    return sorted(f"{name:<13} {rest}" for name, rest in words)


def test_the_four_lines_of_the_design() -> None:
    """Attached, asleep by an override, fresh by default, masked by a restart: each exactly.

    STAT-01, STAT-03, STAT-04, STAT-05..09, COEX-05.
    """
    with real_city(TOML) as city:
        (city.path / "app").mkdir()
        city.start()
        city.wait_up("mayor")
        person = city.attach_directly("mayor")
        try:
            city.wait_cold("app--worker-1")
            wait_until(
                lambda: shown(city) == sorted(LINES),
                timeout_s=20,
                what=f"the four lines: {shown(city)}",
            )
        finally:
            person.hang_up()
        masked = city.session("api")
        assert masked["masked_by"] == "idle_timeout:30s"
        assert city.events("controller.started") != []
        # Without a controller the lines stay: what the records say (R71).
        city.kill9()
        alone = city.gc("status")
        assert alone.code == 0
        assert "no controller" in alone.err
        assert LINES[3] in [
            f"{name:<13} {rest}"
            for name, rest in (line.split(maxsplit=1) for line in alone.out.splitlines())
        ]
