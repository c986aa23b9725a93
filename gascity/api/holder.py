"""Who holds a city: what its lock file says, asked without touching the lock.

Standard library only: every hot command pays for what is imported here.

Source: DESIGN §13 "The control socket" (R36, R71)
"""

# ruff: noqa: PTH118
# pathlib would cost every command as much as all that is imported here.

from __future__ import annotations

import errno
import fcntl
import os

from gascity.api.protocol import LOCK_NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

CONTROLLER: Final = "controller"
COMMAND: Final = "command"


def holder_of(city: str) -> tuple[int, str] | None:
    """Who holds the lock of this city, as (pid, role), or None when nobody does.

    The pid is 0 while a holder has not written itself down.
    """
    try:
        file = os.open(
            os.path.join(city, ".gc", LOCK_NAME), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
        )
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as problem:
        if problem.errno not in (errno.EWOULDBLOCK, errno.EACCES):
            return None
        return read_holder(file)
    finally:
        os.close(file)
    return None


def read_holder(file: int) -> tuple[int, str]:
    """What an open lock file says of its holder: (pid, role); pid 0 when it says nothing."""
    words = os.pread(file, 64, 0).decode("ascii", "replace").split()
    pid = int(words[0]) if words and words[0].isdigit() else 0
    return pid, words[1] if len(words) > 1 else CONTROLLER
