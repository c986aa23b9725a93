"""Which city a command is about, and whether this user may touch it.

Source: surface "Command line", "Files of a city" (R70)
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gascity.cli.failure import REFUSED, USAGE, Failure

CONFIG = "city.toml"
STATE = ".gc"


def find_city(args: Any) -> Path:
    """The real path of the city's folder: --city, else $GC_CITY, else the nearest parent.

    Raises:
        Failure: there is none (exit 2).
    """
    for given, origin in ((args.city, "--city"), (os.environ.get("GC_CITY"), "$GC_CITY")):
        if given:
            path = Path(given).expanduser()
            folder = path.parent if path.name == CONFIG else path
            if not (folder / CONFIG).exists():
                raise Failure(
                    f"{origin}: no {CONFIG} in {folder}",
                    f"name a city, or make one with `gc init {folder}`",
                    exit=USAGE,
                )
            return folder.resolve()
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / CONFIG).exists():
            return folder.resolve()
    raise Failure(
        f"no {CONFIG} here or in a folder above",
        "go into a city, pass --city PATH, or make one with `gc init`",
        exit=USAGE,
    )


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
            raise Failure(
                f"{path} may be written by everybody", f"chmod o-w {path}", exit=REFUSED
            )


def whoami() -> str:
    """Who asks, for the record: the session this runs in, else the user's name."""
    name = os.environ.get("GC_SESSION_NAME") or os.environ.get("USER") or os.environ.get("LOGNAME")
    return name or f"uid-{os.getuid()}"
