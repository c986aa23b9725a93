"""Carry out a plan on a picture of the city, as a perfect runtime and store would.

No time passes and nothing fails: what is left is what the decisions themselves do, so that
"settles" can be said of them alone.

Source: DESIGN §X (R42, POOL-18)
"""

from __future__ import annotations

from dataclasses import replace

from gascity.decide.exits import ASLEEP_AFTER, fall_asleep, go_cold
from gascity.decide.judge import judge
from gascity.decide.tick import decide
from gascity.model.drift import start_hash
from gascity.model.plan import (
    Action,
    AwaitReady,
    Commit,
    Create,
    Drain,
    Plan,
    Retire,
    Start,
    Stop,
)
from gascity.model.reading import Known
from gascity.model.session import Session, SleepIntent, SleepReason, State
from gascity.model.world import Truth, World
from gascity.testing.records import FULL, a_session, running, stopped


def applied(world: World, plan: Plan) -> World:
    """The picture after the plan was saved and every action of it succeeded."""
    after = replace(
        world,
        sessions={**world.sessions, **plan.changes},
        memory=replace(world.memory, missing=plan.missing, probes={}),
    )
    for action in plan.actions:
        after = _carried_out(after, action)
    return after


def settle(world: World, *, rounds: int = 20) -> tuple[World, Plan, int]:
    """Decide and carry out until a plan asks for nothing: (world, last plan, rounds taken)."""
    for turn in range(rounds):
        plan = decide(world)
        if not (plan.actions or plan.changes or plan.events):
            return world, plan, turn
        world = applied(world, plan)
    return world, decide(world), rounds


def _carried_out(world: World, action: Action) -> World:
    match action:
        case Create(place=place):
            made = a_session(place.name, template=place.template, slot=place.slot)
            seen = {**world.sightings, made.id: stopped()}
            offered = {**world.support, made.id: Known(FULL)}
            return replace(_with(world, made), sightings=seen, support=offered)
        case Start(session_id=one):
            return _started(world, world.sessions[one])
        case AwaitReady(session_id=one):
            return _with(world, replace(world.sessions[one], ready_at=world.now))
        case Drain(session_id=one) | Commit(session_id=one):
            return _drained(world, world.sessions[one])
        case Stop(session_id=one, retire=True) | Retire(session_id=one):
            left = {key: value for key, value in world.sessions.items() if key != one}
            return replace(world, sessions=left)
        case Stop(session_id=one):
            session = world.sessions[one]
            fallen = fall_asleep(session, ASLEEP_AFTER[action.reason], now=world.now)
            down = _down(_with(world, fallen), one)
            return _started(down, fallen) if action.restart else down
        case _:
            return world


def _with(world: World, session: Session) -> World:
    return replace(world, sessions={**world.sessions, session.id: session})


def _down(world: World, session_id: str) -> World:
    return replace(world, sightings={**world.sightings, session_id: stopped()})


def _started(world: World, session: Session) -> World:
    owner = world.city.agents[session.template]
    up = replace(
        session,
        state=State.AWAKE,
        sleep_reason=SleepReason.NONE,
        sleep_intent=SleepIntent.NONE,
        woke_at=world.now,
        ready_at=None,
        detached_at=None,
        generation=session.generation + 1,
        instance_token="t9",
        latch_generation=0,
        started_hash=start_hash(owner, world.city),
        sleep_request=None,
        stop_note=None,
    )
    seen = running(activity=Known(world.now), token="t9")
    return replace(_with(world, up), sightings={**world.sightings, session.id: seen})


def _drained(world: World, session: Session) -> World:
    judged = judge(session, world, ())
    assert judged is not None
    by_hand = str(judged.policy.effective) == "off"
    slept = (
        fall_asleep(session, SleepReason.OPERATOR, now=world.now)
        if by_hand
        else go_cold(session, judged, now=world.now)
    )
    assert world.sighting(session.id).truth is not Truth.UNKNOWN
    return _down(_with(world, slept), session.id)
