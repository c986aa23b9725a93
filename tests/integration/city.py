"""A real city for tests: its controller as a process, real tmux, stand-in agents, typed questions.

Questions go over the control socket, so that asking often is cheap; commands run as `gc` does for a
person. Only what a city started is ended: its controller by pid, its tmux server by socket, what
carries its mark by pid.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pytest

from gascity.api import client
from gascity.api.holder import holder_of
from gascity.config.load import load_city
from gascity.runtimes.tmux import default_socket
from tests.polling import wait_until
from tests.terminal import Terminal, environment, gc

needs_tmux = [
    pytest.mark.tmux,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux"),
]
PATROL_S: Final = 1.0
SLACK_S: Final = 6.0  # what a loaded machine may add to any bound
Entry = dict[str, Any]


def standin(*options: str) -> str:
    """The command of a stand-in agent, as `start_command` takes it."""
    return shlex.join([sys.executable, "-m", "gascity.testing.agent", *options])


def agent(name: str, *options: str, **keys: object) -> str:
    """The `[[agent]]` table of a stand-in with these options; further keys as TOML values."""
    given: dict[str, object] = {"start_command": standin(*options), **keys}
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in given.items()]
    return "\n".join(["[[agent]]", f'name = "{name}"', *lines, ""])


def city_toml(
    *tables: str, patrol: str = "1s", sleep: Mapping[str, str] | None = None, daemon: str = ""
) -> str:
    """A `city.toml`: name, patrol interval, windows by class, then the tables."""
    windows = "".join(f'{kind} = "{value}"\n' for kind, value in (sleep or {}).items())
    head = f'[workspace]\nname = "t"\n[daemon]\npatrol_interval = "{patrol}"\n{daemon}\n'
    return "\n".join([head, f"[session_sleep]\n{windows}" if windows else "", *tables])


@dataclass(frozen=True)
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
class RealCity:
    """A city on disk with the controller and the tmux server that belong to it."""

    path: Path
    hosts: Path
    variables: dict[str, str] = field(default_factory=dict)
    started: list[int] = field(default_factory=list)

    @property
    def socket(self) -> Path:
        """The socket of the city's own tmux server."""
        loaded = load_city(self.path).city
        name = loaded.name if loaded is not None else "t"
        return self.hosts / f"tmux-{os.getuid()}" / default_socket(name, self.path)

    @property
    def environment(self) -> dict[str, str]:
        """What its commands run with."""
        return environment(
            self.path, TMUX_TMPDIR=str(self.hosts), USER="operator", **self.variables
        )

    def configure(self, toml: str) -> None:
        """Write `city.toml`, as an editor does that replaces the file."""
        new = self.path / "city.toml.new"
        new.write_text(toml, encoding="utf-8")
        new.replace(self.path / "city.toml")

    # --- commands

    def gc(self, *words: str, within_s: float = 50.0) -> Ran:
        """Run `gc WORDS` without a terminal."""
        done = subprocess.run(
            gc(*words),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=within_s,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def terminal(self, *words: str) -> Terminal:
        """Run `gc WORDS` on a terminal of its own."""
        return Terminal(gc(*words), self.environment)

    def start(self) -> int:
        """Start the controller as `gc start` does; its pid."""
        ran = self.gc("start")
        assert ran.code == 0, ran.err
        self.started.append(self.pid())
        return self.started[-1]

    def pid(self) -> int:
        """The pid of the running controller; 0 without one."""
        holder = holder_of(str(self.path))
        return holder[0] if holder is not None else 0

    def kill9(self) -> None:
        """Kill the controller as a power cut would, and wait until it is gone."""
        pid = self.pid()
        assert pid in self.started, "only what this test started"
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: self.pid() != pid, what="the killed controller let go of the city")

    def restart(self) -> None:
        """Kill the controller and start another."""
        self.kill9()
        self.start()

    # --- questions

    def ask(self, op: str, **fields: object) -> Entry:
        """One request to the controller."""
        return client.call(str(self.path), op, **fields)

    def status(self) -> Entry:
        """The object of `gc status --json`, from the controller."""
        found: Entry = self.ask("status")["status"]
        return found

    def sessions(self) -> dict[str, Entry]:
        """{name: its entry in the status}."""
        return {one["name"]: one for one in self.status()["sessions"]}

    def session(self, name: str) -> Entry:
        """One entry of the status; empty while there is none."""
        return self.sessions().get(name, {})

    def why(self, name: str) -> Entry:
        """The object of `gc why NAME --json`."""
        found: Entry = self.gc("why", name, "--json").json
        return found

    def events(self, *types: str, session: str = "", after: int = 0) -> list[Entry]:
        """Stored events, oldest first, of these types and about this session."""
        stream = client.stream(
            str(self.path), "events", types=list(types), session=session or None, after=after
        )
        return [one["event"] for one in stream if "event" in one]

    def seq(self) -> int:
        """The number of the last event."""
        found: int = list(client.stream(str(self.path), "events", after=1 << 40))[-1]["last_seq"]
        return found

    # --- waiting

    def wait(
        self, name: str, holds: Callable[[Entry], object], *, within_s: float = 20.0, what: str = ""
    ) -> Entry:
        """The entry of a session once something holds of it."""

        def there() -> Entry:
            entry = self.session(name)
            return entry if entry and holds(entry) else {}

        try:
            return wait_until(there, timeout_s=within_s)
        except AssertionError:
            raise AssertionError(f"{name} not {what} in {within_s} s: {self.told(name)}") from None

    def told(self, name: str) -> str:
        """What the city says of a session, for messages of failed tests."""
        events = [
            "{ts} {seq} {subject} {type}: {message}".format_map({**one, "ts": one["ts"][17:23]})
            for one in self.events()
        ]
        return json.dumps(self.session(name), indent=1) + "\n" + "\n".join(events[-45:])

    def wait_state(self, name: str, state: str, *, within_s: float = 20.0) -> Entry:
        """The entry of a session once it is shown in this state."""
        return self.wait(name, lambda one: one["state"] == state, within_s=within_s, what=state)

    def wait_up(self, name: str) -> Entry:
        """The entry of a session once it is awake and was ready."""
        return self.wait(
            name,
            lambda one: one["state"] == "awake" and "starting" not in one["blockers"],
            what="up",
        )

    def wait_cold(self, name: str, *, within_s: float = 20.0) -> Entry:
        """The entry of a session once it sleeps for idleness."""
        return self.wait(
            name,
            lambda one: (one["state"], one["sleep_reason"]) == ("asleep", "idle"),
            within_s=within_s,
            what="asleep (idle)",
        )

    def wait_event(
        self, kind: str, name: str = "", *, after: int = 0, within_s: float = 20.0
    ) -> Entry:
        """The first such event after a number."""
        found = wait_until(
            lambda: self.events(kind, session=name, after=after),
            timeout_s=within_s,
            what=f"{kind} of {name or 'anybody'}",
        )
        return found[0]

    def patrol(self, times: int = 1) -> None:
        """Have the controller patrol so many times, as fast as it can."""
        for _ in range(times):
            seen = self.status()["controller"]["patrols"]
            assert client.word(str(self.path), "poke") == "ok"
            deadline = time.monotonic() + 10.0
            while self.status()["controller"]["patrols"] <= seen:
                assert time.monotonic() < deadline, "a poke was not followed by a patrol"
                time.sleep(0.003)  # asking without a pause would keep it from patrolling

    # --- the host

    def tmux(self, *words: str) -> str:
        """Ask the city's tmux server; nothing when it does not answer."""
        done = subprocess.run(
            ["tmux", "-S", str(self.socket), *words],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
        return done.stdout

    def hosted(self) -> list[str]:
        """The sessions that run in tmux."""
        return self.tmux("list-sessions", "-F", "#{session_name}").split()

    def server_pid(self) -> int:
        """The pid of the tmux server; 0 without one."""
        return int(self.tmux("display-message", "-p", "#{pid}").strip() or 0)

    def clients(self) -> list[str]:
        """The session each attached client shows."""
        return self.tmux("list-clients", "-F", "#{session_name}").split()

    def attach_directly(self, name: str, *options: str) -> Terminal:
        """Attach a real client by tmux itself, as a person may."""
        words = ["tmux", "-S", str(self.socket), *options, "attach", "-t", f"={name}"]
        return Terminal(words, self.environment)

    def type(self, name: str, text: str, *, enter: bool = True) -> None:
        """Press keys in a session, as a person at its terminal."""
        self.tmux("send-keys", "-t", f"={name}:", "-l", text)
        if enter:
            self.tmux("send-keys", "-t", f"={name}:", "Enter")

    def screen(self, name: str) -> str:
        """What a session shows."""
        return self.tmux("capture-pane", "-p", "-t", f"={name}:")

    def tree(self, name: str = "") -> dict[int, str]:
        """{pid: command line} of what lives and carries the mark of a session, or of any."""
        found = {}
        for pid, env in marked(self.path).items():
            if not name or env.get("GC_SESSION_NAME") == name:
                with contextlib.suppress(OSError):
                    line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
                    found[pid] = line.decode(errors="replace").strip()
        return found

    def store_files(self) -> dict[str, tuple[int, int]]:
        """{file: (size, time of the last write)} of everything the store writes."""
        names = ("gascity.db", "gascity.db-wal", "events.jsonl")
        stats = {name: self.path / ".gc" / name for name in names}
        return {
            name: (file.stat().st_size, file.stat().st_mtime_ns)
            for name, file in stats.items()
            if file.exists()
        }

    def end(self) -> None:
        """End whatever of it is left."""
        pids = [pid for pid in {*self.started, self.pid()} if pid and _is_controller(pid, self)]
        server = self.server_pid() if self.socket.exists() else 0
        for pid in pids:
            _kill(pid)
        if server:
            _kill(server)
        for pid in marked(self.path):
            _kill(pid)


def marked(city: Path) -> dict[int, dict[str, str]]:
    """{pid: environment} of every live process that carries the mark of a session of the city."""
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            pairs = (folder / "environ").read_bytes().split(b"\0")
            env = dict(one.decode(errors="replace").partition("=")[::2] for one in pairs if one)
            is_ours = env.get("GC_CITY") == str(city) and "GC_INSTANCE_TOKEN" in env
            if is_ours and _state(folder) not in "ZX":
                found[int(folder.name)] = env
    return found


def _state(folder: Path) -> str:
    return (folder / "stat").read_text().rpartition(")")[2].split()[0]


def _is_controller(pid: int, city: RealCity) -> bool:
    with contextlib.suppress(OSError):
        return str(city.path) in Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    return False


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def real_city(toml: str, **variables: str) -> Iterator[RealCity]:
    """A city in a throw-away folder with a short path; not started yet."""
    with tempfile.TemporaryDirectory(prefix="gc-", ignore_cleanup_errors=True) as folder:
        root = Path(folder).resolve()
        for name in ("c", "t", "c/.gc"):
            (root / name).mkdir(mode=0o700)
        city = RealCity(root / "c", root / "t", dict(variables))
        city.configure(toml)
        try:
            yield city
        finally:
            city.end()


@contextlib.contextmanager
def running_city(toml: str, **variables: str) -> Iterator[RealCity]:
    """A city whose controller runs."""
    with real_city(toml, **variables) as city:
        city.start()
        yield city


def seconds_between(earlier: Mapping[str, Any] | str, later: Mapping[str, Any] | str) -> float:
    """Seconds from one event or stored time to another."""
    first, second = (
        datetime.fromisoformat(one if isinstance(one, str) else str(one["ts"]))
        for one in (earlier, later)
    )
    return (second - first).total_seconds()


def types_of(events: Sequence[Entry]) -> list[str]:
    """The types of events, in order."""
    return [str(one["type"]) for one in events]
