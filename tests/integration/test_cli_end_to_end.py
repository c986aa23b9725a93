"""The command line over the real controller and real tmux: what a person does in the first hour."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from gascity.api import client
from gascity.config.load import load_city
from gascity.runtimes.tmux import default_socket
from tests.control_stand_in import a_city
from tests.polling import wait_until
from tests.terminal import Terminal, environment, gc

pytestmark = [
    pytest.mark.tmux,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux"),
]

AGENT: Final = """\
echo "this is $GC_SESSION_NAME"
while printf '> ' && read -r line; do echo "you said: $line"; done
"""
CITY: Final = """\
[workspace]
name = "demo"
[daemon]
patrol_interval = "1s"
[session_sleep]
interactive_resume = "1s"
[[agent]]
name = "mayor"
start_command = "sh ./agent.sh"
ready_prompt_prefix = "> "
"""
FRESH: Final = """\
[[agent]]
name = "poet"
start_command = "sh ./agent.sh"
ready_prompt_prefix = "> "
wake_mode = "fresh"
sleep_after_idle = "1s"
"""
CONSEQUENCE: Final = "will start a new session and discard prior interactive context"
WARM: Final = ["--for", "1h"]


@dataclass
class Ran:
    """How one `gc` command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, read as JSON."""
        return json.loads(self.out)


@dataclass
class Demo:
    """A city on disk and the commands a person gives in it."""

    city: Path
    socket: Path
    terminals: list[Terminal] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        """What commands run with: a tmux server in the city's own folder."""
        return environment(self.city, TMUX_TMPDIR=str(self.socket.parent.parent), USER="operator")

    def gc(self, *words: str) -> Ran:
        """Run `gc WORDS` without a terminal."""
        done = subprocess.run(
            gc(*words),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def terminal(self, *words: str) -> Terminal:
        """Run `gc WORDS` on a terminal."""
        one = Terminal(gc(*words), self.environment)
        self.terminals.append(one)
        return one

    def session(self, name: str = "mayor") -> dict[str, Any]:
        """Its entry in the status, asked for without a process; empty while there is none."""
        entries = client.call(str(self.city), "status")["status"]["sessions"]
        found: dict[str, Any] = next((one for one in entries if one["name"] == name), {})
        return found

    def start(self) -> Ran:
        """`gc start`, which must succeed."""
        ran = self.gc("start")
        assert ran.code == 0, ran.err
        return ran

    def tell(self) -> str:
        """What the controller knows, for whoever reads a failed test."""
        log = (self.city / ".gc" / "controller.log").read_text(encoding="utf-8")
        return "\n".join(
            [self.gc("why", "mayor").out, self.gc("events").out, log, f"hosted: {self.hosted()}"]
        )

    def wait_for(self, state: str, name: str = "mayor") -> dict[str, Any]:
        """Its entry once it is in this state."""

        def there() -> dict[str, Any]:
            entry = self.session(name)
            return entry if entry.get("state") == state else {}

        return self._wait(there, f"{name} {state}")

    def wait_cold(self, name: str = "mayor") -> dict[str, Any]:
        """Its entry once it went to sleep for idleness."""

        def cold() -> dict[str, Any]:
            entry = self.session(name)
            return entry if entry.get("sleep_reason") == "idle" else {}

        return self._wait(cold, f"{name} idle-asleep")

    def _wait(self, there: Callable[[], dict[str, Any]], what: str) -> dict[str, Any]:
        try:
            return wait_until(there, timeout_s=25, what=what)
        except AssertionError as late:
            raise AssertionError(f"{late}\n{self.tell()}") from None

    def hosted(self) -> list[str]:
        """The sessions that run in tmux."""
        done = subprocess.run(
            ["tmux", "-S", str(self.socket), "list-sessions", "-F", "#{session_name}"],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
        return done.stdout.split()

    def pid(self) -> int:
        """The controller's pid, from its lock; 0 without one."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            text = (self.city / ".gc" / "controller.lock").read_text(encoding="utf-8")
            return int(text.split()[0])
        return 0

    def end(self) -> None:
        """End what was started: terminals, the controller by its pid, tmux by its socket."""
        for one in self.terminals:
            one.hang_up()
        if pid := self.pid():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        subprocess.run(
            ["tmux", "-S", str(self.socket), "kill-server"],
            capture_output=True,
            timeout=10,
            check=False,
        )


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> Iterator[Demo]:
    """A city with one interactive agent that may sleep after a second."""
    with a_city() as city:
        (city / "city.toml").write_text(CITY, encoding="utf-8")
        (city / "agent.sh").write_text(AGENT, encoding="utf-8")
        folder = city / ".gc" / "tmux"
        folder.mkdir()
        loaded = load_city(city).city
        assert loaded is not None
        one = Demo(city, folder / f"tmux-{os.getuid()}" / default_socket(loaded.name, city))
        try:
            yield one
        finally:
            one.end()


def test_the_first_hour(demo: Demo) -> None:
    """Start, see it fall asleep, wake it, hold it, stop: each line as the design shows it.

    STAT-01, STAT-06, STAT-11, ATT-25, R25, R64.
    """
    started = demo.start()
    assert f"pid {demo.pid()}" in started.out
    demo.wait_cold()
    line = demo.gc("status").out
    assert line == (
        "mayor     asleep   reason=idle sleep=1s(source=workspace_default suppressed=yes)\n"
    )
    assert demo.hosted() == []
    assert "asleep (idle)" in demo.gc("why", "mayor").out

    woken = demo.gc("wake", "mayor", "--json")
    assert (woken.code, woken.json["outcome"]) == (0, "woke")
    assert demo.gc("pin", "mayor", *WARM).code == 0
    assert demo.hosted() == ["mayor"]
    wait_until(lambda: demo.session()["blockers"] == ["pin"], timeout_s=20)
    assert demo.gc("wake", "mayor").out.startswith("mayor: already awake")
    assert "blockers=pin" in demo.gc("status").out

    refused = demo.gc("sleep", "mayor")
    assert refused.code == 3
    assert "pin" in refused.err
    demo.gc("unpin", "mayor")
    demo.wait_cold()

    stopped = demo.gc("stop")
    assert stopped.code == 0
    assert demo.pid() == 0
    assert "no controller" in demo.gc("status").err
    types = [json.loads(one)["type"] for one in demo.gc("events", "--json").out.splitlines()]
    story = ["controller.started", "session.created", "session.draining", "session.stopped"]
    assert [one for one in types if one in story][:4] == story


@pytest.mark.slow
def test_attach_wakes_and_goes_in(demo: Demo) -> None:
    """Attach to a sleeper: the exact line, the terminal, the blocker, and sleep after leaving.

    ATT-08, ATT-13, ATT-25, STAT-03, STAT-05.
    """
    demo.start()
    demo.wait_cold()
    terminal = demo.terminal("attach", "mayor")
    terminal.wait_for("waking mayor... (timeout 60s)")
    terminal.wait_for("this is mayor")
    wait_until(lambda: "attached" in demo.session()["blockers"], timeout_s=20)
    line = demo.gc("status").out
    assert line == (
        "mayor     awake    sleep=1s(source=workspace_default capability=full blockers=attached)\n"
    )
    assert "attached" in demo.gc("why", "mayor").out
    assert terminal.detach() == 0
    demo.wait_cold()


@pytest.mark.slow
def test_a_fresh_session_is_confirmed_first(demo: Demo) -> None:
    """Nobody to ask: exit 3 and no wake. A person who agrees gets in (ATT-17, ATT-18, ATT-20)."""
    with (demo.city / "city.toml").open("a", encoding="utf-8") as file:
        file.write(FRESH)
    demo.start()
    demo.wait_cold("poet")
    asked = demo.gc("attach", "poet")
    assert asked.code == 3
    assert CONSEQUENCE in asked.out
    assert demo.session("poet")["state"] == "asleep"
    assert "poet" not in demo.hosted()

    terminal = demo.terminal("attach", "poet")
    terminal.wait_for("[y/N]")
    assert "poet" not in demo.hosted()
    terminal.type("y\n")
    terminal.wait_for("this is poet")
    assert terminal.detach() == 0


@pytest.mark.slow
def test_a_suspended_session_is_not_woken(demo: Demo) -> None:
    """Wake and attach are refused with the command that lifts it; nothing starts (R26, ATT-24)."""
    demo.start()
    demo.wait_cold()
    assert demo.gc("suspend", "mayor").code == 0
    demo.wait_for("suspended")
    for command in ("wake", "attach"):
        ran = demo.gc(command, "mayor")
        assert ran.code == 3
        assert "gc resume mayor" in ran.err
    assert demo.hosted() == []
    assert demo.gc("resume", "mayor").code == 0
    assert demo.gc("wake", "mayor").code == 0


@pytest.mark.slow
def test_work_wakes_and_keeps_awake(demo: Demo) -> None:
    """Slung work wakes the sleeper and blocks its sleep until it is closed (STAT-03, R19)."""
    demo.start()
    demo.wait_cold()
    bead = demo.gc("sling", "mayor", "tidy", "up").out.strip()
    wait_until(lambda: "work" in demo.session()["blockers"], timeout_s=20)
    demo.wait_for("awake")
    assert demo.gc("bead", "close", bead).code == 0
    demo.wait_cold()


@pytest.mark.slow
def test_the_controller_may_come_and_go(demo: Demo) -> None:
    """Stopped alone or killed, its sessions go on and the next one adopts them (R36, R37, R65)."""
    demo.start()
    demo.wait_for("awake")
    assert demo.gc("pin", "mayor", *WARM).code == 0
    pid = demo.pid()
    second = demo.gc("start")
    assert second.code == 3
    assert f"pid {pid}" in second.err

    assert demo.gc("stop", "--controller-only").code == 0
    assert demo.hosted() == ["mayor"]
    terminal = demo.terminal("attach", "mayor")
    terminal.wait_for("this is mayor")
    assert terminal.detach() == 0
    assert demo.gc("wake", "mayor").code == 5

    demo.start()
    os.kill(demo.pid(), signal.SIGKILL)
    wait_until(lambda: demo.gc("wake", "mayor").code == 5, timeout_s=10)
    assert demo.gc("status").code == 0
    assert demo.hosted() == ["mayor"]
    demo.start()
    assert demo.wait_for("awake")["since"]
    assert demo.hosted() == ["mayor"]


@pytest.mark.slow
def test_a_watch_shows_the_change(demo: Demo) -> None:
    """`gc status --watch` prints again when a session falls asleep; Ctrl-C ends it with 130."""
    demo.start()
    terminal = demo.terminal("status", "--watch", "--no-color")
    terminal.wait_for("reason=idle", within_s=25)
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130
    assert "Traceback" not in terminal.shown


@pytest.mark.slow
def test_a_draft_keeps_the_session_awake(demo: Demo) -> None:
    """Half a line typed and left is somebody's work; sent, the session may sleep (R15, BLK-07)."""
    demo.start()
    demo.wait_cold()
    terminal = demo.terminal("attach", "mayor")
    terminal.wait_for("this is mayor")
    wait_until(lambda: "attached" in demo.session()["blockers"], timeout_s=20)
    terminal.type("half a line")
    terminal.wait_for("half a line")
    assert terminal.detach() == 0
    wait_until(lambda: demo.session()["blockers"] == ["idle_boundary"], timeout_s=20)
    wait_until(lambda: "idle_boundary (draft)" in demo.gc("why", "mayor").out, timeout_s=20)
    assert demo.hosted() == ["mayor"]
