"""What still works when no controller runs: reads, and durable facts (R71).

`answer` takes the same words as the control socket and gives the same fields.

Source: DESIGN §11 (R18, R19, R71, R78); surface "Work beads"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from gascity.beads.mirror import event_object
from gascity.beads.sqlite import SqliteBeads
from gascity.beads.store import EventQuery
from gascity.beads.times import time_of
from gascity.cli import books, tasks
from gascity.cli.failure import NoController
from gascity.model.session import Pin, Session
from gascity.report.status import recorded, utc

Fields = Mapping[str, Any]


def answer(city: str, op: str, fields: Fields) -> dict[str, Any]:
    """What the controller would answer, worked out on the store.

    Raises:
        NoController: this needs a controller.
    """
    work = OPS.get(op)
    if work is None:
        raise NoController
    with books.opened(city) as beads:
        return work(beads, city, fields)


def recorded_status(city: str, wanted: list[str]) -> dict[str, Any]:
    """The status object from the records; `wanted` empty means all."""
    known: list[Session] = []
    if books.has_store(city):
        with books.opened(city) as beads:
            known = books.sessions(beads)
    if wanted:
        known = list({one.id: one for one in (books.find(known, word) for word in wanted)}.values())
    return recorded(name=tasks.city_name(city), path=city, sessions=known)


def stored_events(city: str, fields: Fields) -> list[dict[str, Any]]:
    """The kept events that are wanted, as `{"event": ...}`; a note first if some are gone (R74)."""
    if not books.has_store(city):
        return []
    since = time_of(fields["since"]) if fields.get("since") else None
    after = int(fields.get("after") or 0)
    query = EventQuery(
        after=after,
        types=tuple(fields.get("types") or ()),
        subject=str(fields.get("session") or ""),
        since=since,
    )
    with books.opened(city) as beads:
        oldest = beads.oldest_seq()
        events = beads.events(query)
    lost = (
        [{"note": f"events before {oldest} are no longer kept"}] if 0 < after < oldest - 1 else []
    )
    return [*lost, *({"event": event_object(event)} for event in events)]


def attach_argv(city: str, word: str) -> list[str]:
    """The command that attaches to a session that runs although no controller does (R65).

    Raises:
        NoController: it does not run, so it would have to be woken.
    """
    from gascity.cli import unattended

    with books.opened(city) as beads:
        session = books.find(books.sessions(beads), word)
    argv = unattended.attach_argv(Path(city), session)
    if argv is None:
        raise NoController(f"{session.name} does not run, and no controller can wake it")
    return argv


def _pin(beads: SqliteBeads, city: str, fields: Fields) -> dict[str, Any]:
    session = books.find(books.sessions(beads), fields["session"])
    at = books.now()
    pin = Pin(
        owner=fields["owner"],
        reason=fields.get("reason", ""),
        at=at,
        expires_at=at + timedelta(seconds=fields["for_s"]),
    )
    others = tuple(one for one in session.pins if one.owner != pin.owner and one.expires_at > at)
    books.change(beads, session, lambda one, _: replace(one, pins=(*others, pin)))
    return {"pin": _pin_object(session, pin)}


def _unpin(beads: SqliteBeads, city: str, fields: Fields) -> dict[str, Any]:
    session = books.find(books.sessions(beads), fields["session"])
    owner = fields.get("owner") or ""
    kept = tuple(one for one in session.pins if owner and one.owner != owner)
    books.change(beads, session, lambda one, _: replace(one, pins=kept))
    return {"removed": len(session.pins) - len(kept)}


def _pins(beads: SqliteBeads, city: str, fields: Fields) -> dict[str, Any]:
    at = books.now()
    found = [
        _pin_object(session, pin)
        for session in books.sessions(beads)
        for pin in session.pins
        if pin.expires_at > at
    ]
    return {"pins": found}


def _pin_object(session: Session, pin: Pin) -> dict[str, Any]:
    return {
        "session": session.name,
        "owner": pin.owner,
        "reason": pin.reason,
        "at": utc(pin.at),
        "expires_at": utc(pin.expires_at),
    }


def _suspend(beads: SqliteBeads, city: str, fields: Fields) -> dict[str, Any]:
    def held(session: Session, at: datetime) -> Session:
        if session.suspended_at is not None:
            return session
        return replace(session, suspended_at=at, suspended_by=fields.get("by", ""))

    return _each(beads, fields, held)


def _resume(beads: SqliteBeads, city: str, fields: Fields) -> dict[str, Any]:
    def free(session: Session, _: datetime) -> Session:
        if session.suspended_at is None:
            return session
        return replace(session, suspended_at=None, suspended_by="")

    return _each(beads, fields, free)


def _each(
    beads: SqliteBeads, fields: Fields, fn: Callable[[Session, datetime], Session]
) -> dict[str, Any]:
    known = books.sessions(beads)
    chosen = known if fields.get("all") else [books.find(known, fields["session"])]
    changed = [one for one in chosen if books.change(beads, one, fn) is not one]
    return {"sessions": [one.name for one in (changed if fields.get("all") else chosen)]}


OPS: Final[Mapping[str, Callable[[SqliteBeads, str, Fields], dict[str, Any]]]] = {
    "pin": _pin,
    "unpin": _unpin,
    "pins": _pins,
    "suspend": _suspend,
    "resume": _resume,
    "sling": tasks.sling,
    "beads": tasks.listed,
    "bead": tasks.shown,
    "bead_claim": tasks.claim,
    "bead_close": tasks.close,
    "bead_update": tasks.update,
    "hook": tasks.hook,
}
