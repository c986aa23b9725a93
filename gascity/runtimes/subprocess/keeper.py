"""The keeper of one session: hosts its command, keeps the tail of what it prints and how it ended.

A program of its own, started by its path with nothing but the standard library, so that it stays
small and outlives the controller. One JSON object on stdin says what to do; `up` on stdout says
that the record is written and the command runs. It ignores whatever would end it gently: it ends
when its command has.

Source: DESIGN §8 (R37, R63, R69)
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RECORD = "session.json"
LOG = "log"
OLD_LOG = "log.1"
_PR_SET_CHILD_SUBREAPER = 36
_LOOK_EVERY_S = 0.5


def started(pid: int) -> int:
    """The start time of a process in clock ticks since boot, 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123  pathlib is half our size
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return 0


class Log:
    """The tail of what was printed: at most `limit` bytes here and as many in the one before."""

    def __init__(self, folder: str, limit: int) -> None:
        self._path = f"{folder}/{LOG}"
        self._old = f"{folder}/{OLD_LOG}"
        self._limit = limit
        self._file = self._open()

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        return os.open(self._path, flags, 0o600)

    def write(self, part: bytes) -> None:
        """Add to it. A full disk loses output, never the moment of it, and never blocks."""
        part = part[-self._limit :]
        try:
            if os.fstat(self._file).st_size + len(part) > self._limit:
                os.close(self._file)
                os.replace(self._path, self._old)  # noqa: PTH105
                self._file = self._open()
            os.write(self._file, part)
        except OSError:
            with contextlib.suppress(OSError):
                os.utime(self._path)


def save(folder: str, record: dict[str, Any]) -> None:
    """Write the record whole or not at all."""
    new = f"{folder}/{RECORD}.new"
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(record, file)
    os.replace(new, f"{folder}/{RECORD}")  # noqa: PTH105


def launch(command: str, output: int) -> tuple[int, int]:
    """The command's process, still held back, and the descriptor that lets it go when closed."""
    held, gate = os.pipe()
    pid = os.fork()
    if pid:
        os.close(held)
        return pid, gate
    try:
        os.close(gate)
        os.setpgid(0, 0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        if os.read(held, 1) == b"":
            os._exit(125)  # the keeper died before it could write down who this is
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, signal.SIG_DFL)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores
            signal.signal(number, signal.SIG_DFL)
        os.execv("/bin/sh", ["/bin/sh", "-c", command])
    finally:
        os._exit(126)


def keep(pid: int, output: int, log: Log) -> int:
    """Copy what it prints until it ends; its wait status. What its children print then is lost."""
    ended = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1
    watched = [output, ended] if ended >= 0 else [output]
    while True:
        ready, _, _ = select.select(watched, [], [], None if ended >= 0 else _LOOK_EVERY_S)
        if output in ready:
            part = os.read(output, 65536)
            if part:
                log.write(part)
                continue
            watched.remove(output)  # it closed its output and goes on
        gone, status = os.waitpid(pid, os.WNOHANG)
        if gone:
            return status


def main() -> int:
    """Host one session until it ends."""
    order = json.loads(sys.stdin.buffer.read())
    folder: str = order["folder"]
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, lambda *_: None)
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    output, its_output = os.pipe()
    log = Log(folder, order["limit"])
    pid, gate = launch(order["command"], its_output)
    os.close(its_output)
    record = {
        **order["record"],
        "keeper": [os.getpid(), started(os.getpid())],
        "agent": [pid, started(pid)],
    }
    save(folder, record)
    os.write(gate, b"g")
    os.close(gate)
    os.write(1, b"up\n")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    status = keep(pid, output, log)
    code = os.waitstatus_to_exitcode(status)
    save(folder, {**record, "ended": {"code": code} if code >= 0 else {"signal": -code}})
    return 0


if __name__ == "__main__":
    sys.exit(main())
