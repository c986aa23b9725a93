"""Who keeps whom awake: the live closure over `depends_on`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gascity.decide.dependencies import (
    dependencies_first,
    dependents_first,
    needed_templates,
    related_templates,
    upstream_edges,
)
from gascity.decide.tick import decide
from gascity.decide.wake import hard_wakes
from gascity.model.plan import Cause, Start
from gascity.model.reading import Known
from gascity.testing.builders import (
    a_city,
    a_session,
    a_world,
    agent,
    ahead,
    awake,
    cold,
    decided,
    decision_of,
    headless,
    pooled,
    running,
    starting,
)
from tests.unit.decide.test_wake import ON_A_SLEEPER

CHAIN = {"c": ("b",), "b": ("a",), "a": (), "x": ()}
CITY = a_city(headless("a"), headless("b", depends_on=("a",)), agent("c", depends_on=("b",)))


def test_need_travels_up_the_whole_chain() -> None:
    """Every transitive dependency of a root is needed (DEP-01, DEP-07)."""
    needs = needed_templates({"c": ["c:work"]}, CHAIN)
    assert set(needs) == {"a", "b"}
    assert (needs["a"].dependents, needs["a"].roots) == (("b",), ("c:work",))


def test_a_root_is_not_needed_by_itself() -> None:
    """Only what stands below another root is needed (DEP-02)."""
    assert set(needed_templates({"b": ["b:pin"]}, CHAIN)) == {"a"}
    assert needed_templates({"x": ["x:pin"]}, CHAIN) == {}
    assert needed_templates({}, CHAIN) == {}


def test_unknown_names_are_skipped() -> None:
    """A dependency that does not exist is no place to look (R6a)."""
    assert needed_templates({"c": ["r"]}, {"c": ("gone",)}) == {}
    assert upstream_edges(["c", "gone"], {"c": agent("c", depends_on=("gone",))}) == {
        "c": ("gone",)
    }


def test_the_order_puts_dependencies_first() -> None:
    """Sessions are evaluated in dependency order (DEP-08, NORM-05)."""
    assert [name for name in dependencies_first(CHAIN) if name != "x"] == ["a", "b", "c"]
    assert dependents_first(CHAIN) == tuple(reversed(dependencies_first(CHAIN)))


def test_the_neighbourhood_of_a_relook_is_all_that_stands_on_it() -> None:
    """The template with its dependents at every level (R27)."""
    assert related_templates("a", CHAIN) == {"a", "b", "c"}
    assert related_templates("c", CHAIN) == {"c"}


def test_the_closure_costs_what_is_upstream_of_the_roots() -> None:
    """Nothing else of the city is read (R27)."""
    assert set(upstream_edges(["b"], CITY.agents)) == {"a", "b"}


def test_work_at_the_bottom_wakes_the_chain_from_the_top() -> None:
    """a → b → c, work for c: all three wanted, started in order (DEP-07, DEP-08, R22)."""
    world = a_world(CITY, cold("a"), cold("b"), cold("c"), work={"c": "w1"})
    plan = decide(world)
    assert plan.actions == (Start(session_id="gc-a", why=("dependency",)),)
    assert decision_of(plan, "b").held_back == "waits for a to be ready"
    assert decision_of(plan, "c").held_back == "waits for b to be ready"
    assert plan.queued == {"gc-b", "gc-c"}
    up = a_world(CITY, awake("a"), cold("b"), cold("c"), work={"c": "w1"})
    assert decide(up).actions == (Start(session_id="gc-b", why=("dependency",)),)
    booting = a_world(CITY, starting("a"), cold("b"), cold("c"), work={"c": "w1"})
    assert decision_of(decide(booting), "b").held_back == "waits for a to be ready"


def test_the_blocker_names_dependents_and_roots() -> None:
    """Who keeps it awake, and whose hard wake started it (DEP-09, DEP-10, EVT-16, BLK-05)."""
    world = a_world(CITY, awake("a"), awake("b"), awake("c"), work={"c": "w1"})
    [blocker] = decision_of(decide(world), "a").blockers
    assert (blocker.name, blocker.dependents, blocker.roots) == (
        "dependency", ("b",), ("c:work",),
    )  # fmt: skip


def test_a_warm_idle_dependent_holds_nobody() -> None:
    """Config alone is no root, nor is a suppressed sleeper (DEP-03, DEP-04, R52)."""
    warm = a_world(CITY, awake("a"), awake("b"), awake("c"), seen={"c": running(idle_s=1)})
    assert hard_wakes(warm).needs == {}
    asleep = a_world(CITY, awake("a"), awake("b"), cold("c"))
    assert hard_wakes(asleep).needs == {}


@pytest.mark.parametrize("cause", [one for one in Cause if one is not Cause.DEPENDENCY])
def test_every_direct_cause_is_a_root(cause: Cause) -> None:
    """Work, wait, attached, pending, operator and pin start the closure (DEP-02, R18)."""
    base = ON_A_SLEEPER[cause]()
    agents = {
        "db": headless("db"),
        "mayor": agent(depends_on=("db",)),
        "api": agent("api"),
    }
    city = a_city(*agents.values())
    world = replace(
        base, city=city, sessions={**base.sessions, "gc-db": cold("db")},
        sightings={**base.sightings, "gc-db": base.sighting("x")},
    )  # fmt: skip
    [wake] = hard_wakes(world).of("gc-db")
    assert (wake.cause, wake.roots) == (Cause.DEPENDENCY, (f"mayor:{cause}",))


def test_the_need_ends_with_its_last_root() -> None:
    """Recomputed every patrol, never latched (DEP-05, TEST-15)."""
    world = a_world(CITY, awake("a"), awake("b"), awake("c"), seen={"c": running(idle_s=1)})
    plan = decide(world)
    assert {getattr(one, "session_id", "") for one in plan.actions} == {"gc-a", "gc-b"}


def test_one_bearer_answers_a_need() -> None:
    """The lowest awake slot, else the lowest cold one (R22, POOL-12, POOL-14, DEP-06)."""
    city = a_city(pooled("db", max=5), agent("api", depends_on=("db",)))
    work = {"api": "w1"}
    slots = (cold("db-1"), awake("db-2"), awake("db-3"), awake("api"))
    assert list(hard_wakes(a_world(city, *slots, work=work)).by_session) == [
        "gc-api", "gc-db-2",
    ]  # fmt: skip
    both = (cold("db-2"), cold("db-1"), awake("api"))
    assert "gc-db-1" in hard_wakes(a_world(city, *both, work=work)).by_session


def test_a_held_bearer_is_passed_over_and_a_held_template_is_shown() -> None:
    """A suspended or quarantined dependency is not woken; the root says why (R22, F02)."""
    held = cold("a", quarantined_until=ahead(99))
    world = a_world(CITY, held, awake("b"), cold("c"), work={"b": "w1"})
    assert hard_wakes(world).of("gc-a") == ()
    stuck = a_world(CITY, held, cold("b"), work={"b": "w1"})
    decision, action = decided(stuck, "b")
    assert action is None
    assert decision.held_back.startswith("waits for a, which is quarantined until")
    assert decide(stuck).queued == frozenset()


def test_a_suspended_template_is_not_unborn() -> None:
    """Nobody is created for a template that is held (R22)."""
    city = a_city(headless("a", suspended=True), agent("c", depends_on=("a",)))
    found = hard_wakes(a_world(city, awake("c"), work={"c": "w"}))
    assert found.unborn == frozenset()
    free = a_city(headless("a"), agent("c", depends_on=("a",)))
    assert hard_wakes(a_world(free, awake("c"), work={"c": "w"})).unborn == {"a"}


def test_routed_work_is_a_root_for_what_the_pool_stands_on() -> None:
    """Ready work for a pool wakes the pool's dependencies with it (DEP-02, DEP-07)."""
    city = a_city(headless("db"), pooled("worker", depends_on=("db",)))
    world = a_world(city, cold("db"), cold("worker-1"), routed={"worker": "w1"})
    plan = decide(world)
    assert plan.actions == (Start(session_id="gc-db", why=("dependency",)),)
    [wake] = decision_of(plan, "db").hard_wakes
    assert (wake.dependents, wake.roots) == (("worker-1",), ("worker:work",))
    assert decision_of(plan, "worker-1").held_back == "waits for db to be ready"
    held = a_city(headless("db"), pooled("worker", depends_on=("db",), suspended=True))
    assert hard_wakes(replace(world, city=held)).needs == {}


def test_by_config_alone_a_dependent_waits_only_for_what_comes_up_anyway() -> None:
    """A cold dependency that nobody wakes does not hold a configured dependent (DEP-04)."""
    city = a_city(headless("db"), agent("api", depends_on=("db", "gone")))
    new = a_session("api")
    assert decided(a_world(city, cold("db"), new), "api")[1] is not None
    both = a_world(city, cold("db"), new, work={"db": "w1"})
    assert decided(both, "api")[0].held_back == "waits for db to be ready"
    held = a_world(city, cold("db", held_until=ahead(9)), new)
    assert decided(held, "api")[1] is not None


def test_attached_people_keep_the_chain_up() -> None:
    """A person at the bottom holds what it stands on (DEP-02, F32)."""
    seen = {"c": running(attached=Known(1))}
    world = a_world(CITY, awake("a"), awake("b"), awake("c"), seen=seen)
    assert decide(world).actions == ()


def test_a_diamond_is_walked_once() -> None:
    """Two ways up to one template count it once (DEP-01, R27)."""
    diamond = {"top": (), "left": ("top",), "right": ("top",), "low": ("left", "right")}
    assert related_templates("top", diamond) == set(diamond)
    needs = needed_templates({"low": ["low:work"]}, diamond)
    assert needs["top"].roots == ("low:work",)
    assert set(needs["top"].dependents) == {"left", "right"}
