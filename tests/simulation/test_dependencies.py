"""Dependencies over whole lives: what is stood on comes up first and goes cold after."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gascity.model.reading import Unclear
from gascity.testing.records import agent, headless, pooled
from tests.simulation.demand_city import UNREAD, DemandCity, chain, city_of


def cold_chain() -> DemandCity:
    """a, b and c have run and are cold."""
    city = DemandCity(chain())
    city.settle(3)
    job = city.give("c")
    city.settle(8)
    city.finish(job)
    city.settle(12)
    assert city.up() == []
    return city


def test_a_chain_comes_up_in_order() -> None:
    """DEP-01, DEP-07, DEP-08, R24: work for c alone brings a, then b, then c, each one once."""
    with cold_chain() as city:
        seen = len(city.told("session.woke"))
        city.give("c")
        city.settle(8)
        assert city.told("session.woke")[seen:] == ["a", "b", "c"]
        ready = [city.session(name).ready_at for name in ("a", "b", "c")]
        woke = [city.session(name).woke_at for name in ("a", "b", "c")]
        assert all(before and after and before <= after for before, after in zip(
            ready, woke[1:], strict=False))  # fmt: skip
        assert city.overseer.violations == []


def test_a_dependent_says_whom_it_waits_for() -> None:
    """R22, R25: while a comes up, b and c are shown with what they wait for."""
    with cold_chain() as city:
        city.host.of("a").ready_at_once = False
        city.give("c")
        city.live(5)
        assert city.up() == ["a"]
        assert city.decision("b").held_back == "waits for a to be ready"
        assert city.decision("c").held_back == "waits for b to be ready"
        notes = city.status()["warnings"]
        assert "c: held back: waits for b to be ready" in notes
        city.host.of("a").ready = True
        city.settle(6)
        assert city.up() == ["a", "b", "c"]


def test_the_whole_chain_stays_while_the_last_one_works() -> None:
    """DEP-01, DEP-09, DEP-10, BLK-05: a and b name who stands on them and whose work it is."""
    with cold_chain() as city:
        city.give("c")
        city.settle(60)
        assert city.up() == ["a", "b", "c"]
        for name, below in (("a", ("b",)), ("b", ("c",))):
            [blocker] = [b for b in city.decision(name).blockers if b.name == "dependency"]
            assert (blocker.dependents, blocker.roots) == (below, ("c:work",))
        entry = next(one for one in city.status()["sessions"] if one["name"] == "a")
        assert entry["dependency"] == {"dependents": ["b"], "roots": ["c:work"]}


def test_ancestors_go_cold_after_the_last_root() -> None:
    """DEP-05: nothing is latched; with the work done all three are cold and stay so."""
    with cold_chain() as city:
        job = city.give("c")
        city.settle(10)
        city.finish(job)
        city.settle(10)
        assert all(city.session(name).is_cold for name in ("a", "b", "c"))
        starts = city.starts()
        city.settle(50)
        assert city.starts() == starts


def test_one_root_of_two_is_enough() -> None:
    """DEP-05, DEP-10: the ancestor stays until the last of its roots is gone."""
    with DemandCity(
        city_of(headless("a"), headless("b", depends_on=("a",)), headless("c", depends_on=("a",)))
    ) as city:
        city.settle(3)
        jobs = [city.give("b"), city.give("c")]
        city.settle(8)
        assert city.up() == ["a", "b", "c"]
        city.finish(jobs[0])
        city.settle(8)
        assert city.up() == ["a", "c"]
        city.finish(jobs[1])
        city.settle(8)
        assert city.up() == []


def test_an_idle_dependent_holds_nobody() -> None:
    """DEP-03, DEP-04, R52: one that is merely warm is no root."""
    with DemandCity(city_of(headless("a"), agent("b", depends_on=("a",)))) as city:
        job = city.give("a")
        city.settle(6)
        city.finish(job)
        city.settle(6)
        assert city.up() == ["b"]
        assert city.session("a").is_cold


def test_a_suspended_dependency_is_not_woken_and_is_named() -> None:
    """R22, R26: c and b wait; both say that it is a, and that it is suspended."""
    with cold_chain() as city:
        city.suspend("a")
        city.settle(2)
        city.give("c")
        city.settle(10)
        assert city.up() == []
        assert city.decision("b").held_back == "waits for a, which is suspended by ann"
        assert city.decision("c").held_back.startswith("waits for b")
        assert any("suspended by ann" in note for note in city.status()["warnings"])
        city.resume("a")
        city.settle(8)
        assert city.up() == ["a", "b", "c"]


def test_a_dependency_that_falls_over_is_brought_back_for_who_needs_it() -> None:
    """DEP-07: a ends while c works; it is started again, c is not touched."""
    with cold_chain() as city:
        city.give("c")
        city.settle(8)
        city.exit("a", 1)
        city.settle(6)
        assert city.up() == ["a", "b", "c"]
        assert city.host.of("c").stops == 1, "only its first sleep"


@pytest.mark.parametrize("root", ["wait", "attached", "pending", "pin", "wake"])
def test_every_hard_wake_of_a_dependent_is_a_root(root: str) -> None:
    """DEP-02, R18: not only work."""
    with cold_chain() as city:
        job = city.give("c")
        city.settle(8)
        deeds = {
            "wait": lambda: city.remind("c"),
            "attached": lambda: city.attach("c"),
            "pending": lambda: city.ask("c"),
            "pin": lambda: city.pin("c"),
            "wake": lambda: city.want_to_attach("c"),
        }
        deeds[root]()
        city.finish(job)
        city.settle(1)
        word = "operator" if root == "wake" else root
        [blocker] = [b for b in city.decision("a").blockers if b.name == "dependency"]
        assert blocker.roots == (f"c:{word}",)


def test_a_restart_remembers_nothing_and_needs_nothing() -> None:
    """DEP-05: need is computed afresh; a new controller holds and lets go the same."""
    with cold_chain() as city:
        job = city.give("c")
        city.settle(8)
        starts = city.starts()
        city.restart()
        city.settle(8)
        assert (city.up(), city.starts()) == (["a", "b", "c"], starts)
        city.finish(job)
        city.restart()
        city.settle(8)
        assert city.up() == []


# -- pools that are depended on


def floor_city() -> DemandCity:
    """c stands on a pool whose check wants nobody."""
    city = DemandCity(
        city_of(
            pooled("p", check="count-them"),
            headless("c", depends_on=("p",)),
            headless("d", depends_on=("p",)),
        )
    )
    city.count("p", 0)
    city.settle(4)
    assert city.names() == ["c", "d"]
    return city


def test_a_need_realizes_slot_1_of_an_empty_pool() -> None:
    """POOL-08, POOL-13, POOL-16: the floor is one while c works; then it is excess again."""
    with floor_city() as city:
        job = city.give("c")
        city.settle(6)
        assert city.up() == ["c", "p-1"]
        assert city.pool("p").effective_desired == 1
        city.settle(30)
        assert city.names() == ["c", "d", "p-1"], "not trimmed while it is needed"
        city.finish(job)
        city.settle(8)
        assert city.names() == ["c", "d"]


def test_one_awake_slot_serves_every_dependent() -> None:
    """POOL-14: two dependents need one slot, not two."""
    with floor_city() as city:
        city.give("c")
        city.give("d")
        city.settle(8)
        assert city.up() == ["c", "d", "p-1"]


def test_a_need_wakes_the_lowest_cold_slot_and_makes_none() -> None:
    """POOL-12, R22: three cold slots, one woken."""
    with floor_city() as city:
        city.count("p", 3)
        city.settle(4)
        city.give("c")
        city.settle(8)
        assert city.up() == ["c", "p-1"]
        assert city.names() == ["c", "d", "p-1", "p-2", "p-3"]


def test_a_need_is_met_while_the_check_gives_no_answer() -> None:
    """POOL-13, R9: doubt about a count is no doubt about a need that is known."""
    with floor_city() as city:
        city.count("p", Unclear("no answer within 10s"))
        city.give("c")
        city.settle(8)
        assert city.up() == ["c", "p-1"]


def test_routed_work_of_a_pool_wakes_what_the_pool_stands_on() -> None:
    """DEP-07, R20: whichever slot takes it, a is up before."""
    with DemandCity(city_of(headless("a"), pooled("p", depends_on=("a",)))) as city:
        city.settle(3)
        job = city.sling("p")
        city.settle(8)
        assert city.up() == ["a", "p-1"]
        assert city.told("session.woke") == ["a", "p-1"]
        city.finish(job)
        city.settle(8)
        assert city.up() == []


# -- doubt


def test_a_query_that_hangs_lets_nobody_upstream_sleep() -> None:
    """R9: c's work query found work and then hangs: a and b stay; the next answer is followed."""
    config = chain()
    asked = replace(config.agents["c"], work_query="find-work")
    with DemandCity(replace(config, agents={**config.agents, "c": asked})) as city:
        city.finds("c", work=True)
        city.settle(10)
        assert city.up() == ["a", "b", "c"]
        city.said.work["c"] = UNREAD
        city.settle(20)
        assert city.up() == ["a", "b", "c"]
        for name in ("a", "b", "c"):
            assert "demand_unknown" in city.decision(name).blocker_names
        city.finds("c", work=False)
        city.settle(8)
        assert city.up() == []
