"""Every cut of a drain × everything that may arrive × every way a stop may end.

The product's controller runs; whoever judges shares nothing with it. The cuts around effects are
played at every run; all cuts, inside each look too, in the slow ones.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from gascity.testing.city import FakeCity
from gascity.testing.script import AFTER, Cut
from tests.interleavings.scenes import (
    ARRIVALS,
    DB,
    HARD,
    LAST_OF_LOOK,
    OUTCOMES,
    STOPS,
    Arrival,
    Outcome,
    about_to_sleep,
    around_effects,
    cuts,
    faults,
    heard,
    report,
    story,
)

KINDS = ("interactive", "headless")


def play(
    cut: Cut,
    arrival: Arrival,
    outcome: Outcome = STOPS,
    *,
    kind: str = "interactive",
    gone_at: Cut | None = None,
) -> list[str]:
    """Play one case to its end; what was wrong with it, the story included.

    With `gone_at` the arrival vanishes again at that cut.
    """
    with heard() as logged, about_to_sleep(kind).fork() as city:
        found = follow(city, cut, arrival, outcome, gone_at)
    gone = f" until {gone_at}" if gone_at is not None else ""
    head = f"{cut} | {arrival.name}{gone} | {outcome.name} | {kind}"
    return [f"{head}: {why}\n{story(city)}" for why in (*found, *logged)]


def follow(
    city: FakeCity, cut: Cut, arrival: Arrival, outcome: Outcome, gone_at: Cut | None
) -> list[str]:
    """Bring the case to its end; what was wrong with it."""
    city.begin()
    outcome.begin(city)
    city.script.at(cut, lambda: arrival.deed(city))
    if gone_at is not None:
        city.script.at(gone_at, lambda: arrival.vanish(city))
    city.tick()
    stays = arrival.lasts and gone_at is None
    found = ["the cut was not reached"] if city.script.waiting and gone_at is None else []
    if stays and outcome is STOPS and not is_after_commit(cut) and not city.runs(DB):
        found.append("not running at the end of that same tick")
    outcome.end(city)
    if gone_at is not None:
        arrival.vanish(city)
    if arrival.passes is not None:
        city.clock.advance(2)
        city.tick(2)
        found += city.overseer.violations
        arrival.passes(city)
    for _ in range(4):
        city.clock.advance(2)
        city.tick()
    found += faults(city)
    return found


def is_after_commit(cut: Cut) -> bool:
    """Whether the record says asleep already: the wake is the next tick's."""
    return (cut.when, cut.call) == (AFTER, "save asleep")


@pytest.mark.parametrize("arrival", ARRIVALS)
def test_whatever_arrives_around_an_effect_is_honoured(arrival: str) -> None:
    """RACE-01..04, DRAIN-03..16, TEST-16, TEST-18, TEST-19: nothing is lost between two effects."""
    report(play(cut, ARRIVALS[arrival]) for cut in around_effects(cuts()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_however_a_stop_or_a_save_ends_nothing_is_lost(outcome: str, kind: str) -> None:
    """R28, R34, R75: beside a stop or a save that fails, work is honoured and idleness sleeps."""
    found = around_effects(cuts(outcome, kind))
    how = OUTCOMES[outcome]
    report(play(cut, ARRIVALS["work"], how, kind=kind) for cut in found)
    report([play(found[0], ARRIVALS["nothing"], how, kind=kind)])


def test_a_drain_that_somebody_undoes_at_the_end_is_reported_as_aborted() -> None:
    """EVT-03, R29: started again after the confirmed stop, adopted; the drain does not end mute."""
    cut = Cut(when=AFTER, call=LAST_OF_LOOK, nth=6)  # the look after the refused commit
    other_run = ARRIVALS["somebody starts another run of it"]
    report([play(cut, other_run, OUTCOMES["save asleep is refused"])])


def test_a_store_that_takes_writes_again_is_noticed_without_a_restart() -> None:
    """R75, D4: with the disk full nobody is stopped; when there is room the session sleeps."""
    with about_to_sleep().fork() as city:
        city.begin()
        city.memory.full = True
        city.tick(3)
        assert city.runs(DB)
        assert city.controller.snapshot().problems
        city.memory.full = False
        city.tick(2)
        assert city.session(DB).is_cold
        assert not city.controller.snapshot().problems


@pytest.mark.parametrize("arrival", [one.name for one in HARD])
def test_a_wake_that_vanishes_again_leaves_nothing_behind(arrival: str) -> None:
    """DRAIN-08, A3: a hard wake that comes at one cut and is gone at the next leaves no intent."""
    found = around_effects(cuts())
    report(play(cut, ARRIVALS[arrival], gone_at=gone) for cut, gone in pairwise(found))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("arrival", ["nothing", "a patrol passes by"])
def test_what_changes_nothing_at_every_cut_with_every_outcome(
    arrival: str, outcome: str, kind: str
) -> None:
    """DRAIN-01..16, R28, R35: what `test_tree` leaves out, for it is no change of the world."""
    report(
        play(cut, ARRIVALS[arrival], OUTCOMES[outcome], kind=kind) for cut in cuts(outcome, kind)
    )


@pytest.mark.slow
@pytest.mark.parametrize("arrival", [one.name for one in HARD])
def test_a_wake_that_vanishes_at_the_next_cut_leaves_nothing_behind(arrival: str) -> None:
    """DRAIN-08, A3: the same at every cut, torn looks included."""
    found = cuts()
    report(play(cut, ARRIVALS[arrival], gone_at=gone) for cut, gone in pairwise(found))
