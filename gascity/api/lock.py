"""The one lock of a city: whoever holds it may open the store, and a controller holds it for life.

`.gc/controller.lock` is flocked, so it is free the moment its holder is gone, however it went. The
file says who holds it: `<pid> <role>`. A short-lived command line holder is waited for; a
controller is not.

Source: DESIGN §13 (R36, R71)
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Final

from gascity.api.holder import COMMAND, CONTROLLER, read_holder
from gascity.api.protocol import LOCK_NAME

__all__ = ["COMMAND", "CONTROLLER", "ControllerLock", "LockHeld"]

_STEP_S: Final = 0.02


class LockHeld(Exception):
    """Somebody else holds the city. `pid` 0: the file does not say who."""

    def __init__(self, pid: int, role: str) -> None:
        self.pid = pid
        self.role = role
        whose = f"pid {pid}" if pid else "another process"
        what = "a controller" if role == CONTROLLER else "another command"
        super().__init__(f"{what} holds this city ({whose})")


class ControllerLock:
    """The lock of one city, held from `acquire` until `release`."""

    def __init__(self, city: Path | str, *, role: str = CONTROLLER) -> None:
        self.path = Path(city) / ".gc" / LOCK_NAME
        self.role = role
        self._file: int | None = None

    @property
    def is_held(self) -> bool:
        """Whether this object holds the lock."""
        return self._file is not None

    def acquire(self, *, wait_s: float = 2.0) -> ControllerLock:
        """Take the lock, waiting up to `wait_s` seconds for a command that holds it for a moment.

        Raises:
            LockHeld: a controller holds it, or somebody else does not let go in time.
            OSError: `.gc` or the lock file is a link or another user's, or cannot be opened.
        """
        began = time.monotonic()
        file = _open_own(self.path)
        try:
            while not _lock(file):
                pid, role = read_holder(file)
                # A second controller is refused soon; one that is just ending is gone in a blink.
                patience = min(wait_s, 0.3) if pid and role == CONTROLLER else wait_s
                if time.monotonic() - began >= patience:
                    raise LockHeld(pid, role)
                time.sleep(_STEP_S)
            os.ftruncate(file, 0)
            os.pwrite(file, f"{os.getpid()} {self.role}\n".encode(), 0)
        except BaseException:
            os.close(file)
            raise
        self._file = file
        return self

    def release(self) -> None:
        """Let the city go; a no-op when it is not held."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = None

    def __enter__(self) -> ControllerLock:
        return self if self.is_held else self.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self.release()


def _open_own(path: Path) -> int:
    """The lock file, opened in a folder that is no link and ours, readable by us alone.

    Whoever opens anything in `.gc` holds this lock, so a folder that leads elsewhere (a checked
    out link, another user's folder) is refused here, before anything is written through it (E1).
    """
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        if os.fstat(folder).st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, "belongs to another user", str(path.parent))
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        file = os.open(path.name, flags, 0o600, dir_fd=folder)
    finally:
        os.close(folder)
    if os.fstat(file).st_mode & 0o177:
        os.fchmod(file, 0o600)
    return file


def _lock(file: int) -> bool:
    """Whether the lock was free and is now ours."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        if problem.errno not in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES):
            raise
        return False
    return True
