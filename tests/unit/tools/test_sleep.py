"""The `sleep` tool: what it says of itself, what it refuses, how long it takes, how it ends."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from gascity.tools import MAX_SLEEP_SECONDS, SleepTool, Tool, ToolResult, parse_seconds
from tests.unit.tools.paused import BACKENDS, Paused, run_paused

NOT_A_COUNT = "seconds must be a non-negative integer"
TOO_LONG = "seconds must not exceed 86400 (24 hours)"

on_both = pytest.mark.parametrize("backend", BACKENDS)


class Running:
    """A call that was started beside the test, and its result once it has one."""

    def __init__(self, arguments: object, *, tool: Tool | None = None) -> None:
        self.arguments = arguments
        self.tool = tool or SleepTool()
        self.scope = anyio.CancelScope()
        self.result: ToolResult | None = None
        self.raised = ""

    async def run(self) -> None:
        """Make the call; note how it ended."""
        with self.scope:
            try:
                self.result = await self.tool.execute(self.arguments)
            except BaseException as ended:
                self.raised = type(ended).__name__
                raise


def test_it_says_exactly_what_was_agreed() -> None:
    """Name, description and schema, word for word (TOOL-01..TOOL-05, TOOL-35)."""
    tool = SleepTool()
    assert tool.name == "sleep"
    assert tool.description == (
        "Pause the current agent execution for a specified number of whole seconds."
    )
    assert json.loads(json.dumps(dict(tool.parameters))) == {
        "type": "object",
        "properties": {
            "seconds": {
                "type": "integer",
                "minimum": 0,
                "maximum": 86400,
                "description": "Number of whole seconds to wait, up to 24 hours.",
            }
        },
        "required": ["seconds"],
    }
    assert MAX_SLEEP_SECONDS == 86400


def test_it_keeps_the_defaults_of_a_tool() -> None:
    """It is not read-only, not exclusive, and so not safe beside others (TOOL-27)."""
    tool = SleepTool()
    assert (tool.read_only, tool.exclusive, tool.concurrency_safe) == (False, False, False)


def test_it_holds_no_state() -> None:
    """It is made without arguments and keeps nothing (TOOL-22)."""
    assert vars(SleepTool()) == {}


@pytest.mark.parametrize("seconds", [0, 1, 86_399, 86_400])
def test_whole_seconds_within_a_day_are_accepted(seconds: int) -> None:
    """Both ends count, and so does exactly a day (TOOL-06, TOOL-38)."""
    assert parse_seconds({"seconds": seconds}) == seconds


REFUSED: dict[str, tuple[object, str]] = {
    "TOOL-10 missing": ({}, NOT_A_COUNT),
    "TOOL-11 negative": ({"seconds": -1}, NOT_A_COUNT),
    "TOOL-11 hugely negative": ({"seconds": -(10**30)}, NOT_A_COUNT),
    "TOOL-12 fraction": ({"seconds": 1.5}, NOT_A_COUNT),
    "TOOL-12 whole float": ({"seconds": 2.0}, NOT_A_COUNT),
    "TOOL-21 whole float 5.0": ({"seconds": 5.0}, NOT_A_COUNT),
    "TOOL-13 large float": ({"seconds": 1e20}, NOT_A_COUNT),
    "TOOL-13 NaN": ({"seconds": math.nan}, NOT_A_COUNT),
    "TOOL-13 infinity": ({"seconds": math.inf}, NOT_A_COUNT),
    "TOOL-14 string": ({"seconds": "5"}, NOT_A_COUNT),
    "TOOL-14 null": ({"seconds": None}, NOT_A_COUNT),
    "TOOL-14 list": ({"seconds": [5]}, NOT_A_COUNT),
    "TOOL-14 object": ({"seconds": {"value": 5}}, NOT_A_COUNT),
    "TOOL-15 true": ({"seconds": True}, NOT_A_COUNT),
    "TOOL-15 false": ({"seconds": False}, NOT_A_COUNT),
    "TOOL-16 a second too long": ({"seconds": 86_401}, TOO_LONG),
    "TOOL-17 huge": ({"seconds": 10**30}, TOO_LONG),
    "TOOL-17 over 64 bits": ({"seconds": 2**64}, TOO_LONG),
    "TOOL-18 too long to write out": ({"seconds": 10**10_000}, TOO_LONG),
    "TOOL-18 the same, negative": ({"seconds": -(10**10_000)}, NOT_A_COUNT),
    "TOOL-19 no arguments": (None, NOT_A_COUNT),
    "TOOL-19 a list": ([5], NOT_A_COUNT),
    "TOOL-19 a number": (5, NOT_A_COUNT),
    "TOOL-19 a string": ('{"seconds": 5}', NOT_A_COUNT),
}


@pytest.mark.parametrize(("arguments", "error"), REFUSED.values(), ids=REFUSED.keys())
def test_anything_else_is_refused_at_once(arguments: object, error: str) -> None:
    """An ordinary unsuccessful result, no wait (TOOL-09..TOOL-19, TOOL-21, TOOL-37, R47, R58)."""

    async def refused(paused: Paused) -> None:
        result = await SleepTool().execute(arguments)
        assert result == ToolResult(success=False, output="", error=error)
        assert paused.timers() == []

    run_paused("asyncio", refused)


@on_both
def test_no_time_at_all_succeeds_at_once(backend: str) -> None:
    """Zero needs no clock (TOOL-07, TOOL-36)."""

    async def at_once(paused: Paused) -> None:
        result = await SleepTool().execute({"seconds": 0})
        assert result == ToolResult(success=True, output="Slept for 0 second(s).", error=None)

    run_paused(backend, at_once)


@on_both
def test_unknown_fields_are_ignored(backend: str) -> None:
    """What it does not know does not matter (TOOL-20)."""

    async def ignored(paused: Paused) -> None:
        result = await SleepTool().execute({"seconds": 0, "reason": "tea", "second": "1"})
        assert result.success

    run_paused(backend, ignored)


@on_both
@pytest.mark.parametrize("seconds", [2, 86_400], ids=["TOOL-39 two", "TOOL-40 a day"])
def test_it_ends_with_the_last_second_and_not_before(backend: str, seconds: int) -> None:
    """A second before the end it still waits, then it succeeds with what was asked for (TOOL-08,
    TOOL-23, TOOL-39, TOOL-40, TOOL-43)."""

    async def waits(paused: Paused) -> None:
        call = Running({"seconds": seconds})
        async with anyio.create_task_group() as group:
            group.start_soon(call.run)
            await paused.settle()
            assert paused.timers() == [seconds], "one timer for all of it, no polling"
            await paused.advance(seconds - 1)
            assert call.result is None
            await paused.advance(1)
            assert call.result == ToolResult.succeeded(f"Slept for {seconds} second(s).")
            assert paused.timers() == []

    run_paused(backend, waits)


@on_both
def test_one_tool_serves_calls_beside_each_other(backend: str) -> None:
    """Calls of one instance know nothing of each other, and block nobody (TOOL-22, TOOL-23)."""

    async def side_by_side(paused: Paused) -> None:
        tool = SleepTool()
        calls = [Running({"seconds": seconds}, tool=tool) for seconds in (3, 1, 2)]
        async with anyio.create_task_group() as group:
            for call in calls:
                group.start_soon(call.run)
            await paused.settle()
            for done in (1, 2, 3):
                await paused.advance(1)
                assert sum(call.result is not None for call in calls) == done

    run_paused(backend, side_by_side)


@on_both
def test_cancellation_ends_the_timer_and_passes_through(backend: str) -> None:
    """No result, the timer is gone, and so is the task (TOOL-29, TOOL-30, TOOL-41, R48)."""

    async def cancelled(paused: Paused) -> None:
        tasks = paused.tasks()
        call = Running({"seconds": MAX_SLEEP_SECONDS})
        async with anyio.create_task_group() as group:
            group.start_soon(call.run)
            await paused.settle()
            assert (call.result, paused.timers()) == (None, [MAX_SLEEP_SECONDS])
            call.scope.cancel()
            await paused.settle()
            assert (call.result, call.scope.cancelled_caught) == (None, True)
            assert call.raised in {"CancelledError", "Cancelled"}
            assert (paused.timers(), paused.tasks()) == ([], tasks)

    run_paused(backend, cancelled)


def test_a_cancelled_task_reports_cancellation() -> None:
    """On asyncio a task that is cancelled in mid-sleep ends as cancelled (TOOL-30, TOOL-41)."""
    import asyncio

    async def cancelled(paused: Paused) -> None:
        task = asyncio.create_task(SleepTool().execute({"seconds": MAX_SLEEP_SECONDS}))
        await paused.settle()
        assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()
        assert paused.timers() == []

    run_paused("asyncio", cancelled)


@on_both
@pytest.mark.parametrize("deadline", [anyio.move_on_after, anyio.fail_after])
def test_a_deadline_around_it_ends_it(backend: str, deadline: Callable[[float], Any]) -> None:
    """A scheduler's time limit takes the timer with it (TOOL-29)."""

    async def overdue(paused: Paused) -> None:
        ended = anyio.Event()

        async def limited() -> None:
            try:
                with deadline(5):
                    await SleepTool().execute({"seconds": 60})
            except TimeoutError:
                pass
            ended.set()

        async with anyio.create_task_group() as group:
            group.start_soon(limited)
            await paused.settle()
            await paused.advance(4)
            assert not ended.is_set()
            await paused.advance(1)
            assert ended.is_set()
            assert paused.timers() == []

    run_paused(backend, overdue)


def test_it_says_how_long_it_means_to_take() -> None:
    """For those who report progress beside it; a refused call takes no time (R49)."""
    tool = SleepTool()
    assert tool.seconds_meant({"seconds": 30}) == 30
    assert tool.seconds_meant({"seconds": "30"}) == 0
