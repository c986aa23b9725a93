"""The thin client: find the city, ask its controller one line, read what it answers.

Standard library only, and little of that: every hot command pays for what is imported here. Who
does not answer is told apart: no controller at all, one that hangs, a command that holds the city.

Source: DESIGN §13 "The control socket" (R36, R71); surface "Command line"
"""

# ruff: noqa: PTH109, PTH112, PTH113, PTH118, PTH119, PTH120
# pathlib would cost every command as much as all that is imported here.

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import time

from gascity.api.holder import COMMAND, holder_of
from gascity.api.protocol import (
    EXIT_FAILED,
    EXIT_NO_CONTROLLER,
    EXIT_REFUSED,
    EXIT_USAGE,
    MAX_LINE_BYTES,
    SOCKET_NAME,
    VERSION,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Final

SUN_PATH_MAX: Final = 103  # bytes of a socket path that every system takes (Linux 107, macOS 103)
ANSWER_S: Final = 5.0  # how long a controller in good health may take to say something
SLOW_S: Final = {"kill": 90.0, "nudge": 30.0, "peek": 30.0, "screen": 30.0, "sleep": 30.0}
QUIET: Final = frozenset({"events", "watch"})  # streams that may be silent for as long as they like
STARTING_S: Final = 2.0  # how long a holder of the lock may be without a socket
DEED_STARTING_S: Final = 20.0  # the same for what is to be done: an agent that closes its work
# while the controller comes back must not do that work again
QUESTIONS: Final = frozenset(
    {"status", "watch", "why", "sessions", "events", "pins", "messages", "beads", "bead", "waits"}
)


class ControlError(Exception):
    """What went wrong, what to do, the exit code; `reply` is the controller's object, if any."""

    def __init__(
        self, exit: int, what: str, do: str = "", reply: dict[str, Any] | None = None
    ) -> None:
        super().__init__(f"{what}; {do}" if do else what)
        self.exit = exit
        self.what = what
        self.do = do
        self.reply = reply or {}


def find_city(named: str | None = None) -> str:
    """The real path of the city: `named`, else `$GC_CITY`, else the nearest parent with city.toml.

    Raises:
        ControlError: exit 2, there is no such city.
    """
    for said, how in ((named, "--city"), (os.environ.get("GC_CITY"), "GC_CITY")):
        if said:
            path = os.path.realpath(said)
            if os.path.basename(path) == "city.toml" and os.path.isfile(path):
                path = os.path.dirname(path)
            if os.path.isfile(os.path.join(path, "city.toml")):
                return path
            raise ControlError(
                EXIT_USAGE, f"{how}: no city.toml in {said}", "name the folder of a city"
            )
    folder = here = os.path.realpath(os.getcwd())
    while not os.path.isfile(os.path.join(folder, "city.toml")):
        if folder == (folder := os.path.dirname(folder)):
            raise ControlError(
                EXIT_USAGE,
                f"no city.toml in {here} or above",
                "go to a city, name one with --city, or make one with gc init",
            )
    return folder


def call(city: str, op: str, **fields: object) -> dict[str, Any]:
    """Ask one thing and return the last object of the answer. Fields that are None are left out.

    Raises:
        ControlError: refused, failed, not answered; `exit` says which.
    """
    return list(stream(city, op, **fields))[-1]


def stream(city: str, op: str, **fields: object) -> Iterator[dict[str, Any]]:
    """Ask one thing and yield each object of the answer. Closing the iterator hangs up.

    Raises:
        ControlError: as `call`, at once or after what was yielded so far.
    """
    said = {name: value for name, value in fields.items() if value is not None}
    line = json.dumps({"v": VERSION, "op": op, **said}).encode()
    if len(line) >= MAX_LINE_BYTES:
        raise ControlError(EXIT_USAGE, f"{op}: {len(line)} bytes are too long", "say it in 60 KB")
    first_s = SLOW_S.get(op, ANSWER_S)
    then_s = None if op in QUIET else first_s
    starting_s = STARTING_S if op in QUESTIONS else DEED_STARTING_S
    for answer in _exchange(city, line, first_s=first_s, then_s=then_s, starting_s=starting_s):
        reply = _decoded(answer)
        if reply.get("ok") is not True:
            raise _refusal(reply)
        yield reply
        if reply.get("end", True):
            return
    raise ControlError(
        EXIT_FAILED, "the controller went away before it was done", "look at gc status"
    )


def word(city: str, bare: str) -> str:
    """Send one of the ecosystem's bare words (`ping`, `poke`, `reload`, `stop`); its bare answer.

    Raises:
        ControlError: nobody answers.
    """
    for answer in _exchange(city, bare.encode(), first_s=ANSWER_S, then_s=ANSWER_S):
        return answer.decode("utf-8", "replace").strip()
    raise ControlError(EXIT_FAILED, "the controller went away", "look at gc status")


def _refusal(reply: dict[str, Any]) -> ControlError:
    code = reply.get("exit")
    what = reply.get("what") or "the controller refused without saying why"
    code = code if isinstance(code, int) and code > 0 else EXIT_FAILED
    return ControlError(code, str(what), str(reply.get("do") or ""), reply)


def _decoded(answer: bytes) -> dict[str, Any]:
    try:
        reply = json.loads(answer)
    except ValueError:
        reply = None
    if not isinstance(reply, dict):
        raise ControlError(
            EXIT_FAILED,
            "the controller answered with something else than JSON",
            "use the gc of the version that started it",
        )
    return reply


def _exchange(
    city: str,
    line: bytes,
    *,
    first_s: float,
    then_s: float | None,
    starting_s: float | None = None,
) -> Iterator[bytes]:
    """Send one line; yield the lines that come back until the other side hangs up."""
    with _connected(city, first_s, starting_s or STARTING_S) as connection:
        rest = b""
        try:
            # Who is not let in is told so and hung up on, perhaps before the line went out.
            with contextlib.suppress(ConnectionError):
                connection.sendall(line + b"\n")
            while more := connection.recv(1 << 16):
                *lines, rest = (rest + more).split(b"\n")
                for one in lines:
                    yield one
                    connection.settimeout(then_s)
        except TimeoutError:
            raise _hung(city) from None
        except ConnectionError:
            return


def _connected(city: str, answer_s: float, starting_s: float) -> socket.socket:
    """A connection to the controller of this city, or an error that says who is there instead."""
    began = time.monotonic()
    while True:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(answer_s)
        try:
            connect(connection, city)
            check_peer(connection)
            return connection
        except ControlError:
            connection.close()
            raise
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
            connection.close()
        except TimeoutError:
            connection.close()
            raise _hung(city) from None
        except OSError as problem:
            connection.close()
            raise ControlError(
                EXIT_FAILED, f"the control socket: {problem.strerror}", "run gc doctor"
            ) from None
        holder = holder_of(city)
        patience_s = STARTING_S if holder and holder[1] == COMMAND else starting_s
        if holder is None or time.monotonic() - began >= patience_s:
            raise _unanswered(holder)
        time.sleep(0.02)


def check_peer(connection: socket.socket) -> None:
    """Believe our own controller and root's only: what it names for an attach is run as us (E2)."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return
    facts = connection.getsockopt(socket.SOL_SOCKET, option, 12)  # pid, uid, gid
    uid = int.from_bytes(facts[4:8], sys.byteorder)
    if uid not in (os.geteuid(), 0):
        raise ControlError(
            EXIT_REFUSED,
            f"the controller of this city runs as another user (uid {uid})",
            "run gc as its owner",
        )


def _unanswered(holder: tuple[int, str] | None) -> ControlError:
    if holder is None:
        return ControlError(
            EXIT_NO_CONTROLLER, "no controller is running", "start it with gc start"
        )
    pid, role = holder
    if role == COMMAND:
        return ControlError(
            EXIT_FAILED, f"another gc command (pid {pid}) holds this city", "try again"
        )
    return _hung_error(pid)


def _hung(city: str) -> ControlError:
    holder = holder_of(city)
    return _hung_error(holder[0] if holder else 0)


def _hung_error(pid: int) -> ControlError:
    who = f"controller pid {pid}" if pid else "the controller"
    return ControlError(
        EXIT_FAILED,
        f"{who} does not answer",
        f"read .gc/controller.log; `kill -9 {pid}` ends it, its sessions go on"
        if pid
        else "read .gc/controller.log",
    )


def connect(connection: socket.socket, city: str) -> None:
    """Connect to the socket of this city, however long its path is. Raises OSError.

    A path that does not fit an address is reached through the open folder, never through a
    shorter name elsewhere that somebody could guess.
    """
    folder = os.path.join(city, ".gc")
    path = os.path.join(folder, SOCKET_NAME)
    if len(os.fsencode(path)) <= SUN_PATH_MAX:
        connection.connect(path)
        return
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if os.path.isdir(f"/proc/self/fd/{opened}"):
            connection.connect(f"/proc/self/fd/{opened}/{SOCKET_NAME}")
            return
        here = os.open(".", os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fchdir(opened)
            connection.connect(SOCKET_NAME)
        finally:
            os.fchdir(here)
            os.close(here)
    finally:
        os.close(opened)
