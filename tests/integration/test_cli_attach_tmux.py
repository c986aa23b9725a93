"""`gc attach` and real tmux: without a controller, from inside the city's server, from another."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gascity.beads.record import new_session
from gascity.beads.sqlite import SqliteBeads
from gascity.beads.store import Batch, Update
from gascity.config.load import load_city
from gascity.model.city import Agent
from gascity.model.roster import Place
from gascity.runtimes.base import Spec
from gascity.runtimes.tmux import TmuxRuntime, default_socket
from tests.control_stand_in import a_city, controlled
from tests.polling import wait_until
from tests.terminal import Terminal, environment, gc

pytestmark = [
    pytest.mark.tmux,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux"),
]
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass
class Host:
    """A city with sessions on its own tmux server, which is ended with the test."""

    city: Path
    socket: Path

    @property
    def environment(self) -> dict[str, str]:
        """What commands about it run with."""
        return environment(self.city, TMUX_TMPDIR=str(self.socket.parent.parent))

    def tmux(self, *words: str) -> str:
        """Ask the city's server."""
        done = subprocess.run(
            ["tmux", "-S", str(self.socket), *words],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
        return done.stdout

    def clients(self) -> list[str]:
        """The session each attached client shows."""
        return self.tmux("list-clients", "-F", "#{session_name}").split()

    def attach_argv(self, name: str) -> list[str]:
        """The argv a controller names for attaching."""
        return [*TmuxRuntime(str(self.socket), city=str(self.city)).attach_command(name)]

    def start(self, name: str) -> None:
        """Host a shell as a session, on record as a controller would leave it."""
        beads = SqliteBeads(self.city / ".gc" / "gascity.db")
        try:
            place = Place(name=name, template=name, agent=Agent(identity=name, name=name))
            [bead_id] = beads.apply(Batch(creates=(new_session(place, now=NOW),)), now=NOW).created
            metadata = {"state": "awake", "instance_token": f"token-{name}", "generation": "1"}
            beads.apply(Batch(updates=(Update(id=bead_id, metadata=metadata),)), now=NOW)
        finally:
            beads.close()
        spec = Spec(
            name=name,
            session_id=bead_id,
            token=f"token-{name}",
            city=str(self.city),
            command=f"echo this is {name}; exec sh",
            work_dir=str(self.city),
            env=self.environment | {"PS1": "ready$ ", "GC_CITY": str(self.city)},
        )
        runtime = TmuxRuntime(str(self.socket), city=str(self.city))

        async def started() -> None:
            try:
                await runtime.start(spec)
            finally:
                await runtime.close()

        asyncio.run(started())


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """A city whose tmux server lives in the city's own folder."""
    with a_city() as city:
        loaded = load_city(city).city
        assert loaded is not None
        folder = city / ".gc" / "tmux"
        folder.mkdir()
        monkeypatch.setenv("TMUX_TMPDIR", str(folder))
        one = Host(city, folder / f"tmux-{os.getuid()}" / default_socket(loaded.name, city))
        try:
            yield one
        finally:
            one.tmux("kill-server")


def test_a_running_session_needs_no_controller(host: Host) -> None:
    """Without a controller a running session is attached directly, with a note (R65)."""
    host.start("mayor")
    terminal = Terminal(gc("attach", "mayor"), host.environment)
    terminal.wait_for("this is mayor")
    assert host.clients() == ["mayor"]
    assert terminal.detach() == 0
    assert "no controller is running" in terminal.shown


def test_a_stopped_session_needs_one(host: Host) -> None:
    """Its runtime is gone, so it would have to be woken: exit 5, nothing started (R55, R65)."""
    host.start("mayor")
    host.start("api")
    host.tmux("kill-session", "-t", "=mayor")
    done = subprocess.run(
        gc("attach", "mayor"),
        env=host.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert done.returncode == 5
    assert "mayor does not run" in done.stderr
    assert host.tmux("list-sessions", "-F", "#{session_name}").split() == ["api"]


def test_from_inside_the_city_the_client_moves(host: Host) -> None:
    """From a session of the same server, `gc attach` switches the client instead of nesting."""
    host.start("mayor")
    host.start("api")
    with controlled(host.city) as controller:
        controller.gives("attach", {"ready": True, "argv": host.attach_argv("api")})
        terminal = Terminal(host.attach_argv("mayor"), host.environment)
        terminal.wait_for("this is mayor")
        terminal.type(" ".join(gc("attach", "api")) + "\n")
        assert wait_until(lambda: host.clients() == ["api"], timeout_s=20)
        terminal.hang_up()


def test_from_another_server_it_goes_in_and_says_so(host: Host, tmp_path: Path) -> None:
    """Inside somebody else's tmux it attaches within it, with a note about the keys."""
    host.start("mayor")
    other = ["tmux", "-S", str(tmp_path / "other"), "-f", "/dev/null"]
    with controlled(host.city) as controller:
        controller.gives("attach", {"ready": True, "argv": host.attach_argv("mayor")})
        terminal = Terminal([*other, "new-session", "sh"], host.environment)
        try:
            terminal.type(" ".join(gc("attach", "mayor")) + "\n")
            assert wait_until(lambda: host.clients() == ["mayor"], timeout_s=20)
            terminal.wait_for("this is mayor")
        finally:
            subprocess.run([*other, "kill-server"], capture_output=True, timeout=10, check=False)
            terminal.hang_up()


def test_doctor_names_foreign_sessions(host: Host) -> None:
    """A session on the city's server without its mark is told, and left alone (R37)."""
    host.start("mayor")
    host.tmux("new-session", "-d", "-s", "stranger", "sh")
    done = subprocess.run(
        gc("doctor"),
        env=host.environment,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert "'stranger'" in done.stdout
    assert "'mayor'" not in done.stdout
    assert "stranger" in host.tmux("list-sessions", "-F", "#{session_name}").split()
