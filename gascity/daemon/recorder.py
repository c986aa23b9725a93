"""Records what each tick saw and decided, for `gc replay`: off by default, bounded, unwaited.

`[daemon] record_ticks = N` keeps at least the last N ticks and at most twice as many, in two files
of 64 MiB at most each. A thread of its own masks and writes; a tick that it has no room for is
dropped and counted. Nothing that goes wrong here reaches a patrol.

Source: DESIGN §11, §13 (R74, R78)
"""

from __future__ import annotations

import json
import os
import queue
import secrets
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

from gascity import __version__
from gascity.model.city import EMPTY_CITY, City
from gascity.model.plan import Plan
from gascity.model.session import Session
from gascity.model.world import World
from gascity.report.codec import encode
from gascity.report.log import logger
from gascity.report.mask import Mask
from gascity.report.ticks import written

FOLDER: Final = "ticks"
FILE: Final = "ticks.jsonl"
OLDER: Final = "ticks.1.jsonl"
MAX_BYTES: Final = 64 * 1024 * 1024
QUEUED: Final = 16
CLOSE_S: Final = 2.0
log = logger("recorder")

Outcome: TypeAlias = Plan | Exception


class TickRecorder:
    """The recorder of one controller. Until the first tick is recorded it costs nothing.

    `lost` counts the ticks that were decided and not written.
    """

    def __init__(self, state: Path, *, max_bytes: int = MAX_BYTES, queued: int = QUEUED) -> None:
        self.lost = 0
        self._told = 0
        self._queue: queue.Queue[tuple[World, Outcome] | None] = queue.Queue(queued)
        self._thread: threading.Thread | None = None
        self._ring = Ring(state, max_bytes=max_bytes)
        self._pen = _Pen()

    def record(self, world: World, outcome: Outcome) -> None:
        """Hand one tick to the writer; returns at once, whether there was room or not."""
        try:
            self._begin()
            self._queue.put_nowait((world, outcome))
        except (queue.Full, RuntimeError):  # no room, or no thread to be had
            self.lost += 1

    def close(self) -> None:
        """Write what is waiting and let the file go, within two seconds."""
        if self._thread is None:
            return
        with suppress(queue.Full):
            self._queue.put(None, timeout=CLOSE_S)
            self._thread.join(CLOSE_S)
        self._thread = None

    def _begin(self) -> None:
        if self._thread is None:
            thread = threading.Thread(target=self._write_all, name="ticks", daemon=True)
            thread.start()
            self._thread = thread

    def _write_all(self) -> None:
        while (taken := self._queue.get()) is not None:
            world, outcome = taken
            try:
                line = written(self._pen.world(world), outcome, version=__version__)
                self._ring.add(line.encode(), keep=world.city.daemon.record_ticks)
            except Exception as problem:  # noqa: BLE001 - a recording must never cost a city
                self.lost += 1
                self._tell(repr(problem))
            else:
                self._tell("the writer was too slow")
        self._ring.close()

    def _tell(self, why: str) -> None:
        """Warn at the first lost tick and each time their number has doubled."""
        if self.lost >= max(1, self._told * 2):
            self._told = self.lost
            log.warning("ticks not recorded", lost=self.lost, problem=why)


class _Pen:
    """Worlds as masked JSON. What did not change since the last one is not made again."""

    def __init__(self) -> None:
        self._mask = Mask(key=secrets.token_bytes(32))
        self._city: City | None = None
        self._city_text = ""
        self._sessions: dict[str, tuple[Session, str]] = {}

    def world(self, world: World) -> str:
        """The JSON text of the masked world."""
        if self._city is not world.city:
            self._city, self._sessions = world.city, {}
            self._city_text = _json(encode(self._mask.city(world.city)))
        self._sessions = {key: self._session(key, one) for key, one in world.sessions.items()}
        records = ",".join(f"{json.dumps(key)}:{one[1]}" for key, one in self._sessions.items())
        rest = encode(replace(self._mask.world(replace(world, sessions={})), city=EMPTY_CITY))
        del rest["city"], rest["sessions"]
        return f'{{"city":{self._city_text},"sessions":{{{records}}},{_json(rest)[1:]}'

    def _session(self, key: str, session: Session) -> tuple[Session, str]:
        known = self._sessions.get(key)
        if known is not None and known[0] is session:
            return known
        return session, _json(encode(self._mask.session(session)))


class Ring:
    """Two files of lines in `.gc/ticks/`, the folder 0700 and the files 0600; links are refused."""

    def __init__(self, state: Path, *, max_bytes: int) -> None:
        self._state = state
        self._max_bytes = max_bytes
        self._folder = self._file = -1
        self._lines = self._bytes = 0
        self._torn = False

    def add(self, line: bytes, *, keep: int) -> None:
        """Append one line; the older file goes when the newer one holds `keep` lines.

        Raises:
            OSError: it could not be written whole.
        """
        if self._file < 0:
            self._open()
        if self._lines and (self._lines >= keep or self._bytes + len(line) > self._max_bytes):
            self._turn()
        self._write(b"\n" + line if self._torn else line)
        self._lines += 1

    def close(self) -> None:
        """Let the files go."""
        for descriptor in (self._file, self._folder):
            if descriptor >= 0:
                os.close(descriptor)
        self._folder = self._file = -1

    def _write(self, data: bytes) -> None:
        self._torn = True
        while data:
            count = os.write(self._file, data)
            self._bytes += count
            data = data[count:]
        self._torn = False

    def _open(self) -> None:
        self.close()
        state = os.open(self._state, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with suppress(FileExistsError):
                os.mkdir(FOLDER, 0o700, dir_fd=state)
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
            self._folder = os.open(FOLDER, flags, dir_fd=state)
        finally:
            os.close(state)
        os.fchmod(self._folder, 0o700)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        self._file = os.open(FILE, flags, 0o600, dir_fd=self._folder)
        os.fchmod(self._file, 0o600)
        self._lines = self._bytes = 0
        last = b"\n"
        while chunk := os.read(self._file, 1024 * 1024):
            self._lines += chunk.count(b"\n")
            self._bytes += len(chunk)
            last = chunk[-1:]
        self._torn = last != b"\n"

    def _turn(self) -> None:
        os.rename(FILE, OLDER, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        self._open()


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
