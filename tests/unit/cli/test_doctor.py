"""`gc doctor`: what it finds, why that matters, what to do; and that looking changes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gascity.cli import checks_city
from gascity.cli.findings import ERROR, attempt
from tests.control_stand_in import PID, hung

Gc = Callable[..., Any]


@pytest.fixture(autouse=True)
def own_tmux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No tmux server of anybody else is looked at."""
    monkeypatch.setenv("TMUX_TMPDIR", str(tmp_path))


def whats(ran: Any, check: str) -> list[str]:
    """What one check found."""
    return [one["what"] for one in ran.json["findings"] if one["check"] == check]


def test_a_healthy_city_has_nothing_wrong(city: Path, gc: Gc) -> None:
    """Nothing is wrong: exit 0, said in words, and nothing was written (R44)."""
    before = sorted(path.name for path in city.rglob("*"))
    ran = gc("doctor")
    assert ran.code == 0
    assert "nothing is wrong" in ran.out
    assert sorted(path.name for path in city.rglob("*")) == before


def test_a_missing_program_is_wrong(city: Path, gc: Gc) -> None:
    """An agent whose program is not there cannot start; the fix is named, exit 1."""
    (city / "city.toml").write_text(
        '[workspace]\nname = "demo"\n[[agent]]\nname = "mayor"\nstart_command = "no-such-cli -x"\n',
        encoding="utf-8",
    )
    ran = gc("doctor", "--json")
    assert ran.code == 1
    assert ran.json["ok"] is False
    assert any("no-such-cli" in what for what in whats(ran, "agents"))


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("claude --x", "claude"),
        ("A=1 B=2 claude", "claude"),
        ("exec claude", ""),
        ("$CLI go", ""),
        ("(cd x; y)", ""),
        ('"open', ""),
        ("", ""),
    ],
)
def test_only_plain_commands_are_judged(command: str, program: str) -> None:
    """Where only a shell could tell the program, nothing is claimed."""
    assert checks_city._program(command) == program


def test_config_problems_are_findings(city: Path, gc: Gc) -> None:
    """Every problem of the configuration with its remedy (R5)."""
    (city / "city.toml").write_text("[workspace]\nname = 3\n", encoding="utf-8")
    ran = gc("doctor", "--json")
    assert ran.code == 1
    assert whats(ran, "config")


def test_loose_modes_are_told(city: Path, gc: Gc) -> None:
    """A folder others may read, a file others may write (R70)."""
    (city / ".gc").chmod(0o755)
    (city / "city.toml").chmod(0o666)
    ran = gc("doctor", "--json")
    assert ran.code == 1
    assert len(whats(ran, "files")) == 2
    assert all("chmod" in one["fix"] for one in ran.json["findings"] if one["check"] == "files")


def test_a_hung_controller_is_named_with_its_pid(
    city: Path, gc: Gc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds the lock and does not answer: exit 1 and its pid (R71)."""
    monkeypatch.setattr("gascity.api.client.ANSWER_S", 0.2)
    with hung(city):
        ran = gc("doctor", "--json")
    assert ran.code == 1
    assert any(str(PID) in what for what in whats(ran, "controller"))


def test_a_stale_socket_is_told(city: Path, gc: Gc) -> None:
    """A socket without a controller: the last one was killed, and nobody sleeps (R36)."""
    (city / ".gc" / "controller.sock").touch(mode=0o600)
    ran = gc("doctor", "--json")
    assert ran.code == 0
    assert whats(ran, "controller") == ["a control socket is there, but no controller is"]


def test_doubt_about_the_runtime_is_told_once(controller: Any, gc: Gc) -> None:
    """A lost tmux server is named with its remedy, however many sessions it hides (R10)."""
    remedy = "tmux server 7 still runs but its socket is gone; `kill -USR1 7` makes it again"
    unseen = {"blocker_details": [{"name": "runtime_unknown", "detail": remedy}]}
    sessions = [SLEEPER | {"state": "awake"} | unseen, {**SLEEPER, "name": "v"} | unseen]
    controller.gives("status", {"status": {"sessions": sessions, "warnings": []}})
    controller.gives("beads", {"beads": []})
    ran = gc("doctor", "--json")
    assert ran.code == 1
    assert whats(ran, "runtime") == [f"the controller cannot tell what runs: {remedy}"]


def test_foreign_work_is_told(city: Path, gc: Gc) -> None:
    """Work that cannot be read keeps everybody awake; saying that it is ours ends it (R61)."""
    (city / ".beads").mkdir()
    assert whats(gc("doctor", "--json"), "beads")
    with (city / "city.toml").open("a", encoding="utf-8") as file:
        file.write('[beads]\nprovider = "gascity"\n')
    assert whats(gc("doctor", "--json"), "beads") == []


SLEEPER = {
    "name": "w",
    "id": "gc-1",
    "template": "w",
    "state": "asleep",
    "wake_sources": ["operator", "work"],
}


@pytest.mark.parametrize(
    ("session", "beads", "told"),
    [
        (SLEEPER, [], True),
        (SLEEPER, [{"assignee": "w", "metadata": {}}], False),
        (SLEEPER, [{"assignee": "", "metadata": {"gc.routed_to": "w"}}], False),
        (SLEEPER, [{"assignee": "other", "metadata": {}}], True),
        (SLEEPER | {"wake_sources": ["attach", "operator", "work"]}, [], False),
        (SLEEPER | {"wake_sources": ["operator", "wait"]}, [], False),
        (SLEEPER | {"state": "awake"}, [], False),
    ],
    ids=["never", "assigned", "routed", "another's", "attachable", "waiting", "awake"],
)
def test_a_sleeper_nobody_can_wake_is_told(
    session: dict[str, Any], beads: list[Any], told: bool, controller: Any, gc: Gc
) -> None:
    """No wait, no dependent, no route and no work ever: shown as such (R46, R78)."""
    controller.gives("status", {"status": {"sessions": [session], "warnings": []}})
    controller.gives("beads", {"beads": beads})
    assert bool(whats(gc("doctor", "--json"), "sleepers")) is told


def test_a_check_that_cannot_look_is_a_finding(tmp_path: Path) -> None:
    """A path that may not be read is reported, not raised."""

    def check(_: Path) -> list[Any]:
        raise PermissionError(13, "Permission denied", "x")

    [finding] = attempt("files", check, tmp_path)
    assert finding.severity == ERROR
    assert "Permission denied" in finding.what


def test_an_old_tmux_is_wrong(
    city: Path, gc: Gc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """tmux before 3.2 is refused with the version found (R67)."""
    tool = tmp_path / "bin" / "tmux"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho tmux 3.1c\n", encoding="utf-8")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    ran = gc("doctor", "--json")
    assert any("3.1c" in what for what in whats(ran, "tmux"))
