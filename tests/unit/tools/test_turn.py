"""A turn: in order or beside each other, and what a cancelled one leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import pytest

from gascity.tools import (
    Registry,
    SleepTool,
    Snapshot,
    Tool,
    ToolCall,
    ToolResult,
    ToolStatus,
    Turn,
)
from tests.unit.tools.paused import BACKENDS, Paused, run_paused

on_both = pytest.mark.parametrize("backend", BACKENDS)


class Note(Tool):
    """Writes down that it was called, after waiting for some seconds."""

    def __init__(self, name: str, log: list[str], *, takes: float = 0, safe: bool = True) -> None:
        self._name = name
        self._log = log
        self._takes = takes
        self._safe = safe

    @property
    def name(self) -> str:
        return self._name

    @property
    def description(self) -> str:
        return "Notes that it was called."

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {"type": "object"}

    @property
    def read_only(self) -> bool:
        return self._safe

    async def execute(self, arguments: object) -> ToolResult:
        self._log.append(f"{self._name} begins")
        await anyio.sleep(self._takes)
        self._log.append(f"{self._name} ends")
        return ToolResult.succeeded(self._name)


class Alone(Note):
    """Changes nothing, and still wants the turn to itself."""

    @property
    def exclusive(self) -> bool:
        return True


class Broken(Note):
    """Breaks the promise that no exception escapes."""

    async def execute(self, arguments: object) -> ToolResult:
        raise RuntimeError("broken")


def calls(*names: str, seconds: int = 5) -> list[ToolCall]:
    """One call a name, in order."""
    return [
        ToolCall(id=f"c{n}", name=name, arguments={"seconds": seconds})
        for n, name in enumerate(names)
    ]


def statuses(snapshot: Snapshot) -> list[str]:
    """The status of every block."""
    return [str(block.status) for block in snapshot.blocks]


@on_both
def test_a_response_with_sleep_runs_in_order(backend: str) -> None:
    """What comes after a sleep waits for it, though it would be safe beside others (TOOL-28)."""
    log: list[str] = []
    tools = Registry([SleepTool(), Note("a", log), Note("b", log)])
    seen: list[Snapshot] = []

    async def in_order(paused: Paused) -> None:
        turn = Turn(calls("a", "sleep", "b"), tools=tools, publish=seen.append)
        async with anyio.create_task_group() as group:
            group.start_soon(turn.run)
            await paused.settle()
            assert log == ["a begins", "a ends"]
            assert statuses(seen[-1]) == ["succeeded", "running", "queued"]
            await paused.advance(5)
        assert log == ["a begins", "a ends", "b begins", "b ends"]
        assert statuses(seen[-1]) == ["succeeded"] * 3

    run_paused(backend, in_order)


@on_both
def test_safe_calls_run_beside_each_other(backend: str) -> None:
    """A response of safe calls takes as long as its longest."""
    log: list[str] = []
    tools = Registry([Note("a", log, takes=2), Note("b", log, takes=1)])

    async def beside(paused: Paused) -> None:
        ended: list[Snapshot] = []

        async def run() -> None:
            ended.append(await Turn(calls("a", "b"), tools=tools).run())

        async with anyio.create_task_group() as group:
            group.start_soon(run)
            await paused.settle()
            assert sorted(log) == ["a begins", "b begins"]
            await paused.advance(2)
            assert [statuses(one) for one in ended] == [["succeeded", "succeeded"]]
        assert [block.call.id for block in ended[0].blocks] == ["c0", "c1"], "in the order of calls"

    run_paused(backend, beside)


def test_an_exclusive_call_has_the_turn_to_itself() -> None:
    """One exclusive tool puts the whole response in order."""
    log: list[str] = []
    tools = Registry([Note("a", log, takes=0), Alone("b", log, takes=0)])
    anyio.run(Turn(calls("a", "b", "a"), tools=tools).run)
    assert log == ["a begins", "a ends", "b begins", "b ends", "a begins", "a ends"]


def test_every_step_is_published_and_the_end_once() -> None:
    """Queued, running, done; only the last snapshot is terminal."""
    seen: list[Snapshot] = []
    tools = Registry([SleepTool()])
    last = anyio.run(Turn(calls("sleep", seconds=0), tools=tools, publish=seen.append).run)
    assert [statuses(one) for one in seen] == [
        ["queued"],
        ["running"],
        ["succeeded"],
        ["succeeded"],
    ]
    assert [one.is_terminal for one in seen] == [False, False, False, True]
    assert seen[-1] == last
    [block] = last.blocks
    assert block.result == ToolResult.succeeded("Slept for 0 second(s).")


def test_a_refused_call_fails_and_the_turn_goes_on() -> None:
    """A failure is a result like any other; so is the name of no tool."""
    one = [ToolCall(id="1", name="sleep", arguments=[]), ToolCall(id="2", name="nap", arguments={})]
    turn = Turn([*one, *calls("sleep", seconds=0)], tools=Registry([SleepTool()]))
    last = anyio.run(turn.run)
    assert statuses(last) == ["failed", "failed", "succeeded"]
    assert last.blocks[1].result == ToolResult.failed(
        "there is no tool of that name; there are: sleep"
    )


def test_a_broken_tool_fails_and_the_rest_is_cancelled() -> None:
    """An exception of a tool is not hidden, and the end is published all the same."""
    seen: list[Snapshot] = []
    tools = Registry([Broken("x", [], safe=False), SleepTool()])
    turn = Turn(calls("x", "sleep"), tools=tools, publish=seen.append)
    with pytest.raises(RuntimeError, match="broken"):
        anyio.run(turn.run)
    assert statuses(seen[-1]) == ["failed", "cancelled"]
    assert [one.is_terminal for one in seen].count(True) == 1


def test_a_turn_runs_once() -> None:
    """A second run would publish a second end."""
    turn = Turn([], tools=Registry())
    assert anyio.run(turn.run) == Snapshot((), is_terminal=True)
    with pytest.raises(RuntimeError, match="make a new one"):
        anyio.run(turn.run)


async def stopped_by_the_user(run: Callable[[], Awaitable[Any]], paused: Paused) -> None:
    """`/stop`: somebody cancels the scope of this turn."""
    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await paused.settle()
        group.cancel_scope.cancel()


async def stopped_by_a_shutdown(run: Callable[[], Awaitable[Any]], paused: Paused) -> None:
    """The supervisor ends all it runs, this turn among others."""
    async with anyio.create_task_group() as everything, anyio.create_task_group() as agents:
        agents.start_soon(run)
        await paused.settle()
        everything.cancel_scope.cancel()


async def stopped_by_the_scheduler(run: Callable[[], Awaitable[Any]], paused: Paused) -> None:
    """The job's time is up."""

    async def job() -> None:
        with anyio.move_on_after(3):
            await run()

    async with anyio.create_task_group() as group:
        group.start_soon(job)
        await paused.settle()
        await paused.advance(3)


async def stopped_with_a_sub_agent(run: Callable[[], Awaitable[Any]], paused: Paused) -> None:
    """The sub-agent's limit, inside a longer one of its parent."""

    async def sub_agent() -> None:
        with anyio.move_on_after(600), pytest.raises(TimeoutError), anyio.fail_after(3):
            await run()

    async with anyio.create_task_group() as group:
        group.start_soon(sub_agent)
        await paused.settle()
        await paused.advance(3)


CANCELLERS = [
    stopped_by_the_user,
    stopped_by_a_shutdown,
    stopped_by_the_scheduler,
    stopped_with_a_sub_agent,
]


@on_both
@pytest.mark.parametrize("stop", CANCELLERS)
def test_a_cancelled_turn_cancels_what_is_not_finished(
    backend: str, stop: Callable[..., Awaitable[None]]
) -> None:
    """Whoever cancels: finished blocks stay, running and queued ones are `cancelled` in the one
    terminal snapshot, no timer and no task is left (TOOL-29, TOOL-31, TOOL-32, TOOL-42, R59)."""
    log: list[str] = []
    tools = Registry([Note("a", log), SleepTool()])
    seen: list[Snapshot] = []
    bad = ToolCall(id="bad", name="sleep", arguments={})

    async def cancelled(paused: Paused) -> None:
        tasks = paused.tasks()
        listed = [*calls("a"), bad, *calls("sleep", "a", seconds=86_400)]
        turn = Turn(listed, tools=tools, publish=seen.append)
        await stop(turn.run, paused)
        await paused.settle()
        assert statuses(seen[-2]) == ["succeeded", "failed", "running", "queued"]
        assert statuses(seen[-1]) == ["succeeded", "failed", "cancelled", "cancelled"]
        assert [one.is_terminal for one in seen].index(True) == len(seen) - 1
        assert seen[-1].blocks[:2] == seen[-2].blocks[:2]
        assert (paused.timers(), paused.tasks()) == ([], tasks)

    run_paused(backend, cancelled)


@on_both
def test_calls_beside_each_other_are_cancelled_together(backend: str) -> None:
    """One is through, two are not (TOOL-31, TOOL-32, R59)."""
    log: list[str] = []
    tools = Registry([Note("a", log, takes=1), Note("b", log, takes=9)])
    seen: list[Snapshot] = []

    async def cancelled(paused: Paused) -> None:
        turn = Turn(calls("b", "a", "b"), tools=tools, publish=seen.append)
        async with anyio.create_task_group() as group:
            group.start_soon(turn.run)
            await paused.settle()
            await paused.advance(1)
            group.cancel_scope.cancel()
        assert statuses(seen[-1]) == ["cancelled", "succeeded", "cancelled"]
        assert [one.is_terminal for one in seen].count(True) == 1
        assert paused.timers() == []

    run_paused(backend, cancelled)


def test_a_cancelled_task_of_asyncio_stays_cancelled() -> None:
    """The turn publishes its end and swallows nothing (TOOL-30, TOOL-42)."""
    seen: list[Snapshot] = []

    async def cancelled(paused: Paused) -> None:
        turn = Turn(calls("sleep"), tools=Registry([SleepTool()]), publish=seen.append)
        task = asyncio.create_task(turn.run())
        await paused.settle()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()
        assert [block.status for block in seen[-1].blocks] == [ToolStatus.CANCELLED]

    run_paused("asyncio", cancelled)
