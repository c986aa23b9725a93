"""What still works when no controller runs: reads, and durable facts (R71).

`answer` takes the words of the control socket and gives the same fields, by the same requests.

Source: DESIGN §11, §12 (R18, R19, R71, R74, R78)
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

from gascity.act import requests_hold, requests_wait, requests_work
from gascity.act.operate import find
from gascity.act.ports import Refused
from gascity.beads.mirror import event_object
from gascity.beads.store import EventQuery
from gascity.beads.times import time_of
from gascity.cli import books
from gascity.cli.desk import EmptyDesk, city_of
from gascity.cli.failure import Failure, NoController
from gascity.model.session import Session
from gascity.report.status import recorded

Fields = Mapping[str, Any]
Answer = Callable[[EmptyDesk, Fields], Awaitable[dict[str, Any]]]


def answer(city: str, op: str, fields: Fields) -> dict[str, Any]:
    """What the controller would answer, worked out on the store.

    Raises:
        NoController: this needs a controller.
        Failure: refused, as the controller would have.
    """
    work = OPS.get(op)
    if work is None:
        raise NoController
    with books.opened(city) as beads:
        desk = EmptyDesk(beads, city)

        async def answered() -> dict[str, Any]:
            return await work(desk, fields)

        try:
            return asyncio.run(answered())
        except Refused as refusal:
            raise Failure(refusal.what, refusal.do, exit=refusal.exit) from None


def recorded_status(city: str, wanted: list[str]) -> dict[str, Any]:
    """The status object from the records; `wanted` empty means all."""
    if not books.has_store(city):
        return recorded(name=city_of(city).name, path=city, sessions=[])
    with books.opened(city) as beads:
        look = EmptyDesk(beads, city).snapshot()
    chosen: dict[str, Session] = {}
    try:
        for word in wanted:
            one = find(look, word)
            chosen[one.id] = one
    except Refused as refusal:
        raise Failure(refusal.what, refusal.do, exit=refusal.exit) from None
    shown = chosen.values() if wanted else look.sessions.values()
    return recorded(name=look.city.name, path=city, sessions=shown, warnings=look.city.warnings)


def stored_events(city: str, fields: Fields) -> list[dict[str, Any]]:
    """The kept events that are wanted, as `{"event": ...}`; a note first if some are gone (R74)."""
    if not books.has_store(city):
        return []
    after = int(fields.get("after") or 0)
    query = EventQuery(
        after=after,
        types=tuple(fields.get("types") or ()),
        subject=str(fields.get("session") or ""),
        since=time_of(fields["since"]) if fields.get("since") else None,
    )
    with books.opened(city) as beads:
        oldest = beads.oldest_seq()
        events = beads.events(query)
    told = [{"event": event_object(event)} for event in events]
    if 0 < after < oldest - 1:
        return [{"note": f"events before {oldest} are no longer kept"}, *told]
    return told


def attach_argv(city: str, word: str) -> list[str]:
    """The command that attaches to a session that runs although no controller does (R65).

    Raises:
        NoController: it does not run, so it would have to be woken.
    """
    from gascity.cli import unattended

    if not books.has_store(city):
        raise NoController
    with books.opened(city) as beads:
        look = EmptyDesk(beads, city).snapshot()
    try:
        session = find(look, word)
    except Refused as refusal:
        raise Failure(refusal.what, refusal.do, exit=refusal.exit) from None
    argv = unattended.attach_argv(Path(city), session)
    if argv is None:
        raise NoController(f"{session.name} does not run, and no controller can wake it")
    return argv


OPS: Final[Mapping[str, Answer]] = {
    "pin": lambda desk, said: requests_hold.pin(desk, **_renamed(said)),
    "unpin": lambda desk, said: requests_hold.unpin(desk, **_renamed(said)),
    "pins": lambda desk, _: requests_hold.pins(desk),
    "suspend": lambda desk, said: requests_hold.suspend(desk, **_renamed(said)),
    "resume": lambda desk, said: requests_hold.resume(desk, **_renamed(said)),
    "sling": lambda desk, said: requests_work.sling(desk, **said),
    "beads": lambda desk, said: requests_work.beads(desk, **said),
    "bead": lambda desk, said: requests_work.bead(desk, **_renamed(said)),
    "bead_claim": lambda desk, said: requests_work.claim(desk, **_renamed(said)),
    "bead_close": lambda desk, said: requests_work.close(desk, **_renamed(said)),
    "bead_update": lambda desk, said: requests_work.update(desk, **_renamed(said)),
    "wait_add": lambda desk, said: requests_wait.add(desk, **_renamed(said)),
    "waits": lambda desk, said: requests_wait.waits(desk, **_renamed(said)),
    "wait_ready": lambda desk, said: requests_wait.ready(desk, **_renamed(said)),
    "wait_cancel": lambda desk, said: requests_wait.cancel(desk, **_renamed(said)),
    "hook": lambda desk, said: requests_work.hook(desk, **_renamed(said)),
}

# Field of the socket -> argument of the request, where the names differ.
_ARGUMENTS: Final = {"session": "said", "id": "bead_id", "claim": "claim_it"}


def _renamed(said: Fields) -> dict[str, Any]:
    return {_ARGUMENTS.get(name, name): value for name, value in said.items()}
