"""The control socket's server: whom it lets in, one line each, and an answer or one clear error.

Nothing a client sends can bring it down: what a request raises is answered, and what nobody
foresaw is answered as a fault of ours and reported. Only a broken store goes further up.

Source: DESIGN §13 "The control socket" (E2, E3, R36, R75)
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup, TaskStatus

from gascity.act.operate import Desk
from gascity.act.ports import Refused
from gascity.act.save import Gone
from gascity.api import listener
from gascity.api.answers import ANSWERS, answer_word
from gascity.api.frames import BadRequest, Request, parse_line
from gascity.api.listener import ClientLeft, Line, TooLong, encoded
from gascity.api.lock import ControllerLock
from gascity.api.protocol import (
    EXIT_FAILED,
    EXIT_REFUSED,
    IDLE_TIMEOUT_S,
    MAX_CONNECTIONS,
    MAX_FOLLOWERS,
    MAX_TURNS,
    VERSION,
    WORDS,
)
from gascity.beads.store import Conflict, StoreBroken, StoreUnavailable

# Ops whose answer takes as long as the client stays: its leaving ends them.
LASTING: Final = frozenset({"watch", "events", "wake", "attach", "city_stop", "nudge", "turn"})
FOLLOWING: Final = frozenset({"watch", "events"})
# A wake goes on without whoever asked for it; all that ends is the telling.
Report = Callable[[str, BaseException], None]


def _no_report(op: str, problem: BaseException) -> None:
    """Where no log is wired."""


class Server:
    """Answers the control socket of one city until it is cancelled."""

    def __init__(self, desk: Desk, *, report: Report = _no_report) -> None:
        self._desk = desk
        self._report = report
        self._open = 0
        self._parting = 0  # refused ones that are still reading why
        self._followers = 0
        self._turns = 0
        self._broken: StoreBroken | None = None

    async def serve(
        self,
        city: Path,
        *,
        lock: ControllerLock,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Listen and answer. `task_status.started()` is called once connections are taken.

        Raises:
            UnsafeFolder: the socket would not be ours alone.
            StoreBroken: the process must end.
        """
        assert lock.is_held, "a socket is replaced by whoever holds the city"
        with listener.listening(city) as server:
            try:
                async with anyio.create_task_group() as group:
                    task_status.started()
                    while True:
                        await self._accept(server, group)
            except BaseExceptionGroup:
                if self._broken is not None:
                    raise self._broken from None
                raise

    async def _accept(self, server: socket.socket, group: TaskGroup) -> None:
        """Take one connection; over the limit it is told so and hung up on."""
        try:
            connection, _ = server.accept()
        except BlockingIOError:
            await anyio.wait_readable(server)
            return
        except OSError:  # out of descriptors, or the client left already
            await anyio.sleep(0.05)
            return
        line = Line(connection)
        fault = self._unwelcome(connection)
        if fault is not None:
            line.send_now(encoded(fault))
            if self._parting < MAX_CONNECTIONS:
                self._parting += 1
                group.start_soon(self._part, line)
            else:
                line.close()
            return
        self._open += 1
        group.start_soon(self._converse, line)

    async def _part(self, line: Line) -> None:
        try:
            await line.part()
        finally:
            self._parting -= 1
            line.close()

    def _unwelcome(self, connection: socket.socket) -> dict[str, Any] | None:
        """Why this client is not answered, or None."""
        try:
            uid = listener.peer_uid(connection)
        except OSError as problem:
            return _fault(f"cannot tell who you are: {problem}", "", EXIT_REFUSED)
        if uid not in (os.geteuid(), 0):
            return _fault(f"uid {uid} may not control this city", "", EXIT_REFUSED)
        if self._open >= MAX_CONNECTIONS:
            return _fault(f"{MAX_CONNECTIONS} connections are open", "try again", EXIT_FAILED)
        return None

    async def _converse(self, line: Line) -> None:
        """One connection, from its first line to its last object."""
        fault: dict[str, Any] | None = None
        try:
            try:
                with anyio.fail_after(IDLE_TIMEOUT_S):
                    request = parse_line(await line.read())
            except TimeoutError:
                fault = _fault(f"no line within {IDLE_TIMEOUT_S:g}s", "send one line", EXIT_FAILED)
            except TooLong:
                fault = _fault("a line of 64 KiB or more", "send a shorter one", EXIT_FAILED)
            except BadRequest as problem:
                fault = _fault(problem.what, problem.do, problem.exit)
            else:
                await self._answer(line, request)
            if fault is not None:
                await line.send(encoded(fault))
                await line.part()
        except ClientLeft:
            pass
        finally:
            self._open -= 1
            line.close()
        if self._broken is not None:
            raise self._broken

    async def _answer(self, line: Line, request: Request) -> None:
        if request.op in WORDS:
            await line.send(answer_word(self._desk, request.op).encode() + b"\n")
        elif request.op in FOLLOWING and self._followers >= MAX_FOLLOWERS:
            what = f"{MAX_FOLLOWERS} clients follow this city"
            await line.send(encoded(_fault(what, "end one of them", EXIT_FAILED)))
        elif request.op == "turn":
            await self._answer_turn(line, request)
        elif request.op in LASTING:
            self._followers += request.op in FOLLOWING
            try:
                await self._answer_while_there(line, request)
            except anyio.get_cancelled_exc_class():
                if request.op == "city_stop":  # the server goes down: this is what was asked for
                    line.send_now(encoded(_STOPPED))
                raise
            finally:
                self._followers -= request.op in FOLLOWING
        else:
            await line.send(await self._reply(line, request))

    async def _answer_turn(self, line: Line, request: Request) -> None:
        """Hold an announced turn. A city of agents that wait leaves room for commands."""
        if self._turns >= MAX_TURNS:
            what = f"{MAX_TURNS} turns are open in this city"
            await line.send(encoded(_fault(what, "end one of them", EXIT_FAILED)))
            return
        self._turns += 1
        self._open -= 1
        try:
            await self._answer_while_there(line, request)
        finally:
            self._turns -= 1
            self._open += 1

    async def _answer_while_there(self, line: Line, request: Request) -> None:
        """Answer, and drop the request when the client hangs up."""
        async with anyio.create_task_group() as both:

            async def watch() -> None:
                await line.gone()
                both.cancel_scope.cancel()

            both.start_soon(watch)
            with contextlib.suppress(ClientLeft):
                await line.send(await self._reply(line, request))
            both.cancel_scope.cancel()

    async def _reply(self, line: Line, request: Request) -> bytes:
        """The last object of the answer, whatever happened on the way."""

        async def say(part: Mapping[str, Any]) -> None:
            await line.send(encoded({"v": VERSION, "ok": True, **part, "end": False}))

        try:
            reply = await ANSWERS[request.op](self._desk, request.fields, say)
            code = reply.get("exit", 0)
            return encoded({"v": VERSION, "ok": not code, **reply, "end": True})
        except ClientLeft:
            raise
        except Exception as problem:  # noqa: BLE001  nothing a client asks may end the controller
            return encoded(self._fault_of(request, problem))

    def _fault_of(self, request: Request, problem: Exception) -> dict[str, Any]:
        """What a client is told of a request that did not end well."""
        match problem:
            case Refused():
                return _fault(problem.what, problem.do, problem.exit, outcome="refused")
            case Gone():
                return _fault("the session was removed meanwhile", "see gc status", EXIT_FAILED)
            case Conflict():
                return _fault("somebody else kept writing it", "try again", EXIT_FAILED)
            case StoreUnavailable():
                if isinstance(problem, StoreBroken):
                    self._broken = problem
                what = f"the store cannot be written: {problem}; nothing was changed"
                return _fault(what, "make room or repair it; gc doctor says more", EXIT_FAILED)
        self._report(request.op, problem)
        what = f"{request.op} met a fault of the controller: {type(problem).__name__}"
        return _fault(what, "read .gc/controller.log", EXIT_FAILED)


def _fault(what: str, do: str, code: int, **more: Any) -> dict[str, Any]:
    return {"v": VERSION, "ok": False, **more, "exit": code, "what": what, "do": do, "end": True}


_STOPPED: Final = {"v": VERSION, "ok": True, "outcome": "stopped", "end": True}
