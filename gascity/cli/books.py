"""The store of a city without a controller: opened under the lock, for a moment.

Source: DESIGN §11 (R71, R75); surface "Command line"
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from gascity.api.lock import COMMAND, CONTROLLER, ControllerLock, LockHeld
from gascity.beads.bead import SESSION
from gascity.beads.mirror import EventMirror
from gascity.beads.record import session_of, to_update
from gascity.beads.sqlite import SqliteBeads
from gascity.beads.store import Batch, Conflict, Query, StoreUnavailable
from gascity.cli.failure import FAILED, REFUSED, Failure
from gascity.cli.state import STATE, check_owner, make_state
from gascity.model.session import Session

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


def now() -> datetime:
    """The instant a fact is written at: aware UTC."""
    return datetime.now(UTC)


def sessions(beads: SqliteBeads) -> list[Session]:
    """Every session on record, by name."""
    return sorted(
        (session_of(bead) for bead in beads.query(Query(type=SESSION))), key=lambda one: one.name
    )


def find(known: list[Session], word: str) -> Session:
    """The one session a word means: its name, its id, or an agent that has one session.

    Raises:
        Failure: none or several; the several are listed (exit 3).
    """
    for one in known:
        if word in {one.name, one.id}:
            return one
    hits = [one for one in known if word in {one.template, short_name(one.template)}]
    if len(hits) == 1:
        return hits[0]
    if hits:
        names = ", ".join(one.name for one in hits)
        raise Failure(f"{word!r} means several sessions: {names}", "name one", exit=REFUSED)
    raise Failure(
        f"no session {word!r} on record{_near(known, word)}", "see `gc status`", exit=REFUSED
    )


def short_name(identity: str) -> str:
    """The agent's own name: what follows the last `/`, then the last `.` (R6b)."""
    return identity.rpartition("/")[2].rpartition(".")[2]


def change(beads: SqliteBeads, old: Session, fn: Callable[[Session, datetime], Session]) -> Session:
    """Write what `fn` makes of the session; the record as it is then."""
    at = now()
    new = fn(old, at)
    if new is not old:
        bead = beads.get(old.id)
        assert bead is not None, "it was just read under the lock"
        beads.apply(Batch(updates=(to_update(old, new, bead.metadata),)), now=at)
    return new


def _near(known: list[Session], word: str) -> str:
    import difflib

    near = difflib.get_close_matches(word, [one.name for one in known], n=3, cutoff=0.5)
    return f" (near: {', '.join(near)})" if near else ""
