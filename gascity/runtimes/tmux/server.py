"""Which tmux server answers, and whether "nobody answers" is certain.

A socket that is missing or refused proves only that nobody listens there. A server that lost its
socket still runs its sessions, so absence is certain only when the server process last seen is gone
too.

Source: DESIGN §8 (R10, R67)
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import struct
from dataclasses import dataclass
from pathlib import Path

from gascity.runtimes import processes


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerId:
    """One server process; `started` tells it from a later one with the same pid."""

    socket: str
    pid: int
    started: str

    @classmethod
    def of(cls, path: Path, pid: int) -> ServerId | None:
        """The server with this pid; None when it has just ended."""
        found = processes.read(pid)
        if found is None:
            return None
        return cls(socket=str(path), pid=pid, started=_since_boot(found.started))

    @property
    def is_alive(self) -> bool:
        """Whether this very process still runs."""
        found = processes.read(self.pid)
        return (
            found is not None and not found.is_over and _since_boot(found.started) == self.started
        )

    def __str__(self) -> str:
        return f"{self.socket} {self.pid} {self.started}"

    @classmethod
    def parse(cls, text: str) -> ServerId | None:
        """The identity that `str` wrote; None for anything else."""
        parts = text.rsplit(" ", 2)
        if len(parts) != 3 or not re.fullmatch("[0-9]{1,9}", parts[1]):
            return None
        return cls(socket=parts[0], pid=int(parts[1]), started=parts[2])


def _since_boot(ticks: int) -> str:
    """A start time that does not repeat after a reboot."""
    return f"{_boot()}-{ticks}"


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")[:8]
    except OSError:
        return str(os.getuid())


def listener(path: Path) -> int:
    """The pid of the server that listens on the socket, without asking it; 0 when nobody does."""
    if not hasattr(socket, "SO_PEERCRED"):
        return 0
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(0.2)
        peer.connect(str(path))
        facts = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", facts)[0])
    return 0


def lost(server: ServerId, path: Path) -> str:
    """What to tell people about a server that runs but cannot be asked."""
    if server.socket != str(path):
        return (
            f"tmux server {server.pid} still runs behind {server.socket}, not {path}; "
            "check TMUX_TMPDIR"
        )
    return (
        f"tmux server {server.pid} still runs but its socket {path} is gone; "
        f"`kill -USR1 {server.pid}` makes it again"
    )
