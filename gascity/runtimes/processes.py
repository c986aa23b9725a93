"""Processes as the kernel shows them: trees, foreground groups, and killing with proof.

A process is known by pid and start time, never by pid alone, and is signalled by a pidfd that was
opened before it was looked at. Linux only; elsewhere nothing is found and callers fail closed.

Source: DESIGN §8 (R63, R77)
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import termios
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh", "mksh", "ash", "busybox"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One line of the process table. `started` is in clock ticks since boot."""

    pid: int
    name: str  # at most 15 characters
    state: str
    parent: int
    group: int
    session: int
    tty_group: int  # the foreground group of its terminal, -1 for none
    started: int
    wait_status: int | None  # how it ended, while nobody has reaped it

    @property
    def is_over(self) -> bool:
        """It has ended and only waits to be reaped."""
        return self.state in "ZX"


def read(pid: int) -> Process | None:
    """The process with this pid; None when there is none."""
    try:
        text = (PROC / str(pid) / "stat").read_bytes().decode(errors="replace")
    except OSError:
        return None
    return parsed(pid, text)


def parsed(pid: int, text: str) -> Process | None:
    """The process that a line of `/proc/PID/stat` tells of; None for a line that is none."""
    head, _, tail = text.rpartition(")")
    words = tail.split()
    try:
        return _process(pid, head.partition("(")[2], words)
    except (IndexError, ValueError):
        return None


def _process(pid: int, name: str, words: list[str]) -> Process:
    return Process(
        pid=pid,
        name=name,
        state=words[0],
        parent=int(words[1]),
        group=int(words[2]),
        session=int(words[3]),
        tty_group=int(words[5]),
        started=int(words[19]),
        wait_status=int(words[49]) if words[0] == "Z" else None,
    )


def table() -> dict[int, Process]:
    """Every process there is, by pid."""
    found = {}
    for pid in _pids():
        if (one := read(pid)) is not None:
            found[pid] = one
    return found


def _pids() -> Iterator[int]:
    try:
        names = os.listdir(PROC)  # noqa: PTH208  a Path for each of hundreds of names costs
    except OSError:
        return
    yield from (int(name) for name in names if name.isdigit())


def descendants(roots: Iterable[int], known: Mapping[int, Process]) -> dict[int, Process]:
    """The roots that exist and everything below them."""
    children: dict[int, list[int]] = {}
    for one in known.values():
        children.setdefault(one.parent, []).append(one.pid)
    found: dict[int, Process] = {}
    todo = list(roots)
    while todo:
        pid = todo.pop()
        if pid in known and pid not in found:
            found[pid] = known[pid]
            todo += children.get(pid, ())
    return found


def _is_same(one: Process, other: Process | None) -> bool:
    return other is not None and (one.pid, one.started) == (other.pid, other.started)


def ancestors(pid: int, known: Mapping[int, Process]) -> list[int]:
    """`pid` and everything above it, nearest first."""
    chain: list[int] = []
    while pid in known and pid not in chain:
        chain.append(pid)
        pid = known[pid].parent
    return chain


def carriers(variable: str, value: str) -> set[int]:
    """Pids of our own processes that were started with this variable in their environment."""
    wanted = f"{variable}={value}".encode()
    return {pid for pid in _pids() if wanted in _environ(pid).split(b"\0")} if value else set()


def _environ(pid: int) -> bytes:
    try:
        return (PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return b""


def words(pid: int) -> tuple[str, ...]:
    """The command line of a process; empty when it cannot be read."""
    try:
        raw = (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return ()
    return tuple(part.decode(errors="replace") for part in raw.rstrip(b"\0").split(b"\0"))


@cache
def ticks_per_second() -> int:
    """The unit of `Process.started`."""
    return os.sysconf("SC_CLK_TCK")


def ignores_term(pid: int) -> bool:
    """Whether the process ignores SIGTERM, as interactive shells do."""
    try:
        status = (PROC / str(pid) / "status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    mask = next((line.split()[1] for line in status.splitlines() if line.startswith("SigIgn")), "0")
    return bool(int(mask, 16) >> (signal.SIGTERM - 1) & 1)


def awaits_line(pid: int) -> bool:
    """Whether the programs in the foreground of this one's terminal do nothing but read a line.

    The terminal hands over whole lines, one of them reads it, all others wait for their children.
    """
    one = read(pid)
    if one is None or not _is_line_mode(pid):
        return False
    group = [other for other in table().values() if other.group == one.tty_group]
    waits = {_wait_channel(other.pid) for other in group if not other.is_over}
    return bool(waits & _READING) and waits <= {*_READING, "do_wait"}


_READING: Final = frozenset({"wait_woken", "n_tty_read"})


def _wait_channel(pid: int) -> str:
    try:
        return (PROC / str(pid) / "wchan").read_text(encoding="ascii")
    except OSError:
        return ""


def _is_line_mode(pid: int) -> bool:
    try:
        terminal = os.open(PROC / str(pid) / "fd" / "0", os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return bool(termios.tcgetattr(terminal)[3] & termios.ICANON)
    except termios.error:
        return False
    finally:
        os.close(terminal)


class Held:
    """A process that cannot be mistaken for another: its pidfd, opened before it was read."""

    def __init__(self, process: Process, pidfd: int) -> None:
        self.process = process
        self._pidfd = pidfd

    @classmethod
    def take(cls, expected: Process) -> Held | None:
        """Hold exactly `expected`; None when it has ended or its pid is another's by now."""
        try:
            pidfd = os.pidfd_open(expected.pid)
        except OSError:
            return None
        now = read(expected.pid)
        if now is None or now.started != expected.started or now.is_over:
            os.close(pidfd)
            return None
        return cls(expected, pidfd)

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        return bool(poll.poll(0))

    def send(self, number: signal.Signals) -> None:
        """Signal it; one that has ended, or is another user's, is passed over."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            signal.pidfd_send_signal(self._pidfd, number)

    def close(self) -> None:
        """Let go of it."""
        os.close(self._pidfd)


def tree(roots: Collection[Process], token: str, spare: Collection[int]) -> dict[int, Process]:
    """What belongs to a session: all below `roots`, and all that carry its token in `environ`.

    `spare` is never part of it, nor are this process and its ancestors. A root whose pid is
    another's by now is none.
    """
    known = table()
    found = descendants((one.pid for one in roots if _is_same(one, known.get(one.pid))), known)
    for pid in carriers("GC_INSTANCE_TOKEN", token):
        found |= descendants([pid], known)
    kept = {*spare, *ancestors(os.getpid(), known)}
    return {pid: one for pid, one in found.items() if pid not in kept and not one.is_over}
