"""Agents that call tools, on real tmux: an open call keeps them up, a recorded wait does not."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.integration.city import RealCity, city_toml, needs_tmux, running_city
from tests.polling import wait_until

pytestmark = [*needs_tmux, pytest.mark.slow]

CALLER = Path(__file__).with_name("tool_caller.py")
NAMES = ("napper", "patient", "dropped", "restarted", "busy", "waiter", "missed")
FOR_DAYS = 'call sleep {"seconds": 86400}'


@pytest.fixture(scope="module")
def city() -> Iterator[RealCity]:
    """A running city of callers that sleep as soon as they are idle."""
    agents = [
        f'[[agent]]\nname = "{name}"\nstart_command = "{sys.executable} {CALLER}"\n'
        'sleep_after_idle = "0s"\n'
        for name in NAMES
    ]
    with running_city(city_toml(*agents, daemon='shutdown_timeout = "1s"')) as one:
        yield one


def up(city: RealCity, name: str) -> None:
    """Have a caller up, cold before, and kept so by a pin."""
    city.wait_cold(name)
    assert city.gc("pin", name).code == 0
    assert city.gc("wake", name).code == 0
    city.wait_up(name)


def told(city: RealCity, name: str) -> list[str]:
    """What a caller noted down."""
    file = city.path / "told.txt"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [line.removeprefix(f"{name} ") for line in lines if line.startswith(f"{name} ")]


def in_a_call(city: RealCity, name: str, line: str) -> None:
    """Have a caller make a call that nothing but its open turn protects."""
    up(city, name)
    city.type(name, line)
    city.wait(name, lambda one: "turn_open" in one["blockers"], what="in a turn")
    assert city.gc("unpin", name).code == 0
    held_by_its_turn(city, name)


def held_by_its_turn(city: RealCity, name: str) -> None:
    """It is shown at its prompt with the turn as the one reason, whatever the patrols."""
    city.wait(name, lambda one: one["blockers"] == ["turn_open"], what="held by its turn")
    city.patrol(5)
    one = city.session(name)
    assert (one["state"], one["blockers"]) == ("awake", ["turn_open"])


def test_an_agent_in_a_sleep_call_is_not_put_to_sleep_and_afterwards_is(city: RealCity) -> None:
    """R48: with a window of 0s, for as long as the call lasts; the command line says why."""
    in_a_call(city, "napper", 'call sleep {"seconds": 8}')
    why = city.why("napper")
    assert [(one["name"], one["detail"]) for one in why["blockers"]] == [("turn_open", "sleep 8s")]
    assert "its turn ends" in why["changes"]
    assert city.gc("sleep", "napper").code == 3
    assert told(city, "napper") == []
    city.wait_cold("napper")
    assert told(city, "napper") == ["answer: Slept for 8 second(s)."]
    changed = city.events("session.updated", session="napper")
    assert ["turn_open"] in [one["payload"]["blockers"] for one in changed]


def test_a_call_that_its_client_gave_up_holds_nothing(city: RealCity) -> None:
    """F55, R48: a client has a limit of its own, and the turn ends with it."""
    in_a_call(city, "patient", FOR_DAYS)
    city.type("patient", "cancel")
    city.wait_cold("patient")
    assert not [line for line in told(city, "patient") if "Slept" in line]


def test_the_death_of_the_tool_server_ends_the_turn(city: RealCity) -> None:
    """R48: SIGKILL in the middle of a day-long call; nothing is waited for."""
    in_a_call(city, "dropped", FOR_DAYS)
    city.type("dropped", "drop")
    city.wait_cold("dropped")


def test_a_turn_outlives_the_controller(city: RealCity) -> None:
    """REC-15, R9: killed and started again, it neither sleeps the session nor forgets its turn."""
    in_a_call(city, "restarted", FOR_DAYS)
    city.restart()
    held_by_its_turn(city, "restarted")
    assert told(city, "restarted") == []
    city.type("restarted", "drop")
    city.wait_cold("restarted")


def test_a_command_under_gc_busy_is_a_turn_and_a_pin(city: RealCity) -> None:
    """R18, R48: both go the moment it is killed, although its command goes on."""
    up(city, "busy")
    city.type("busy", "run sh -c 'exec $GC_BIN busy -- sleep 600'")
    city.wait("busy", lambda one: {"pin", "turn_open"} <= {*one["blockers"]}, what="busy")
    assert city.ask("unpin", session="busy", owner="operator")["removed"] == 1
    city.patrol(3)
    assert {"pin", "turn_open"} <= {*city.session("busy")["blockers"]}
    [pin] = city.ask("pins")["pins"]
    assert pin["held"] is True
    assert "its command ends" in city.gc("pin", "--list").out
    pid = int(pin["owner"].removeprefix("busy:"))
    assert "busy -- sleep 600" in city.tree("busy")[pid]
    os.kill(pid, signal.SIGKILL)
    city.wait("busy", lambda one: not {"pin", "turn_open"} & {*one["blockers"]}, what="free of it")
    assert city.ask("pins")["pins"] == []


def test_a_recorded_wait_lets_it_go_cold_and_brings_it_back_on_time(city: RealCity) -> None:
    """R49, R66, R80: cold in between; woken when it is due, told its note and the real time."""
    up(city, "waiter")
    seen = city.seq()
    city.type("waiter", 'call wait_until {"seconds": 8, "note": "go on with the tests"}')
    wait_until(lambda: told(city, "waiter"))
    assert re.match(
        r"answer: Wait \S+ is recorded: it is over at \S+Z\. End your turn", _last(city)
    )
    assert city.gc("unpin", "waiter").code == 0
    city.wait_event("session.stopped", "waiter", after=seen)
    woke = city.wait_event("session.woke", "waiter", after=seen)
    assert woke["payload"]["reasons"] == ["wait"]
    wait_until(lambda: len(told(city, "waiter")) > 1)
    assert 8 <= _waited(told(city, "waiter")[1], "go on with the tests") < 20
    city.wait_cold("waiter")
    assert len(told(city, "waiter")) == 2


def test_a_wait_that_came_due_without_a_controller_is_told_by_the_next(city: RealCity) -> None:
    """R49, REC-15: late, once, and with the time that really passed."""
    up(city, "missed")
    city.type("missed", 'call wait_until {"seconds": 6, "note": "look at the build"}')
    wait_until(lambda: told(city, "missed"))
    assert city.gc("unpin", "missed").code == 0
    city.wait_cold("missed")
    city.kill9()
    [wait] = city.gc("wait", "list", "--session", "missed", "--json").json
    due = datetime.fromisoformat(wait["due_at"])
    wait_until(lambda: (datetime.now(UTC) - due).total_seconds() > 1)
    assert len(told(city, "missed")) == 1
    city.start()
    wait_until(lambda: len(told(city, "missed")) > 1, timeout_s=20)
    assert 7 <= _waited(told(city, "missed")[1], "look at the build") < 40
    city.wait_cold("missed")
    assert len(told(city, "missed")) == 2


def _last(city: RealCity) -> str:
    return told(city, "waiter")[-1]


def _waited(line: str, note: str) -> int:
    """Whole seconds that a told note says have passed."""
    found = re.fullmatch(rf"told: {note} \(waited (?:(\d+)m)?(?:(\d+)s)?, since \S+Z\)", line)
    assert found is not None, line
    return int(found[1] or 0) * 60 + int(found[2] or 0)
