"""The tool server over HTTP: one port on loopback, for clients that cannot start a process.

A connection that closes ends the calls made over it. The older protocol would let them run on,
for a client may come back for the answer; this server keeps none, so nobody could.

Source: R48; surface "Command line"
"""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, TypeAlias

import anyio
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from gascity.tools.mcp import GONE, ToolServer
from gascity.tools.wire import readable

HOST: Final = "127.0.0.1"
PATH: Final = "/mcp"
MOST_BYTES: Final = 1024 * 1024  # of one request
MOST_CLIENTS: Final = 1000
FORGET_CLIENT_S: Final = 25 * 3600.0  # a client that said nothing for so long is gone
LAST_WORDS_S: Final = 2.0  # for answers under way when the server ends

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]


def bound(port: int) -> socket.socket:
    """A listening socket on loopback; port 0 takes a free one. Raises OSError."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()
    except OSError:
        listener.close()
        raise
    return listener


def serve_http(server: ToolServer, listener: socket.socket, *, ready: Callable[[str], None]) -> int:
    """Serve until SIGINT or SIGTERM; the signal's number. `ready` gets the URL."""
    return anyio.run(_serve_http, server, listener, ready)


async def _serve_http(
    server: ToolServer, listener: socket.socket, ready: Callable[[str], None]
) -> int:
    port = listener.getsockname()[1]
    app = server.protocol.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MOST_BYTES,
        max_sessions=MOST_CLIENTS,
        session_idle_timeout=FORGET_CLIENT_S,
        # Exactly this port: another page on this machine is as foreign as any.
        transport_security=TransportSecuritySettings(
            allowed_hosts=[f"{name}:{port}" for name in (HOST, "localhost")],
            allowed_origins=[f"http://{name}:{port}" for name in (HOST, "localhost")],
        ),
    )
    # It shows a traceback for each client that leaves in the middle of a message.
    logging.getLogger("mcp.server.streamable_http").setLevel(logging.CRITICAL)
    door = Door(app)
    web = _Web(_settings(door))
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with anyio.create_task_group() as group:
            async with server.protocol.session_manager.run():
                group.start_soon(web.serve, [listener])
                ready(f"http://{HOST}:{port}{PATH}")
                got = await anext(signals)
                door.is_shut = True
                server.calls.end_all()
                with anyio.move_on_after(LAST_WORDS_S):
                    await door.wait_until_answered()
            # The streams that clients hold open are closed now: nothing is left to wait for.
            web.should_exit = True
    return got


def _settings(app: App) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=1,
    )


class _Web(uvicorn.Server):
    """The web server with its hands off the process's signals: they are ours."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Door:
    """Every request passes it: over-long numbers are cut, and its handler can see its client go.

    Once it `is_shut`, whoever comes is sent away.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._posts: set[anyio.Event] = set()  # their clients' going
        self.is_shut = False

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one request, as ASGI asks."""
        if self.is_shut:
            await send({"type": "http.response.start", "status": 503, "headers": []})
            await send({"type": "http.response.body", "body": b"the server is ending"})
            return
        gone = anyio.Event()
        scope[GONE] = gone
        if scope["method"] == "POST":
            self._posts.add(gone)
        try:
            await self._app(scope, partial(_heard, receive, gone), _Once(send))
        finally:
            self._posts.discard(gone)
            gone.set()

    async def wait_until_answered(self) -> None:
        """Return once every request that is not a mere stream of notices has its answer."""
        for gone in tuple(self._posts):
            await gone.wait()


class _Once:
    """Drops what is said after the end of the answer; the SDK excuses itself to whoever left."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._is_over = False

    async def __call__(self, message: Message) -> None:
        if not self._is_over:
            self._is_over = message["type"].endswith("body") and not message.get("more_body")
            await self._send(message)


async def _heard(receive: Receive, gone: anyio.Event) -> Message:
    """The next message of a request, its body whole and readable; `gone` is set at its end."""
    message = await receive()
    body = message.get("body", b"")
    while message.get("more_body") and len(body) <= MOST_BYTES:
        message = await receive()
        body += message.get("body", b"")
    if message["type"] == "http.disconnect":
        gone.set()
        return message
    if len(body) > MOST_BYTES:
        return {**message, "body": body}  # to be refused as it is
    return {**message, "body": readable(body.decode(errors="replace")).encode()}
