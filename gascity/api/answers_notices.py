"""What answers the ops about waits and messages; a part of the table in `answers`.

Source: DESIGN §13 "The control socket" (R66)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from gascity.act import requests_message, requests_respond, requests_wait
from gascity.act.operate import Desk, Reply, Say
from gascity.api.frames import picked

Fields: TypeAlias = Mapping[str, Any]


async def _nudge(desk: Desk, fields: Fields, say: Say) -> Reply:
    said = picked(fields, "mode", "by")
    return await requests_message.nudge(desk, fields["session"], fields["text"], **said)


async def _respond(desk: Desk, fields: Fields, say: Say) -> Reply:
    said = picked(fields, "answer", "request", "by")
    return await requests_respond.respond(desk, fields["session"], **said)


async def _messages(desk: Desk, fields: Fields, say: Say) -> Reply:
    said = picked(fields, "all")
    return await requests_message.messages(desk, fields.get("session", ""), **said)


async def _unsend(desk: Desk, fields: Fields, say: Say) -> Reply:
    return await requests_message.unsend(desk, fields["id"], **picked(fields, "by"))


async def _wait_add(desk: Desk, fields: Fields, say: Say) -> Reply:
    names = ("for_s", "until", "bead_ids", "any_of", "note", "elapsed", "expires_s", "by")
    return await requests_wait.add(desk, fields["session"], **picked(fields, *names))


async def _waits(desk: Desk, fields: Fields, say: Say) -> Reply:
    said = picked(fields, "all")
    return await requests_wait.waits(desk, fields.get("session", ""), **said)


async def _wait_ready(desk: Desk, fields: Fields, say: Say) -> Reply:
    return await requests_wait.ready(desk, fields["id"], **picked(fields, "by"))


async def _wait_cancel(desk: Desk, fields: Fields, say: Say) -> Reply:
    return await requests_wait.cancel(desk, fields["id"], **picked(fields, "by"))


NOTICES: Final[Mapping[str, Callable[[Desk, Fields, Say], Awaitable[Reply]]]] = {
    "nudge": _nudge,
    "respond": _respond,
    "messages": _messages,
    "unsend": _unsend,
    "wait_add": _wait_add,
    "waits": _waits,
    "wait_ready": _wait_ready,
    "wait_cancel": _wait_cancel,
}
