"""A throw-away city on a real tmux, for the demo and the examples: run, watch, wait, tear down.

A stage is a temporary folder with a `city.toml`, a tmux server of its own inside it, and the `gc`
of this interpreter. It prints what happens as it happens. Nothing is waited for by the clock: each
expectation is asked for again until it holds or its deadline passes, which raises `Unmet`.

Source: surface "Stand-in agents"
"""

from __future__ import annotations

import contextlib
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from gascity.api import client
from gascity.api.holder import holder_of
from gascity.config.load import load_city
from gascity.runtimes.processes import descendants, read, table
from gascity.runtimes.tmux import default_socket

T = TypeVar("T")
WITHIN_S: Final = 20.0
COMMAND_S: Final = 60.0
EVERY_S: Final = 0.05
# What belongs to the caller's own city, tmux or stand-ins must not leak in.
NOT_OURS: Final = ("GC_", "TMUX", "STANDIN_", "NO_COLOR")


class Unmet(Exception):
    """Something did not come true: what was expected, and what was seen instead."""


class Stage:
    """One city on stage. `with Stage(text) as city:` makes it and leaves nothing behind."""

    def __init__(self, config: str, *, keeps_quiet: bool = False) -> None:
        self.began = time.monotonic()
        self.keeps_quiet = keeps_quiet
        self.seen_seq = 0
        self.started: set[int] = set()  # every process that a session was seen with
        # Short, because a socket's path has to fit; real, because the socket's name hangs on it.
        self.root = Path(tempfile.mkdtemp(prefix="gcdemo-")).resolve()
        self.folder = self.root / "demo"
        self.folder.mkdir()
        (self.folder / "city.toml").write_text(config, encoding="utf-8")
        city = load_city(self.folder, check_owner=False).city
        if city is None:
            shutil.rmtree(self.root)
            raise Unmet("the city's configuration has errors")
        name = default_socket(city.name, self.folder)
        self.socket = self.root / f"tmux-{os.getuid()}" / name

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_: object) -> None:
        self.tear_down()

    # -- Saying

    def chapter(self, title: str) -> None:
        """A heading."""
        self._print(f"\n── {title}")

    def say(self, text: str, sign: str = " ") -> None:
        """A line with the seconds since the beginning."""
        self._print(f"{time.monotonic() - self.began:6.1f}s {sign} {text}")

    def _print(self, line: str) -> None:
        if not self.keeps_quiet:
            print(line, flush=True)

    def tell_events(self) -> None:
        """Print the events since the last call; those about bookkeeping are passed over."""
        with contextlib.suppress(client.ControlError):
            for reply in client.stream(str(self.folder), "events", after=self.seen_seq):
                event = reply.get("event")
                if not event:
                    continue
                self.seen_seq = event["seq"]
                if event["type"] not in {"session.updated", "session.sleep_policy_resolved"}:
                    who = event["subject"] or "controller"
                    self.say(f"{event['type']:<28} {who:<10} {event['message']}", "·")

    # -- Doing

    @property
    def environment(self) -> dict[str, str]:
        """What commands run with: this city, and a tmux server within the stage's own folder."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith(NOT_OURS)}
        programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        return kept | {
            "GC_CITY": str(self.folder),
            "TMUX_TMPDIR": str(self.root),
            "PATH": programs,
            "TERM": "xterm-256color",
        }

    def gc(self, *words: str, exits: int = 0, shows: bool = True) -> str:
        """Run `gc WORDS` as a person would, show both, and return what it printed.

        Raises:
            Unmet: it ended with another exit code, or not at all.
        """
        if shows:
            self.say(" ".join(["gc", *(f'"{one}"' if " " in one else one for one in words)]), "$")
        try:
            done = subprocess.run(
                [sys.executable, "-m", "gascity", *words],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=COMMAND_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise Unmet(f"`gc {' '.join(words)}` to end within {COMMAND_S:g} s") from None
        if done.returncode != exits:
            raise Unmet(
                f"`gc {' '.join(words)}` to end with {exits}; it ended with {done.returncode}: "
                f"{done.stderr.strip() or done.stdout.strip()}"
            )
        if shows:
            for line in (done.stderr + done.stdout).splitlines():
                self._print(f"            {line}")
            self.tell_events()
        return done.stdout

    @contextlib.contextmanager
    def attached(self, session: str) -> Iterator[Callable[[str], None]]:
        """`gc attach SESSION` on a terminal of its own; the value types keys into it."""
        self.say(f"gc attach {session}      (in another terminal)", "$")
        ours, theirs = pty.openpty()
        client_process = subprocess.Popen(
            [sys.executable, "-m", "gascity", "attach", session],
            env=self.environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)

        def press(keys: str) -> None:
            while select.select([ours], [], [], 0)[0] and os.read(ours, 65536):
                pass  # what it drew is of no interest, but must be taken
            os.write(ours, keys.encode())

        try:
            self.wait(
                f"`gc attach {session}` to show the session",
                lambda: "attached" in self.session(session).get("hard_wakes", ()),
            )
            yield press
        finally:
            with contextlib.suppress(OSError):
                press("\x02d")  # Ctrl-b d
            with contextlib.suppress(subprocess.TimeoutExpired):
                client_process.wait(5)
            if client_process.poll() is None:
                client_process.kill()
                client_process.wait()
            os.close(ours)

    # -- Looking

    def wait(self, what: str, is_true: Callable[[], T], *, within_s: float = WITHIN_S) -> T:
        """The first true answer; events are told meanwhile.

        Raises:
            Unmet: there was none within `within_s` seconds.
        """
        deadline = time.monotonic() + within_s
        while not (answer := is_true()):
            self.tell_events()
            if time.monotonic() > deadline:
                raise Unmet(f"{what}, within {within_s:g} s; seen instead:\n{self._last_look()}")
            time.sleep(EVERY_S)
        self.tell_events()
        return answer

    def _last_look(self) -> str:
        with contextlib.suppress(Unmet):
            return self.gc("status", shows=False)
        return "no answer from `gc status`"

    def happened(self, type: str, after: int) -> bool:
        """Whether an event of this type came after that sequence number."""
        self.tell_events()
        with contextlib.suppress(client.ControlError):
            found = client.stream(str(self.folder), "events", after=after, types=[type])
            return any("event" in reply for reply in found)
        return False

    def status(self) -> Mapping[str, Any]:
        """The object of `gc status --json`; empty while no controller answers."""
        with contextlib.suppress(client.ControlError):
            found: Mapping[str, Any] = client.call(str(self.folder), "status")["status"]
            return found
        return {}

    def session(self, name: str) -> Mapping[str, Any]:
        """The session's entry in it; empty while there is none."""
        entries = self.status().get("sessions", ())
        found: Mapping[str, Any] = next((one for one in entries if one["name"] == name), {})
        self.started |= self.tree(name) if found.get("state") == "awake" else set()
        return found

    def is_cold(self, name: str) -> bool:
        """Whether it is asleep because it was idle."""
        entry = self.session(name)
        return entry.get("state") == "asleep" and entry["sleep_reason"] == "idle"

    def is_awake(self, name: str) -> bool:
        """Whether it runs, is ready, and is not on its way down."""
        return bool(self.session(name).get("state") == "awake")

    def patrols(self) -> int:
        """How many patrols this controller has made."""
        count: int = self.status().get("controller", {}).get("patrols", 0)
        return count

    def tree(self, name: str) -> set[int]:
        """The process of the session's pane and all below it; empty when there is none."""
        shown = self.tmux("list-panes", "-a", "-F", "#{session_name} #{pane_pid}")
        rows = [line.split() for line in shown.splitlines()]
        roots = {int(row[1]) for row in rows if row[0] == name}
        return roots | set(descendants(roots, table()))

    def tmux(self, *words: str) -> str:
        """What the city's tmux server answers; empty when there is none."""
        done = subprocess.run(
            ["tmux", "-S", str(self.socket), *words],
            capture_output=True,
            text=True,
            timeout=COMMAND_S,
            check=False,
        )
        return done.stdout

    def controller_pid(self) -> int:
        """The pid of the controller; 0 for none."""
        holder = holder_of(str(self.folder))
        return holder[0] if holder else 0

    # -- Ending

    def tear_down(self) -> None:
        """End the controller and the tmux server, remove the folder; whatever state they are in."""
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            if self.controller_pid():
                with contextlib.suppress(Unmet):
                    self.gc("stop", shows=False)
            if pid := self.controller_pid():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.tmux("kill-server")
            shutil.rmtree(self.root, ignore_errors=True)
        finally:
            signal.signal(signal.SIGINT, before)


def is_alive(pid: int) -> bool:
    """Whether a process with this pid runs; one that only waits to be reaped does not."""
    if (process := read(pid)) is not None:
        return not process.is_over
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
