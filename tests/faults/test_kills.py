"""`kill -9` of a real controller at random moments of everything it does, again and again.

KILL_CYCLES says how often, KILL_SEED where the dice begin. Each cycle kills, starts the next
controller and holds the city against what must be true after any crash (L8, S1..S6, D1, R5).
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from gascity.api import client
from tests.integration.city import (
    RealCity,
    agent,
    city_toml,
    needs_tmux,
    real_city,
)
from tests.polling import wait_until
from tests.terminal import gc

pytestmark = [*needs_tmux, pytest.mark.slow]

CYCLES: Final = int(os.environ.get("KILL_CYCLES", "12"))
SEED: Final = int(os.environ.get("KILL_SEED", "1"))
NAMES: Final = ("s0", "s1", "s2", "s3", "mayor")
# Nobody is quarantined: crashes are counted here by their events.
DAEMON: Final = 'max_restarts = 0\nrestart_window = "1ms"\nmax_wakes_per_tick = 9\n'


def toml(note: str = "") -> str:
    """Four headless sessions that sleep at once, one that people attach to; `note` changes it."""
    tables = (*(agent(name, attach=False) for name in NAMES[:-1]), agent("mayor"))
    windows = {"noninteractive": "100ms", "interactive_resume": "1s"}
    return city_toml(*tables, sleep=windows, daemon=DAEMON) + note


@pytest.fixture
def city() -> Iterator[RealCity]:
    """That city, everybody cold."""
    with real_city(toml()) as one:
        one.start()
        settle(one)
        yield one


def settle(city: RealCity) -> None:
    """Until everybody sleeps for being idle."""
    for name in NAMES:
        city.wait_cold(name, within_s=40.0)


def wake_all(city: RealCity) -> None:
    """Ask for everybody, waiting for nobody."""
    for name in NAMES:
        city.ask("wake", session=name, wait=False)


def end_intents(city: RealCity) -> None:
    """Whoever waits for `mayor` comes in and leaves again: else the intent stands until it lapses.

    It outlives the controller that wrote it, and the next one honours it (REC-05).
    """
    details = city.session("mayor")["blocker_details"]
    if not any(one["detail"].startswith("attach by") for one in details):
        return
    city.wait_up("mayor")
    person = city.attach_directly("mayor")
    wait_until(lambda: "operator" not in city.session("mayor")["hard_wakes"], what="seen attached")
    city.tmux("detach-client", "-s", "=mayor")  # keys might reach the agent as a draft
    assert person.end() == 0


def kill_after(city: RealCity, delay_s: float) -> None:
    """Kill the controller so much later, if it is still there."""
    pid = city.pid()
    until = time.monotonic() + delay_s
    while time.monotonic() < until:
        pass
    if pid and city.pid() == pid:
        city.started.append(pid)
        city.kill9()


def in_a_start(city: RealCity, dice: random.Random) -> None:
    """In its own start, before or after it has the lock, the store, the socket."""
    city.kill9()
    child = subprocess.Popen(
        gc("start", "--foreground"),
        env=city.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(dice.uniform(0.0, 3.0))
    finally:
        child.kill()
        child.wait()


def in_readiness(city: RealCity, dice: random.Random) -> None:
    """While sessions start and are watched until they are ready."""
    wake_all(city)
    kill_after(city, dice.uniform(0.0, 1.0))


def in_an_attach(city: RealCity, dice: random.Random) -> None:
    """While somebody waits for a session to be woken."""
    person = city.terminal("attach", "mayor")
    kill_after(city, dice.uniform(0.2, 1.5))
    person.hang_up()


def in_a_reload(city: RealCity, dice: random.Random) -> None:
    """While it reads its config again."""
    city.configure(toml(f"\n# {dice.random()}\n"))
    client.word(str(city.path), "reload")
    kill_after(city, dice.uniform(0.0, 0.5))


def in_a_city_stop(city: RealCity, dice: random.Random) -> None:
    """While it stops everybody on its way out."""
    wake_all(city)
    wait_until(lambda: len(city.hosted()) == len(NAMES), what="all up")
    child = subprocess.Popen(
        gc("stop"), env=city.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        kill_after(city, dice.uniform(0.1, 1.5))
    finally:
        child.kill()
        child.wait()


def in_drains(city: RealCity, dice: random.Random) -> None:
    """While five sessions are put to sleep."""
    wake_all(city)
    wait_until(lambda: city.hosted(), what="somebody is up")
    kill_after(city, dice.uniform(0.0, 2.5))


MOMENTS: Final[tuple[Callable[[RealCity, random.Random], None], ...]] = (
    in_a_start,
    in_readiness,
    in_an_attach,
    in_a_reload,
    in_a_city_stop,
    in_drains,
)


def check_doubles(city: RealCity) -> None:
    """Nobody runs twice, and nothing runs that nobody knows."""
    shown = Counter(city.hosted())
    assert set(shown) <= set(NAMES), shown
    for name in NAMES:
        agents = [one for one in city.tree(name).values() if not one.startswith(("/bin/sh", "sh"))]
        assert len(agents) <= 1, (name, agents)


def check_history(city: RealCity, seen: int) -> None:
    """Every event is there, in order, in the mirror too; every crash was an ambiguous stop."""
    numbers = [one["seq"] for one in city.events()]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    mirror = (city.path / ".gc" / "events.jsonl").read_text().splitlines()
    assert [json.loads(line)["seq"] for line in mirror] == numbers
    for name in NAMES:
        kinds = Counter(one["type"] for one in city.events(session=name, after=seen))
        assert kinds["session.crashed"] <= kinds["session.sleep_recovery_ambiguous"], kinds
        assert kinds["session.sleep_recovery_ambiguous"] <= 1, kinds


@pytest.mark.timeout(60 + 25 * CYCLES)
def test_a_killed_controller_leaves_nothing_behind(city: RealCity) -> None:
    """Killed in starts, readiness, attaches, reloads, stops, drains: all sound after (L8, R5)."""
    met: Counter[str] = Counter()
    for number in range(CYCLES):
        dice = random.Random(SEED + number)
        moment = MOMENTS[(SEED + number) % len(MOMENTS)]
        seen = city.seq()
        try:
            moment(city, dice)
            if not city.pid():
                city.start()
            assert {one["name"] for one in city.status()["sessions"]} == set(NAMES)
            check_doubles(city)
            end_intents(city)
            settle(city)
            check_doubles(city)
            check_history(city, seen)
            assert city.hosted() == []
        except (AssertionError, client.ControlError) as fault:
            raise AssertionError(
                f"{moment.__name__}: {fault}\nagain: KILL_CYCLES=1 KILL_SEED={SEED + number}"
            ) from fault
        met[moment.__name__] += 1
    print(f"\nkills: {dict(met)}")
    assert met.total() == CYCLES
