"""One agent's pipes as a transport of the protocol's library: bounded in size and in pace.

A message that is too long ends the connection, and an agent that floods is read no faster than the
controller can bear: it waits at its pipe, everybody else does not.

Source: DESIGN §8 (R34)
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final

MESSAGE_MOST: Final = 16 * 1024 * 1024
BURST: Final = 50  # messages within one `EVERY_S`
EVERY_S: Final = 0.1


class Wire:
    """Newline-delimited JSON over the stdin and stdout of a child."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._since = 0.0
        self._count = 0

    async def send(self, message: dict[str, Any]) -> None:
        """Write one message; waits while the agent does not read."""
        self._writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        await self._writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None at the end. What is no message is passed over."""
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
            except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
                return None
            await self._keep_pace()
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(message, dict):
                return message

    async def _keep_pace(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._since >= EVERY_S:
            self._since, self._count = now, 0
        self._count += 1
        if self._count > BURST:
            await asyncio.sleep(max(0.0, self._since + EVERY_S - now))

    async def close(self) -> None:
        """Let the agent read the end of its input."""
        self._writer.close()
