"""Wakes over whole lives: bounded and fair starts, and demand that nobody can read."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from gascity.model.city import City
from gascity.model.duration import seconds
from gascity.model.reading import Unclear
from gascity.testing.records import headless, pooled
from tests.simulation.demand_city import UNREAD, DemandCity, city_of, daemon, with_pool


def crowd(count: int, **settings: object) -> City:
    """So many headless agents that sleep as soon as they are idle."""
    agents = [headless(f"w{n:02}") for n in range(count)]
    return city_of(*agents, daemon=daemon(**settings))


def asleep_crowd(count: int, **settings: object) -> DemandCity:
    """The same, each of them realized and cold."""
    city = DemandCity(crowd(count, **settings))
    city.settle(3)
    assert (len(city.names()), city.up()) == (count, [])
    return city


def attempts(city: DemandCity) -> list[tuple[float, str]]:
    """[(monotonic second, session)] of every start that was tried."""
    return [(m.at, m.of) for m in city.script.log if m.call == "start" and m.when == "before"]


# -- the budget


def test_ten_with_work_and_a_budget_of_three_are_up_within_four_ticks() -> None:
    """R24, F45: three, three, three and one; nobody waits longer than that."""
    with asleep_crowd(10, max_wakes_per_tick=3) as city:
        for name in city.names():
            city.give(name)
        seen = []
        for _ in range(4):
            city.tick()
            city.clock.advance(1)
            seen.append(len(city.up()))
        assert seen == [3, 6, 9, 10]
        assert city.events("session.crashed") == [], "deferral is no failure"


def test_whoever_waited_longest_goes_first() -> None:
    """R24, F45: later arrivals do not push in, whatever their name."""
    with asleep_crowd(12, max_wakes_per_tick=3) as city:
        for name in city.names()[6:]:
            city.give(name)
        city.tick()
        city.clock.advance(1)
        for name in city.names()[:6]:
            city.give(name)
        city.tick()
        assert set(city.up()) == {f"w{n:02}" for n in range(6, 12)}


def test_a_person_goes_before_all_others() -> None:
    """R24, R25: an attach or operator wake does not wait behind forty jobs."""
    with asleep_crowd(40, max_wakes_per_tick=2) as city:
        for name in city.names()[:-1]:
            city.give(name)
        city.tick()
        city.clock.advance(1)
        city.wake("w39")
        city.tick()
        assert "w39" in city.up()


def test_the_queue_is_shown_with_its_places() -> None:
    """R24, R25: who waits for a start says so and which number it has."""
    with asleep_crowd(6, max_wakes_per_tick=2) as city:
        for name in city.names():
            city.give(name)
        city.tick()
        held = {one["name"]: one["held_back"] for one in city.status()["sessions"]}
        assert sorted(filter(None, held.values())) == [
            f"queued for a start, number {n}" for n in (1, 2, 3, 4)
        ]


def test_forty_due_after_a_long_gap_are_served_without_a_storm() -> None:
    """R14, R24, F45: eight hours of a sleeping machine; bounded each second, all of them served."""
    with asleep_crowd(40, max_wakes_per_tick=5) as city:
        for name in city.names():
            city.remind(name, in_s=3600)
        city.tick()
        city.clock.suspend(8 * 3600)
        city.live(30)
        assert {name for _, name in attempts(city)} == set(city.names())
        worst = max(
            sum(0 <= later - at < 1.0 for later, _ in attempts(city)) for at, _ in attempts(city)
        )
        assert worst <= 5


def test_a_restart_of_a_large_city_starts_no_storm() -> None:
    """R24: a new controller that finds forty with work starts no more at once than any other."""
    with asleep_crowd(40, max_wakes_per_tick=5) as city:
        for name in city.names():
            city.give(name)
        city.restart()
        city.tick()
        assert len(city.up()) == 5
        city.tick()
        assert len(city.up()) == 5, "nor by a second tick within the second"
        city.settle(8)
        assert len(city.up()) == 40


def test_creating_slots_lifts_no_budget() -> None:
    """R24, POOL-23: a patrol that realizes slots starts no more than one that does not."""
    config = city_of(
        *[headless(f"w{n:02}") for n in range(6)],
        pooled("p", max=9),
        daemon=daemon(max_wakes_per_tick=3),
    )
    with DemandCity(config) as city:
        city.settle(3)
        for name in city.names():
            city.give(name)
        for _ in range(6):
            city.sling("p")
        city.tick()
        assert len(city.up()) == 3
        city.settle(5)
        assert len(city.up()) == 12


# -- demand that nobody can read


def test_a_foreign_store_lets_nobody_sleep_but_those_with_a_query() -> None:
    """R61, R9: work kept elsewhere is unclear for all whose agent has no `work_query`."""
    config = city_of(
        headless("asked", work_query="find-work"),
        headless("plain"),
        pooled("p", min=2),
    )
    with DemandCity(config) as city:
        city.settle(3)
        for name in city.names():
            city.wake(name)
        city.tick()
        city.foreign = "work is kept in .beads/, which is not read"
        city.finds("asked", work=False)
        city.restart()
        city.settle(20)
        assert city.up() == ["p-1", "p-2", "plain"]
        assert city.session("asked").is_cold
        for name in city.up():
            assert "demand_unknown" in city.decision(name).blocker_names
        city.configure(with_pool(city.config, "p", min=0))
        city.settle(10)
        assert city.names() == ["asked", "p-1", "p-2", "plain"], "nobody is trimmed"
        city.foreign = ""
        city.ports.foreign_demand = ""
        city.settle(10)
        assert city.up() == []


@pytest.mark.parametrize("doubt", [UNREAD, Unclear("ended with status 1")], ids=["hung", "failed"])
def test_a_query_without_an_answer_holds_and_recovers_at_once(doubt: Unclear) -> None:
    """R9, F12: nobody is slept on that account; the first good answer is followed in its tick."""
    with DemandCity(city_of(headless("w", work_query="find-work"))) as city:
        city.finds("w", work=True)
        city.settle(4)
        assert city.up() == ["w"]
        city.said.work["w"] = doubt
        city.settle(30)
        assert city.up() == ["w"]
        assert city.decision("w").blocker_names == ("demand_unknown",)
        city.finds("w", work=False)
        city.tick()
        assert city.session("w").is_cold


def test_a_cold_one_is_not_woken_by_doubt() -> None:
    """R9: unclear is not "yes" either."""
    with DemandCity(city_of(headless("w", work_query="find-work"))) as city:
        city.finds("w", work=True)
        city.settle(4)
        city.finds("w", work=False)
        city.settle(4)
        city.said.work["w"] = UNREAD
        city.settle(10)
        assert city.up() == []
        city.finds("w", work=True)
        city.tick()
        assert city.up() == ["w"]


def test_a_store_that_cannot_be_read_holds_everybody() -> None:
    """R9, F12: for as long as work and waits have no answer nobody sleeps; one event, no trim."""
    with DemandCity(city_of(pooled("p", min=0), headless("w"))) as city:
        city.settle(3)
        jobs = [city.sling("p"), city.give("w")]
        city.settle(4)
        assert city.up() == ["p-1", "w"]
        city.store.demand_unclear = "disk I/O error"
        for job in jobs:
            city.finish(job)
        city.settle(3)
        events = len(city.events("session.updated"))
        city.settle(20)
        assert city.up() == ["p-1", "w"]
        assert len(city.events("session.updated")) == events
        assert city.decision("w").blocker_names == ("demand_unknown",)
        city.store.demand_unclear = ""
        city.settle(4)
        assert city.up() == []
        assert city.names() == ["w"]


# -- causes


def test_work_that_is_blocked_or_put_off_wakes_nobody() -> None:
    """R19, BLK-04, DEP-02: only what can be done now wakes; when it can, it does."""
    with asleep_crowd(2) as city:
        first = city.give("w00")
        city.settle(3)
        now: datetime = city.clock.now()
        city.sling("w01", blocked_by=(first,))
        city.sling("w01", defer_until=now + timedelta(seconds=60))
        city.settle(5)
        assert city.up() == ["w00"]
        city.finish(first)
        city.settle(2)
        assert "w01" in city.up()


def test_deferred_work_wakes_when_its_time_comes() -> None:
    """R80: the patrol comes forward to it; no poke, no interval."""
    config = crowd(1, patrol_interval=seconds(600))
    with DemandCity(config) as city:
        city.settle(3)
        city.sling("w00", defer_until=city.clock.now() + timedelta(seconds=60))
        city.live(59)
        assert city.up() == []
        city.live(3)
        assert city.up() == ["w00"]


def test_a_wake_that_could_not_be_recorded_is_told_later() -> None:
    """R75, EVT-05: the store takes nothing right after the start; the next patrol reports it."""
    with asleep_crowd(1) as city:
        city.give("w00")
        city.script.crash("after", "start", of="w00")
        city.tick()
        assert city.told("session.woke") == []
        city.restart()
        city.settle(3)
        assert city.told("session.woke") == ["w00"]


def test_every_sleep_has_a_cause_before_it() -> None:
    """WAKE-07, F58: between two idle sleeps of a session something woke it, and that is told."""
    with asleep_crowd(3) as city:
        for turn in range(5):
            job = city.give(city.names()[turn % 3])
            city.settle(4)
            city.finish(job)
            city.settle(4)
        for name in city.names():
            told = [
                (str(one.type), one.payload.get("reason"))
                for one in city.events("session.woke", "session.stopped")
                if one.subject == name
            ]
            kinds = [kind for kind, _ in told]
            assert all(a != b for a, b in pairwise(kinds))
            assert all(why == "work" for kind, why in told if kind == "session.woke")
