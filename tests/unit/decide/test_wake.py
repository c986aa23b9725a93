"""Why a session is awake: every hard cause, and what suppression masks.

Covers TEST-04, TEST-05.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gascity.decide.judge import judge
from gascity.decide.tick import decide
from gascity.decide.wake import direct_wakes, hard_wakes, held_reason, latch_holds
from gascity.model.city import NamedMode, NamedSession, Rig
from gascity.model.duration import seconds
from gascity.model.plan import Cause, Drain, Path, Start
from gascity.model.reading import Known, Unclear, Unsupported
from gascity.model.session import SleepReason, State
from gascity.model.world import Pending, World
from gascity.testing.builders import (
    NOON,
    a_city,
    a_note,
    a_pin,
    a_session,
    a_world,
    agent,
    ago,
    ahead,
    asleep,
    awake,
    cold,
    decided,
    draining,
    headless,
    pooled,
    running,
    stopped,
    unseen,
)

CITY = a_city(agent("api", depends_on=("mayor",)), agent())
QUESTION = Pending(kind="permission", question="rm?")


def on_a_sleeper(**over: Any) -> World:
    """A cold mayor, with whatever asks for it."""
    record = {
        key: over.pop(key) for key in ("attach_intent", "wake_request", "pins") if key in over
    }
    return a_world(CITY, awake("api"), cold(**record), **over)


def seen_by(**over: Any) -> World:
    """A mayor recorded cold that somebody is found to be using."""
    return a_world(CITY, awake("api"), cold(), seen={"mayor": running(**over), "api": running()})


# One row for every cause; a cause added without a row fails the test below.
ON_A_SLEEPER: dict[Cause, Callable[[], World]] = {
    Cause.WORK: lambda: on_a_sleeper(work={"mayor": "w1"}),
    Cause.WAIT: lambda: on_a_sleeper(waits={"mayor": "t1"}),
    Cause.OPERATOR: lambda: on_a_sleeper(wake_request=a_note()),
    Cause.PIN: lambda: on_a_sleeper(pins=(a_pin(),)),
    Cause.DEPENDENCY: lambda: on_a_sleeper(work={"api": "w1"}),
    Cause.ATTACHED: lambda: seen_by(attached=Known(1)),
    Cause.PENDING: lambda: seen_by(pending=Known(QUESTION)),
}
SEEN = {Cause.ATTACHED, Cause.PENDING}  # only what runs can show these


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_wakes_a_cold_session_and_is_named(cause: Cause) -> None:
    """All but config wakes, present and future causes (F02, WAKE-15..WAKE-20, WAKE-27, R23)."""
    world = ON_A_SLEEPER[cause]()
    assert world.sessions["gc-mayor"].is_cold
    plan = decide(world)
    decision = plan.decisions["gc-mayor"]
    assert [wake.cause for wake in decision.hard_wakes] == [cause]
    assert decision.path is Path.WAKE
    started = [one for one in plan.actions if one == Start(session_id="gc-mayor", why=(cause,))]
    if cause in SEEN:
        assert plan.changes["gc-mayor"].state is State.AWAKE
        woke = [event for event in plan.events if event.type == "session.woke"]
        assert [event.payload["reason"] for event in woke] == [cause]
        assert woke[0].payload["previous_sleep_reason"] == "idle"
    else:
        assert len(started) == 1


def test_no_cause_is_without_a_row() -> None:
    """A cause added to the model without a row here fails (F02, WAKE-01, WAKE-02, WAKE-03)."""
    assert set(ON_A_SLEEPER) == set(Cause)


def test_an_attach_intent_wakes_like_a_request() -> None:
    """An attach intent is an operator's wake (WAKE-18, ATT-02, REC-20)."""
    decision, action = decided(on_a_sleeper(attach_intent=a_note()))
    assert action == Start(session_id="gc-mayor", why=("operator",))
    assert decision.hard_wakes[0].details == ("attach by ann",)


def test_without_a_cause_the_same_session_stays_cold() -> None:
    """Config alone cannot wake it (WAKE-06, WAKE-08, REC-04)."""
    decision, action = decided(on_a_sleeper())
    assert (decision.path, action, decision.suppressed) == (Path.REST, None, True)
    assert decision.reasons == ()


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_cancels_an_announced_drain(cause: Cause) -> None:
    """Exactly the hard causes abort it, each named (DRAIN-08, REC-03, EVT-03, META-13, META-14)."""
    base = ON_A_SLEEPER[cause]()
    was = base.sessions["gc-mayor"]
    drained = draining(
        attach_intent=was.attach_intent, wake_request=was.wake_request, pins=was.pins,
        fingerprint="v1:x", started_hash="",
    )  # fmt: skip
    seen = running() if cause not in SEEN else base.sighting("gc-mayor")
    world = replace(
        base,
        sessions={**base.sessions, drained.id: drained},
        sightings={**base.sightings, drained.id: seen},
    )
    plan = decide(world)
    assert [event.type for event in plan.events if "abort" in event.type] == [
        "session.sleep_aborted"
    ]
    aborted = next(event for event in plan.events if "abort" in event.type)
    assert (aborted.payload["reason"], aborted.payload["capability"]) == (cause, "full")
    after = plan.changes["gc-mayor"]
    assert (after.state, after.sleep_intent) == (State.AWAKE, "")
    assert after.diagnostics.abort_blockers == (str(cause),)
    assert after.diagnostics.blocked_at == NOON


def test_config_never_cancels_a_drain() -> None:
    """A configured session whose drain was announced goes on draining (DRAIN-09, WAKE-13)."""
    assert decided(a_world(CITY, awake("api"), draining()))[1] == Drain(
        session_id="gc-mayor", resume=True
    )


@pytest.mark.parametrize("reading", [Unclear("?"), Unsupported(), Known(())])
def test_only_a_certain_answer_wakes(reading: Any) -> None:
    """Doubt, silence and an empty answer wake nobody (R9, R19)."""
    world = on_a_sleeper(work={"mayor": reading}, waits={"mayor": reading})
    assert decided(world)[1] is None


def test_the_causes_stand_in_a_fixed_order_with_their_details() -> None:
    """Beads, questions and owners are named (BLK-07, META-18)."""
    session = awake(wake_request=a_note("bob"), pins=(a_pin(reason=""), a_pin("eve")))
    seen = running(attached=Known(2), pending=Known(QUESTION))
    world = a_world(CITY, session, seen=seen, work={"mayor": ("w1", "w2")}, waits={"mayor": "t"})
    found = direct_wakes(world.sessions[session.id], world)
    assert [(str(wake.cause), wake.details) for wake in found] == [
        ("work", ("w1", "w2")), ("wait", ("t",)), ("attached", ("2 attached",)),
        ("pending", ("permission", "rm?")), ("operator", ("wake by bob",)),
        ("pin", ("ann", "eve: demo")),
    ]  # fmt: skip


def test_expiry_is_judged_at_the_look() -> None:
    """What lapsed since the tick began wakes nobody in a re-look (NORM-10, R27)."""
    late = cold(attach_intent=a_note(left=0), wake_request=a_note(left=0), pins=(a_pin(left=0),))
    assert direct_wakes(late, a_world(CITY, late)) == ()


HOLDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "suspended by operator": ({"suspended_at": ago(9)}, {}),
    "suspended by ann": ({"suspended_at": ago(9), "suspended_by": "ann"}, {}),
    "suspended by agent": ({}, {"agents": {"mayor": agent(suspended=True)}}),
    "suspended by workspace": ({}, {"suspended": True}),
    "suspended by rig r": (
        {"template": "r/mayor"},
        {"agents": {"r/mayor": agent("r/mayor")}, "rigs": {"r": Rig(name="r", suspended=True)}},
    ),
    "held until 2026-03-01T12:00:09+00:00": ({"held_until": ahead(9)}, {}),
    "quarantined until 2026-03-01T12:00:09+00:00": ({"quarantined_until": ahead(9)}, {}),
    "drained": ({"sleep_reason": SleepReason.DRAINED}, {}),
    "state frozen belongs to another tool": ({"foreign_state": "frozen"}, {}),
}


@pytest.mark.parametrize("why", HOLDS)
def test_a_held_session_is_woken_by_nothing_and_says_why(why: str) -> None:
    """Demand does not wake suspended, held, quarantined or drained sessions (R26)."""
    record, city = HOLDS[why]
    session = cold(**({"wake_request": a_note()} | record))
    world = a_world(replace(CITY, **city), session, work={"mayor": "w1"}, waits={"mayor": "t"})
    assert held_reason(session, world) == why
    assert hard_wakes(world).of("gc-mayor") == ()
    assert not any(isinstance(one, Start) for one in decide(world).actions)


@pytest.mark.parametrize("hold", [{"held_until": ahead(9)}, {"quarantined_until": ahead(9)}])
@pytest.mark.parametrize("seen", [{"attached": Known(1)}, {"pending": Known(QUESTION)}])
def test_a_held_session_that_is_used_is_not_slept(hold: Any, seen: Any) -> None:
    """A hold keeps it from being woken, never from being used (BLK-01, BLK-03, R18)."""
    assert decided(a_world(CITY, awake(**hold), seen=running(**seen)))[1] is None


LATCH_BREAKS: dict[str, dict[str, Any]] = {
    "WAKE-11 another generation": {"generation": 2},
    "another fingerprint": {"fingerprint": "v1:other"},
    "no fingerprint": {"fingerprint": "v0:lost", "fingerprint_inputs": ""},
    "not idle": {"sleep_reason": SleepReason.CITY_STOP},
    "not asleep": {"state": State.CREATING, "generation": 1},
}


@pytest.mark.parametrize("name", LATCH_BREAKS)
def test_the_latch_ends_with_what_it_was_set_under(name: str) -> None:
    """Generation, fingerprint, state and reason all count (WAKE-09, WAKE-11, WAKE-14, FP-07)."""
    world = a_world(CITY, cold())
    session = world.sessions["gc-mayor"]
    place = decide_place(world)
    assert latch_holds(session, *place)
    assert not latch_holds(replace(session, **LATCH_BREAKS[name]), *place)


def decide_place(world: World) -> Any:
    """(place, fingerprint) of the mayor."""
    judged = judge(world.sessions["gc-mayor"], world, ())
    assert judged is not None
    return judged.place, judged.fingerprint


def test_a_place_of_another_template_or_slot_has_no_latch() -> None:
    """Template and slot are part of the identity (WAKE-09)."""
    world = a_world(a_city(pooled()), cold("worker-1"))
    session = world.sessions["gc-worker-1"]
    judged = judge(session, world, ())
    assert judged is not None
    assert latch_holds(session, judged.place, judged.fingerprint)
    for over in ({"slot": 2}, {"template": "other"}):
        assert not latch_holds(replace(session, **over), judged.place, judged.fingerprint)


def test_leaving_the_config_for_good_discards_the_latch_with_the_record() -> None:
    """Gone for two readings: the record is closed; a new one starts afresh (WAKE-10, WAKE-12)."""
    world = a_world(a_city(headless()), cold(), missing=frozenset({"mayor"}))
    [retired] = decide(world).actions[:1]
    assert type(retired).__name__ == "Retire"
    back = a_world(a_city(agent()), a_session())
    assert decided(back)[1] == Start(session_id="gc-mayor", why=("config",))


def test_suppression_is_derived_never_read() -> None:
    """Editing or deleting diagnostics changes no decision (META-21, META-22, WAKE-23)."""
    world = a_world(CITY, cold(), awake("api"), seen={"api": running(idle_s=10)})
    plain = decide(world)
    for session in world.sessions.values():
        lied = replace(
            session,
            diagnostics=replace(
                session.diagnostics, suppressed=not session.is_cold, blockers=("work",),
                snapshot="{", abort_blockers=("pin",), blocked_at=ago(1),
            ),
        )  # fmt: skip
        lying = decide(replace(world, sessions={**world.sessions, session.id: lied}))
        assert lying.actions == plain.actions
        assert lying.decisions == plain.decisions


OTHER_REASONS = [
    # reason, wakes by config
    (SleepReason.IDLE_TIMEOUT, True),
    (SleepReason.CITY_STOP, True),
    (SleepReason.CRASH, True),
    (SleepReason.NONE, True),
    (SleepReason.OPERATOR, False),
    (SleepReason.DRAINED, False),
]


@pytest.mark.parametrize(("reason", "wakes"), OTHER_REASONS)
def test_only_idle_and_an_operators_sleep_mask_config(reason: SleepReason, wakes: bool) -> None:
    """`idle-timeout` and `city-stop` mask nothing (COEX-06, R50, R64, REC-11)."""
    decision, action = decided(a_world(CITY, asleep(reason), awake("api")))
    assert (action is not None) is wakes
    assert decision.suppressed is False


def test_an_operators_sleep_ends_by_any_hard_wake() -> None:
    """`operator` masks config until somebody needs it (R64)."""
    world = a_world(CITY, asleep(SleepReason.OPERATOR), work={"mayor": "w1"})
    assert decided(world)[1] == Start(session_id="gc-mayor", why=("work",))


def test_an_operators_sleep_of_a_worker_keeps_its_reason() -> None:
    """A worker put to sleep by hand is not turned into an idle one (R64, R31)."""
    world = a_world(a_city(headless()), asleep(SleepReason.OPERATOR, "worker"))
    plan = decide(world)
    after = plan.changes.get("gc-worker", world.sessions["gc-worker"])
    assert (after.sleep_reason, plan.actions) == (SleepReason.OPERATOR, ())


def test_config_keeps_it_warm_until_the_window_closes() -> None:
    """The config reason is there while the window is open, then it drops out (WAKE-05, WAKE-04)."""
    assert decided(a_world(CITY, awake(), seen=running(idle_s=59)))[0].reasons == ("config",)
    assert decided(a_world(CITY, awake(), seen=running(idle_s=61)))[0].reasons == ()
    off = a_city(agent(), session_sleep={})
    assert decided(a_world(off, awake(), seen=running(idle_s=10**6)))[0].reasons == ("config",)


NAMED = NamedSession(identity="boss", template="mayor", mode=NamedMode.ON_DEMAND)


def test_an_on_demand_session_starts_only_by_a_hard_wake() -> None:
    """Config never starts it; once up without a policy it stays warm (R4)."""
    city = a_city(agent(), named_sessions=(NAMED,), session_sleep={})
    boss = a_session("boss", template="mayor")
    assert decided(a_world(city, boss), "boss")[1] is None
    assert decided(a_world(city, boss, work={"boss": "w1"}), "boss")[1] is not None
    up = awake("boss", template="mayor")
    assert decided(a_world(city, up), "boss")[0].reasons == ("config",)


def test_a_session_never_started_is_started_by_config() -> None:
    """A new fixed agent comes up (POOL-23, REC-11)."""
    assert decided(a_world(CITY, a_session(), awake("api")))[1] == Start(
        session_id="gc-mayor", why=("config",)
    )


def test_a_new_worker_without_demand_rests_from_the_first_moment() -> None:
    """`0s` and nothing to do: realized and cold, never started (POOL-19, F20, F58)."""
    plan = decide(a_world(a_city(headless()), a_session("worker")))
    assert plan.actions == ()
    after = plan.changes["gc-worker"]
    assert (after.state, after.sleep_reason, after.latch_generation) == (
        State.ASLEEP, SleepReason.IDLE, 0,
    )  # fmt: skip
    warm = a_city(headless(sleep_after_idle=seconds(30)))
    assert decided(a_world(warm, a_session("worker")), "worker")[1] is not None


def test_a_broken_latch_lets_config_wake_a_worker_once() -> None:
    """After a changed window the worker may be warm again until it sleeps (WAKE-21, WAKE-22)."""
    world = a_world(a_city(headless()), cold("worker", fingerprint="v1:other"))
    assert decided(world, "worker")[1] == Start(session_id="gc-worker", why=("config",))


def test_wake_is_read_only() -> None:
    """Hard wakes are a function of the world: asked twice, they answer the same (WAKE-23)."""
    world = ON_A_SLEEPER[Cause.DEPENDENCY]()
    assert hard_wakes(world) == hard_wakes(world)
    assert stopped() == world.sighting("gc-mayor")
    assert unseen().truth == "unknown"


def test_idle_sleep_adds_no_state_of_its_own() -> None:
    """`asleep` with the reason `idle` is all there is (WAKE-26, META-16, META-19)."""
    assert {str(state) for state in State} == {
        "creating", "awake", "asleep", "suspended", "quarantined",
    }  # fmt: skip
    assert cold().is_cold
    assert not asleep(SleepReason.IDLE_TIMEOUT).is_cold


def test_an_intent_alone_never_changes_what_it_is() -> None:
    """The marker speaks of a stop path, not of the lifecycle (META-20, WAKE-13)."""
    decision, _ = decided(a_world(CITY, draining(), seen=running()))
    assert (decision.suppressed, record_state(draining())) == (False, State.AWAKE)


def record_state(session: Any) -> State:
    """The lifecycle state on a record."""
    state: State = session.state
    return state
