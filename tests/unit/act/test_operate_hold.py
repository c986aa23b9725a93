"""Sleep, pins, suspension and kill on request."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from gascity.act.requests_hold import kill, pin, pins, resume, sleep, suspend, unpin
from gascity.model.city import Rig, SessionClass, Source
from gascity.model.duration import seconds
from gascity.model.plan import (
    Blocker,
    Capability,
    CapabilityClass,
    Decision,
    DisplayState,
    Path,
    Plan,
    Policy,
)
from gascity.model.session import State
from gascity.model.world import Sighting
from gascity.testing.clock import NOON
from tests.desk import CITY, FakeDesk, a_session, awake, nothing, refusal, run, running

POLICY = Policy(
    requested=seconds(60),
    effective=seconds(60),
    source=Source.AGENT,
    session_class=SessionClass.INTERACTIVE_RESUME,
)
FULL = Capability(
    kind=CapabilityClass.FULL,
    has_activity_clock=True,
    has_idle_boundary=True,
    has_pending_signal=True,
    has_attachment_signal=True,
)


def judged(*blockers: str) -> Plan:
    """A plan in which these keep the mayor up."""
    decision = Decision(
        session_id="gc-mayor",
        name="mayor",
        state=DisplayState.AWAKE,
        row="@D",
        path=Path.EVALUATE,
        policy=POLICY,
        capability=FULL,
        blockers=tuple(Blocker(name=name, detail="2 clients") for name in blockers),
    )
    return Plan(decisions={"gc-mayor": decision})


def test_sleep_is_refused_with_the_blocker() -> None:
    """What keeps it up is named; nothing is written (R64)."""
    desk = FakeDesk(awake())
    desk.plan, desk.steps = judged("keep_warm", "attached"), [nothing]
    refused = refusal(desk, sleep, "mayor")
    assert (refused.exit, desk.writes) == (3, [])
    assert "attached (2 clients)" in refused.what
    assert "keep_warm" not in refused.what


def test_sleep_is_judged_by_a_patrol_after_the_request() -> None:
    """A blocker that went meanwhile refuses nobody (R64)."""
    desk = FakeDesk(awake())
    desk.plan = judged("attached")
    desk.steps = [lambda d: setattr(d, "plan", judged("keep_warm"))]
    assert run(desk, sleep, "mayor")["outcome"] == "requested"
    assert desk.sessions["gc-mayor"].sleep_request is not None


def test_force_overrules_and_says_what() -> None:
    """The request carries the force, the reply the blockers (R64)."""
    desk = FakeDesk(awake())
    desk.plan, desk.steps = judged("work"), [nothing]
    assert run(desk, sleep, "mayor", force=True)["blockers"] == ["work"]
    request = desk.sessions["gc-mayor"].sleep_request
    assert request is not None
    assert request.force


def test_a_patrol_that_hangs_does_not_hang_the_request() -> None:
    """The last judgement is used after five seconds (R34)."""
    desk = FakeDesk(awake())
    desk.plan = judged("keep_warm")
    assert run(desk, sleep, "mayor")["outcome"] == "requested"


def test_who_sleeps_already_is_left_alone() -> None:
    """Said so, nothing written (R64)."""
    desk = FakeDesk(a_session())
    assert run(desk, sleep, "mayor")["outcome"] == "already asleep"
    assert desk.writes == []


def test_a_pin_holds_eight_hours_unless_told_otherwise() -> None:
    """Owner, reason and expiry are kept (R18, R78)."""
    desk = FakeDesk(awake())
    reply = run(desk, pin, "mayor", owner="ada", reason="demo")
    [made] = desk.sessions["gc-mayor"].pins
    assert made.expires_at - made.at == timedelta(hours=8)
    assert (reply["pin"]["owner"], reply["pin"]["reason"]) == ("ada", "demo")


def test_a_second_pin_of_an_owner_replaces_the_first() -> None:
    """One pin an owner; others stay (R18)."""
    desk = FakeDesk(awake())
    for owner, for_s in (("ada", 60.0), ("bob", 60.0), ("ada", 120.0)):
        run(desk, pin, "mayor", owner=owner, for_s=for_s)
    listed = run(desk, pins)["pins"]
    assert sorted(one["owner"] for one in listed) == ["ada", "bob"]
    assert run(desk, unpin, "mayor", owner="ada")["removed"] == 1
    assert run(desk, unpin, "mayor")["removed"] == 1
    assert run(desk, unpin, "mayor")["removed"] == 0


def test_a_pin_on_a_held_session_says_that_it_holds_later() -> None:
    """A hold masks every wake, pins too (R26)."""
    desk = FakeDesk(a_session(suspended_at=NOON, suspended_by="ada"))
    assert "suspended" in run(desk, pin, "mayor")["note"]


def test_suspend_and_resume_are_durable_and_idempotent() -> None:
    """All of them, and only what changed is named (R26)."""
    desk = FakeDesk(awake(), a_session("poet"))
    assert run(desk, suspend, "mayor", by="ada")["sessions"] == ["mayor"]
    assert desk.sessions["gc-mayor"].suspended_by == "ada"
    assert run(desk, suspend, all=True)["sessions"] == ["poet"]
    assert run(desk, resume, all=True)["sessions"] == ["mayor", "poet"]
    assert run(desk, resume, all=True)["sessions"] == []


def test_resume_lifts_every_hold_of_the_session_it_names() -> None:
    """Held and quarantined are lifted by the command their refusal names (R26, R41)."""
    later = NOON + timedelta(hours=1)
    desk = FakeDesk(
        a_session(
            state=State.QUARANTINED,
            quarantined_until=later,
            quarantine_cycle=2,
            exits=(NOON,),
            failed_starts=(NOON,),
            held_until=later,
        )
    )
    run(desk, resume, "mayor")
    after = desk.sessions["gc-mayor"]
    assert (after.quarantined_until, after.held_until, after.exits) == (None, None, ())


def test_resume_cannot_lift_what_the_config_says() -> None:
    """The place to edit is named (R26)."""
    agent = replace(CITY.agents["mayor"], rig="barn")
    city = replace(CITY, agents={"mayor": agent}, rigs={"barn": Rig(name="barn", suspended=True)})
    refused = refusal(FakeDesk(a_session(), city=city), resume, "mayor")
    assert "rig barn" in refused.what


@pytest.mark.parametrize("said", [{}, {"said": "mayor", "all": True}])
def test_suspend_wants_one_or_all(said: dict[str, object]) -> None:
    """Neither and both are usage errors."""
    assert refusal(FakeDesk(awake()), suspend, **said).exit == 2


def test_a_kill_is_believed_when_it_is_seen() -> None:
    """The runtime is asked afterwards; who is stopped already is left alone (R28)."""
    desk = FakeDesk(awake())
    assert run(desk, kill, "mayor")["outcome"] == "killed"
    assert run(desk, kill, "mayor")["outcome"] == "already stopped"


@pytest.mark.parametrize("sight", [running(), Sighting.unknown("no answer")])
def test_a_kill_that_is_not_seen_is_a_failure(sight: Sighting) -> None:
    """Told to stop is not stopped (R28)."""
    desk = FakeDesk(awake())

    async def in_vain(session_id: str, *, by: str) -> None:
        desk.runtime.truths["mayor"] = sight

    desk.kill = in_vain  # type: ignore[method-assign]
    reply = run(desk, kill, "mayor")
    assert (reply["outcome"], reply["exit"], reply["state"]) == ("failed", 1, sight.truth.value)
