"""The store of a city without a controller: opened under the lock, for a moment.

Source: DESIGN §11 (R71, R75); surface "Command line"
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from gascity.api.lock import COMMAND, CONTROLLER, ControllerLock, LockHeld
from gascity.beads.mirror import EventMirror
from gascity.beads.sqlite import SqliteBeads
from gascity.beads.store import Conflict, StoreUnavailable
from gascity.cli.failure import FAILED, Failure
from gascity.cli.state import STATE, check_owner, make_state

DATABASE: Final = "gascity.db"
MIRROR: Final = "events.jsonl"


@contextmanager
def opened(city: str) -> Iterator[SqliteBeads]:
    """The open store; nobody else has it open meanwhile.

    Raises:
        Failure: a controller came up in between, or the store cannot be read or written.
    """
    folder = Path(city)
    check_owner(folder)
    try:
        make_state(folder)
        with ControllerLock(folder, role=COMMAND).acquire():
            state = folder / STATE
            beads = SqliteBeads(state / DATABASE, mirror=EventMirror(state / MIRROR))
            try:
                yield beads
            finally:
                beads.close()
    except LockHeld as held:
        do = "try again" if held.role == CONTROLLER else "try again in a moment"
        raise Failure(str(held), do) from None
    except (StoreUnavailable, Conflict) as error:
        raise Failure(f"the store: {error}", "see `gc doctor`", exit=FAILED) from None
    except OSError as error:
        raise Failure(f"{error.filename}: {error.strerror}", "see `gc doctor`") from None


def has_store(city: str) -> bool:
    """Whether anything was ever recorded in this city."""
    return (Path(city) / STATE / DATABASE).exists()
