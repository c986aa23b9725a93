"""Requests against the product's own controller, in virtual time on a fake runtime."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import anyio
import pytest

from gascity.act import requests_hold as hold
from gascity.act import requests_work as work
from gascity.act.operate import Desk, Reply
from gascity.act.ports import Refused
from gascity.act.requests_attach import attach
from gascity.act.requests_wake import wake
from gascity.act.requests_why import why
from gascity.model.session import SleepReason, State
from gascity.testing.city import FakeCity
from gascity.testing.hosted import FULL
from gascity.testing.records import a_city, agent, fresh, headless
from tests.desk import Said

T = TypeVar("T")
CONFIG = a_city(agent("mayor"), fresh("poet"), headless("worker"))


@pytest.fixture
def city() -> Iterator[FakeCity]:
    """A city whose interactive session went to sleep for being idle."""
    with FakeCity(CONFIG, support=FULL) as one:
        one.tick(3)
        one.clock.advance(120)
        one.tick(3)
        assert one.session("mayor").is_cold
        yield one


def during(city: FakeCity, fn: Callable[[Desk], Awaitable[T]]) -> T:
    """Do something while the controller lives its own life."""

    async def body() -> T | Refused:
        async with anyio.create_task_group() as group:
            group.start_soon(city.controller.run)
            await city.controller.wait_patrol()
            ended: T | Refused
            try:
                ended = await fn(city.controller)
            except Refused as refused:
                ended = refused
            group.cancel_scope.cancel()
        return ended

    ended = city.run(body())
    if isinstance(ended, Refused):
        raise ended
    return ended


def ask(city: FakeCity, fn: Callable[..., Awaitable[T]], *args: Any, **kwargs: Any) -> T:
    """One request."""
    return during(city, lambda desk: fn(desk, *args, **kwargs))


def test_the_real_controller_has_what_requests_need(city: FakeCity) -> None:
    """The interface is kept (checked by type as well)."""
    desk: Desk = city.controller
    assert desk.snapshot().city.name == "demo"


def test_attach_wakes_a_cold_session_at_once(city: FakeCity) -> None:
    """Ready within a second of virtual time, not at the next patrol (ATT-01, ATT-02, ATT-25)."""
    began = city.clock.monotonic()
    reply = ask(city, attach, "mayor", say=Said())
    assert reply.get("ready")
    assert city.runs("mayor")
    assert city.clock.monotonic() - began < 1.5


def test_the_intent_is_gone_once_somebody_is_attached(city: FakeCity) -> None:
    """Attachment takes the intent's place (ATT-04, META-10)."""
    ask(city, attach, "mayor", say=Said())
    assert city.session("mayor").attach_intent is not None
    city.attach("mayor")
    city.tick()
    assert city.session("mayor").attach_intent is None
    assert city.runs("mayor")


def test_an_intent_nobody_used_lapses(city: FakeCity) -> None:
    """At expiry it is cleared by a patrol (ATT-04)."""
    ask(city, attach, "mayor", say=Said())
    city.clock.advance(61)
    city.tick()
    assert city.session("mayor").attach_intent is None


def test_a_start_that_fails_clears_the_intent_and_is_shown(city: FakeCity) -> None:
    """Definitive failure, the runtime's words (ATT-04, ATT-11, ATT-15)."""
    city.host.of("mayor").start_fails = "no such folder"
    starts = city.session("mayor").generation
    reply = ask(city, attach, "mayor", say=Said())
    assert (reply["outcome"], reply["exit"]) == ("failed", 1)
    assert "no such folder" in reply["what"]
    assert city.session("mayor").attach_intent is None
    assert city.session("mayor").generation == starts + 1


def test_the_failure_that_ends_in_quarantine_is_a_failure_too(city: FakeCity) -> None:
    """Five failed starts: the fifth is told as one, the sixth is refused (R26, R41)."""
    city.host.of("mayor").start_fails = "no such folder"
    for _ in range(5):
        reply = ask(city, wake, "mayor", say=Said())
        assert reply["outcome"] == "failed"
        assert "no such folder" in reply["what"]
    assert city.session("mayor").state is State.QUARANTINED
    with pytest.raises(Refused, match="quarantined until") as refused:
        ask(city, wake, "mayor", say=Said())
    assert refused.value.do == "lift it with gc resume mayor"
    city.host.of("mayor").start_fails = ""
    ask(city, hold.resume, "mayor")
    assert ask(city, wake, "mayor", say=Said())["outcome"] == "woke"


def test_a_start_without_a_certain_answer_is_a_timeout(city: FakeCity) -> None:
    """Nobody can tell whether it came up, so nobody calls it failed (ATT-10, ATT-14)."""
    city.host.of("mayor").start_raises = "no answer"
    city.host.unreachable = "no answer"
    reply = ask(city, attach, "mayor", say=Said())
    assert (reply["outcome"], reply["exit"], reply["state"]) == ("timed out", 4, "unknown")


def test_a_wake_is_answered_once_it_is_up_and_ready(city: FakeCity) -> None:
    """Woke; the request is used up, the event is there (R25, WAKE-18)."""
    assert ask(city, wake, "mayor", say=Said())["outcome"] == "woke"
    assert city.session("mayor").wake_request is None
    assert city.events("session.woke")[-1].subject == "mayor"
    assert ask(city, wake, "mayor", say=Said())["outcome"] == "already awake"


async def attach_during_the_stop(desk: Desk) -> Reply:
    """Attach once the drain of the mayor has begun its stop."""
    await hold.sleep(desk, "mayor")
    while not any(one.sleep_intent for one in desk.snapshot().sessions.values()):
        await desk.wait_progress(desk.progress)
    return await attach(desk, "mayor", say=Said())


def test_an_attach_during_a_drain_ends_inside_one_runtime(city: FakeCity) -> None:
    """Taken back or started again: one conversation, one way in (R55, F35)."""
    ask(city, wake, "mayor", say=Said())
    key = city.session("mayor").session_key
    city.host.took["stop"] = 3.0
    reply = during(city, attach_during_the_stop)
    assert reply.get("ready")
    assert city.runs("mayor")
    assert city.session("mayor").session_key == key
    assert city.session("mayor").state is State.AWAKE


def test_sleep_closes_the_window_and_ends_as_idle(city: FakeCity) -> None:
    """The safe path, without waiting for the window (R64)."""
    ask(city, wake, "mayor", say=Said())
    ask(city, hold.sleep, "mayor")
    city.tick(3)
    assert city.session("mayor").is_cold


def test_sleep_of_a_session_without_policy_ends_as_operator(city: FakeCity) -> None:
    """It stays down until a hard wake; attach names the command, wake obeys (R64, R65)."""
    city.tick()
    assert city.runs("poet")
    ask(city, hold.sleep, "poet")
    city.tick(3)
    assert city.session("poet").sleep_reason is SleepReason.OPERATOR
    with pytest.raises(Refused) as refused:
        ask(city, attach, "poet", say=Said(), confirm_fresh=True)
    assert refused.value.do == "wake it with gc wake poet"
    assert ask(city, wake, "poet", say=Said())["outcome"] == "woke"


def test_sleep_names_who_is_attached_unless_forced(city: FakeCity) -> None:
    """Refused with the blocker, obeyed with force (R64)."""
    ask(city, wake, "mayor", say=Said())
    city.attach("mayor", 2)
    with pytest.raises(Refused, match="attached"):
        ask(city, hold.sleep, "mayor")
    assert "attached" in ask(city, hold.sleep, "mayor", force=True)["blockers"]


def test_suspension_holds_until_it_is_lifted(city: FakeCity) -> None:
    """Stopped, refused with the command, and free again (R26)."""
    ask(city, wake, "mayor", say=Said())
    ask(city, hold.suspend, "mayor", by="ada")
    city.tick(2)
    assert not city.runs("mayor")
    with pytest.raises(Refused, match="suspended by ada"):
        ask(city, wake, "mayor", say=Said())
    ask(city, hold.resume, "mayor")
    assert ask(city, wake, "mayor", say=Said())["outcome"] == "woke"


def test_a_pin_wakes_and_keeps(city: FakeCity) -> None:
    """A timed keep-awake is a hard wake (R18)."""
    ask(city, hold.pin, "mayor", owner="ada", for_s=600)
    city.tick(2)
    city.clock.advance(300)
    city.tick()
    assert city.runs("mayor")
    ask(city, hold.unpin, "mayor")
    city.clock.advance(120)
    city.tick(2)
    assert city.session("mayor").is_cold


def test_a_kill_is_no_crash(city: FakeCity) -> None:
    """Gone when it is said to be, and not counted (R41)."""
    ask(city, wake, "mayor", say=Said())
    assert ask(city, hold.kill, "mayor", by="ada")["outcome"] == "killed"
    assert city.session("mayor").exits == ()


def test_work_wakes_its_session_and_is_taken_by_it(city: FakeCity) -> None:
    """Sling, wake, hook, close: the round of a headless worker (R19)."""
    bead = ask(city, work.sling, "worker", "dig")["bead"]
    city.tick(2)
    assert city.runs("worker")
    session_id = city.session("worker").id
    assert ask(city, work.hook, session_id, claim_it=True)["bead"]["id"] == bead["id"]
    ask(city, work.close, bead["id"])
    city.tick(3)
    assert not city.runs("worker")


def test_why_tells_of_a_cold_session_what_would_wake_it(city: FakeCity) -> None:
    """Verdict, policy chain, wake sources (STAT-11)."""
    told = ask(city, why, "mayor")["why"]
    assert told["verdict"]
    assert told["state"] == "asleep"
    assert [one["layer"] for one in told["policy"]["chain"] if one["wins"]] == ["workspace_default"]
    assert "gc wake mayor" in told["changes"]
