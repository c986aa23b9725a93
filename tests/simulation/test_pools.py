"""Pools over whole lives: slots are realized, woken, spared and trimmed by the real controller."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gascity.model.duration import OFF
from gascity.model.reading import Unclear
from gascity.model.session import State
from gascity.model.world import ScreenVerdict
from gascity.testing.records import headless, pooled
from tests.simulation.demand_city import DemandCity, city_of, daemon, with_pool, workers

CHECKED = workers(max=5, check="count-them")


def cold_pool(count: int) -> DemandCity:
    """A checked pool of so many slots, all cold."""
    city = DemandCity(CHECKED)
    city.count("worker", count)
    city.settle()
    assert city.names() == [f"worker-{n}" for n in range(1, count + 1)]
    assert city.up() == []
    return city


def worked_pool(count: int) -> DemandCity:
    """A checked pool of so many slots that all ran once and are cold."""
    city = cold_pool(count)
    for bead in [city.give(name) for name in city.names()]:
        city.settle(3)
        city.finish(bead)
    city.settle()
    assert (city.up(), city.overseer.violations) == ([], [])
    return city


# -- realizing and waking


def test_routed_work_realizes_numbered_slots() -> None:
    """POOL-23: three jobs for an empty pool make `worker-1`, `-2` and `-3`, all up."""
    with DemandCity(workers()) as city:
        for _ in range(3):
            city.sling("worker")
        city.tick()
        assert city.names() == city.up() == ["worker-1", "worker-2", "worker-3"]


def test_no_pool_grows_beyond_its_max() -> None:
    """POOL-23, R4: the fourth job waits for a slot."""
    with DemandCity(workers()) as city:
        for _ in range(9):
            city.sling("worker")
        city.settle()
        assert city.names() == ["worker-1", "worker-2", "worker-3"]
        assert city.pool().effective_desired == 3


def test_cold_slots_are_woken_lowest_first_and_before_any_is_created() -> None:
    """POOL-03, POOL-09, POOL-10, F03: more demand wakes what is there, then creates."""
    with worked_pool(2) as city:
        city.count("worker", 4)
        for _ in range(4):
            city.sling("worker")
        begun = len(city.told("session.woke"))
        city.tick()
        assert city.up() == ["worker-1", "worker-2", "worker-3", "worker-4"]
        assert set(city.told("session.woke")[begun : begun + 2]) == {"worker-1", "worker-2"}
        assert city.told("session.created").count("worker-1") == 1


def test_work_wakes_the_slot_that_sleeps_and_makes_no_sibling() -> None:
    """POOL-12, POOL-17, F03: a sleeping slot is no server, but no reason to make another."""
    with DemandCity(workers(min=1)) as city:
        city.settle()
        city.sling("worker")
        city.settle(4)
        assert city.up() == city.names() == ["worker-1"]


def test_ready_work_wakes_up_to_what_is_wanted_and_not_the_rest() -> None:
    """R20, R60, POOL-17: five cold slots of which three are wanted: the lowest three are woken."""
    with worked_pool(5) as city:
        job = city.give("worker-5")
        city.settle(3)
        city.count("worker", 3)
        city.sling("worker")
        city.tick()
        assert city.up() == ["worker-1", "worker-2", "worker-5"]
        city.finish(job)


def test_work_for_one_slot_wakes_that_slot() -> None:
    """R20: a job assigned to `worker-3` wakes `worker-3` alone."""
    with DemandCity(workers(min=3)) as city:
        city.settle()
        city.give("worker-3")
        city.tick()
        assert city.up() == ["worker-3"]


def test_the_name_of_a_pool_means_the_pool() -> None:
    """R19, R20: jobs assigned to `worker` are for whichever slots are wanted, not for each."""
    with DemandCity(workers(max=5)) as city:
        city.give("worker")
        city.give("worker")
        city.settle(4)
        assert city.up() == city.names() == ["worker-1", "worker-2"]


def test_a_claim_keeps_the_slot_that_made_it() -> None:
    """R21, F04: with the job claimed nothing is routed any more, and its worker stays."""
    with DemandCity(workers()) as city:
        job = city.sling("worker")
        city.settle(3)
        city.claim(job, "worker-1")
        city.settle(20)
        assert city.up() == city.names() == ["worker-1"]
        assert city.pool().effective_desired == 1
        city.finish(job)
        city.settle()
        assert city.names() == []


def test_work_routed_while_all_are_busy_makes_another_slot() -> None:
    """R20, R21: slots that hold work do not count as free for what is ready."""
    with DemandCity(workers()) as city:
        first = city.sling("worker")
        city.settle(3)
        city.claim(first, "worker-1")
        city.sling("worker")
        city.settle(3)
        assert city.up() == ["worker-1", "worker-2"]


# -- cold slots count


def test_cold_slots_are_healthy_and_counted() -> None:
    """POOL-01, POOL-02, POOL-04, POOL-05, POOL-19, POOL-20, POOL-25, R60: desired met cold."""
    with worked_pool(3) as city:
        begun = (city.starts(), city.memory.commits)
        city.settle(50)
        assert (city.starts(), city.memory.commits) == begun
        pool = city.pool()
        assert (pool.realized, pool.awake, pool.asleep) == (3, 0, 3)
        assert (pool.desired, pool.effective_desired) == (3, 3)
        assert all(city.decision(name).suppressed for name in city.names())


def test_min_is_realized_not_warm() -> None:
    """POOL-15, WAKE-07, F58: a `min = 1` pool with `0s` starts once for work, then never again."""
    with DemandCity(workers(min=1)) as city:
        job = city.sling("worker")
        city.settle(3)
        city.finish(job)
        city.settle()
        assert (city.names(), city.up(), city.starts()) == (["worker-1"], [], 1)
        commits = city.memory.commits
        city.settle(100)
        assert (city.starts(), city.memory.commits) == (1, commits)


def test_a_min_that_nobody_ever_needed_never_starts() -> None:
    """POOL-15, POOL-23: the slot is realized and rests unstarted."""
    with DemandCity(workers(min=1)) as city:
        city.settle(100)
        assert (city.names(), city.starts()) == (["worker-1"], 0)


def test_warm_standby_is_a_pool_without_idle_sleep() -> None:
    """POOL-21, POOL-24: with the policy off the realized slots run and stay."""
    with DemandCity(workers(min=2, sleep_after_idle=OFF)) as city:
        city.settle(50)
        assert city.up() == ["worker-1", "worker-2"]
        assert city.starts() == 2


def test_a_cold_slot_whose_policy_changed_is_woken_by_config() -> None:
    """POOL-26, WAKE-21: without its latch it is an ordinary candidate."""
    with DemandCity(workers(min=1)) as city:
        job = city.sling("worker")
        city.settle(3)
        city.finish(job)
        city.settle()
        changed = replace(city.config.agents["worker"], sleep_after_idle=OFF)
        city.configure(replace(city.config, agents={"worker": changed}))
        city.settle(2)
        assert city.up() == ["worker-1"]


def test_realized_slots_are_counted_from_records() -> None:
    """POOL-22: with the runtime out of reach no sibling is made for those nobody can see."""
    with worked_pool(3) as city:
        city.host.unreachable = "permission denied"
        city.settle(10)
        assert city.names() == ["worker-1", "worker-2", "worker-3"]
        assert city.pool().realized == 3


def test_a_worker_that_leaves_after_its_job_is_a_healthy_cold_slot() -> None:
    """POOL-27, REC-14: it exits with 0 on its own; no crash, no restart."""
    with DemandCity(workers(min=1)) as city:
        job = city.sling("worker")
        city.settle(3)
        city.host.of("worker-1").screen = ScreenVerdict.BUSY
        city.finish(job)
        city.exit("worker-1")
        city.settle(20)
        assert city.session("worker-1").is_cold
        assert city.starts() == 1
        assert city.events("session.crashed") == []


# -- trimming


def test_less_demand_trims_the_highest_first() -> None:
    """POOL-06, POOL-11: from four to two, three and four go."""
    with worked_pool(4) as city:
        city.count("worker", 2)
        city.settle()
        assert city.names() == ["worker-1", "worker-2"]
        assert city.told("session.removed") == ["worker-4", "worker-3"]


def test_desired_none_trims_cold_slots_too() -> None:
    """POOL-07: asleep or not, every slot is excess; highest index first."""
    with worked_pool(3) as city:
        city.count("worker", 0)
        city.settle()
        assert city.names() == []
        assert city.told("session.removed") == ["worker-3", "worker-2", "worker-1"]


@pytest.mark.parametrize("need", ["work", "attached", "pending", "pin"])
def test_trimming_spares_whoever_is_needed(need: str) -> None:
    """R21: the highest slot holds work, a person, a question or a pin; others go in its stead."""
    with worked_pool(3) as city:
        job = city.give("worker-3")
        city.settle(3)
        if need == "attached":
            city.attach("worker-3")
        elif need == "pending":
            city.ask("worker-3")
        elif need == "pin":
            city.pin("worker-3")
        if need != "work":
            city.finish(job)
        city.count("worker", 1)
        city.settle(20)
        assert city.names() == city.up() == ["worker-3"]
        city.finish(job)
        city.attach("worker-3", 0)
        city.host.of("worker-3").pending = None
        city.withdraw("worker-3")
        city.count("worker", 0)
        city.settle()
        assert city.names() == []


def test_a_question_spares_a_slot_that_never_sleeps() -> None:
    """R21: also where no idle sleep would make anybody look for one."""
    with DemandCity(workers(max=3, check="count-them", sleep_after_idle=OFF)) as city:
        city.count("worker", 3)
        city.settle(4)
        city.ask("worker-3")
        city.count("worker", 1)
        city.settle(5)
        assert city.names() == city.up() == ["worker-3"]


def test_a_lower_max_trims_and_spares_who_works() -> None:
    """R21: `max` from three to one takes spare slots; the worker beyond it ends its job first."""
    with DemandCity(workers(min=3)) as city:
        city.settle()
        job = city.give("worker-3")
        city.settle(3)
        city.configure(with_pool(city.config, min=1, max=1))
        city.settle()
        assert city.names() == city.up() == ["worker-3"]
        city.finish(job)
        city.settle()
        assert len(city.names()) == 1


def test_a_pool_that_left_the_config_is_removed_after_a_second_reading() -> None:
    """R21, R68: every slot goes, whoever works too, and the work in its hands is released."""
    with DemandCity(city_of(pooled("worker", min=2), headless("other"))) as city:
        city.settle()
        job = city.sling("worker")
        city.settle(3)
        city.claim(job, "worker-1")
        left = {"other": city.config.agents["other"]}
        city.configure(replace(city.config, agents=left))
        city.tick()
        assert city.names() == ["other", "worker-1", "worker-2"]
        city.settle()
        assert city.names() == ["other"]
        assert set(city.told("session.removed")) == {"worker-1", "worker-2"}
        assert len(city.events("bead.released")) == 1


def test_a_new_controller_takes_over_the_slots_as_they_are() -> None:
    """R37, POOL-22: after a restart the worker works on and the cold ones stay cold."""
    with worked_pool(3) as city:
        job = city.give("worker-2")
        city.settle(3)
        starts = city.starts()
        city.restart()
        city.settle(10)
        assert (city.up(), city.starts()) == (["worker-2"], starts)
        assert city.names() == ["worker-1", "worker-2", "worker-3"]
        city.finish(job)
        city.settle()
        assert city.session("worker-2").is_cold


# -- a check of its own


def test_the_check_is_followed_up_and_down() -> None:
    """POOL-19, R21: the number it prints is the number of slots."""
    with DemandCity(CHECKED) as city:
        for count in (2, 5, 1, 3, 0):
            city.count("worker", count)
            city.settle(4)
            assert len(city.names()) == count


def test_a_check_beyond_the_bounds_is_held_to_them() -> None:
    """R4, R21: more than `max` is `max`, less than `min` is `min`."""
    with DemandCity(workers(min=1, max=2, check="count-them")) as city:
        city.count("worker", 40)
        city.settle(4)
        assert len(city.names()) == 2
        city.count("worker", 0)
        city.settle(4)
        assert len(city.names()) == 1


def test_an_unclear_check_moves_nobody_and_recovers_at_once() -> None:
    """R9, F12: no trim, no create, no new sleep; work still wakes; the next answer is followed."""
    with worked_pool(3) as city:
        job = city.give("worker-2")
        city.settle(3)
        city.finish(job)
        city.count("worker", Unclear("printed 'oops', not a count"))
        city.settle(10)
        assert city.up() == ["worker-2"], "not slept on that account"
        assert "demand_unknown" in city.decision("worker-2").blocker_names
        assert city.names() == ["worker-1", "worker-2", "worker-3"]
        assert city.pool().desired is None
        city.give("worker-1")
        city.sling("worker")
        city.settle(3)
        assert city.up() == ["worker-1", "worker-2"], "known wakes hold"
        for _ in range(9):
            city.sling("worker")
        city.settle(3)
        assert city.names() == ["worker-1", "worker-2", "worker-3"], "nothing is created"
        city.count("worker", 4)
        city.tick()
        assert "worker-4" in city.names()


def test_of_several_cold_slots_the_lowest_is_woken() -> None:
    """POOL-10, POOL-17, R9: without a count one job is one slot, and it is the first."""
    with worked_pool(3) as city:
        city.count("worker", Unclear("no answer within 10s"))
        city.sling("worker")
        city.settle(3)
        assert city.up() == ["worker-1"]


def test_an_unclear_check_at_the_very_first_patrol_creates_nothing() -> None:
    """R9: nobody was asked yet, which is not zero and not `min`."""
    with DemandCity(workers(min=1, check="count-them")) as city:
        city.settle(3)
        assert city.names() == []
        city.count("worker", 0)
        city.settle(2)
        assert city.names() == ["worker-1"]


def test_status_shows_the_counts() -> None:
    """R60, POOL-04: desired, effective, realized, awake and asleep of each pool."""
    with worked_pool(3) as city:
        city.give("worker-2")
        city.settle(2)
        city.count("worker", 1)
        city.settle(3)
        [pool] = city.status()["pools"]
        assert pool == {
            "template": "worker",
            "desired": 1,
            "effective_desired": 1,
            "realized": 1,
            "awake": 1,
            "asleep": 0,
        }


# -- failing starts


def test_a_slot_that_never_comes_up_keeps_its_one_name() -> None:
    """R41, F40: fifty patrols of a start that always fails: bounded tries, one name, quarantine."""
    with DemandCity(workers(min=1, max=1)) as city:
        city.settle(2)
        city.host.of("worker-1").start_fails = "no such image"
        city.sling("worker")
        record = city.session("worker-1").id
        for _ in range(50):
            city.tick()
            city.clock.advance(5)
        tries = len(city.script.log)
        attempts = sum(m.call == "start" and m.when == "before" for m in city.script.log)
        assert attempts <= city.config.daemon.max_restarts, tries
        assert {m.of for m in city.script.log if m.call == "start"} == {"worker-1"}
        assert city.session("worker-1").id == record
        assert city.session("worker-1").state is State.QUARANTINED
        entry = next(one for one in city.status()["sessions"] if one["name"] == "worker-1")
        assert entry["state"] == "quarantined"
        assert "quarantined until" in entry["held_back"]
        assert "no such image" in entry["last_error"]


def test_daemon_settings_are_those_of_the_city() -> None:
    """R24: the budget is what the config says."""
    assert daemon(max_wakes_per_tick=3).max_wakes_per_tick == 3
