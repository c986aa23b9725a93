"""The door of the HTTP server, without a network: what handlers hear, and when clients are gone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from gascity.tools.mcp import GONE
from gascity.tools.mcp_http import MOST_BYTES, Door, bound

pytestmark = pytest.mark.anyio

LEFT = {"type": "http.disconnect"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def post() -> dict[str, Any]:
    """The scope of a request."""
    return {"type": "http", "method": "POST"}


def saying(*messages: dict[str, Any]) -> Callable[[], Any]:
    """A client that sends these, then waits for ever."""
    left = list(messages)

    async def receive() -> dict[str, Any]:
        if not left:
            await anyio.sleep_forever()
        return left.pop(0)

    return receive


def part(body: bytes, *, more: bool = False) -> dict[str, Any]:
    """A part of a request's body."""
    return {"type": "http.request", "body": body, "more_body": more}


async def nobody(message: dict[str, Any]) -> None:
    """A client that hears nothing."""


async def heard(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    """What a handler behind the door hears, message by message."""
    said: list[dict[str, Any]] = []

    async def handler(scope: Any, receive: Any, send: Any) -> None:
        while not said or said[-1]["type"] != "http.disconnect":
            said.append(await receive())

    await Door(handler)(post(), saying(*messages, LEFT), nobody)
    return said


async def test_a_body_in_parts_is_heard_whole() -> None:
    """A number is not cut where the network cut it."""
    [message, _] = await heard(part(b'{"a"', more=True), part(b": 1", more=True), part(b"}"))
    assert (message["body"], message["more_body"]) == (b'{"a": 1}', False)


async def test_a_number_too_long_becomes_readable() -> None:
    """Over HTTP as over stdio (TOOL-18)."""
    [message, _] = await heard(part(b'{"seconds": ' + b"9" * 5000 + b"}"))
    assert json.loads(message["body"]) == {"seconds": 10**100}


async def test_a_body_without_end_is_not_collected() -> None:
    """Past the limit it is handed on as it is, for the limit to refuse it."""
    chunk = part(b"9" * (MOST_BYTES // 4), more=True)
    [first, *_] = await heard(*[chunk] * 8)
    assert MOST_BYTES < len(first["body"]) <= MOST_BYTES * 5 / 4
    assert first["more_body"]


async def test_a_handler_sees_its_client_go() -> None:
    """As soon as the connection is closed, and at the latest with its own end (R48)."""
    seen: list[bool] = []
    scope = post()

    async def handler(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        seen.append(scope[GONE].is_set())
        await receive()
        seen.append(scope[GONE].is_set())

    await Door(handler)(scope, saying(part(b"{}"), LEFT), nobody)
    assert seen == [False, True]
    other = post()
    await Door(handler)(other, saying(part(b"{}"), part(b"{}")), nobody)
    assert other[GONE].is_set()


async def test_nothing_is_said_after_the_end_of_an_answer() -> None:
    """An excuse to a client that is served already would be a fault of its own."""
    sent: list[str] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message["type"])

    async def handler(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": b"a", "more_body": True})
        await send({"type": "http.response.body", "body": b"b"})
        await send({"type": "http.response.start", "status": 500})

    await Door(handler)(post(), saying(part(b"{}")), send)
    assert sent == ["http.response.start", "http.response.body", "http.response.body"]


async def test_a_shut_door_lets_answers_out_and_nobody_in() -> None:
    """The server's end waits for what is under way; a newcomer is sent away (R48)."""
    sent: list[Any] = []
    may_answer = anyio.Event()

    async def send(message: dict[str, Any]) -> None:
        sent.append(message.get("status"))

    async def handler(scope: Any, receive: Any, send: Any) -> None:
        await may_answer.wait()

    door = Door(handler)
    answered = anyio.Event()

    async def wait() -> None:
        await door.wait_until_answered()
        answered.set()

    async with anyio.create_task_group() as group:
        group.start_soon(door, post(), saying(part(b"{}")), nobody)
        await anyio.wait_all_tasks_blocked()
        door.is_shut = True
        group.start_soon(wait)
        await door(post(), saying(), send)
        assert sent[0] == 503
        await anyio.wait_all_tasks_blocked()
        assert not answered.is_set()
        may_answer.set()
    assert answered.is_set()


async def test_the_socket_is_bound_to_loopback() -> None:
    """Nothing outside this machine can reach it."""
    with bound(0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"
