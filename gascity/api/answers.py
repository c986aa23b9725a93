"""Op → what answers it: the one table of the control socket.

A row takes the controller, the checked fields and a way to say something on the way, and returns
the last object. Reads answer from the last patrol, so they never wait for a runtime that hangs.

Source: DESIGN §13 "The control socket" (R44, R74); surface "Command line"
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Final, TypeAlias

from gascity.act import (
    requests_attach,
    requests_hold,
    requests_wake,
    requests_why,
    requests_work,
)
from gascity.act.operate import (
    HEARTBEAT_S,
    Desk,
    Look,
    Reply,
    Say,
    find,
    next_progress,
)
from gascity.act.ports import Refused
from gascity.api.answers_notices import NOTICES
from gascity.api.answers_said import SAID
from gascity.api.frames import picked
from gascity.beads.mirror import event_object
from gascity.beads.store import EventQuery
from gascity.beads.times import time_of, time_text
from gascity.model.session import State
from gascity.report.status import status as status_object

Fields: TypeAlias = Mapping[str, Any]
Answer: TypeAlias = Callable[[Desk, Fields, Say], Awaitable[Reply]]

PAGE: Final = 500  # events read at a time


async def status(desk: Desk, fields: Fields, say: Say) -> Reply:
    """What the last patrol left, at once."""
    return {"status": _status(desk, fields.get("sessions", ()))}


def _status(desk: Desk, wanted: Collection[str]) -> dict[str, Any]:
    look = desk.snapshot()
    only = {find(look, one).id for one in wanted} if wanted else None
    return status_object(
        city=look.city,
        sessions=look.sessions,
        plan=look.plan,
        controller={
            "pid": os.getpid(),
            "last_patrol_at": look.last_patrol_at,
            "patrol_interval_s": look.city.daemon.patrol_interval.seconds,
            "patrols": look.patrols,
        },
        warnings=look.problems,
        only=only,
    )


async def watch(desk: Desk, fields: Fields, say: Say) -> Reply:
    """The status now, and again after every patrol that changed it; ends when the client leaves."""
    shown: dict[str, Any] = {}
    seen = desk.progress
    while True:
        told = _status(desk, fields.get("sessions", ()))
        lasting = {name: value for name, value in told.items() if name != "controller"}
        if lasting != shown:
            shown = lasting
            await say({"status": told})
        seen = await desk.wait_progress(seen)


async def sessions(desk: Desk, fields: Fields, say: Say) -> Reply:
    """The names that complete."""
    return {"names": sorted(one.name for one in desk.snapshot().sessions.values())}


async def events(desk: Desk, fields: Fields, say: Say) -> Reply:
    """Stored events, oldest first; with `follow` those that come as well (R74)."""
    after = int(fields.get("after", 0))
    oldest = await desk.store.oldest_seq()
    if 0 < after < oldest - 1:
        await say({"note": f"events before {oldest} are no longer kept"})
    seen = desk.progress
    while True:
        while page := await desk.store.events(_event_query(desk, fields, after)):
            for event in page:
                await say({"event": event_object(event)})
            after = page[-1].seq
            if len(page) < PAGE:
                break
        if not fields.get("follow"):
            return {"last_seq": await desk.store.last_seq()}
        seen = await desk.wait_progress(seen)


def _event_query(desk: Desk, fields: Fields, after: int) -> EventQuery:
    since = fields.get("since") or ""
    try:
        instant = time_of(since) if since else None
    except ValueError:
        raise Refused(f"since is {since!r}", "write an RFC 3339 time with a zone", 2) from None
    return EventQuery(
        after=after,
        types=tuple(fields.get("types", ())),
        subject=_subject(desk.snapshot(), fields.get("session") or ""),
        since=instant,
        limit=PAGE,
    )


def _subject(look: Look, said: str) -> str:
    """The session's name for a known one; else the word itself, for sessions that are gone."""
    if not said:
        return ""
    try:
        return find(look, said).name
    except Refused:
        return said


async def config(desk: Desk, fields: Fields, say: Say) -> Reply:
    """Which config is in force, and what is wrong with the one that is not."""
    look = desk.snapshot()
    return {
        "revision": look.city.revision,
        "loaded_at": time_text(look.started_at),
        "problem": "; ".join(look.problems),
    }


async def city_stop(desk: Desk, fields: Fields, say: Say) -> Reply:
    """Ask the controller to end and say how many sessions are left until it does.

    It never returns by itself: the last word is the server's when it is taken down.
    """
    alone = bool(fields.get("controller_only", False))
    desk.stop(sessions=not alone)
    seen = desk.progress
    while True:
        text = "stopping the controller" if alone else _stopping(desk.snapshot())
        await say({"progress": text})
        seen = await next_progress(desk, seen, until=desk.clock.monotonic() + HEARTBEAT_S)


def _stopping(look: Look) -> str:
    up = (State.AWAKE, State.CREATING)
    left = sum(one.state in up and one.was_started for one in look.sessions.values())
    return f"stopping: {left} session{'s' if left != 1 else ''} left"


async def _wake(desk: Desk, fields: Fields, say: Say) -> Reply:
    said = picked(fields, "by", "wait", "timeout_s")
    return await requests_wake.wake(desk, fields["session"], say=say, **said)


async def _attach(desk: Desk, fields: Fields, say: Say) -> Reply:
    said = picked(fields, "by", "confirm_fresh", "timeout_s")
    return await requests_attach.attach(desk, fields["session"], say=say, **said)


async def _attach_cancel(desk: Desk, fields: Fields, say: Say) -> Reply:
    return await requests_attach.cancel(desk, fields["session"], holder=fields["holder"])


async def _sleep(desk: Desk, fields: Fields, say: Say) -> Reply:
    return await requests_hold.sleep(desk, fields["session"], **picked(fields, "by", "force"))


async def _pin(desk: Desk, fields: Fields, say: Say) -> Reply:
    said = picked(fields, "owner", "reason", "for_s", "agent")
    return await requests_hold.pin(desk, fields["session"], **said)


async def _unpin(desk: Desk, fields: Fields, say: Say) -> Reply:
    return await requests_hold.unpin(desk, fields["session"], **picked(fields, "owner"))


async def _pins(desk: Desk, fields: Fields, say: Say) -> Reply:
    return await requests_hold.pins(desk)


async def _suspend(desk: Desk, fields: Fields, say: Say) -> Reply:
    said = picked(fields, "all", "by")
    return await requests_hold.suspend(desk, fields.get("session", ""), **said)


async def _resume(desk: Desk, fields: Fields, say: Say) -> Reply:
    said = picked(fields, "all", "by")
    return await requests_hold.resume(desk, fields.get("session", ""), **said)


async def _kill(desk: Desk, fields: Fields, say: Say) -> Reply:
    return await requests_hold.kill(desk, fields["session"], **picked(fields, "by"))


async def _why(desk: Desk, fields: Fields, say: Say) -> Reply:
    return await requests_why.why(desk, fields["session"])


async def _sling(desk: Desk, fields: Fields, say: Say) -> Reply:
    said = picked(fields, "priority")
    return await requests_work.sling(desk, fields["target"], fields["title"], **said)


async def _beads(desk: Desk, fields: Fields, say: Say) -> Reply:
    return await requests_work.beads(desk, **picked(fields, "type", "status", "assignee"))


async def _bead(desk: Desk, fields: Fields, say: Say) -> Reply:
    return await requests_work.bead(desk, fields["id"])


async def _bead_claim(desk: Desk, fields: Fields, say: Say) -> Reply:
    return await requests_work.claim(desk, fields["id"], assignee=fields["assignee"])


async def _bead_close(desk: Desk, fields: Fields, say: Say) -> Reply:
    return await requests_work.close(desk, fields["id"], **picked(fields, "reason"))


async def _bead_update(desk: Desk, fields: Fields, say: Say) -> Reply:
    said = {name: value for name, value in fields.items() if name != "id"}
    return await requests_work.update(desk, fields["id"], **said)


async def _hook(desk: Desk, fields: Fields, say: Say) -> Reply:
    claim_it = bool(fields.get("claim", False))
    return await requests_work.hook(desk, fields["session_id"], claim_it=claim_it)


ANSWERS: Final[Mapping[str, Answer]] = {
    "status": status,
    "watch": watch,
    "why": _why,
    "sessions": sessions,
    "events": events,
    "wake": _wake,
    "attach": _attach,
    "attach_cancel": _attach_cancel,
    "sleep": _sleep,
    "pin": _pin,
    "unpin": _unpin,
    "pins": _pins,
    "suspend": _suspend,
    "resume": _resume,
    "kill": _kill,
    "sling": _sling,
    "beads": _beads,
    "bead": _bead,
    "bead_claim": _bead_claim,
    "bead_close": _bead_close,
    "bead_update": _bead_update,
    "hook": _hook,
    "config": config,
    "city_stop": city_stop,
    **NOTICES,
    **SAID,
}


def answer_word(desk: Desk, word: str) -> str:
    """The bare answer to a bare word; `stop` ends the controller and leaves sessions (R37)."""
    if word == "ping":
        return str(os.getpid())
    if word == "poke":
        desk.poke()
    elif word == "reload":
        desk.reload()
    else:
        desk.stop(sessions=False)
    return "ok"
