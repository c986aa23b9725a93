"""One agent under the protocol: its process, its connection, and how it comes up.

Source: DESIGN §8, §W (R62, R63, R69)
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import anyio
from acp import PROTOCOL_VERSION, RequestError, connect_to_agent, text_block
from acp.client.connection import ClientSideConnection
from acp.schema import ClientCapabilities, Implementation

from gascity.model.world import Exit
from gascity.runtimes import processes
from gascity.runtimes.acp.conversation import Conversation
from gascity.runtimes.acp.memory import Note
from gascity.runtimes.acp.wire import MESSAGE_MOST, Wire
from gascity.runtimes.base import RuntimeUnreachable, Spec, StartFailed, Stopped
from gascity.runtimes.ending import Hunt
from gascity.runtimes.starting import environment

HANDSHAKE_S: Final = 30.0
SEND_S: Final = 2.0
_PR_SET_PDEATHSIG: Final = 1
_LIBC: Final = ctypes.CDLL(None, use_errno=True)


@dataclass(slots=True, kw_only=True)
class Hosted:
    """An agent that came up. `began_fresh` says that an older conversation could not be loaded."""

    token: str
    process: asyncio.subprocess.Process
    talk: Conversation
    connection: ClientSideConnection
    conversation: str = ""
    has_turns: bool = False
    began_fresh: bool = False
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    @property
    def is_over(self) -> bool:
        """Its process has ended."""
        return self.process.returncode is not None

    @property
    def exit(self) -> Exit | None:
        """How it ended."""
        code = self.process.returncode
        if code is None:
            return None
        return Exit(code=code) if code >= 0 else Exit(signal=-code)

    async def prompt(self, text: str) -> None:
        """Begin a turn; returns once the agent was told, not when it is done.

        Raises:
            RuntimeUnreachable: a turn is open already, or the agent is gone.
        """
        if self.talk.is_in_turn:
            raise RuntimeUnreachable("a turn is open, and the protocol has one at a time")
        turn = asyncio.create_task(self._turn(text))
        self.tasks.add(turn)
        turn.add_done_callback(self.tasks.discard)
        self.talk.begin(text, turn)
        self.has_turns = True
        await asyncio.sleep(0)

    async def _turn(self, text: str) -> None:
        try:
            await self.connection.prompt(session_id=self.conversation, prompt=[text_block(text)])
            self.talk.end("")
        except (RequestError, ConnectionError, OSError) as problem:
            self.talk.end(_words(problem))

    async def cancel(self) -> None:
        """Break off the turn: the agent is told, and every question of it is answered."""
        self.talk.decline()
        if self.talk.is_in_turn:
            with contextlib.suppress(ConnectionError, OSError, TimeoutError):
                async with asyncio.timeout(SEND_S):
                    await self.connection.cancel(session_id=self.conversation)

    async def close(self) -> None:
        """Let go of the connection; a process that has not ended reads the end of its input."""
        self.talk.decline()
        for task in [*self.tasks]:
            task.cancel()
        with contextlib.suppress(ConnectionError, OSError, TimeoutError):
            async with asyncio.timeout(SEND_S):
                await self.connection.close()

    async def end(self, grace_s: float) -> Stopped:
        """End its process tree, and let go of what only an ended process lets go of."""
        root = processes.read(self.process.pid) if not self.is_over else None
        done = await Hunt(roots=[root] if root else [], token=self.token, spare=()).end(grace_s)
        if not done.left:
            await self.close()
            # asyncio waits for pipes as well, while somebody may still want what is in them.
            transport: Any = getattr(self.process, "_transport", None)
            if transport is not None:
                transport.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SEND_S):
                    await self.process.wait()
        return done


async def come_up(spec: Spec, note: Note, *, handshake_s: float) -> Hosted:
    """Start the agent and open its conversation: the noted one, or a new one.

    Raises:
        StartFailed: it ended, or refused; nothing of it is left.
    """
    process = await _spawn(spec)
    assert process.stdin is not None
    assert process.stdout is not None
    talk = Conversation()
    connection: Any = connect_to_agent(talk, Wire(process.stdout, process.stdin))  # type: ignore[arg-type]
    hosted = Hosted(token=spec.token, process=process, talk=talk, connection=connection)
    said: deque[bytes] = deque(maxlen=8)
    drain = asyncio.create_task(_drain(process.stderr, said))
    hosted.tasks.add(drain)
    try:
        await _open_within(hosted, spec, note, handshake_s)
    except BaseException:
        with anyio.CancelScope(shield=True):
            await hosted.end(0.0)
        raise
    return hosted


async def _open_within(hosted: Hosted, spec: Spec, note: Note, handshake_s: float) -> None:
    try:
        async with asyncio.timeout(handshake_s):
            await _open(hosted, spec, note)
    except TimeoutError:
        raise StartFailed(f"it did not answer within {handshake_s:g} s") from None
    except (RequestError, ConnectionError, OSError, ValueError) as problem:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.5):
                await hosted.process.wait()
        if hosted.is_over:
            raise StartFailed(f"it ended at once ({hosted.exit})") from None
        raise StartFailed(_words(problem)) from None


async def _open(hosted: Hosted, spec: Spec, note: Note) -> None:
    connection = hosted.connection
    able = await connection.initialize(
        protocol_version=PROTOCOL_VERSION,
        client_capabilities=ClientCapabilities(),
        client_info=Implementation(name="gc", title="gascity", version="1.0"),
    )
    loads = able.agent_capabilities is not None and able.agent_capabilities.load_session is True
    wanted = note.conversation if note.has_turns and not spec.fresh else ""
    if wanted and loads:
        try:
            await connection.load_session(cwd=spec.work_dir, session_id=wanted, mcp_servers=[])
        except RequestError as problem:
            why = f"it could not load conversation {wanted}: {_words(problem)}"
            raise StartFailed(f'{why}; gc forgets it with wake_mode = "fresh"') from None
        hosted.conversation, hosted.has_turns = wanted, True
        return
    made = await connection.new_session(cwd=spec.work_dir, mcp_servers=[])
    hosted.conversation = made.session_id
    hosted.began_fresh = bool(wanted)


async def _spawn(spec: Spec) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            spec.command,
            cwd=spec.work_dir,
            env=environment(spec),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            limit=MESSAGE_MOST,
            preexec_fn=partial(_end_with, os.getpid()),
        )
    except OSError as problem:
        raise StartFailed(f"no process for it: {problem.strerror}") from None


def _end_with(controller: int) -> None:
    """Nobody could talk to it without the controller: the kernel tells it when that is gone."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != controller:
        os._exit(1)


async def _drain(stream: asyncio.StreamReader | None, said: deque[bytes]) -> None:
    """Read what it says on stderr, and keep the end: nobody else does, and it would hang."""
    while stream is not None and (part := await stream.read(4096)):
        said.append(part)
        await asyncio.sleep(0)


def _words(problem: BaseException) -> str:
    """What went wrong, for people."""
    return (str(problem) or type(problem).__name__)[:300]
