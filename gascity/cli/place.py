"""Which city a command is about, and who asks.

Hot commands load this module, so it stays clear of pathlib.

Source: surface "Command line"
"""

from __future__ import annotations

import os

from gascity.api import client
from gascity.cli.failure import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def find_city(args: Any) -> str:
    """The real path of the city's folder: --city, else $GC_CITY, else the nearest parent.

    Raises:
        Failure: there is none (exit 2).
    """
    try:
        return client.find_city(args.city)
    except client.ControlError as error:
        raise Failure(error.what, error.do, exit=error.exit) from None


def whoami() -> str:
    """Who asks, for the record: the session this runs in, else the user's name."""
    name = os.environ.get("GC_SESSION_NAME") or os.environ.get("USER") or os.environ.get("LOGNAME")
    if name:
        return name
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid-{os.getuid()}"
