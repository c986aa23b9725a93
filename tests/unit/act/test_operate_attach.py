"""The whole attach, against a controller that can be told what to do next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import anyio
import pytest

from gascity.act.operate import Reply
from gascity.act.ports import Refused
from gascity.act.requests_attach import attach, cancel
from gascity.decide.attach import CONCURRENT, FRESH_CONSEQUENCE
from gascity.model.city import SessionSettings
from gascity.model.duration import seconds
from gascity.model.session import (
    SleepIntent,
    SleepReason,
    State,
    StopNote,
    StopReason,
    WakeNote,
)
from gascity.model.world import Sighting
from gascity.testing.clock import NOON
from tests.desk import (
    CITY,
    FakeDesk,
    Said,
    a_session,
    awake,
    comes_up,
    fails,
    nothing,
    refusal,
    run,
    running,
)

ARGV = ["tmux", "attach-session", "-t", "=mayor"]
OTHERS = WakeNote(holder="other", by="bob", at=NOON, expires_at=NOON + timedelta(seconds=60))


def intents(desk: FakeDesk) -> list[WakeNote]:
    """Every intent that was written."""
    return [one.attach_intent for one in desk.writes if one.attach_intent is not None]


def test_an_idle_sleeper_is_reopened_through_a_bounded_intent() -> None:
    """The intent is written, the session wakes, the terminal is handed over (ATT-01, ATT-25)."""
    desk = FakeDesk(a_session())
    desk.steps = [nothing, comes_up()]
    reply = run(desk, attach, "mayor", say=Said(), by="ada")
    assert reply["argv"] == ARGV
    [intent] = intents(desk)
    assert intent.by == "ada"
    assert intent.expires_at - intent.at == timedelta(seconds=60)


@pytest.mark.parametrize(("startup_s", "life_s"), [(10, 30), (60, 60), (600, 300)])
def test_the_intent_lives_as_long_as_a_start_may_take(startup_s: int, life_s: int) -> None:
    """Start-up time within half a minute and five (ATT-05)."""
    settings = SessionSettings(startup_timeout=seconds(startup_s))
    desk = FakeDesk(a_session(), city=replace(CITY, session=settings))
    desk.steps = [comes_up()]
    run(desk, attach, "mayor", say=Said())
    [intent] = intents(desk)
    assert intent.expires_at - intent.at == timedelta(seconds=life_s)


def test_an_awake_session_is_handed_over_with_nothing_written() -> None:
    """No intent, no wait (ATT-06, ATT-23, F51)."""
    desk = FakeDesk(awake())
    said = Said()
    assert run(desk, attach, "mayor", say=said)["argv"] == ARGV
    assert (desk.writes, said) == ([], [])


def test_the_wake_is_announced_once_the_intent_is_durable() -> None:
    """The exact line, and the holder that can take it back (ATT-08)."""
    desk = FakeDesk(a_session())
    desk.steps = [comes_up()]
    said = Said()
    run(desk, attach, "mayor", say=said)
    assert said[0]["progress"] == "waking mayor... (timeout 60s)"
    assert said[0]["holder"] == intents(desk)[0].holder


def test_a_long_wake_shows_that_it_goes_on() -> None:
    """Something is said while nothing happens (ATT-09, ATT-13)."""
    desk = FakeDesk(a_session())
    said = Said()
    run(desk, attach, "mayor", say=said, timeout_s=10)
    assert len([one for one in said if one["attach"] == "waiting"]) >= 3


@pytest.mark.parametrize(
    ("sight", "state"),
    [
        (running(), "running"),
        (Sighting.stopped(), "stopped"),
        (Sighting.unknown("no answer"), "unknown"),
    ],
)
def test_a_timeout_tells_what_is_seen_and_calls_nothing_failed(sight: Sighting, state: str) -> None:
    """Exit 4; running, stopped or unknown (ATT-10, ATT-14, F51)."""
    desk = FakeDesk(a_session())
    desk.runtime.truths["mayor"] = sight
    reply = run(desk, attach, "mayor", say=Said())
    assert (reply["outcome"], reply["exit"], reply["state"]) == ("timed out", 4, state)
    assert "fail" not in reply["what"]


def test_the_intent_is_gone_when_it_lapsed() -> None:
    """Nobody is woken by an attach that gave up (ATT-04)."""
    desk = FakeDesk(a_session())
    run(desk, attach, "mayor", say=Said())
    assert desk.sessions["gc-mayor"].attach_intent is None


def test_losing_patience_before_the_intent_lapses_takes_it_back() -> None:
    """A short --timeout ends the wait and the intent with it (ATT-12)."""
    desk = FakeDesk(a_session())
    reply = run(desk, attach, "mayor", say=Said(), timeout_s=2)
    assert reply["outcome"] == "timed out"
    [intent] = intents(desk)
    assert intent.expires_at - intent.at == timedelta(seconds=30)
    assert desk.sessions["gc-mayor"].attach_intent is None


def test_the_expiry_counts_from_the_start_attempt() -> None:
    """A start that had to queue still gets its time (R24)."""
    desk = FakeDesk(a_session())

    def starts_late(d: FakeDesk) -> None:
        d.clock.advance(50)
        note = d.sessions["gc-mayor"].attach_intent
        assert note is not None
        moved = replace(note, expires_at=d.clock.now() + timedelta(seconds=60))
        d.put("gc-mayor", attach_intent=moved)

    def comes_up_later(d: FakeDesk) -> None:
        d.clock.advance(50)
        comes_up()(d)

    desk.steps = [starts_late, comes_up_later]
    assert run(desk, attach, "mayor", say=Said()).get("ready")


def test_a_certain_failure_is_shown_and_not_tried_again() -> None:
    """Exit 1 with the runtime's words; one intent, and it is gone (ATT-04, ATT-11, ATT-15)."""
    desk = FakeDesk(a_session())
    desk.steps = [fails(why="work dir is missing")]
    reply = run(desk, attach, "mayor", say=Said())
    assert (reply["outcome"], reply["exit"]) == ("failed", 1)
    assert "work dir is missing" in reply["what"]
    assert len(intents(desk)) == 1
    assert desk.sessions["gc-mayor"].attach_intent is None


def test_an_unclear_start_stays_a_wait() -> None:
    """An error without a count is no failure: it came up after all (ATT-14)."""
    desk = FakeDesk(a_session())
    desk.steps = [lambda d: d.put("gc-mayor", last_error="start: no answer"), comes_up()]
    assert run(desk, attach, "mayor", say=Said()).get("ready")


async def attach_and_leave(desk: FakeDesk) -> None:
    """Attach, and be cancelled once the wake was announced."""
    announced = anyio.Event()

    async def say(part: Reply) -> None:
        announced.set()

    async with anyio.create_task_group() as group:

        async def go() -> None:
            await attach(desk, "mayor", say=say)

        group.start_soon(go)
        await announced.wait()
        group.cancel_scope.cancel()


def test_a_client_that_leaves_takes_its_intent_back() -> None:
    """Hanging up cancels: the intent it wrote is cleared (ATT-12, ATT-16)."""
    desk = FakeDesk(a_session())
    run(desk, attach_and_leave)
    assert len(intents(desk)) == 1
    assert desk.sessions["gc-mayor"].attach_intent is None


def test_canceling_is_for_the_holder_alone() -> None:
    """Somebody else's intent stays; one that was used up is simply gone (ATT-16, ATT-22)."""
    desk = FakeDesk(a_session(attach_intent=OTHERS))
    assert run(desk, cancel, "mayor", holder="mine")["outcome"] == "gone"
    assert desk.sessions["gc-mayor"].attach_intent == OTHERS
    assert run(desk, cancel, "mayor", holder="other")["outcome"] == "canceled"
    assert desk.sessions["gc-mayor"].attach_intent is None


def test_an_intent_canceled_elsewhere_ends_the_wait() -> None:
    """What was taken back is not waited for (ATT-13)."""
    desk = FakeDesk(a_session())
    desk.steps = [lambda d: d.put("gc-mayor", attach_intent=None)]
    reply = run(desk, attach, "mayor", say=Said())
    assert reply["outcome"] == "canceled"


def test_a_fresh_session_says_what_is_lost_before_anything_is_written() -> None:
    """Mode and loss come first; nothing is written unagreed (ATT-07, ATT-17, ATT-18, ATT-19)."""
    desk = FakeDesk(a_session("poet"))
    reply = run(desk, attach, "poet", say=Said())
    assert (reply["confirm"], reply["wake_mode"]) == (True, "fresh")
    assert reply["consequence"] == "will start a new session and discard prior interactive context"
    assert desk.writes == []


def test_an_agreed_fresh_session_wakes_and_says_it_again() -> None:
    """The flag is the agreement; the consequence is said on this path too (ATT-20, ATT-21)."""
    desk = FakeDesk(a_session("poet"))
    desk.steps = [comes_up("poet")]
    said = Said()
    reply = run(desk, attach, "poet", say=said, confirm_fresh=True)
    assert reply.get("ready")
    assert said[0]["consequence"] == FRESH_CONSEQUENCE


def test_a_fresh_session_that_never_ran_has_nothing_to_lose() -> None:
    """No conversation, no question (R55)."""
    never = a_session("poet", generation=0, state=State.CREATING, sleep_reason=SleepReason.NONE)
    desk = FakeDesk(never)
    desk.steps = [comes_up("poet")]
    assert run(desk, attach, "poet", say=Said()).get("ready")


def test_a_second_attach_is_told_of_the_first() -> None:
    """The exact words; the first intent stays (ATT-22)."""
    desk = FakeDesk(a_session(attach_intent=OTHERS))
    refused = refusal(desk, attach, "mayor", say=Said())
    assert (refused.what, refused.exit) == (CONCURRENT, 3)
    assert desk.sessions["gc-mayor"].attach_intent == OTHERS


def test_an_intent_that_lapsed_keeps_nobody_out() -> None:
    """A dead intent is replaced (ATT-04)."""
    desk = FakeDesk(a_session(attach_intent=replace(OTHERS, expires_at=NOON)))
    desk.steps = [comes_up()]
    assert run(desk, attach, "mayor", say=Said()).get("ready")


HELD: dict[str, tuple[dict[str, Any], str, str]] = {
    "suspended": ({"suspended_at": NOON, "suspended_by": "ada"}, "suspended", "gc resume mayor"),
    "held": ({"held_until": NOON + timedelta(1)}, "held", "gc resume mayor"),
    "quarantined": ({"quarantined_until": NOON + timedelta(1)}, "quarantined", "gc resume mayor"),
    "drained": ({"sleep_reason": SleepReason.DRAINED}, "drained", "gc wake mayor"),
    "operator": ({"sleep_reason": SleepReason.OPERATOR}, "operator", "gc wake mayor"),
}


@pytest.mark.parametrize("hold", HELD)
def test_a_sleeper_that_is_held_is_refused_with_what_lifts_it(hold: str) -> None:
    """At once, with the reason and the command; no intent (ATT-23, ATT-24, R65)."""
    fields, why, remedy = HELD[hold]
    desk = FakeDesk(a_session(**fields))
    refused = refusal(desk, attach, "mayor", say=Said())
    assert refused.exit == 3
    assert why in refused.what
    assert remedy in refused.do
    assert desk.writes == []


@pytest.mark.parametrize(
    "reason", [SleepReason.IDLE_TIMEOUT, SleepReason.CRASH, SleepReason.CITY_STOP]
)
def test_other_sleepers_wake(reason: SleepReason) -> None:
    """They went for a reason that holds nobody (R65)."""
    desk = FakeDesk(a_session(sleep_reason=reason))
    desk.steps = [comes_up()]
    assert run(desk, attach, "mayor", say=Said()).get("ready")


def keeps_running(desk: FakeDesk) -> None:
    """The drain is taken back before the stop."""
    desk.put("gc-mayor", sleep_intent=SleepIntent.NONE)


def sleeps_then_wakes(desk: FakeDesk) -> None:
    """The drain was too far: it ends, and the intent starts the session again."""
    desk.put("gc-mayor", sleep_intent=SleepIntent.NONE)
    comes_up()(desk)


@pytest.mark.parametrize("then", [keeps_running, sleeps_then_wakes])
def test_a_draining_session_is_caught_or_started_again(then: Callable[[FakeDesk], None]) -> None:
    """The intent undoes the drain, or wakes what it ended; never a blank one (R55, F35)."""
    desk = FakeDesk(awake(sleep_intent=SleepIntent.PENDING))
    desk.steps = [nothing, then]
    reply = run(desk, attach, "mayor", say=Said())
    assert reply["argv"] == ARGV
    assert len(intents(desk)) == 1


def test_a_session_stopped_for_another_reason_is_waited_for() -> None:
    """A stop note of this generation is a drain like another (R55)."""
    note = StopNote(reason=StopReason.CONFIG_DRIFT, generation=1, at=NOON)
    desk = FakeDesk(awake(stop_note=note))
    desk.steps = [lambda d: d.put("gc-mayor", stop_note=None), comes_up()]
    assert run(desk, attach, "mayor", say=Said()).get("ready")
    assert len(intents(desk)) == 1


def test_a_pane_that_died_unseen_is_woken_not_entered() -> None:
    """The runtime is asked at that moment; a dead pane is stopped (F35, R11)."""
    desk = FakeDesk(awake())
    desk.runtime.truths["mayor"] = Sighting.stopped()
    desk.steps = [nothing, comes_up()]
    assert run(desk, attach, "mayor", say=Said()).get("ready")
    assert len(intents(desk)) == 1


def test_a_starting_session_is_waited_for_until_it_is_ready() -> None:
    """Up but not ready is not awake; never ready is a timeout, seen running (R66, F51)."""
    desk = FakeDesk(awake(ready_at=None))
    reply = run(desk, attach, "mayor", say=Said())
    assert (reply["outcome"], reply["state"]) == ("timed out", "running")


def test_a_runtime_without_a_terminal_says_so() -> None:
    """No intent for what could never be entered (ATT-24)."""
    desk = FakeDesk(a_session())
    desk.runtime.attachable = False
    refused = refusal(desk, attach, "mayor", say=Said())
    assert "gc session peek mayor" in refused.do
    assert desk.writes == []


def test_a_session_removed_while_waiting_ends_the_attach() -> None:
    """Nothing is waited for that is gone (ATT-13)."""
    desk = FakeDesk(a_session())

    def removed(d: FakeDesk) -> None:
        del d.sessions["gc-mayor"]

    desk.steps = [removed]
    with pytest.raises(Refused, match="removed"):
        run(desk, attach, "mayor", say=Said())
