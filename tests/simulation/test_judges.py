"""Who judges a simulated life shares nothing with what is judged, and much happens in each life."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from typing import Final

import pytest

from gascity.testing.drawn_lives import draw
from gascity.testing.simulated_deeds import DEEDS
from gascity.testing.simulated_faults import FAULTS

JUDGES: Final = ("overseer", "inspector", "auditor", "calm", "facts")
JUDGED: Final = ("decide", "act", "observe", "daemon")


@pytest.mark.parametrize("judge", JUDGES)
def test_a_judge_knows_nothing_of_what_it_judges(judge: str) -> None:
    """HARN-01, X2: importing it loads neither decisions nor effects, looks or the controller."""
    code = f"import sys, gascity.testing.{judge}; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert f"gascity.testing.{judge}" in loaded
    shared = [name for name in loaded if name.startswith(tuple(f"gascity.{one}" for one in JUDGED))]
    assert shared == []


def test_every_deed_and_fault_is_drawn_again_and_again() -> None:
    """HARN-01: people, work, agents, faults and edits of the config; in fifty lives ten times."""
    drawn = Counter(step.deed for seed in range(50) for step in draw(seed).steps)
    assert set(drawn) == set(DEEDS) | set(FAULTS)
    assert min(drawn.values()) >= 10, drawn.most_common()[-3:]


def test_cities_have_pools_dependencies_and_every_kind_of_policy() -> None:
    """HARN-01: what the config may say is drawn as well."""
    agents = [one for seed in range(50) for one in draw(seed).city.agents.values()]
    assert sum(one.pool is not None for one in agents) >= 20
    assert sum(bool(one.depends_on) for one in agents) >= 20
    assert {one.runtime for one in agents} == {"tmux", "k8s", "subprocess"}
    assert {str(one.sleep_after_idle) for one in agents} >= {"None", "off", "0s", "60s", "300s"}
    assert {str(one.wake_mode) for one in agents} == {"resume", "fresh"}
    assert any(one.idle_timeout for one in agents)
