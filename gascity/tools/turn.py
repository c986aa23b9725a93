"""A turn: runs the tool calls of one model response, and says after every step how far it is.

Calls that are safe beside each other run beside each other; as soon as one of a response is not,
the whole response runs in order. However the turn ends, it ends once: a cancelled one first turns
every block that is not finished into `cancelled`, then publishes its terminal snapshot.

Source: TOOL-28..TOOL-32, R48, R59
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

import anyio

from gascity.tools.registry import Registry
from gascity.tools.tool import ToolResult


class ToolStatus(StrEnum):
    """How far one block is."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


UNFINISHED = frozenset({ToolStatus.QUEUED, ToolStatus.RUNNING})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call as the model wrote it; `arguments` may be anything."""

    id: str
    name: str
    arguments: object


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolBlock:
    """One call and what became of it; `result` is there once it is finished."""

    call: ToolCall
    status: ToolStatus = ToolStatus.QUEUED
    result: ToolResult | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All blocks of a turn at one moment, in the order of the calls; the last one is terminal."""

    blocks: tuple[ToolBlock, ...]
    is_terminal: bool = False


class Turn:
    """The tool calls of one model response. Runs once."""

    def __init__(
        self,
        calls: Iterable[ToolCall],
        *,
        tools: Registry,
        publish: Callable[[Snapshot], None] = lambda snapshot: None,
    ) -> None:
        self._blocks = [ToolBlock(call=call) for call in calls]
        self._tools = tools
        self._publish = publish
        self._started = False

    async def run(self) -> Snapshot:
        """Run all calls; the terminal snapshot. Cancellation passes through.

        Whoever cancels (a user's stop, a shutdown, a deadline of a scheduler or of a sub-agent)
        cancels the scope around this call, and with it the timers of the tools that run.

        Raises RuntimeError when it ran before.
        """
        if self._started:
            raise RuntimeError("a turn runs once; make a new one")
        self._started = True
        self._publish(Snapshot(tuple(self._blocks)))
        try:
            if self._is_concurrent():
                async with anyio.create_task_group() as group:
                    for place in range(len(self._blocks)):
                        group.start_soon(self._run_one, place)
            else:
                for place in range(len(self._blocks)):
                    await self._run_one(place)
        finally:
            last = self._close()
        return last

    def _is_concurrent(self) -> bool:
        tools = [self._tools.get(block.call.name) for block in self._blocks]
        return all(tool.concurrency_safe and not tool.exclusive for tool in tools if tool)

    async def _run_one(self, place: int) -> None:
        self._change(place, status=ToolStatus.RUNNING)
        call = self._blocks[place].call
        tool = self._tools.get(call.name)
        if tool is None:
            known = ", ".join(self._tools.names()) or "none"
            result = ToolResult.failed(f"there is no tool of that name; there are: {known}")
        else:
            try:
                result = await tool.execute(call.arguments)
            except Exception:  # a broken tool: it has failed, the rest of the turn is cancelled
                self._change(place, status=ToolStatus.FAILED)
                raise
        ended = ToolStatus.SUCCEEDED if result.success else ToolStatus.FAILED
        self._change(place, status=ended, result=result)

    def _change(self, place: int, *, status: ToolStatus, result: ToolResult | None = None) -> None:
        self._blocks[place] = replace(self._blocks[place], status=status, result=result)
        self._publish(Snapshot(tuple(self._blocks)))

    def _close(self) -> Snapshot:
        """Cancel what is unfinished and publish the end. Never waits: we may be cancelled."""
        self._blocks = [
            replace(block, status=ToolStatus.CANCELLED) if block.status in UNFINISHED else block
            for block in self._blocks
        ]
        last = Snapshot(tuple(self._blocks), is_terminal=True)
        self._publish(last)
        return last
