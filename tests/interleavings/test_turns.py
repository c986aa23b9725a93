"""Announced turns in a fake city: who stays up, through which deaths, and for how long."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import anyio
import pytest

from gascity.act.ports import Refused
from gascity.act.requests_turn import TURN_MOST_S, Announced, turn
from gascity.model.duration import seconds
from gascity.model.events import Event
from gascity.observe.recollection import ANNOUNCE_AGAIN_S, TURNS_MOST
from gascity.testing.city import FakeCity
from gascity.testing.records import a_city, agent

WINDOW_S = 30
CONFIG = a_city(agent("mayor", sleep_after_idle=seconds(WINDOW_S)), session_sleep={})


@cache
def up() -> FakeCity:
    """A city whose mayor is awake and idle inside its window. Never use it itself: fork it."""
    found = FakeCity(CONFIG)
    found.tick(2)
    return found


@pytest.fixture
def city() -> Iterator[FakeCity]:
    """A copy of it, whose controller has been there for longer than turns are waited for."""
    with up().fork() as found:
        found.live(ANNOUNCE_AGAIN_S + 1)
        yield found


class Replies(list[dict[str, Any]]):
    """What a request says on its way."""

    async def __call__(self, part: dict[str, Any]) -> None:
        self.append(part)


def blockers(city: FakeCity) -> list[str]:
    return list(city.session("mayor").diagnostics.blockers)


def updates(city: FakeCity) -> list[Event]:
    return city.events("session.updated")


async def announced(
    city: FakeCity, seconds_: float, *, token: str = "", owner: str = ""
) -> dict[str, Any]:
    """A client that stays so many seconds; the answer, or nothing when it left before.

    With an owner it is one from outside, which knows no token.
    """
    mark = "" if owner else token or city.session("mayor").instance_token
    with anyio.move_on_after(seconds_):
        told = Announced(token=mark, what="a call", owner=owner)
        return await turn(city.controller, "mayor", told, say=Replies())
    return {}


async def beside(city: FakeCity, work: Any) -> Any:
    """Let the controller live while something goes on; what that answered."""
    found = None
    async with anyio.create_task_group() as group:
        group.start_soon(city.controller.run)
        found = await work
        group.cancel_scope.cancel()
    return found


def test_a_session_in_a_turn_stays_up_and_sleeps_a_window_after_it(city: FakeCity) -> None:
    """R48, R14: an hour in a tool call with nothing on the screen; then a whole window more."""
    begun = city.clock.now()
    city.run(beside(city, announced(city, 3600)))
    assert city.runs("mayor")
    assert (blockers(city), city.session("mayor").turn_ended_at) == (["turn_open"], None)
    city.live(WINDOW_S - 2)
    assert city.runs("mayor")
    city.live(5)
    assert city.session("mayor").is_cold
    ended = city.session("mayor").turn_ended_at
    assert ended is not None
    assert 3600 <= (ended - begun).total_seconds() < 3602
    assert ["turn_open"] in [event.payload["blockers"] for event in updates(city)]
    assert city.overseer.violations == []


def test_the_death_of_whoever_announced_it_ends_it(city: FakeCity) -> None:
    """R48: the connection is gone, so is the turn; no time-out is waited for."""
    city.begin_turn("mayor")
    city.live(600)
    assert (blockers(city), city.runs("mayor")) == (["turn_open"], True)
    city.end_turn("mayor")
    city.live(WINDOW_S + 3)
    assert city.session("mayor").is_cold


def test_a_turn_of_an_earlier_run_is_refused(city: FakeCity) -> None:
    """R63: a tool server that outlived its session keeps the next run of it up by no means."""
    old = city.session("mayor").instance_token
    city.host.of("mayor").end()
    city.live(20)
    assert city.session("mayor").instance_token != old
    with pytest.raises(Refused, match="another run"):
        city.run(announced(city, 60, token=old))
    assert city.ports.memory.turns == {}
    assert city.session("mayor").open_turn == ""


def test_a_turn_that_its_session_outruns_holds_the_next_run_no_longer(city: FakeCity) -> None:
    """R63: the connection is still there, yet its run ended; the new run sleeps when idle."""
    city.begin_turn("mayor")
    city.live(60)
    city.host.of("mayor").end()
    city.live(30)
    assert city.runs("mayor")
    city.live(WINDOW_S + 5)
    assert city.session("mayor").is_cold


@pytest.mark.parametrize("down_s", [0, 3600])
def test_a_restart_of_the_controller_does_not_lose_a_turn(city: FakeCity, down_s: int) -> None:
    """R9, REC-15: nobody is slept before the tool server had time to say it again."""
    city.begin_turn("mayor")
    city.live(600)
    city.clock.advance(down_s)
    city.restart()
    city.live(ANNOUNCE_AGAIN_S - 2)
    assert (city.runs("mayor"), blockers(city)) == (True, ["turn_open"])
    city.begin_turn("mayor")
    city.live(3600)
    assert (city.runs("mayor"), blockers(city)) == (True, ["turn_open"])
    city.end_turn("mayor")
    city.live(WINDOW_S + 3)
    assert city.session("mayor").is_cold
    assert city.overseer.violations == []


def test_a_turn_that_nobody_announces_again_is_over_in_bounded_time(city: FakeCity) -> None:
    """R9, R80: tool server and controller died together; that is a window and ten seconds."""
    city.begin_turn("mayor")
    city.live(600)
    city.clock.advance(3600)
    city.restart()
    city.live(ANNOUNCE_AGAIN_S + 1)
    assert (city.session("mayor").open_turn, city.runs("mayor")) == ("", True)
    city.live(WINDOW_S + 2)
    assert city.session("mayor").is_cold


def test_a_turn_that_was_just_announced_is_on_disk(city: FakeCity) -> None:
    """R43: the controller dies right after the answer, and the next one knows of it."""
    said = Replies()

    async def announce() -> None:
        mark = city.session("mayor").instance_token
        with anyio.move_on_after(1):
            await turn(city.controller, "mayor", Announced(token=mark), say=said)

    city.run(announce())
    assert said == [{"open": True, "session": "mayor"}]
    city.clock.advance(WINDOW_S + 1)
    city.restart()
    city.tick(3)
    assert (city.runs("mayor"), blockers(city)) == (True, ["turn_open"])


def test_a_frozen_client_holds_it_for_a_day_and_no_longer(city: FakeCity) -> None:
    """R48: a connection that never ends is asked to announce its turn anew."""
    assert city.run(announced(city, TURN_MOST_S - 1)) == {}
    assert city.run(announced(city, TURN_MOST_S + 1)) == {"open": False, "session": "mayor"}
    city.live(WINDOW_S + 3)
    assert city.session("mayor").is_cold


def test_one_session_cannot_open_turns_without_end(city: FakeCity) -> None:
    """A runaway agent fills its own share only (E3)."""
    for _ in range(TURNS_MOST):
        city.begin_turn("mayor")
    with pytest.raises(Refused, match="turns of it are open"):
        city.run(announced(city, 60))


def test_a_store_without_room_keeps_the_turn_in_memory(city: FakeCity) -> None:
    """R75: it counts at once, and is written with the next write that succeeds."""
    city.memory.full = True

    async def announce() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(announced, city, 600)
            await anyio.sleep(1)
            assert city.ports.memory.turns
            assert city.session("mayor").open_turn == ""
            city.memory.full = False
            await anyio.sleep(60)
            assert city.session("mayor").open_turn != ""
            group.cancel_scope.cancel()

    city.run(beside(city, announce()))


# -- pins that hang on a connection -----------------------------------------------------------


def pins(city: FakeCity) -> list[str]:
    return [pin.owner for pin in city.session("mayor").pins]


def test_a_pin_that_is_held_wakes_a_sleeper_and_ends_with_its_holder(city: FakeCity) -> None:
    """R18: `gc busy --session`, from outside: a hard wake for exactly as long as it runs."""
    city.live(WINDOW_S + 3)
    assert city.session("mayor").is_cold
    city.run(beside(city, announced(city, 600, owner="busy:7")))
    assert (city.runs("mayor"), pins(city), blockers(city)) == (True, ["busy:7"], ["pin"])
    city.live(1)
    assert pins(city) == []
    city.live(WINDOW_S + 3)
    assert city.session("mayor").is_cold


def test_a_held_pin_waits_for_its_holder_after_a_restart_and_no_longer(city: FakeCity) -> None:
    """REC-15, R9: as an open turn: ten seconds to say it again."""
    city.run(beside(city, announced(city, 600, owner="busy:7")))
    city.clock.advance(3600)
    city.restart()
    city.live(ANNOUNCE_AGAIN_S - 2)
    assert (city.runs("mayor"), pins(city)) == (True, ["busy:7"])
    city.live(4)
    assert pins(city) == []
    city.live(WINDOW_S)
    assert city.session("mayor").is_cold


def test_an_ordinary_pin_needs_no_holder(city: FakeCity) -> None:
    """R18, R78: what a person pins for hours stays through every restart."""
    city.pin("mayor", for_s=3600)
    city.live(60)
    city.restart()
    city.live(3000)
    assert (city.runs("mayor"), pins(city)) == (True, ["ann"])


def test_an_announcement_of_nothing_is_refused(city: FakeCity) -> None:
    """Neither a run nor a pin: it would keep nobody up."""
    with pytest.raises(Refused, match="belongs to a run"):
        city.run(turn(city.controller, "mayor", Announced(), say=Replies()))
