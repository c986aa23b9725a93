"""Work beads without a controller: create, list, claim, close, update, and what a session is to do.

Source: DESIGN §11 (R19, R71); surface "Work beads"
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from gascity.beads.bead import CLOSED, IN_PROGRESS, OPEN, STATUSES, TASK, Bead
from gascity.beads.sqlite import SqliteBeads
from gascity.beads.store import Batch, NewBead, Query, Update
from gascity.cli import books
from gascity.cli.failure import REFUSED, Failure
from gascity.cli.place import whoami
from gascity.model.events import Event, EventType
from gascity.model.session import Session
from gascity.report.status import utc

ROUTED: Final = "gc.routed_to"
Fields = Mapping[str, Any]


def bead_object(bead: Bead) -> dict[str, Any]:
    """The bead as the JSON object that commands print."""
    return {
        "id": bead.id,
        "type": bead.type,
        "status": bead.status,
        "title": bead.title,
        "labels": list(bead.labels),
        "assignee": bead.assignee,
        "priority": bead.priority,
        "blocked_by": list(bead.blocked_by),
        "metadata": dict(bead.metadata),
        "created_at": utc(bead.created_at),
        "updated_at": utc(bead.updated_at),
        "closed_at": utc(bead.closed_at),
        "version": bead.version,
    }


def city_name(city: str) -> str:
    """What the city calls itself; its folder's name when its file cannot be read."""
    import tomllib

    try:
        table = tomllib.loads((Path(city) / "city.toml").read_text(encoding="utf-8-sig"))
        name = table["workspace"]["name"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return Path(city).name
    return name if isinstance(name, str) and name else Path(city).name


def sling(beads: SqliteBeads, city: str, fields: Fields) -> dict[str, Any]:
    """Create work for a session by name or id, else for an agent."""
    target = fields["target"]
    known = books.sessions(beads)
    session = next((one for one in known if target in {one.name, one.id}), None)
    route = _agent(city, target, known)
    if session is None and route is None:
        raise Failure(f"no session or agent {target!r}", "see `gc status`", exit=REFUSED)
    assigned = session.name if session is not None and route is None else ""
    new = NewBead(
        type=TASK,
        title=fields["title"],
        assignee=assigned,
        priority=fields.get("priority", 2),
        metadata={} if assigned else {ROUTED: route or ""},
    )
    at = books.now()
    event = Event(type=EventType.BEAD_CREATED, ts=at, message=new.title, actor=whoami())
    applied = beads.apply(Batch(creates=(new,)), now=at)
    bead = applied.beads[applied.created[0]]
    beads.apply(Batch(events=(_about(event, bead),)), now=at)
    return {"bead": bead_object(bead)}


def listed(beads: SqliteBeads, city: str, fields: Fields) -> dict[str, Any]:
    """Beads that are not closed, unless closed ones are asked for."""
    status = fields.get("status") or ""
    query = Query(
        type=fields.get("type") or "",
        statuses=(status,) if status else (),
        assignee=fields.get("assignee") or "",
    )
    return {"beads": [bead_object(bead) for bead in beads.query(query)]}


def shown(beads: SqliteBeads, city: str, fields: Fields) -> dict[str, Any]:
    """One bead."""
    return {"bead": bead_object(_get(beads, fields["id"]))}


def claim(beads: SqliteBeads, city: str, fields: Fields) -> dict[str, Any]:
    """Assign a bead and set it in progress; refused while somebody else works on it."""
    bead = _get(beads, fields["id"])
    assignee = fields["assignee"]
    if bead.type != TASK or bead.status == CLOSED:
        raise Failure(f"{bead.id} is no open work", "see `gc bead show`", exit=REFUSED)
    if bead.status == IN_PROGRESS and bead.assignee not in {"", assignee}:
        raise Failure(f"{bead.id} is claimed by {bead.assignee}", "choose another", exit=REFUSED)
    return _written(beads, bead, Update(id=bead.id, status=IN_PROGRESS, assignee=assignee))


def close(beads: SqliteBeads, city: str, fields: Fields) -> dict[str, Any]:
    """Close a work bead."""
    bead = _task(beads, fields["id"])
    reason = fields.get("reason") or ""
    metadata = {"close_reason": reason} if reason else {}
    return _written(beads, bead, Update(id=bead.id, status=CLOSED, metadata=metadata))


def update(beads: SqliteBeads, city: str, fields: Fields) -> dict[str, Any]:
    """Change the fields that were given."""
    bead = _get(beads, fields["id"])
    status = fields.get("status")
    if status is not None and status not in STATUSES:
        raise Failure(f"no status {status!r}", f"one of {', '.join(STATUSES)}", exit=REFUSED)
    blocked_by = fields.get("blocked_by")
    for other in blocked_by or ():
        _get(beads, other)
    change = Update(
        id=bead.id,
        status=status,
        title=fields.get("title"),
        assignee=fields.get("assignee"),
        priority=fields.get("priority"),
        metadata=fields.get("metadata") or {},
        blocked_by=None if blocked_by is None else tuple(blocked_by),
    )
    return _written(beads, bead, change)


def hook(beads: SqliteBeads, city: str, fields: Fields) -> dict[str, Any]:
    """The next bead the session could act on now; with `claim` it is taken (R19)."""
    session = books.find(books.sessions(beads), fields["session_id"])
    bead = next(iter(actionable(beads, session)), None)
    if bead is None:
        return {"bead": None}
    if not fields.get("claim"):
        return {"bead": bead_object(bead)}
    return claim(beads, city, {"id": bead.id, "assignee": session.name})


def actionable(beads: SqliteBeads, session: Session) -> list[Bead]:
    """What the session could act on now: its own work in progress first, then by urgency (R19)."""
    names = {session.id, session.name}
    names |= (
        {session.template, books.short_name(session.template)} if session.slot is None else set()
    )
    found = []
    for bead in beads.query(Query(type=TASK, statuses=(OPEN, IN_PROGRESS))):
        if _is_blocked(beads, bead):
            continue
        mine = bead.assignee in names
        routed = not bead.assignee and bead.metadata.get(ROUTED) == session.template
        if mine or (routed and bead.status == OPEN):
            found.append(bead)
    return sorted(
        found, key=lambda one: (one.status != IN_PROGRESS, one.priority, one.created_at, one.id)
    )


def _is_blocked(beads: SqliteBeads, bead: Bead) -> bool:
    """Whether another open bead, or a time that has not come, holds it up."""
    for other in bead.blocked_by:
        found = beads.get(other)
        if found is not None and found.status != CLOSED:
            return True
    until = bead.metadata.get("defer_until", "")
    return bool(until) and until > (utc(books.now()) or "")


def _get(beads: SqliteBeads, bead_id: str) -> Bead:
    bead = beads.get(bead_id)
    if bead is None:
        raise Failure(f"no bead {bead_id!r}", "see `gc bead list`", exit=REFUSED)
    return bead


def _task(beads: SqliteBeads, bead_id: str) -> Bead:
    """A bead that people may change; session records are the controller's."""
    bead = _get(beads, bead_id)
    if bead.type != TASK:
        raise Failure(
            f"{bead.id} is a {bead.type} record", "use the commands for sessions", exit=REFUSED
        )
    return bead


def _written(beads: SqliteBeads, bead: Bead, change: Update) -> dict[str, Any]:
    at = books.now()
    kind = EventType.BEAD_CLOSED if change.status == CLOSED else EventType.BEAD_UPDATED
    event = _about(Event(type=kind, ts=at, message=bead.title, actor=whoami()), bead)
    applied = beads.apply(Batch(updates=(change,), events=(event,)), now=at)
    return {"bead": bead_object(applied.beads[bead.id])}


def _about(event: Event, bead: Bead) -> Event:
    from dataclasses import replace

    return replace(event, subject=bead.id)


def _agent(city: str, target: str, known: list[Session]) -> str | None:
    """The identity of the agent a word means, from the config; from the records if that is bad."""
    identities = _identities(city) or [one.template for one in known]
    if target in identities:
        return target
    hits = sorted({one for one in identities if books.short_name(one) == target})
    if len(hits) > 1:
        raise Failure(f"{target!r} means {', '.join(hits)}", "name one of them", exit=REFUSED)
    return hits[0] if hits else None


def _identities(city: str) -> list[str]:
    from gascity.config.load import load_city

    loaded = load_city(Path(city))
    return list(loaded.city.agents) if loaded.city is not None else []
