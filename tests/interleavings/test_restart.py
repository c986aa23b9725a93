"""The controller dies at every cut; a fresh one over the same store and runtime takes over.

What it does is what the recovery table says, read here from the bare facts at the moment of death.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pytest

from gascity.model.session import SleepIntent, State
from gascity.testing.city import FakeCity
from gascity.testing.script import Cut
from tests.interleavings.scenes import (
    ARRIVALS,
    DB,
    OUTCOMES,
    STOPS,
    WINDOW,
    Arrival,
    Outcome,
    about_to_sleep,
    around_effects,
    cuts,
    cuts_of,
    faults,
    heard,
    report,
    story,
)

AMBIGUOUS = "session.sleep_recovery_ambiguous"
DOWNTIME = ("nothing", "work", "gc attach", "work for a dependent", "a pin", "it exits with 1")


@dataclass(frozen=True, slots=True)
class Facts:
    """What the dead controller left."""

    runs: bool
    intent: SleepIntent
    is_cold: bool
    is_needed: bool
    starts: int
    crashes: int

    @classmethod
    def of(cls, city: FakeCity) -> Facts:
        session = city.session(DB)
        return cls(
            runs=city.runs(DB),
            intent=session.sleep_intent,
            is_cold=session.is_cold,
            is_needed=bool(city.records().needs(DB)),
            starts=city.host.of(DB).starts,
            crashes=len(session.exits),
        )


def expected(left: Facts) -> str:
    """Where the first tick of the next controller must end, by the rows of the design."""
    if left.is_needed:
        return "awake"  # REC-03, REC-05, REC-08
    if left.runs:
        return "cold"  # REC-01: idle still, drained afresh; REC-02: the drain goes on
    if left.intent is SleepIntent.CONFIRMED or left.is_cold:
        return "cold"  # REC-06, REC-04
    return "awake"  # REC-07 and REC-11: nobody saw it stop, so it is counted and started again


def judged(city: FakeCity, left: Facts) -> list[str]:
    """What is wrong after the first tick of the next controller."""
    session = city.session(DB)
    awake = city.runs(DB) and session.state in (State.AWAKE, State.CREATING)
    stands = "awake" if awake else "cold" if session.is_cold and not city.runs(DB) else "neither"
    found = []
    if stands != expected(left):
        found.append(f"left {left}, want {expected(left)}, got {stands} ({session.state})")
    if session.sleep_intent is not SleepIntent.NONE:
        found.append(f"left {left}, an intent is left after a tick: {session.sleep_intent}")
    ambiguous = not left.runs and left.intent is SleepIntent.PENDING and not left.is_needed
    said = len(city.events(AMBIGUOUS))
    if said != int(ambiguous):
        found.append(f"left {left}, {said} ambiguity events")
    counted = len(session.exits) - left.crashes
    unseen = not left.runs and not left.is_cold and left.intent is not SleepIntent.CONFIRMED
    if counted != int(unseen and (ambiguous or left.intent is SleepIntent.NONE or left.is_needed)):
        found.append(f"left {left}, {counted} crashes counted")
    if city.host.of(DB).starts - left.starts > 1:
        found.append(f"left {left}, started {city.host.of(DB).starts - left.starts} times")
    return found


def play(death: Cut, down: Arrival, outcome: Outcome = STOPS) -> list[str]:
    """Die at the cut, let something happen meanwhile, start again, follow it to its end."""
    with heard() as logged, about_to_sleep().fork() as city:
        city.begin()
        outcome.begin(city)
        city.script.at(death, city.script.die)
        city.tick()
        found = [] if city.is_dead else ["the cut was not reached"]
        outcome.end(city)
        down.deed(city)
        left = Facts.of(city)
        city.restart()
        city.tick()
        found += judged(city, left)
        for _ in range(3):
            city.clock.advance(2)
            city.tick()
        found += faults(city)
        if not left.is_needed:
            city.clock.advance(WINDOW.seconds)
            city.tick(2)
            if not city.session(DB).is_cold:
                found.append("never cold again, though nobody needs it")
            if city.host.of(DB).starts - left.starts > 1:
                found.append("more than one spurious wake")
    head = f"dies {death} | {down.name} | {outcome.name}"
    return [f"{head}: {why}\n{story(city)}" for why in (*found, *logged)]


def play_all(deaths: Iterable[Cut], down: str, outcome: str = STOPS.name) -> None:
    """Play every death."""
    report(play(death, ARRIVALS[down], OUTCOMES[outcome]) for death in deaths)


@pytest.mark.parametrize("down", DOWNTIME)
def test_a_death_around_an_effect_ends_as_the_table_says(down: str) -> None:
    """RACE-05..08, REC-01..08, REC-15..22, TEST-17: whatever happened while nobody watched."""
    play_all(around_effects(cuts()), down)


def test_the_cuts_of_a_drain_reach_every_state_a_death_can_leave() -> None:
    """REC-02, REC-04, REC-06, REC-07: the deaths played here leave all of them."""
    left = set()
    for death in around_effects(cuts()):
        with about_to_sleep().fork() as city:
            city.begin()
            city.script.at(death, city.script.die)
            city.tick()
            facts = Facts.of(city)
            left.add((facts.runs, str(facts.intent), facts.is_cold))
    assert left == {
        (True, "", False),
        (True, "idle-stop-pending", False),
        (False, "idle-stop-pending", False),
        (False, "idle-stop-confirmed", False),
        (False, "", True),
    }


def cold_and_asked() -> FakeCity:
    """A cold database that somebody just asked for."""
    city = about_to_sleep().fork()
    city.tick()
    assert city.session(DB).is_cold
    city.wake(DB)
    return city


def waking_cuts() -> tuple[Cut, ...]:
    """Every cut of the tick that starts it."""
    with cold_and_asked() as cold, cold.fork() as city:
        city.begin()
        return cuts_of(city, city.tick)


def test_a_death_at_any_cut_of_a_wake_leaves_one_run_awake() -> None:
    """L8, R63, REC-05, REC-21: the next controller starts it, or adopts what was started."""
    found = []
    with cold_and_asked() as cold:
        for death in waking_cuts():
            with cold.fork() as city:
                city.begin()
                city.script.at(death, city.script.die)
                city.tick()
                assert city.is_dead, death
                city.restart()
                before = city.host.of(DB).starts
                city.tick(3)
                again = city.host.of(DB).starts - before
                faulty = [*faults(city), *(["started twice"] if again > 1 else [])]
                found.append([f"dies {death}: {why}\n{story(city)}" for why in faulty])
    report(found)


@pytest.mark.slow
@pytest.mark.parametrize("outcome", [name for name in OUTCOMES if name.endswith("refused")])
@pytest.mark.parametrize("down", ARRIVALS)
def test_a_death_at_every_cut_after_a_refused_save_ends_in_order(down: str, outcome: str) -> None:
    """RACE-05..08, L8: every cut, every arrival meanwhile; other deaths are in `test_tree`."""
    report(die_and_settle(death, ARRIVALS[down], OUTCOMES[outcome]) for death in cuts(outcome))


def die_and_settle(death: Cut, down: Arrival, outcome: Outcome) -> list[str]:
    """Like `play`, judged by where it settles alone: arrivals of every kind."""
    with heard() as logged, about_to_sleep().fork() as city:
        city.begin()
        outcome.begin(city)
        city.script.at(death, city.script.die)
        city.tick()
        outcome.end(city)
        if down.name != "a patrol passes by":
            down.deed(city)
        city.restart()
        city.tick(2)
        if down.passes is not None:
            down.passes(city)
        for _ in range(4):
            city.clock.advance(2)
            city.tick()
        found = [*faults(city)]
    head = f"dies {death} | {down.name} | {outcome.name}"
    return [f"{head}: {why}\n{story(city)}" for why in (*found, *logged)]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_deaths_in_a_row_end_in_order() -> None:
    """L8: the second controller may die at any cut of its own first tick."""
    report(found for first in around_effects(cuts()) for found in die_again(first))


def die_again(first: Cut) -> Iterator[list[str]]:
    """Die at the first cut, and the next controller at each of its own."""
    with about_to_sleep().fork() as city:
        city.begin()
        city.script.at(first, city.script.die)
        city.tick()
        with city.fork() as probe:
            probe.begin()
            deaths = cuts_of(probe, probe.tick)
        for second in deaths:
            with city.fork() as again:
                again.begin()
                again.script.at(second, again.script.die)
                again.tick()
                again.restart()
                for _ in range(4):
                    again.clock.advance(2)
                    again.tick()
                head = f"dies {first}, then {second}"
                yield [f"{head}: {why}\n{story(again)}" for why in faults(again)]
