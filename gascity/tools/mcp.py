"""Serves tools to agents over MCP: lists them word for word, runs calls, attends to them.

Attending is what the tools themselves know nothing of: progress while a call waits, an open turn
announced to whoever is around, the end of a call whose caller is gone. The low-level server of the
SDK is used because the high-level one rewrites schemas, results and logging.

Source: R48, R49
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any, Final, TypeAlias, cast

import anyio
import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from gascity.tools.calls import Call, Calls, Full
from gascity.tools.registry import Registry
from gascity.tools.surroundings import Surroundings
from gascity.tools.tool import Tool, ToolResult
from gascity.tools.wire import Lines

# Below the shortest patience reported of a client that lets progress extend it, 5 s.
PROGRESS_S: Final = 4.0
GONE: Final = "gascity.gone"  # in an HTTP request's scope: set once its client is gone

INSTRUCTIONS: Final = (
    "`sleep` holds its call open for as long as it was asked to. Many clients give up on a call "
    "after a minute or so; their time limit for this server can be raised. For a wait of more than "
    "a few minutes, or one that must outlive this session, record a durable wait instead, with "
    "`wait_until` where it is listed or else with the command `gc wait add`, and end your turn."
)

Context: TypeAlias = ServerRequestContext[Any, Any]


class ToolServer:
    """The tools of a registry behind one MCP server, over whichever transports it is put on."""

    def __init__(
        self,
        tools: Registry,
        *,
        surroundings: Surroundings,
        version: str,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._tools = tools
        self._surroundings = surroundings
        self.calls = Calls(say)
        self.protocol: Server[Any] = Server(
            "gascity",
            version=version,
            instructions=INSTRUCTIONS,
            on_list_tools=self._list,
            on_call_tool=self._call,
        )
        self.protocol.middleware.append(_with_an_object)

    async def _list(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=tool.name,
                    description=tool.description,
                    input_schema=dict(tool.parameters),
                )
                for tool in self._tools
            ]
        )

    async def _call(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            known = ", ".join(self._tools.names()) or "none"
            message = f"there is no tool of that name; there are: {known}"
            raise MCPError(code=types.INVALID_PARAMS, message=message)
        gone = ctx.request.scope.get(GONE) if ctx.request is not None else None
        try:
            with self.calls.open(tool.name, gone=gone) as call, call.scope:
                return _on_the_wire(await self._attended(ctx, call, tool, params.arguments))
        except Full as full:
            return _on_the_wire(ToolResult.failed(str(full)))
        raise MCPError(code=types.CONNECTION_CLOSED, message="the server ended the call")

    async def _attended(
        self, ctx: Context, call: Call, tool: Tool, arguments: object
    ) -> ToolResult:
        """Run the call with all that goes on beside it; the tool alone decides when it is over."""
        meant = tool.seconds_meant(arguments)
        async with AsyncExitStack() as stack:
            if meant != 0:
                what = tool.name if meant is None else f"{tool.name} {meant:.0f}s"
                await stack.enter_async_context(self._surroundings.open_turn(what))
            beside = await stack.enter_async_context(anyio.create_task_group())
            beside.start_soon(_report, ctx, call, meant)
            if call.gone is not None:
                beside.start_soon(_end_when, call.gone, call)
            result = await tool.execute(arguments)
            beside.cancel_scope.cancel()
        return result


def serve_stdio(server: ToolServer) -> None:
    """Serve the process's stdin and stdout until the client closes them, then end all calls."""
    anyio.run(_serve_stdio, server)


async def _serve_stdio(server: ToolServer) -> None:
    # All the SDK does with its stdin is to iterate over it.
    lines = cast("anyio.AsyncFile[str]", Lines(sys.stdin.buffer))
    try:
        async with stdio_server(stdin=lines) as (read, write):
            options = server.protocol.create_initialization_options()
            await server.protocol.run(read, write, options)
    except* BrokenPipeError:
        pass  # the client went before we had said all


async def _with_an_object(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Let arguments that are no object reach the tool as none, whose refusal the model can read.

    The SDK would answer with an error of the protocol (TOOL-19).
    """
    params = ctx.params or {}
    if ctx.method == "tools/call" and not isinstance(params.get("arguments", {}), dict):
        ctx = replace(ctx, params={**params, "arguments": {}})
    return await call_next(ctx)


def _on_the_wire(result: ToolResult) -> types.CallToolResult:
    text = result.output if result.success else result.error or ""
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], is_error=not result.success
    )


async def _report(ctx: Context, call: Call, meant: float | None) -> None:
    """Tell a client that asked for progress, until cancelled, that the call goes on (R49)."""
    of = "" if meant is None else f" of {meant:.0f}"
    while True:
        await anyio.sleep(PROGRESS_S)
        seconds = round(call.seconds())
        await ctx.session.report_progress(seconds, meant, f"{seconds}{of} s")


async def _end_when(gone: anyio.Event, call: Call) -> None:
    await gone.wait()
    call.scope.cancel()
