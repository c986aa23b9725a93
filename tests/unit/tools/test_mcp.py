"""The tool server behind the SDK's own client, both in one process and on a clock that jumps."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import anyio
import pytest
import trio.testing
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from gascity.tools import Nowhere, Registry, SleepTool, create_default_tools
from gascity.tools.calls import MOST_OPEN
from gascity.tools.mcp import PROGRESS_S, ToolServer

NOT_A_COUNT = "seconds must be a non-negative integer"
TOO_LONG = "seconds must not exceed 86400 (24 hours)"

# The handshake of 2025 and the protocol of 2026 are served by different parts of the SDK.
in_both_eras = pytest.mark.parametrize("era", ["legacy", "auto"])


@dataclass
class Watched(Nowhere):
    """Surroundings that remember which turns are open, and which were."""

    open: list[str] = field(default_factory=list)
    were: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def open_turn(self, what: str) -> AsyncIterator[None]:
        self.open.append(what)
        try:
            yield
        finally:
            self.open.remove(what)
            self.were.append(what)


@dataclass
class Stage:
    """A server, its surroundings, and a client that is connected to it."""

    server: ToolServer
    around: Watched
    client: Client

    async def sleep(self, seconds: object, **more: Any) -> tuple[str, bool]:
        """Call the tool: the text of its result, and whether it is an error."""
        result = await self.client.call_tool("sleep", {"seconds": seconds}, **more)
        [content] = result.content
        return content.text, result.is_error


def on_stage(
    test: Callable[[Stage], Awaitable[None]], *, era: str, tools: Registry | None = None
) -> None:
    """Run the test with a client that speaks that era's protocol; waiting takes no time."""

    async def main() -> None:
        around = Watched()
        listed = create_default_tools() if tools is None else tools
        server = ToolServer(listed, surroundings=around, version="1.2.3")
        async with Client(server.protocol, mode=era) as client:
            await test(Stage(server, around, client))
        assert (len(server.calls), around.open) == (0, [])

    clock = trio.testing.MockClock(autojump_threshold=0)
    anyio.run(main, backend="trio", backend_options={"clock": clock})


@in_both_eras
def test_the_tool_is_listed_word_for_word(era: str) -> None:
    """Clients see the very name, description and schema (TOOL-01..TOOL-04)."""

    async def listed(stage: Stage) -> None:
        [tool] = (await stage.client.list_tools()).tools
        own = SleepTool()
        assert (tool.name, tool.description) == (own.name, own.description)
        assert tool.input_schema == json.loads(json.dumps(dict(own.parameters)))
        assert tool.output_schema is None
        assert stage.client.server_info.version == "1.2.3"
        assert "gc wait add" in (stage.client.instructions or "")

    on_stage(listed, era=era)


@in_both_eras
def test_a_filtered_registry_serves_what_is_left(era: str) -> None:
    """What is not registered is neither listed nor callable (TOOL-26)."""

    async def nothing(stage: Stage) -> None:
        assert (await stage.client.list_tools()).tools == []
        with pytest.raises(MCPError, match="there is no tool of that name; there are: none"):
            await stage.client.call_tool("sleep", {"seconds": 0})

    on_stage(nothing, era=era, tools=create_default_tools().without("sleep"))


@in_both_eras
@pytest.mark.parametrize("seconds", [0, 2, pytest.param(86_400, marks=pytest.mark.slow)])
def test_a_call_takes_the_time_it_was_given(era: str, seconds: int) -> None:
    """Nothing, two seconds, a day (TOOL-06..TOOL-08)."""

    async def slept(stage: Stage) -> None:
        began = anyio.current_time()
        assert await stage.sleep(seconds) == (f"Slept for {seconds} second(s).", False)
        assert anyio.current_time() - began == seconds

    on_stage(slept, era=era)


@in_both_eras
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, NOT_A_COUNT),
        (None, NOT_A_COUNT),
        ({"seconds": -1}, NOT_A_COUNT),
        ({"seconds": 5.0}, NOT_A_COUNT),
        ({"seconds": 1.5}, NOT_A_COUNT),
        ({"seconds": 1e20}, NOT_A_COUNT),
        ({"seconds": math.nan}, NOT_A_COUNT),
        ({"seconds": "5"}, NOT_A_COUNT),
        ({"seconds": True}, NOT_A_COUNT),
        ({"seconds": None}, NOT_A_COUNT),
        ({"seconds": [5]}, NOT_A_COUNT),
        ({"seconds": 86_401}, TOO_LONG),
        ({"seconds": 10**30}, TOO_LONG),
    ],
)
def test_a_refusal_is_a_result_that_the_model_can_read(
    era: str, arguments: dict[str, Any] | None, error: str
) -> None:
    """Not an error of the protocol, not converted, no time spent (TOOL-09..TOOL-17, R47, R58)."""

    async def refused(stage: Stage) -> None:
        result = await stage.client.call_tool("sleep", arguments)
        [content] = result.content
        assert (content.text, result.is_error) == (error, True)
        assert stage.around.were == [], "a refused call opens no turn"

    on_stage(refused, era=era)


@in_both_eras
def test_unknown_fields_pass(era: str) -> None:
    """They are ignored, here too (TOOL-20)."""

    async def passed(stage: Stage) -> None:
        arguments = {"seconds": 1, "why": "tea"}
        assert not (await stage.client.call_tool("sleep", arguments)).is_error

    on_stage(passed, era=era)


@in_both_eras
def test_calls_run_beside_each_other(era: str) -> None:
    """Three callers wait as long as the longest of them, in three open turns (R48)."""

    async def three(stage: Stage) -> None:
        began = anyio.current_time()
        async with anyio.create_task_group() as group:
            for seconds in (3, 1, 2):
                group.start_soon(stage.sleep, seconds)
            await anyio.sleep(0.5)
            assert sorted(stage.around.open) == ["sleep 1s", "sleep 2s", "sleep 3s"]
        assert anyio.current_time() - began == 3
        assert sorted(stage.around.were) == ["sleep 1s", "sleep 2s", "sleep 3s"]

    on_stage(three, era=era)


@in_both_eras
def test_progress_is_reported_while_it_waits(era: str) -> None:
    """Every few seconds a client that asked learns how far it is, until the end (R49)."""
    told: list[tuple[float, float | None]] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total))

    async def waits(stage: Stage) -> None:
        await stage.sleep(30, progress_callback=listen)
        await anyio.sleep(30)

    on_stage(waits, era=era)
    assert told == [(PROGRESS_S * n, 30) for n in range(1, 8)]
    assert PROGRESS_S < 5, "the most impatient client known gives up after five seconds"


@in_both_eras
def test_a_cancelled_call_ends_at_once(era: str) -> None:
    """The client cancels: the timer, the call and the open turn are gone (TOOL-29, R48)."""

    async def cancelled(stage: Stage) -> None:
        with anyio.move_on_after(5):
            await stage.sleep(86_400)
        await trio.testing.wait_all_tasks_blocked()
        assert anyio.current_time() - began < 6
        assert (len(stage.server.calls), stage.around.open) == (0, [])
        assert stage.around.were == ["sleep 86400s"]
        assert stage.server.calls.counts.cancelled == 1
        assert await stage.sleep(0) == ("Slept for 0 second(s).", False), "and it serves on"

    async def timed(stage: Stage) -> None:
        nonlocal began
        began = anyio.current_time()
        await cancelled(stage)

    began = 0.0
    on_stage(timed, era=era)


@in_both_eras
def test_a_client_that_leaves_ends_its_calls(era: str) -> None:
    """A closed connection is the end of what was called over it (R48)."""

    async def main() -> None:
        around = Watched()
        server = ToolServer(create_default_tools(), surroundings=around, version="1")
        with anyio.move_on_after(5):
            async with Client(server.protocol, mode=era) as client:
                await client.call_tool("sleep", {"seconds": 86_400})
        await trio.testing.wait_all_tasks_blocked()
        assert (len(server.calls), around.open) == (0, [])
        assert trio.lowlevel.current_statistics().seconds_to_next_deadline == math.inf

    clock = trio.testing.MockClock(autojump_threshold=0)
    anyio.run(main, backend="trio", backend_options={"clock": clock})


@in_both_eras
def test_there_is_a_limit_on_open_calls(era: str) -> None:
    """What is held for callers that may be gone is bounded, and the model reads why (R48)."""

    async def full(stage: Stage) -> None:
        async with anyio.create_task_group() as group:
            for _ in range(MOST_OPEN):
                group.start_soon(stage.sleep, 60)
            await anyio.sleep(1)
            text, is_error = await stage.sleep(1)
            assert (text, is_error) == (
                f"{MOST_OPEN} calls are open here already; wait until one has ended",
                True,
            )
        assert await stage.sleep(1) == ("Slept for 1 second(s).", False)

    on_stage(full, era=era)


def test_an_end_of_the_server_is_told_to_its_callers() -> None:
    """Who waits learns that it was not slept to the end."""

    async def ended(stage: Stage) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(partial(_expect_the_end, stage))
            await anyio.sleep(1)
            stage.server.calls.end_all()

    on_stage(ended, era="legacy")


async def _expect_the_end(stage: Stage) -> None:
    with pytest.raises(MCPError, match="the server ended the call"):
        await stage.sleep(60)
