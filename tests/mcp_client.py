"""Clients of `gc mcp`: one conversation for every transport, and one that a test can kill.

`python -m tests.mcp_client ERA TARGET SECONDS...` is a process of its own: connects in that era of
the protocol to a URL or to a server it starts, and calls `sleep` with each number at once. Prints
`waiting` with each report of progress, and the text of each result.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

NOT_A_COUNT: Final = "seconds must be a non-negative integer"
TOO_LONG: Final = "seconds must not exceed 86400 (24 hours)"


async def converse(server: Any, era: str) -> None:
    """All that a client can ask of `sleep`, in one sitting; asserts what was agreed."""
    told: list[float | None] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        told.append(total)

    async with Client(server, mode=era) as client:

        async def sleep(seconds: object, **more: Any) -> tuple[str, bool]:
            result = await client.call_tool("sleep", {"seconds": seconds}, **more)
            return result.content[0].text, result.is_error

        assert [tool.name for tool in (await client.list_tools()).tools] == ["sleep"]
        assert await sleep(0) == ("Slept for 0 second(s).", False)
        for bad in (-1, 5.0, "5", True, None):
            assert await sleep(bad) == (NOT_A_COUNT, True)
        for bad in (86_401, 10**30):
            assert await sleep(bad) == (TOO_LONG, True)
        began = anyio.current_time()
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(sleep, 2)
        took = anyio.current_time() - began
        assert 2 <= took < 5.9, "beside each other, not after each other"
        assert await sleep(5, progress_callback=listen) == ("Slept for 5 second(s).", False)
        with anyio.move_on_after(0.5) as scope:
            await sleep(86_400)
        assert scope.cancelled_caught
        assert await sleep(0) == ("Slept for 0 second(s).", False)
    assert told == [5], "after four seconds, and not again"


async def main(era: str, target: str, *seconds: str) -> None:
    """Make the calls, all at once."""
    local = StdioServerParameters(command="sh", args=["-c", target])
    server = target if target.startswith("http") else stdio_client(local)
    async with Client(server, mode=era) as client, anyio.create_task_group() as group:
        for one in seconds:
            group.start_soon(call, client, int(one))


async def call(client: Client, seconds: int) -> None:
    """One call, told as it goes."""

    async def waiting(progress: float, total: float | None, message: str | None) -> None:
        print("waiting", flush=True)

    arguments = {"seconds": seconds}
    result = await client.call_tool("sleep", arguments, progress_callback=waiting)
    print(result.content[0].text, flush=True)


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
