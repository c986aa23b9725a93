"""Messages, waits and `gc busy` on real terminals: told once, on time, and kept up meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.integration.city import (
    Entry,
    RealCity,
    agent,
    city_toml,
    needs_tmux,
    running_city,
    seconds_between,
)
from tests.polling import wait_until

pytestmark = [*needs_tmux, pytest.mark.slow]

NAMES = ("told", "queued", "waiting", "busy", "inside")
WAIT_S = 3.0


@pytest.fixture(scope="module")
def city() -> Iterator[RealCity]:
    """Stand-ins that sleep after two seconds; patrols are far apart, so that timers must act."""
    agents = [agent(name, "--boot", "0.5") for name in NAMES]
    with running_city(city_toml(*agents, patrol="10s", sleep={"interactive_resume": "2s"})) as made:
        for name in NAMES:
            made.wait_cold(name, within_s=60)
        yield made


def messages(city: RealCity, name: str) -> list[Entry]:
    found: list[Entry] = city.ask("messages", session=name, all=True)["messages"]
    return found


def shown(city: RealCity, name: str, text: str) -> int:
    """How often a line was answered on its screen."""
    return city.screen(name).count(f"done: {text}")


def test_a_nudge_that_wakes_is_delivered_after_readiness(city: RealCity) -> None:
    """F26, R66: a cold stand-in is woken, told in order once it is ready."""
    seen = city.seq()
    assert city.gc("session", "nudge", "told", "hello").code == 3
    assert city.session("told")["state"] == "asleep"
    for text in ("first line", "second line"):
        ran = city.gc("session", "nudge", "told", text, "--wake")
        assert ran.code == 0, ran.err
    woke = city.wait_event("session.woke", "told", after=seen)
    assert woke["payload"]["reasons"] == ["wait"]
    wait_until(lambda: shown(city, "told", "second line"), timeout_s=20)
    assert (shown(city, "told", "first line"), shown(city, "told", "second line")) == (1, 1)
    screen = city.screen("told")
    assert screen.index("first line") < screen.index("second line")
    assert [one["state"] for one in messages(city, "told")] == ["delivered", "delivered"]
    assert "first line" not in str(city.events(after=seen))


def test_a_queued_nudge_wakes_nobody_and_is_told_at_the_next_wake(city: RealCity) -> None:
    """F26: the sender is told so; it survives a controller that is killed."""
    seen = city.seq()
    ran = city.gc("session", "nudge", "queued", "later", "--queue")
    assert (ran.code, "wakes nobody" in ran.out) == (0, True)
    city.patrol(2)
    assert city.session("queued")["state"] == "asleep"
    city.restart()
    assert city.events("session.woke", session="queued", after=seen) == []
    assert city.gc("wake", "queued").code == 0
    wait_until(lambda: shown(city, "queued", "later") == 1, timeout_s=20)
    assert [one["state"] for one in messages(city, "queued")] == ["delivered"]


def test_a_wait_wakes_on_time_and_types_its_note(city: RealCity) -> None:
    """F15, R80: three seconds are three seconds, although the patrol interval is ten."""
    seen = city.seq()
    ran = city.gc("wait", "add", "waiting", "--for", f"{WAIT_S:g}s", "--note", "look now", "--json")
    wait = ran.json
    woke = city.wait_event("session.woke", "waiting", after=seen)
    late = seconds_between(str(wait["due_at"]), woke)
    assert 0 <= late < 4, late
    wait_until(lambda: shown(city, "waiting", "look now") == 1, timeout_s=20)
    [closed] = [
        one for one in city.events("bead.closed", after=seen) if one["subject"] == wait["id"]
    ]
    assert closed["payload"]["state"] == "delivered"
    city.wait_cold("waiting", within_s=40)
    city.patrol(2)
    assert len(city.events("session.woke", session="waiting", after=seen)) == 1


def test_busy_keeps_its_session_awake_while_the_command_runs(city: RealCity) -> None:
    """R18: it holds well past the window, and no longer than the command runs."""
    seen = city.seq()
    city.gc("wake", "busy")
    city.wait_up("busy")
    terminal = city.terminal("busy", "--session", "busy", "--reason", "build", "--", "sleep", "6")
    held = city.wait("busy", lambda one: "pin" in one["blockers"], what="pinned")
    assert held["state"] == "awake"
    assert terminal.end(within_s=30) == 0
    gone = city.seq()
    assert city.events("session.draining", "session.stopped", session="busy", after=seen) == []
    city.wait_cold("busy", within_s=40)
    stopped = city.wait_event("session.stopped", "busy", after=gone)
    assert stopped["seq"] > gone


def test_an_agent_sets_its_own_wait_and_sleeps_until_then(city: RealCity) -> None:
    """F15: from inside its session, without naming it; nothing of it has to stay alive."""
    seen = city.seq()
    city.gc("wake", "inside")
    city.wait_up("inside")
    gc = f"{sys.executable} -m gascity"
    city.type("inside", f"run {gc} wait add --for 8s --note again")
    city.wait_event("bead.created", after=seen)
    [wait] = city.ask("waits", session="inside")["waits"]
    assert city.gc("sleep", "inside", "--force").code == 0
    city.wait_cold("inside", within_s=10)
    assert city.tree("inside") == {}
    wait_until(lambda: shown(city, "inside", "again") == 1, timeout_s=30)
    woke = city.events("session.woke", session="inside", after=seen)[-1]
    assert 0 <= seconds_between(str(wait["due_at"]), woke) < 4
