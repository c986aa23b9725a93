"""Pool checks and work queries: the latest answer, asked beside the patrol."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from gascity.model.city import Agent, City, DaemonSettings, Pool
from gascity.model.duration import seconds
from gascity.model.reading import Known, Reading, Unclear
from gascity.observe.checks import Checks
from gascity.observe.clock import SystemClock

DEADLINE_S = 20.0


def a_city(folder: Path, *, check: str = "", query: str = "") -> City:
    agent = Agent(identity="w", name="w", pool=Pool(check=check), work_query=query)
    return City(
        name="c",
        path=str(folder),
        agents={"w": agent},
        daemon=DaemonSettings(patrol_interval=seconds(0)),
    )


def answer(city: City, read: Callable[[Checks], Reading[object]], wanted: type) -> Reading[object]:
    """Ask until a reading of the wanted kind is there."""

    async def main() -> Reading[object]:
        moved = anyio.Event()
        checks = Checks(clock=SystemClock(), changed=moved.set)
        with anyio.fail_after(DEADLINE_S):
            async with anyio.create_task_group() as group:
                checks.ask(city, group)
                assert isinstance(read(checks), Unclear), "nothing is known before it answered"
                await moved.wait()
        found = read(checks)
        assert isinstance(found, wanted)
        return found

    return anyio.run(main)


@pytest.mark.parametrize(("printed", "count"), [("3", 3), (" 0\n", 0), ("+7", 7)])
def test_a_count_is_read(printed: str, count: int, tmp_path: Path) -> None:
    """A check prints how many slots it wants (POOL-19)."""
    city = a_city(tmp_path, check=f"printf '{printed}'")
    assert answer(city, lambda c: c.desired("w"), Known) == Known(count)


@pytest.mark.parametrize("command", ["echo many", "echo -1", "echo 1.5", "echo", "echo 3; exit 1"])
def test_rubbish_is_unclear_never_zero(command: str, tmp_path: Path) -> None:
    """What is no count blocks trims and creates instead of causing them (R9, F12)."""
    city = a_city(tmp_path, check=command)
    assert isinstance(answer(city, lambda c: c.desired("w"), Unclear), Unclear)


@pytest.mark.parametrize(
    ("printed", "has_work"),
    [("gc-1 do it", True), ("", False), ("[]", False), ("{}", False), ("null", False),
     ("No ready work found", False), ('[{"id": 1}]', True)],
)  # fmt: skip
def test_a_work_query_says_whether_there_is_work(
    printed: str, has_work: bool, tmp_path: Path
) -> None:
    """Empty output and the ecosystem's words for nothing are no work; all else is."""
    city = a_city(tmp_path, query=f"printf '%s' '{printed}'")
    assert answer(city, lambda c: c.has_work("w"), Known) == Known(has_work)


def test_a_failing_query_is_unclear_never_none(tmp_path: Path) -> None:
    """Its failure puts nobody to sleep (R9, R61)."""
    found = answer(a_city(tmp_path, query="exit 2"), lambda c: c.has_work("w"), Unclear)
    assert found == Unclear("ended with status 2")


def test_an_agent_that_leaves_the_config_is_not_asked_any_more(tmp_path: Path) -> None:
    """No answer of a command that the config no longer names is kept."""

    async def main() -> Reading[int]:
        checks = Checks(clock=SystemClock(), changed=lambda: None)
        async with anyio.create_task_group() as group:
            checks.ask(a_city(tmp_path, check="echo 2"), group)
        async with anyio.create_task_group() as group:
            checks.ask(City(name="c", path=str(tmp_path)), group)
        return checks.desired("w")

    assert isinstance(anyio.run(main), Unclear)
