"""A client of `gc mcp` as a process of its own, so that a test can kill it in the middle of a call.

`python -m tests.mcp_client ERA TARGET SECONDS...`: connects in that era of the protocol to a URL or
to a server it starts, and calls `sleep` with each number at once. Prints `waiting` with each report
of progress, and the text of each result.
"""

from __future__ import annotations

import sys

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client


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
