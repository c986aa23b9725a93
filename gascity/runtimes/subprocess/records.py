"""What the folder of one session says: who runs there, under which token, how it ended.

Identity is pid and start time within one boot of the machine, never a pid alone.

Source: DESIGN §8 (R10, R37, R63)
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gascity.model.world import Exit
from gascity.runtimes import processes
from gascity.runtimes.base import RuntimeUnreachable
from gascity.runtimes.plain import last_lines
from gascity.runtimes.processes import Process
from gascity.runtimes.subprocess.keeper import LOG, OLD_LOG, RECORD

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
MEANINGLESS: Final = (
    ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError,
)  # fmt: skip
"""What reading JSON of strangers may raise."""
_TAIL_BYTES: Final = 256 * 1024


def boot() -> str:
    """What names this boot of the machine, "" where nothing does."""
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a session as its keeper wrote it down; processes are (pid, start time)."""

    token: str
    city: str
    boot: str
    began: float  # unix seconds
    keeper: tuple[int, int]
    agent: tuple[int, int]
    ended: Exit | None = None

    @property
    def alive(self) -> list[Process]:
        """What of keeper and agent still runs; nothing of an earlier boot does."""
        if self.boot != boot():
            return []
        found = [(started, processes.read(pid)) for pid, started in (self.keeper, self.agent)]
        return [
            one
            for started, one in found
            if one is not None and one.started == started and not one.is_over
        ]

    @property
    def exit(self) -> Exit | None:
        """How it ended, once it has."""
        return self.ended or (Exit(host_gone=True) if self.boot != boot() else None)


def read_run(folder: Path) -> Run | None:
    """The run a session's folder tells of; None when there is none.

    Raises:
        RuntimeUnreachable: there is something, and it cannot be read.
    """
    file = folder / RECORD
    try:
        said: Any = json.loads(file.read_bytes())
        ended = said.get("ended")
        return Run(
            token=str(said["token"]),
            city=str(said["city"]),
            boot=str(said["boot"]),
            began=float(said["began"]),
            keeper=_identity(said["keeper"]),
            agent=_identity(said["agent"]),
            ended=None
            if ended is None
            else Exit(code=ended.get("code"), signal=ended.get("signal")),
        )
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise RuntimeUnreachable(f"{file} cannot be read: {problem.strerror}") from None
    except MEANINGLESS as problem:
        raise RuntimeUnreachable(f"{file} makes no sense: {problem!r}") from None


def _identity(said: Any) -> tuple[int, int]:
    pid, started = said
    return int(pid), int(started)


def printed_at(folder: Path, run: Run) -> float | None:
    """When this run printed last, in unix seconds; None while it has printed nothing."""
    try:
        log = (folder / LOG).stat()
    except OSError:
        return None
    return log.st_mtime if log.st_size and log.st_mtime >= run.began else None


def tail(folder: Path, lines: int) -> str:
    """The last lines it printed, as plain text."""
    said = b"".join(_end_of(folder / name) for name in (OLD_LOG, LOG))[-_TAIL_BYTES:]
    return last_lines(said.decode("utf-8", "replace"), lines)


def _end_of(file: Path) -> bytes:
    try:
        with file.open("rb") as log:
            log.seek(max(0, file.stat().st_size - _TAIL_BYTES))
            return log.read(_TAIL_BYTES)
    except OSError:
        return b""
