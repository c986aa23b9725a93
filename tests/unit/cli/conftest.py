"""A city with a controller that answers from a script, and a way to run `gc` inside the test."""

from __future__ import annotations

import contextlib
import fcntl
import json
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gascity.cli.main import main

Reply = dict[str, Any]


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
class StandIn:
    """A controller of one city that gives prepared replies; `asked` is what it was asked.

    `replies[op]` is a list of answers, one for each request; an answer is the list of objects of
    one stream. The last answer serves every later request too. An op without one is refused.
    """

    city: Path
    replies: dict[str, list[list[Reply]]] = field(default_factory=dict)
    asked: list[Reply] = field(default_factory=list)

    def gives(self, op: str, *stream: Reply) -> None:
        """The next answer to `op`: these objects, the last one ending the stream."""
        *middle, last = stream
        answer = [{"v": 1, "ok": True, "end": False} | one for one in middle]
        self.replies.setdefault(op, []).append([*answer, {"v": 1, "ok": True, "end": True} | last])

    def refuses(self, op: str, code: int, what: str, do: str = "do this", **fields: Any) -> None:
        """The next answer to `op` is a refusal."""
        self.gives(op, {"ok": False, "exit": code, "what": what, "do": do} | fields)

    def serve(self, server: socket.socket) -> None:
        """Answer until the socket is shut."""
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                connection.settimeout(5)
                request = json.loads(connection.makefile("rb").readline())
                self.asked.append(request)
                for one in self._next(request["op"]):
                    connection.sendall(json.dumps(one).encode() + b"\n")

    def _next(self, op: str) -> list[Reply]:
        answers = self.replies.get(op)
        if not answers:
            return [{"v": 1, "ok": False, "exit": 3, "what": f"no {op} here", "do": "nothing"}]
        return answers.pop(0) if len(answers) > 1 else answers[0]


@pytest.fixture
def city(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A city without a controller; its path is short enough for a socket."""
    for name in ("GC_SESSION_ID", "GC_SESSION_NAME", "TMUX", "TMUX_PANE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("USER", "operator")
    with tempfile.TemporaryDirectory(prefix="gc-") as folder:
        path = Path(folder).resolve()
        (path / ".gc").mkdir(mode=0o700)
        (path / "city.toml").write_text(
            '[workspace]\nname = "demo"\n\n[[agent]]\nname = "mayor"\nstart_command = "sh"\n',
            encoding="utf-8",
        )
        monkeypatch.setenv("GC_CITY", str(path))
        yield path


@pytest.fixture
def controller(city: Path) -> Iterator[StandIn]:
    """A controller that answers from a script and holds the city's lock."""
    stand_in = StandIn(city)
    with contextlib.ExitStack() as stack:
        lock = stack.enter_context((city / ".gc" / "controller.lock").open("w", encoding="utf-8"))
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write("4242 controller\n")
        lock.flush()
        server = stack.enter_context(socket.socket(socket.AF_UNIX))
        server.bind(str(city / ".gc" / "controller.sock"))
        server.listen()
        thread = threading.Thread(target=stand_in.serve, args=(server,), daemon=True)
        thread.start()
        yield stand_in
        server.shutdown(socket.SHUT_RDWR)
        thread.join(timeout=5)


@pytest.fixture
def gc(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run `gc WORDS...` in this process."""

    def run(*words: str) -> Ran:
        capsys.readouterr()
        code = main(list(words))
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return run
