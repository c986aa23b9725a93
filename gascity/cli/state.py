"""The folder of a city on disk: whether this user may touch it, and its `.gc/`.

Source: surface "Files of a city" (R70, R78)
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from gascity.cli.failure import REFUSED, Failure

CONFIG = "city.toml"
STATE = ".gc"


def check_owner(city: Path) -> None:
    """Refuse a city that somebody else owns or that anybody may rewrite (R70).

    Raises:
        Failure: exit 3, with the mode or owner found.
    """
    for path in (city / CONFIG, city / STATE):
        try:
            found = path.stat()
        except FileNotFoundError:
            continue
        me = os.geteuid()
        if found.st_uid != me:
            if me == 0:
                what, do = "running as root on another user's city", "run gc as its owner"
            else:
                what, do = f"{path} belongs to another user", "run gc as its owner"
            raise Failure(what, do, exit=REFUSED)
        if found.st_mode & 0o002:
            raise Failure(f"{path} may be written by everybody", f"chmod o-w {path}", exit=REFUSED)


def make_state(city: Path) -> Path:
    """The folder `.gc` of the city, made when missing: for the owner only, unseen by git (R78).

    Raises:
        OSError: it is a link, or cannot be made; nothing is written through a link (E1, E9).
    """
    state = city / STATE
    state.mkdir(mode=0o700, exist_ok=True)
    folder = os.open(state, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with suppress(FileExistsError):
            ignore = os.open(".gitignore", flags, 0o600, dir_fd=folder)
            os.write(ignore, b"*\n")
            os.close(ignore)
    finally:
        os.close(folder)
    return state
