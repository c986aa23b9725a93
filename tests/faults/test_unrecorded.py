"""A store that takes no writes: nobody is put to sleep, everybody can be woken, all of it told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import anyio
import pytest

from gascity.act.operate import Reply
from gascity.act.requests_attach import attach
from gascity.act.requests_wake import wake
from gascity.beads.store import Applied, Batch, StoreUnavailable
from gascity.model.session import SleepReason, State
from gascity.testing.city import FakeCity
from gascity.testing.records import a_city, agent, span

FULL = "no space left for it; nothing was written"


class FullDisk:
    """Stands before the store of a city and refuses every write while `is_full`."""

    def __init__(self, city: FakeCity) -> None:
        self.is_full = True
        self.refused = 0
        store = city.store
        self._apply, self._set_note = store.apply, store.set_note
        city.ports.store = self  # type: ignore[assignment]
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def apply(self, batch: Batch, *, now: Any) -> Applied:
        if self.is_full:
            self.refused += 1
            raise StoreUnavailable(FULL)
        return await self._apply(batch, now=now)

    async def set_note(self, key: str, value: str) -> None:
        if self.is_full:
            raise StoreUnavailable(FULL)
        await self._set_note(key, value)


@pytest.fixture
def city() -> Iterator[FakeCity]:
    """`mayor` asleep for idleness, nobody asking for it."""
    with FakeCity(a_city(agent("mayor", sleep_after_idle=span("60s")))) as one:
        one.live(200)
        assert one.session("mayor").is_cold
        yield one


async def nothing(_: Reply) -> None:
    """What it says on its way is of no interest."""


def ask(city: FakeCity, request: Callable[..., Awaitable[Reply]], **fields: Any) -> Reply:
    """A person's request to the running controller, to its end."""

    async def body() -> Reply:
        async with anyio.create_task_group() as group:
            group.start_soon(city.controller.run)
            await city.controller.wait_patrol()
            reply = await request(city.controller, "mayor", say=nothing, **fields)
            group.cancel_scope.cancel()
        return reply

    return city.run(body())


def test_a_wake_on_a_full_disk_starts_the_session_and_says_it_is_not_recorded(
    city: FakeCity,
) -> None:
    """The store takes no writes: the session comes up all the same, once (R75, D4)."""
    disk = FullDisk(city)
    reply = ask(city, wake)
    assert (reply["outcome"], reply["recorded"]) == ("woke", False)
    assert "takes no writes" in reply["note"]
    assert city.runs("mayor")
    assert city.host.of("mayor").starts == 2
    assert city.session("mayor").is_cold, "nothing was written"
    city.live(300)
    assert (city.host.of("mayor").starts, city.host.of("mayor").stops) == (2, 1)
    assert disk.refused > 0


def test_an_unrecorded_wake_is_adopted_when_the_store_takes_writes_again(city: FakeCity) -> None:
    """Room again: recorded awake with a whole window, one event, then asleep as ever (R75)."""
    disk = FullDisk(city)
    ask(city, wake)
    token = city.host.of("mayor").token
    disk.is_full = False
    city.live(30)
    session = city.session("mayor")
    assert (session.state, session.instance_token) == (State.AWAKE, token)
    assert city.ports.memory.asked == {}
    assert len(city.events("session.woke")) == 2
    assert city.events("session.crashed") == []
    city.live(120)
    assert city.session("mayor").sleep_reason is SleepReason.IDLE
    assert city.overseer.violations == []


def test_an_attach_on_a_full_disk_opens_the_session(city: FakeCity) -> None:
    """The intent is in memory alone, and its holder can take it back (R75, ATT-12)."""
    FullDisk(city)
    reply = ask(city, attach)
    assert reply["ready"]
    assert city.runs("mayor")
    holder = reply["holder"]
    assert city.controller.forget(city.session("mayor").id, holder=holder)
    assert city.ports.memory.asked == {}


def test_a_wake_that_could_not_be_written_is_written_once_there_is_room(city: FakeCity) -> None:
    """Room comes before the start: the request is on disk like any other (R75)."""
    disk = FullDisk(city)
    city.host.of("mayor").start_raises = "tmux does not answer"
    reply = ask(city, wake, wait=False)
    assert (reply["outcome"], reply["recorded"]) == ("queued", False)
    disk.is_full = False
    city.host.of("mayor").start_raises = ""
    city.live(2)
    assert city.session("mayor").state is State.AWAKE
    assert city.ports.memory.asked == {}
    [_, second] = city.events("session.woke")
    assert second.payload["reason"] == "operator"


def test_a_start_that_fails_on_a_full_disk_is_told_and_not_repeated(city: FakeCity) -> None:
    """It cannot be counted, so it is not tried again at each patrol (R41, R75, F40)."""
    FullDisk(city)
    city.host.of("mayor").start_fails = "command not found"
    reply = ask(city, wake)
    assert (reply["outcome"], reply["exit"]) == ("failed", 1)
    assert "could not be recorded" in reply["what"]
    city.live(300)
    assert city.host.of("mayor").starts == 1


def test_who_runs_is_not_refused_for_a_window_that_cannot_be_written(city: FakeCity) -> None:
    """`gc wake` of an awake session on a full disk: already awake (R25, R75)."""
    city.wake("mayor")
    city.tick(2)
    assert city.session("mayor").state is State.AWAKE
    FullDisk(city)
    assert ask(city, wake)["outcome"] == "already awake"
    city.live(600)
    assert city.runs("mayor"), "with no room for the intent nobody is stopped"
