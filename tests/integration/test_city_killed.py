"""`kill -9` of the controller in the middle of real drains: what the next one makes of them.

Each round kills it at a chosen or a seeded random moment, reads what is on disk and what runs, and
holds the outcome against the recovery table. A failure names the seed of its round.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from gascity.api.holder import holder_of
from gascity.beads.bead import SESSION
from gascity.beads.record import session_of
from gascity.beads.sqlite import SqliteBeads
from gascity.beads.store import Query
from gascity.model.session import Session, SleepIntent, SleepReason, State
from tests.integration.city import RealCity, agent, city_toml, needs_tmux, running_city
from tests.polling import wait_until

pytestmark = [*needs_tmux, pytest.mark.slow]

NAMES: Final = (*(f"s{n}" for n in range(11)), "stubborn")
# Nobody is quarantined and no restart waits: these rounds count crashes by their events.
DAEMON: Final = """\
shutdown_timeout = "1s"
max_restarts = 0
restart_window = "1ms"
max_idle_probes_per_tick = 12
max_wakes_per_tick = 12
max_concurrent_starts = 12
"""
TOML: Final = city_toml(
    *(agent(name, attach=False) for name in NAMES[:-1]),
    agent(NAMES[-1], "--ignore-term", attach=False),
    sleep={"noninteractive": "100ms"},
    daemon=DAEMON,
)
SLOW_ROUNDS: Final = 12  # each of them cuts a dozen drains


@dataclass(frozen=True, kw_only=True)
class Found:
    """One session as a killed controller left it."""

    record: Session
    runs: bool

    @property
    def is_ambiguous(self) -> bool:
        """Nobody saw the announced stop happen."""
        return not self.runs and self.record.sleep_intent is SleepIntent.PENDING

    @property
    def label(self) -> str:
        """Truth, state and intent in one line."""
        truth = "running" if self.runs else "stopped"
        return f"{truth} {self.record.state} {self.record.sleep_intent or '-'}"


@pytest.fixture
def city() -> Iterator[RealCity]:
    """A city of headless stand-ins that sleep as soon as they stand still."""
    with running_city(TOML) as one:
        yield one


def wake_all(city: RealCity) -> None:
    """Have every session run."""
    for name in NAMES:
        city.ask("wake", session=name, wait=False)
    wait_until(lambda: all(pane_pids(city).get(name) for name in NAMES), what="all up")


def pane_pids(city: RealCity) -> dict[str, int]:
    """{session: pid of its agent}."""
    lines = city.tmux("list-panes", "-a", "-F", "#{session_name} #{pane_pid}").splitlines()
    return {name: int(pid) for name, pid in (line.split() for line in lines)}


def kill_at_a_moment(city: RealCity, dice: random.Random) -> str:
    """Kill the controller once something is seen, a little later; what it waited for."""
    phase = dice.choice(["probing", "pending", "stopping", "death", "death", "asleep"])
    delay_s = dice.choice([0.0, dice.uniform(0, 0.03), dice.uniform(0, 0.3)])
    victims = list(pane_pids(city).values())
    controller = city.pid()

    def seen() -> bool:
        if phase == "death":
            return not all(Path(f"/proc/{pid}").exists() for pid in victims)
        shown = city.sessions().values()
        if phase == "asleep":
            return any(one["sleep_reason"] == "idle" for one in shown)
        return any(one["drain_phase"] == phase for one in shown)

    deadline = time.monotonic() + 4.0  # a phase may pass between two looks: then any moment will do
    while not seen() and time.monotonic() < deadline:
        pass
    until = time.monotonic() + delay_s
    while time.monotonic() < until:
        pass
    assert controller == city.pid()
    city.kill9()
    return f"{phase}+{delay_s * 1000:.0f}ms"


def left_behind(city: RealCity) -> dict[str, Found]:
    """What a killed controller left on disk and running, once whatever it signalled has ended."""
    before: dict[str, list[int]] = {}

    def is_still() -> bool:
        nonlocal before
        now = {name: sorted(city.tree(name)) for name in NAMES}
        time.sleep(0.15)  # what was signalled just before the kill ends by itself
        before, was = now, before
        return now == was

    wait_until(is_still, what="processes stand still")
    with tempfile.TemporaryDirectory() as folder:
        for file in (city.path / ".gc").glob("gascity.db*"):
            shutil.copy(file, folder)
        beads = SqliteBeads(Path(folder) / "gascity.db")
        with contextlib.closing(beads):
            records = [session_of(bead) for bead in beads.query(Query(type=SESSION))]
    return {one.name: Found(record=one, runs=bool(before[one.name])) for one in records}


def check(city: RealCity, found: dict[str, Found], seen: int) -> None:
    """Hold what the next controller did against the recovery table."""
    for name, was in found.items():
        events = city.events(session=name, after=seen)
        kinds = Counter(one["type"] for one in events)
        ambiguous = kinds["session.sleep_recovery_ambiguous"]
        assert ambiguous == was.is_ambiguous, (name, was.label, city.told(name))
        assert kinds["session.crashed"] == was.is_ambiguous, (name, was.label, city.told(name))
        record = was.record
        cold = record.state is State.ASLEEP and record.sleep_reason is SleepReason.IDLE
        confirmed = record.sleep_intent is SleepIntent.CONFIRMED
        if not was.runs and (cold or confirmed):
            assert kinds["session.woke"] == 0, (name, was.label, city.told(name))
        if was.runs and record.state is State.AWAKE:
            # It was adopted, not started again beside itself.
            assert kinds["session.woke"] == 0, (name, was.label, city.told(name))
        entry = city.session(name)
        assert (entry["state"], entry["sleep_intent"]) == ("asleep", ""), city.told(name)
        assert city.tree(name) == {}, (name, was.label)
    assert city.hosted() == []


def rounds(city: RealCity, seeds: range) -> Counter[str]:
    """Kill, restart, check, once per seed; how often each state was met."""
    met: Counter[str] = Counter()
    for seed in seeds:
        dice = random.Random(seed)
        wake_all(city)
        moment = kill_at_a_moment(city, dice)
        found = left_behind(city)
        assert found.keys() == set(NAMES), "a session was lost"
        met.update(one.label for one in found.values())
        seen = last_seq(city)
        city.start()
        try:
            for name in NAMES:
                city.wait_cold(name)
            check(city, found, seen)
        except AssertionError as fault:
            raise AssertionError(f"seed {seed}, killed at {moment}: {fault}") from fault
    return met


def last_seq(city: RealCity) -> int:
    """The number of the last event, from the mirror and the store alone."""
    with tempfile.TemporaryDirectory() as folder:
        for file in (city.path / ".gc").glob("gascity.db*"):
            shutil.copy(file, folder)
        beads = SqliteBeads(Path(folder) / "gascity.db")
        with contextlib.closing(beads):
            return beads.last_seq


def test_a_kill_in_a_drain_ends_as_the_table_says(city: RealCity) -> None:
    """A dozen drains cut at seeded moments: nobody lost, doubled or counted twice.

    REC-01..08, REC-15..23, CRASH-02, CRASH-05, S3..S5, L8.
    """
    met = rounds(city, range(1))
    assert sum(met.values()) == len(NAMES)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_hundred_kills_in_drains_end_as_the_table_says(
    city: RealCity, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same for more than a hundred drains (R5 of the reliability targets, scaled down)."""
    first = int(os.environ.get("KILL_SEED", "1000"))
    met = rounds(city, range(first, first + SLOW_ROUNDS))
    with capsys.disabled():
        for label, count in sorted(met.items()):
            print(f"\n  {count:4d}  {label}", end="")
    assert holder_of(str(city.path)) is not None
    assert sum(met.values()) >= 100
