"""A real city of a hundred sessions: what a settled patrol costs."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.integration.city import RealCity, city_toml, needs_tmux, real_city
from tests.polling import wait_until

pytestmark = [*needs_tmux, pytest.mark.slow, pytest.mark.timeout(300)]

SESSIONS: Final = 100
PATROLS: Final = 20
CALLS_A_PATROL: Final = 3
SHELL: Final = "printf '❯ '; read x"
SHIM: Final = '#!/bin/sh\necho "$*" >> "{log}"\nexec {tmux} "$@"\n'


def toml(window: str) -> str:
    """A hundred cheap sessions with this window."""
    agents = [
        f'[[agent]]\nname = "s{n:03}"\nstart_command = "{SHELL}"\nready_prompt_prefix = "❯ "\n'
        for n in range(SESSIONS)
    ]
    limits = (
        "max_wakes_per_tick = 100\nmax_concurrent_starts = 8\nmax_concurrent_stops = 8\n"
        "max_idle_probes_per_tick = 20\n"
    )
    return city_toml(*agents, sleep={"interactive_resume": window}, daemon=limits)


@pytest.fixture
def city(tmp_path: Path) -> Iterator[RealCity]:
    """The city, with a `tmux` on its path that writes down each call."""
    found = shutil.which("tmux")
    assert found is not None
    shim, log = tmp_path / "bin" / "tmux", tmp_path / "calls"
    shim.parent.mkdir()
    log.touch()
    shim.write_text(SHIM.format(log=log, tmux=found), encoding="utf-8")
    shim.chmod(0o755)
    with real_city(toml("1h")) as one:
        one.variables["PATH"] = f"{shim.parent}:{one.environment['PATH']}"
        one.start()
        yield one


def states(city: RealCity) -> set[tuple[str, tuple[str, ...]]]:
    """Every state and set of blockers that some session has."""
    return {(one["state"], tuple(one["blockers"])) for one in city.sessions().values()}


def costs(city: RealCity, log: Path) -> float:
    """tmux calls a patrol, of patrols that change nothing."""
    city.patrol(3)
    before = (city.seq(), city.store_files())
    calls, patrols = len(log.read_text().splitlines()), city.status()["controller"]["patrols"]
    city.patrol(PATROLS)
    done = city.status()["controller"]["patrols"] - patrols
    assert (city.seq(), city.store_files()) == before, city.told("s000")
    return (len(log.read_text().splitlines()) - calls) / done


def test_a_settled_patrol_costs_the_same_whatever_the_size(
    city: RealCity, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At most three tmux calls, no event, no write: all awake, then all cold (R42, L5, L7)."""
    began = time.monotonic()
    wait_until(lambda: states(city) == {("awake", ("keep_warm",))}, timeout_s=90, what="all up")
    up_s = time.monotonic() - began
    awake = costs(city, tmp_path / "calls")
    assert awake <= CALLS_A_PATROL
    timed = []
    for _ in range(5):
        began = time.monotonic()
        assert city.gc("status").code == 0
        timed.append(time.monotonic() - began)
    city.configure(toml("2s"))
    began = time.monotonic()
    wait_until(lambda: states(city) == {("asleep", ())}, timeout_s=150, what="all cold")
    down_s = time.monotonic() - began
    assert city.tree() == {}
    cold = costs(city, tmp_path / "calls")
    assert cold <= CALLS_A_PATROL
    with capsys.disabled():
        print(
            f"\n  {SESSIONS} sessions: up in {up_s:.1f} s, cold in {down_s:.1f} s; "
            f"tmux calls a patrol {awake:.2f} awake, {cold:.2f} cold; "
            f"gc status {min(timed) * 1000:.0f}..{max(timed) * 1000:.0f} ms"
        )
