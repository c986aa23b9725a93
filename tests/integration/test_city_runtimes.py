"""One city on four runtimes at once: each session sleeps and wakes by the class of its own."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.integration.city import Entry, RealCity, agent, city_toml, needs_tmux, running_city
from tests.integration.rig_exec import EXAMPLE
from tests.polling import wait_until

pytestmark = [pytest.mark.slow, *needs_tmux]

WINDOW: Final = "2s"
ACP: Final = shlex.join([sys.executable, "-m", "gascity.testing.acp_agent"])
FULL: Final = "full"
CLASSES: Final = {
    "term": ("tmux", FULL),
    "talker": ("acp", FULL),
    "script": ("exec:./sessions", FULL),
    "plain": ("exec:./plain", "timed_only"),
    "still": ("exec:./still", "disabled"),
    "loud": ("subprocess", "timed_only"),
    "quiet": ("subprocess", "disabled"),
    "probed": ("subprocess", FULL),
}
SLEEPERS: Final = [name for name, (_, kind) in CLASSES.items() if kind != "disabled"]


def toml() -> str:
    """Workers without people, one on each runtime and class, all with the same window."""
    noisy = "while :; do sleep 600; done"
    commands: dict[str, dict[str, object]] = {
        "term": {},
        "talker": {"start_command": ACP},
        "script": {},
        "plain": {},
        "still": {"start_command": noisy},
        "loud": {"start_command": f"echo up; {noisy}"},
        "quiet": {"start_command": noisy},
        "probed": {"start_command": f"echo up; {noisy}", "idle_probe": ["./is-idle"]},
    }
    tables = [
        agent(name, session=CLASSES[name][0], attach=False, sleep_after_idle=WINDOW, **more)
        for name, more in commands.items()
    ]
    return city_toml(*tables)


def write(path: Path, text: str) -> None:
    """A script of the city's."""
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture(scope="module")
def city() -> Iterator[RealCity]:
    """The city, its scripts beside its configuration."""
    with running_city(city_toml()) as one:
        lacks = "case $1 in is-attached|pending|wait-for-idle{}) exit 2;; esac"
        write(one.path / "sessions", f'exec {EXAMPLE} "$@"')
        write(one.path / "plain", f'{lacks.format("")}; exec {EXAMPLE} "$@"')
        write(one.path / "still", f'{lacks.format("|get-last-activity")}; exec {EXAMPLE} "$@"')
        write(one.path / "is-idle", "[ ! -e busy ]")
        one.configure(toml())
        assert one.gc("start").code in (0, 3)
        one.ask("config")
        yield one


def kind_of(entry: Entry) -> str:
    """The class a session is shown with."""
    return str(entry["capability"]["class"])


def test_each_runs_where_it_is_sent_and_has_the_class_of_its_evidence(city: RealCity) -> None:
    """Class by evidence of the routed runtime, session by session (CAP-08, CAP-18..CAP-23)."""
    for name, (runtime, kind) in CLASSES.items():
        entry = city.wait(name, lambda one, kind=kind: kind_of(one) == kind, within_s=60, what=kind)
        assert entry["runtime"] == runtime


@pytest.mark.parametrize("name", SLEEPERS)
def test_whoever_may_sleep_sleeps(city: RealCity, name: str) -> None:
    """By its boundary, or by its clock alone (CAP-15, CAP-16)."""
    city.wait_cold(name, within_s=60)
    wait_until(lambda: not city.tree(name), what=f"nothing of {name} runs")


@pytest.mark.parametrize("name", [one for one in CLASSES if one not in SLEEPERS])
def test_whoever_keeps_no_clock_stays_up(city: RealCity, name: str) -> None:
    """Disabled means off, and says so (CAP-17, CAP-20, CAP-21, POL-23)."""
    city.patrol(3)
    entry = city.session(name)
    assert entry["state"] == "awake"
    assert (entry["policy"]["effective"], entry["policy"]["adjustment"]) == (
        "off",
        "capability-disabled",
    )


@pytest.mark.parametrize("name", SLEEPERS)
def test_work_wakes_each_and_it_sleeps_again(city: RealCity, name: str) -> None:
    """A sleeper wakes for work on whatever runtime, and is cold again after it (WAKE, R19)."""
    city.wait_cold(name, within_s=60)
    bead = city.gc("sling", name, "a job", "--json").json
    city.wait_up(name)
    assert kind_of(city.session(name)) == CLASSES[name][1]
    assert "work" in city.session(name)["hard_wakes"]
    assert city.gc("bead", "close", bead["id"]).code == 0
    city.wait_cold(name, within_s=60)


def test_an_open_question_keeps_an_agent_up_until_it_is_answered(city: RealCity) -> None:
    """Over the protocol it is pending, shown, answered from outside, and then idle (CAP-26)."""
    city.wait_cold("talker", within_s=60)
    assert city.gc("wake", "talker").code == 0
    assert city.gc("session", "nudge", "talker", "permission").code == 0
    city.wait("talker", lambda one: "pending" in one["hard_wakes"], what="pending")
    shown = city.gc("session", "respond", "talker")
    assert "npm run release" in shown.out
    assert "1. Allow" in shown.out
    assert city.gc("session", "respond", "talker", "perhaps").code == 2
    answered = city.gc("session", "respond", "talker", "allow")
    assert (answered.code, "answered: Allow" in answered.out) == (0, True)
    city.wait_cold("talker", within_s=60)
    assert city.gc("session", "respond", "talker", "allow").code == 3


def test_a_busy_word_of_its_own_keeps_it_up(city: RealCity) -> None:
    """What an idle_probe calls busy is not stopped, and is shown (R16)."""
    city.wait_cold("probed", within_s=60)
    (city.path / "busy").touch()
    assert city.gc("wake", "probed").code == 0
    city.wait("probed", lambda one: "idle_boundary" in one["blockers"], within_s=30, what="blocked")
    (city.path / "busy").unlink()
    city.wait_cold("probed", within_s=60)


def test_a_killed_controller_finds_what_outlives_it_and_restarts_the_rest(city: RealCity) -> None:
    """Processes and scripts go on and are adopted; agents over the protocol come back (R37)."""
    up = ["loud", "script", "talker", "term"]
    for name in up:
        city.wait_cold(name, within_s=60)
        assert city.gc("pin", name, "--for", "10m").code == 0
    for name in up:
        city.wait_up(name)
    before = {name: set(city.tree(name)) for name in up}
    seq = city.seq()
    city.started.append(city.pid())
    city.restart()
    for name in up:
        city.wait(name, lambda one: one["state"] == "awake", what="awake")
        wait_until(lambda name=name: bool(city.tree(name)), what=f"{name} runs")
    for name in ("loud", "script", "term"):
        assert before[name] & set(city.tree(name)), name
    city.wait_up("talker")
    assert not before["talker"] & set(city.tree("talker"))
    crashes = [one["subject"] for one in city.events("session.crashed", after=seq)]
    assert crashes == []
    for name in up:
        assert city.gc("unpin", name).code == 0
        city.wait_cold(name, within_s=60)
    assert json.loads(city.gc("doctor", "--json").out)["ok"] is True
