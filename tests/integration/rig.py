"""A host for sessions under test, and what a test may do to it besides asking the runtime.

`RuntimeRig` is what the contract needs of every runtime. A new runtime joins the contract by
subclassing it and adding one line to `RIGS` in `conftest.py`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import struct
import subprocess
import sys
import termios
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Final

from gascity.model.reading import Known
from gascity.model.world import Sighting
from gascity.runtimes.base import Ability, Runtime, Spec, Watch
from gascity.runtimes.tmux import TmuxRuntime
from tests.polling import eventually, wait_until

CITY: Final = "/cities/contract"
AGENT: Final = f"{sys.executable} -m gascity.testing.agent"
QUESTIONS: Final = ("activity_clock", "idle_boundary", "pending_signal", "attachment_signal")
FEATURES: Final = frozenset({*QUESTIONS, *Ability})
REPOSITORY: Final = Path(__file__).resolve().parents[2]


class RuntimeRig(ABC):
    """One host, empty at first; `runtime` is the adapter under test."""

    runtime: Runtime
    token_number = 0
    lacks: frozenset[str] = frozenset()
    """Of `FEATURES` what the runtime declares not to have; "host": nothing there can hang."""
    conditions = frozenset({"idle", "busy", "permission", "unknown", "draft", "background", "exit"})
    PROMPT = "❯"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tokens: dict[str, str] = {}

    @abstractmethod
    def again(self) -> Runtime:
        """Another adapter over the same host, as after a restart of the controller."""

    @abstractmethod
    async def put(self, name: str, condition: str) -> None:
        """Bring a session's agent to: idle, busy, permission, unknown, draft, background, exit."""

    @abstractmethod
    def attached(self, name: str) -> contextlib.AbstractContextManager[None]:
        """While inside, one more person is attached."""

    @abstractmethod
    def hung(self) -> contextlib.AbstractContextManager[None]:
        """While inside, the host answers nobody."""

    @abstractmethod
    async def close(self) -> None:
        """End everything this rig started."""

    def spec(self, name: str, **changes: object) -> Spec:
        """A session with the stand-in agent and a token of its own."""
        RuntimeRig.token_number += 1
        token = f"token{os.getpid()}x{RuntimeRig.token_number}"
        env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(REPOSITORY),
            "LC_ALL": "C.UTF-8",
            "GC_INSTANCE_TOKEN": token,
        }
        given = changes.pop("env", {})
        assert isinstance(given, Mapping)
        fields: dict[str, object] = {
            "name": name,
            "session_id": f"id-{name}",
            "token": token,
            "city": CITY,
            "command": f"exec {AGENT}",
            "work_dir": str(self.folder),
            "env": {**env, **given},
        }
        return Spec(**{**fields, **changes})  # type: ignore[arg-type]

    async def start(self, name: str, **changes: object) -> str:
        """Start a stand-in, wait until it is ready, return its token."""
        spec = self.spec(name, **changes)
        await self.runtime.start(spec)
        self.tokens[name] = spec.token
        await self.until(name, lambda seen: seen.ready)
        return spec.token

    async def see(self, name: str, **changes: object) -> Sighting:
        """One look at one session, its screen included."""
        watch = Watch(**{"name": name, "screen": True, **changes})  # type: ignore[arg-type]
        return (await self.runtime.list([watch])).sightings[name]

    async def until(self, name: str, holds: object, timeout_s: float = 10.0) -> Sighting:
        """The first sighting for which `holds` is true."""
        assert callable(holds)

        async def look() -> Sighting | None:
            seen = await self.see(name)
            return seen if holds(seen) else None

        found = await eventually(look, timeout_s, what=f"{name} in the wanted state")
        assert found is not None
        return found


class TmuxRig(RuntimeRig):
    """Real tmux on a socket in the test's folder."""

    lacks = frozenset({Ability.RESPOND})

    KEYS: Final = {
        "busy": ("work 600", "Enter"),
        "permission": ("permission", "Enter"),
        "unknown": ("unknown", "Enter"),
        "draft": ("half a thou",),
        "background": ("background 600", "Enter"),
        "exit": ("exit 7", "Enter"),
    }

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.socket = folder / "tmux.sock"
        self.started: list[TmuxRuntime] = []
        self.runtime: TmuxRuntime = self.again()

    def again(self, **changes: object) -> TmuxRuntime:
        fields: dict[str, object] = {
            "city": CITY,
            "deadline_s": 2.0,
            "helper_s": 0.05,
            "scratch": self.folder,
        }
        runtime = TmuxRuntime(str(self.socket), **{**fields, **changes})  # type: ignore[arg-type]
        self.started.append(runtime)
        return runtime

    def tmux(self, *args: str) -> str:
        """What plain tmux says, asked beside the adapter."""
        done = subprocess.run(
            ["tmux", "-u", "-f", os.devnull, "-S", str(self.socket), *args],
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
        return done.stdout.strip()

    def pid(self, name: str) -> int:
        """The agent's process."""
        return int(self.tmux("display-message", "-p", "-t", f"={name}:", "#{pane_pid}"))

    @property
    def server_pid(self) -> int:
        """The server's process, while it runs."""
        assert self.runtime.server is not None
        return self.runtime.server.pid

    def type(self, name: str, *keys: str) -> None:
        """Press keys as a person would, beside the adapter."""
        self.tmux("send-keys", "-t", f"={name}:", *keys)

    def screen(self, name: str) -> str:
        """What the session shows."""
        return self.tmux("capture-pane", "-p", "-t", f"={name}:")

    def shows(self, name: str, text: str) -> None:
        """Wait until the session shows `text`."""
        wait_until(lambda: text in self.screen(name), what=f"{text!r} on {name}")

    async def put(self, name: str, condition: str) -> None:
        if condition != "idle":
            self.type(name, *self.KEYS[condition])
        marks = {
            "busy": "esc to interrupt",
            "permission": "Do you want to proceed?",
            "unknown": "[ Inbox ]",
            "draft": "half a thou",
            "background": "in the background",
        }
        if condition in marks:
            self.shows(name, marks[condition])

    @contextlib.contextmanager
    def attached(self, name: str, *flags: str) -> Iterator[None]:
        argv = self.runtime.attach_command(name)
        before = len(self.tmux("list-clients").splitlines())
        with terminal([*argv[:-3], *flags, *argv[-3:]]):
            wait_until(lambda: len(self.tmux("list-clients").splitlines()) > before)
            yield
        wait_until(lambda: len(self.tmux("list-clients").splitlines()) <= before)

    @contextlib.contextmanager
    def hung(self) -> Iterator[None]:
        pid = self.server_pid
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    async def close(self) -> None:
        """End the servers that were started here, known by pid and start time."""
        for name, token in self.tokens.items():
            with contextlib.suppress(Exception):
                await self.runtime.stop(name, token=token, grace_s=0.0)
        for runtime in self.started:
            if runtime.server is not None and runtime.server.is_alive:
                os.kill(runtime.server.pid, signal.SIGKILL)
            await runtime.close()


@contextlib.contextmanager
def terminal(argv: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A program in a terminal of its own, ended afterwards."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    env = {key: value for key, value in os.environ.items() if not key.startswith("TMUX")}
    client = subprocess.Popen(
        argv,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        env={**env, "TERM": "xterm", "LC_ALL": "C.UTF-8"},
    )
    os.close(slave)
    reader = threading.Thread(target=_drain, args=(master,), daemon=True)
    reader.start()
    try:
        yield client
    finally:
        client.terminate()
        client.wait(timeout=10)
        reader.join(timeout=10)
        os.close(master)


def _drain(master: int) -> None:
    with contextlib.suppress(OSError):
        while os.read(master, 65536):
            pass


def attached_to(seen: Sighting) -> int | None:
    """How many people are attached, None when nobody knows."""
    return seen.attached.value if isinstance(seen.attached, Known) else None


@contextlib.asynccontextmanager
async def opened(rig: RuntimeRig) -> AsyncIterator[RuntimeRig]:
    """The rig, closed afterwards whatever happens."""
    try:
        yield rig
    finally:
        await rig.close()
