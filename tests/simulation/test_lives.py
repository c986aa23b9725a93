"""Whole lives of random cities: the product itself runs, the same seed is the same life."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import gascity
from gascity.daemon import Controller, patrol
from gascity.decide import idle, relook, tick
from gascity.testing import simulated_city, simulator
from gascity.testing.drawn_lives import Step, draw
from gascity.testing.simulated_city import SimulatedCity
from gascity.testing.simulated_life import live
from gascity.testing.simulator import failure, lives, only, shortened

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
YEARS = float(os.environ.get("SIM_YEARS", "0.5"))
FIRST = int(os.environ.get("SIM_SEED", "0"))


def test_random_lives_break_no_promise() -> None:
    """Safety at every step, liveness once faults stop, then peace (S1..S10, L1..L8, A1..A3, X1)."""
    failed = [
        failure(drawn, outcome)
        for drawn, outcome in lives(FIRST, min(YEARS, 0.5))
        if outcome.broken
    ]
    assert not failed, "\n\n".join(failed)


def test_the_same_seed_gives_the_same_trace_byte_for_byte() -> None:
    """Also in another process, where sets and dictionaries of text have another order (HARN-01)."""
    traces = []
    for order in ("1", "2"):
        command = [sys.executable, "-m", "gascity.testing.simulator", "--seed", "3", "--trace"]
        environment = {**os.environ, "PYTHONHASHSEED": order, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, env=environment, capture_output=True, check=True)
        traces.append(done.stdout)
    assert len(traces[0]) > 100_000
    assert traces[0] == traces[1]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", [4, 7])
def test_passing_over_patrols_without_anything_to_do_changes_nothing(seed: int) -> None:
    """Every write and event of a life is the same, to the microsecond, if each patrol runs (L5)."""
    drawn = draw(seed)
    short = replace(drawn, peace_days=(0.25,) * len(drawn.peace_days))
    quick, honest = live(short), live(short, skips=False)
    assert honest.patrols > 2 * quick.patrols
    assert (quick.digest, quick.broken) == (honest.digest, honest.broken)


def test_what_is_simulated_is_the_product(monkeypatch: pytest.MonkeyPatch) -> None:
    """The controller and the decisions are those that ship, and are called (HARN-01)."""
    assert simulated_city.Controller is Controller
    assert Path(gascity.__file__).resolve().parent == ROOT / "gascity"
    assert patrol.decide is tick.decide
    asked: list[object] = []

    def spied(world: Any) -> Any:
        asked.append(world)
        return tick.decide(world)

    monkeypatch.setattr(patrol, "decide", spied)
    outcome = live(only(draw(4), []))
    assert len(asked) >= outcome.patrols > 0


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_drain_that_forgets_a_wake_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A seeded mistake: nobody looks at demand after the first look (S1, S2)."""
    monkeypatch.setattr(relook, "_against", lambda *_, **__: ())
    monkeypatch.setattr(relook, "_unsure", lambda *_, **__: ())
    assert any(outcome.broken for _, outcome in lives(42, 0.1))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_window_that_is_never_open_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A seeded mistake: keep-warm windows count as over at once (T1, L2)."""
    kept = idle.keep_warm_window

    def over(*args: Any, **kwargs: Any) -> Any:
        return replace(kept(*args, **kwargs), is_open=False)

    for module in list(sys.modules.values()):
        name = getattr(module, "__name__", "")
        if name.startswith("gascity.decide") and getattr(module, "keep_warm_window", None) is kept:
            monkeypatch.setattr(module, "keep_warm_window", over)
    assert any("T1" in wrong for _, outcome in lives(0, 3) for wrong in outcome.broken)


def test_a_failure_names_its_seed_a_command_and_the_shortest_life(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One line to see it again, and only the steps that it takes."""
    drawn = draw(4)

    def breaks(step: Step) -> bool:
        return step.deed == drawn.steps[5].deed

    def judged(life: Any, **_: Any) -> Any:
        broken = ("S1: somebody: something",) if any(map(breaks, life.steps)) else ()
        return replace(outcome, broken=broken)

    outcome = live(only(drawn, []))
    monkeypatch.setattr(simulator, "live", judged)
    assert len(shortened(drawn).steps) == 1
    said = failure(drawn, judged(drawn))
    assert "python -m gascity.testing.simulator --seed 4 --keep " in said
    assert said.startswith("seed 4: S1: somebody: something")


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.skipif(YEARS <= 0.5, reason="the fast tests live half a year; SIM_YEARS for more")
def test_years_of_lives_break_no_promise() -> None:
    """The same for as long as SIM_YEARS says (R4)."""
    failed = [failure(drawn, outcome) for drawn, outcome in lives(FIRST, YEARS) if outcome.broken]
    assert not failed, "\n\n".join(failed)


def test_a_city_of_the_simulator_has_three_kinds_of_runtime() -> None:
    """Full, timed only and disabled (CAP-15..17)."""
    with SimulatedCity(draw(0).city, seed=0) as city:
        assert set(city.ports.runtimes) == {"tmux", "k8s", "subprocess"}
