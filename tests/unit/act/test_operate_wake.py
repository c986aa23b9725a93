"""`gc wake` always ends in a stated outcome."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gascity.act.requests_wake import wake
from gascity.beads.store import EventQuery
from gascity.model.city import Rig
from gascity.model.events import EventType
from gascity.model.plan import Plan
from gascity.model.session import SleepReason, SleepRequest, State
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
)


def refused_events(desk: FakeDesk) -> list[str]:
    """The messages of `session.wake_refused`."""

    async def read(desk: FakeDesk) -> list[str]:
        query = EventQuery(types=(EventType.WAKE_REFUSED,))
        return [one.message for one in await desk.store.events(query)]

    return run(desk, read)


def test_a_cold_session_wakes() -> None:
    """An idle-asleep session comes up: outcome woke, exit 0 (R25, WAKE-18)."""
    desk = FakeDesk(a_session())
    desk.steps = [nothing, comes_up()]
    reply = run(desk, wake, "mayor", say=Said())
    assert (reply["outcome"], reply.get("exit", 0)) == ("woke", 0)


def test_the_request_is_durable_and_bounded_before_anybody_waits() -> None:
    """What is written has a holder and lapses with the start-up time (R25, A3)."""
    desk = FakeDesk(a_session())
    reply = run(desk, wake, "mayor", say=Said(), wait=False, by="ada")
    note = desk.sessions["gc-mayor"].wake_request
    assert note is not None
    assert (note.by, bool(note.holder), note.expires_at - note.at) == (
        "ada",
        True,
        timedelta(seconds=60),
    )
    assert (reply["outcome"], reply.get("exit", 0)) == ("queued", 0)


def test_an_awake_session_is_left_alone() -> None:
    """Already awake: said so, nothing written (R25, F51)."""
    desk = FakeDesk(awake())
    reply = run(desk, wake, "mayor", say=Said())
    assert reply["outcome"] == "already awake"
    assert desk.writes == []


def test_a_record_that_says_awake_is_not_believed_over_the_runtime() -> None:
    """A session that died unseen is woken, not called awake (R25)."""
    desk = FakeDesk(awake())
    desk.runtime.truths["mayor"] = Sighting.stopped()
    desk.steps = [comes_up()]
    assert run(desk, wake, "mayor", say=Said())["outcome"] == "woke"


def test_a_wake_takes_back_a_sleep_that_was_asked_for() -> None:
    """The operator's latest word wins (R64)."""
    desk = FakeDesk(awake(sleep_request=SleepRequest(by="ada", at=NOON)))
    desk.steps = [comes_up()]
    assert run(desk, wake, "mayor", say=Said())["outcome"] == "woke"
    assert desk.sessions["gc-mayor"].sleep_request is None


HELD: dict[str, tuple[dict[str, Any], str, str]] = {
    "suspended": ({"suspended_at": NOON, "suspended_by": "ada"}, "suspended by ada", "gc resume"),
    "held": ({"held_until": NOON + timedelta(hours=1)}, "held until", "gc resume"),
    "quarantined": ({"quarantined_until": NOON + timedelta(hours=1)}, "13:00", "gc resume"),
    "foreign": ({"foreign_state": "archived"}, "archived", "gc bead update"),
}


@pytest.mark.parametrize("hold", HELD)
def test_a_held_session_is_refused_with_what_lifts_the_hold(hold: str) -> None:
    """Exit 3, the reason, the command, and an event (R26, F16)."""
    fields, why, remedy = HELD[hold]
    desk = FakeDesk(a_session(**fields))
    refused = refusal(desk, wake, "mayor", say=Said())
    assert refused.exit == 3
    assert why in refused.what
    assert remedy in refused.do
    assert desk.writes == []
    assert refused_events(desk) == [refused.what]


def test_a_rig_suspended_in_the_config_is_named() -> None:
    """What to edit is said, for no command lifts it (R26, F16)."""
    agent = replace(CITY.agents["mayor"], rig="barn")
    city = replace(CITY, agents={"mayor": agent}, rigs={"barn": Rig(name="barn", suspended=True)})
    refused = refusal(FakeDesk(a_session(), city=city), wake, "mayor", say=Said())
    assert "rig barn" in refused.what
    assert "city.toml" in refused.do


def test_an_unknown_name_is_refused_and_noted() -> None:
    """Nobody of that name: not 0, and in the event log (F16)."""
    desk = FakeDesk(a_session())
    refused = refusal(desk, wake, "nobody", say=Said())
    assert refused.exit == 2
    assert len(refused_events(desk)) == 1


def test_an_ambiguous_name_lists_what_it_may_mean() -> None:
    """Two slots of one agent: both are named (R6b)."""
    desk = FakeDesk(a_session("w-1", template="w", slot=1), a_session("w-2", template="w", slot=2))
    assert "w-1, w-2" in refusal(desk, wake, "w", say=Said()).what


@pytest.mark.parametrize("reason", [SleepReason.DRAINED, SleepReason.OPERATOR])
def test_a_wake_lifts_what_attach_sends_people_to_it_for(reason: SleepReason) -> None:
    """Drained and put away: an operator's wake is the command that brings them back (R65)."""
    desk = FakeDesk(a_session(sleep_reason=reason))
    desk.steps = [comes_up()]
    assert run(desk, wake, "mayor", say=Said())["outcome"] == "woke"
    assert desk.writes[0].sleep_reason is not SleepReason.DRAINED


def test_a_start_that_certainly_failed_is_shown_with_its_reason() -> None:
    """Exit 1 and what the start said; nothing is tried again (R25, ATT-15)."""
    desk = FakeDesk(a_session())
    desk.steps = [fails(why="no such command")]
    reply = run(desk, wake, "mayor", say=Said())
    assert (reply["outcome"], reply["exit"]) == ("failed", 1)
    assert "no such command" in reply["what"]


def test_an_unclear_start_is_no_failure() -> None:
    """An error that was noted but not counted leaves the outcome open (ATT-14)."""
    desk = FakeDesk(a_session())
    desk.steps = [lambda d: d.put("gc-mayor", last_error="start: no answer"), comes_up()]
    assert run(desk, wake, "mayor", say=Said())["outcome"] == "woke"


@pytest.mark.parametrize(
    ("sight", "state"),
    [(Sighting.stopped(), "stopped"), (Sighting.unknown("no answer"), "unknown")],
)
def test_a_timeout_says_what_is_seen_and_takes_nothing_back(sight: Sighting, state: str) -> None:
    """Exit 4 with stopped or unknown; the request lives on until it lapses (R25, F51)."""
    desk = FakeDesk(a_session())
    desk.runtime.truths["mayor"] = sight
    reply = run(desk, wake, "mayor", say=Said(), timeout_s=5)
    assert reply == {
        "outcome": "timed out",
        "session": "mayor",
        "state": state,
        "exit": 4,
        "what": f"mayor was not ready within 5s: {state}",
        "do": "it may still come up; look at gc why mayor",
    }
    assert desk.sessions["gc-mayor"].wake_request is not None


def test_a_runtime_that_hangs_does_not_hang_the_wake() -> None:
    """The truth is unknown after two seconds, not never (R34)."""
    desk = FakeDesk(a_session())
    desk.runtime.hangs = True
    assert run(desk, wake, "mayor", say=Said(), timeout_s=5)["state"] == "unknown"


def test_asking_twice_asks_once() -> None:
    """The second caller joins the open request (R25)."""
    desk = FakeDesk(a_session())
    run(desk, wake, "mayor", say=Said(), wait=False)
    first = desk.sessions["gc-mayor"].wake_request
    desk.steps = [comes_up()]
    assert run(desk, wake, "mayor", say=Said())["outcome"] == "woke"
    assert [one.wake_request for one in desk.writes] == [first]


def test_a_queued_start_is_said_while_it_waits() -> None:
    """A start that waits its turn is not silence (R24, F16)."""
    desk = FakeDesk(a_session())
    desk.plan = Plan(queued=frozenset({"gc-mayor"}))
    desk.steps = [nothing, comes_up()]
    said = Said()
    run(desk, wake, "mayor", say=said)
    assert "queued" in said[0]["progress"]


def test_a_session_never_started_wakes() -> None:
    """A record without a generation is no obstacle (R55)."""
    desk = FakeDesk(a_session(state=State.CREATING, generation=0, sleep_reason=SleepReason.NONE))
    desk.steps = [comes_up()]
    assert run(desk, wake, "mayor", say=Said())["outcome"] == "woke"
