"""A tool server's view of its city: turns announced by a thread, waits kept with or without one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest

from gascity.cli import offline, surroundings
from gascity.cli.surroundings import SessionSurroundings, of_session
from gascity.observe.clock import SystemClock
from gascity.tools import Surroundings, WaitRefused, WaitRequest, WaitUntilTool
from tests.control_stand_in import a_city
from tests.desk import FakeDesk, awake
from tests.integration.test_control_socket import House, folder, served
from tests.polling import eventually, wait_until
from tests.unit.cli.test_offline import recorded

__all__ = ["folder"]

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """A tool server may run on either."""
    return str(request.param)


@pytest.fixture
def house(folder: Path) -> Iterator[House]:
    """A served city with one awake session."""
    with served(folder, FakeDesk(awake(), clock=SystemClock())) as one:
        yield one


def inside(city: Path, **environ: str) -> SessionSurroundings:
    """The surroundings of a process in the mayor's session."""
    around = of_session(
        {
            "GC_CITY": str(city),
            "GC_SESSION_ID": "gc-mayor",
            "GC_SESSION_NAME": "mayor",
            "GC_INSTANCE_TOKEN": "token-1",
            **environ,
        }
    )
    assert around is not None
    return around


def keepers() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == "open turns"]


def test_outside_a_session_there_are_none() -> None:
    """A server that somebody starts in a plain shell works alone."""
    assert of_session({}) is None
    assert of_session({"GC_CITY": "/somewhere"}) is None
    assert of_session({"GC_SESSION_ID": "gc-mayor"}) is None


async def test_a_turn_lasts_exactly_as_long_as_the_call(house: House) -> None:
    """R48: open while any call is, on either event loop; nothing is left running."""
    around: Surroundings = inside(house.city)
    async with around.open_turn("sleep 20s"):
        await eventually(lambda: _said(house, "sleep 20s"))
        async with around.open_turn("sleep 5s"):
            await eventually(lambda: _said(house, "sleep 20s", "sleep 5s"))
            assert len(keepers()) == 1
        await eventually(lambda: _said(house, "sleep 20s"))
    await eventually(lambda: _said(house))
    wait_until(lambda: not keepers())


async def test_a_cancelled_call_ends_its_turn(house: House) -> None:
    """R48: leaving works under cancellation, too."""
    around = inside(house.city)
    async with anyio.create_task_group() as group:

        async def call() -> None:
            async with around.open_turn("sleep 20s"):
                await anyio.sleep_forever()

        group.start_soon(call)
        await eventually(lambda: _said(house, "sleep 20s"))
        group.cancel_scope.cancel()
    with anyio.CancelScope(shield=True):
        await eventually(lambda: _said(house))


async def test_an_error_in_the_call_comes_out_as_it_is(house: House) -> None:
    """No group around it, and the turn is over."""
    with pytest.raises(ZeroDivisionError):
        async with inside(house.city).open_turn("a sum"):
            raise ZeroDivisionError
    await eventually(lambda: _said(house))


async def test_without_a_controller_or_a_token_the_call_goes_on(folder: Path) -> None:
    """It is bounded by nobody who is not there (R37)."""
    async with inside(folder, GC_INSTANCE_TOKEN="").open_turn("sleep 1s"):
        assert not keepers()
    async with inside(folder).open_turn("sleep 1s"):
        assert keepers()
    wait_until(lambda: not keepers())


async def test_a_controller_that_comes_later_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """REC-15: the call goes on over a restart of the controller, and so does its turn."""
    monkeypatch.setattr(surroundings, "KEEP_S", 0.02)
    around = inside(folder)
    async with around.open_turn("sleep 600s"):
        for _ in range(2):
            with served(folder, FakeDesk(awake(), clock=SystemClock())) as house:
                await eventually(lambda now=house: _said(now, "sleep 600s"))


async def test_a_wait_is_kept_by_the_controller(house: House) -> None:
    """R49: with its note, and with the word that the real time is to be told."""
    result = await WaitUntilTool(inside(house.city)).execute({"seconds": 90, "note": "look"})
    assert result.success, result.error
    [wait] = house.call("waits")["waits"]
    assert (wait["session"], wait["note"], wait["elapsed"]) == ("mayor", "look", True)
    assert wait["id"] in result.output
    assert wait["due_at"][:19] in result.output


@pytest.mark.parametrize("way", ["seconds", "until"])
async def test_without_a_controller_a_wait_is_kept_in_the_store(way: str) -> None:
    """R71: durable before the answer; the next controller finds it."""
    with a_city() as city:
        mayor = recorded(city, "mayor")
        await _kept_in_the_store(city, mayor, way)


async def _kept_in_the_store(city: Path, mayor: str, way: str) -> None:
    due = datetime.now(UTC) + timedelta(hours=1)
    said = {"seconds": 3600} if way == "seconds" else {"until": due.isoformat()}
    result = await WaitUntilTool(inside(city, GC_SESSION_ID=mayor)).execute(
        {"note": "look", **said}
    )
    assert result.success, result.error
    [wait] = (await anyio.to_thread.run_sync(offline.answer, str(city), "waits", {}))["waits"]
    assert (wait["note"], wait["state"], wait["elapsed"]) == ("look", "pending", True)
    assert abs((datetime.fromisoformat(wait["due_at"]) - due).total_seconds()) < 60


async def test_a_wait_of_a_session_that_is_gone_is_refused(house: House) -> None:
    """What went wrong, and what to do."""
    with pytest.raises(WaitRefused, match="no session 'gc-nobody'"):
        await inside(house.city, GC_SESSION_ID="gc-nobody").record_wait(
            WaitRequest(note="look", for_s=5)
        )


async def _said(house: House, *whats: str) -> bool:
    return [turn.what for turn in house.desk.turns] == list(whats)
