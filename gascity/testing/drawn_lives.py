"""Random cities and random lives, drawn from a seed: the same seed is the same life.

Source: DESIGN §H (HARN-01); R4 of the reliability targets
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Final

from gascity.model.city import Agent, City, DaemonSettings, Pool, Rig, SessionClass, WakeMode
from gascity.model.duration import OFF, seconds
from gascity.testing.records import STARTER, a_city, agent
from gascity.testing.simulated_deeds import DEEDS
from gascity.testing.simulated_faults import FAULTS

NAMES: Final = ("mayor", "scout", "r/deacon", "worker", "r/polecat", "refinery")
POOLS: Final = ("worker", "r/polecat")
RARE: Final = ("kill", "suspend", "leave", "reboot", "meddle", "undo_edits", "step_clock")
# What makes lives eventful happens more often than the rest.
OFTEN: Final = ("sling", "give", "claim", "finish", "attach", "detach", "end_turn", "wake", "crash")
GAPS: Final = (0.25, 0.5, 1.0, 2.0, 5.0, 11.0, 30.0, 61.0, 300.0)


@dataclass(frozen=True, slots=True)
class Step:
    """One deed or fault: so many seconds after the beginning of its round."""

    round: int
    at_s: float
    deed: str
    number: int

    def __str__(self) -> str:
        return f"round {self.round} at {self.at_s:g} s: {self.deed} {self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A life to be lived: its city, its steps, and how many days of peace follow each round."""

    seed: int
    city: City
    steps: tuple[Step, ...]
    peace_days: tuple[float, ...]


def draw(seed: int) -> Drawn:
    """The life of this seed."""
    chance = random.Random(f"life {seed}")
    city = _city(chance)
    rounds = chance.randint(2, 4)
    steps = tuple(step for number in range(rounds) for step in _round(chance, number))
    days = tuple(chance.choice((1, 7, 30, 90)) for _ in range(rounds))
    return Drawn(seed=seed, city=city, steps=steps, peace_days=days)


def _city(chance: random.Random) -> City:
    names = [name for name in NAMES if chance.random() < 0.6] or ["mayor"]
    agents = [_agent(chance, name, names[:place]) for place, name in enumerate(names)]
    policy = chance.choice((STARTER, STARTER, STARTER, {}, _all_alike(chance)))
    rig = chance.choice(({}, {}, {SessionClass.NONINTERACTIVE: seconds(60)}))
    return a_city(
        *agents,
        session_sleep=policy,
        rigs={"r": Rig(name="r", sleep=rig)},
        daemon=DaemonSettings(
            max_wakes_per_tick=chance.choice((5, 2)),
            max_idle_probes_per_tick=chance.choice((3, 1)),
        ),
    )


def _all_alike(chance: random.Random) -> dict[SessionClass, Any]:
    window = chance.choice((OFF, seconds(0), seconds(60), seconds(300)))
    return dict.fromkeys(SessionClass, window)


def _agent(chance: random.Random, name: str, below: list[str]) -> Agent:
    pool = None
    if name in POOLS:
        check = "count" if chance.random() < 0.4 else ""
        pool = Pool(min=chance.randint(0, 2), max=chance.randint(2, 4), check=check)
    window = chance.choice((None, None, None, OFF, seconds(0), seconds(60), seconds(300)))
    return agent(
        name,
        attach=pool is None and chance.random() < 0.6,
        wake_mode=chance.choice((WakeMode.RESUME, WakeMode.RESUME, WakeMode.FRESH)),
        sleep_after_idle=window,
        idle_timeout=seconds(600) if chance.random() < 0.05 else None,
        runtime=chance.choice(("tmux", "tmux", "tmux", "tmux", "k8s", "subprocess")),
        depends_on=tuple(one for one in below if chance.random() < 0.25),
        pool=pool,
    )


def _round(chance: random.Random, number: int) -> list[Step]:
    """Some minutes or hours full of deeds and faults; in some rounds nothing goes wrong."""
    known = sorted(DEEDS) + list(OFTEN) * 2
    if chance.random() < 0.8:
        known += sorted(FAULTS)
    at, steps = 0.0, []
    for _ in range(chance.randint(8, 40)):
        deed = chance.choice(known)
        if deed in RARE and chance.random() < 0.5:
            continue
        at += chance.choice(GAPS) * chance.choice((1, 1, 1, 2))
        steps.append(Step(number, at, deed, chance.randrange(1000)))
    return steps
