"""A city on disk, and a stand-in for its controller that answers from a script."""

from __future__ import annotations

import contextlib
import fcntl
import json
import socket
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Reply = dict[str, Any]
PID = 4242  # what its lock file says


@dataclass
class StandIn:
    """A controller of one city that gives prepared replies; `asked` is what it was asked.

    `replies[op]` holds one answer for each request, an answer being the objects of one stream. The
    last answer serves every later request too. An op without one is refused.
    """

    city: Path
    linger: bool = False  # keep a connection open that got a stream without an end
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
                connection.settimeout(20)
                with connection.makefile("rb") as lines:
                    request = json.loads(lines.readline())
                    self.asked.append(request)
                    last: Reply = {}
                    for last in self._next(request["op"]):
                        connection.sendall(json.dumps(last).encode() + b"\n")
                    if self.linger and not last.get("end", True):
                        lines.read()  # until the client leaves

    def _next(self, op: str) -> list[Reply]:
        answers = self.replies.get(op)
        if not answers:
            return [{"v": 1, "ok": False, "exit": 3, "what": f"no {op} here", "do": "nothing"}]
        return answers.pop(0) if len(answers) > 1 else answers[0]


@contextlib.contextmanager
def a_city() -> Iterator[Path]:
    """A city called `demo` with one agent; its path is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="gc-") as folder:
        path = Path(folder).resolve()
        (path / ".gc").mkdir(mode=0o700)
        (path / "city.toml").write_text(
            '[workspace]\nname = "demo"\n\n[[agent]]\nname = "mayor"\nstart_command = "sh"\n',
            encoding="utf-8",
        )
        yield path


@contextlib.contextmanager
def hung(city: Path) -> Iterator[socket.socket]:
    """A controller that holds the lock and takes connections, and never says a word."""
    with (
        (city / ".gc" / "controller.lock").open("w", encoding="utf-8") as lock,
        socket.socket(socket.AF_UNIX) as server,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(f"{PID} controller\n")
        lock.flush()
        server.bind(str(city / ".gc" / "controller.sock"))
        server.listen()
        yield server


@contextlib.contextmanager
def controlled(city: Path, *, linger: bool = False) -> Iterator[StandIn]:
    """A stand-in that holds the city's lock and serves its socket."""
    stand_in = StandIn(city, linger)
    with hung(city) as server:
        thread = threading.Thread(target=stand_in.serve, args=(server,), daemon=True)
        thread.start()
        yield stand_in
        server.shutdown(socket.SHUT_RDWR)
        thread.join(timeout=5)
