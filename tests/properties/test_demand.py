"""Demand: need against a slow reference, and whole lives of random cities.

A life is a list of deeds; between any two of them the controller patrols as it ships, in virtual
time. What must never happen is judged from bare records and the host, not by the rules under test.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from gascity.decide.doubt import spread_doubt
from gascity.decide.normalize import normalize
from gascity.decide.wake import hard_wakes
from gascity.model.city import Agent, City
from gascity.model.duration import OFF, seconds
from gascity.model.plan import Cause
from gascity.model.reading import Known, Unclear
from gascity.model.roster import is_suspended
from gascity.model.world import World
from gascity.testing.records import headless, pooled
from gascity.testing.strategies import worlds
from tests.properties.test_tick import THOROUGH
from tests.simulation.demand_city import DemandCity, city_of

pure = hypothesis_settings(
    max_examples=1000 if THOROUGH else 60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
lives = hypothesis_settings(pure, max_examples=400 if THOROUGH else 20)


# -- need, against a slow and obvious reference


def reachable(template: str, agents: Mapping[str, Agent]) -> set[str]:
    """Everything a template stands on, at every level; by walking, again and again."""
    found: set[str] = set()
    for dependency in agents[template].depends_on:
        if dependency in agents:
            found |= {dependency} | reachable(dependency, agents)
    return found


def rooted(world: World) -> dict[str, set[str]]:
    """{template: labels of its own hard wakes} as the ruling lists them."""
    found: dict[str, set[str]] = {}
    for one, wakes in hard_wakes(world).by_session.items():
        session = world.sessions[one]
        for wake in wakes:
            if wake.cause is not Cause.DEPENDENCY and session.template in world.city.agents:
                found.setdefault(session.template, set()).add(f"{session.name}:{wake.cause}")
    for template, reading in world.demand.routed.items():
        agent = world.city.agents.get(template)
        certain = isinstance(reading, Known) and reading.value
        if agent is not None and certain and not is_suspended(world.city, agent):
            found.setdefault(template, set()).add(f"{template}:{Cause.WORK}")
    return found


@pure
@given(worlds())
def test_the_closure_is_what_can_be_reached_from_a_root(world: World) -> None:
    """Exactly the upstream of every root, each with exactly its roots (DEP-01..07, DEP-10, R18)."""
    world = normalize(world)
    agents = world.city.agents
    expected: dict[str, set[str]] = {}
    for template, labels in rooted(world).items():
        for dependency in reachable(template, agents):
            expected.setdefault(dependency, set()).update(labels)
    needs = hard_wakes(world).needs
    assert {name: set(need.roots) for name, need in needs.items()} == expected
    event(f"needed: {len(needs)}")


@pure
@given(worlds())
def test_each_needed_template_has_one_bearer_and_no_other_has_one(world: World) -> None:
    """One session a template carries the need (POOL-14, R22); none that nobody needs (DEP-04)."""
    wakes = hard_wakes(normalize(world))
    bearers = Counter(
        world.sessions[one].template
        for one, found in wakes.by_session.items()
        for wake in found
        if wake.cause is Cause.DEPENDENCY
    )
    assert set(bearers.values()) <= {1}
    assert set(bearers) <= set(wakes.needs)


@pure
@given(worlds())
def test_doubt_reaches_exactly_what_a_doubtful_one_stands_on(world: World) -> None:
    """Upstream of a doubt everybody is in doubt or certainly at work; nobody else (R9)."""
    spread = spread_doubt(world)
    if world.demand.unclear:
        assert spread is world
        return
    changed = {
        world.sessions[one].template
        for one, reading in spread.demand.work.items()
        if isinstance(reading, Unclear) and not isinstance(world.demand.work.get(one), Unclear)
    }
    doubtful = {
        session.template
        for session in world.sessions.values()
        if session.template in world.city.agents
        and (
            world.sighting(session.id).truth == "unknown"
            or isinstance(world.demand.work.get(session.id), Unclear)
            or isinstance(world.demand.waits.get(session.id), Unclear)
            or isinstance(world.sighting(session.id).attached, Unclear)
            or isinstance(world.sighting(session.id).pending, Unclear)
        )
    } | {
        name
        for name, reading in world.demand.routed.items()
        if isinstance(reading, Unclear) and name in world.city.agents
    }
    above = {up for name in doubtful for up in reachable(name, world.city.agents)}
    assert changed <= above
    for session in world.sessions.values():
        if session.template in above:
            reading = spread.demand.work.get(session.id)
            assert isinstance(reading, Unclear) or (isinstance(reading, Known) and reading.value)


# -- lives

WINDOWS = st.sampled_from((seconds(0), seconds(0), seconds(20), OFF, None))


@st.composite
def demand_cities(draw: st.DrawFn) -> City:
    """Two pools, one with a check of its own, and up to three fixed agents over a random DAG."""
    names = ["a", "p", "b", "q", "c"]
    agents: list[Agent] = []
    for position, name in enumerate(names):
        below = tuple(one for one in names[:position] if draw(st.integers(0, 2)) == 0)
        over: dict[str, Any] = {"depends_on": below, "sleep_after_idle": draw(WINDOWS)}
        if name in ("p", "q"):
            sizes = {"min": draw(st.integers(0, 2)), "max": draw(st.integers(2, 4))}
            agents.append(pooled(name, check="c" if name == "q" else "", **sizes, **over))
        else:
            agents.append(headless(name, **over))
    return city_of(*agents)


@dataclass
class Life:
    """One city being lived in: what was asked for so far, and what may be asked next."""

    city: DemandCity
    jobs: list[str] = field(default_factory=list)
    routed: dict[str, str] = field(default_factory=dict)  # {job: pool}, not claimed yet

    def pick(self, number: int) -> str:
        """Some session, or "" where there is none."""
        names = self.city.names()
        return names[number % len(names)] if names else ""

    def sling(self, number: int) -> None:
        pool = ("p", "q")[number % 2]
        job = self.city.sling(pool)
        self.jobs.append(job)
        self.routed[job] = pool

    def give(self, number: int) -> None:
        if self.pick(number):
            self.jobs.append(self.city.give(self.pick(number)))

    def claim(self, number: int) -> None:
        """A running slot takes up a job of its pool."""
        for job, pool in self.routed.items():
            up = [name for name in self.city.up() if name.startswith(f"{pool}-")]
            if up and self.city.has(up[number % len(up)]):
                self.city.claim(job, up[number % len(up)])
                del self.routed[job]
                return

    def finish(self, number: int) -> None:
        if self.jobs:
            job = self.jobs.pop(number % len(self.jobs))
            self.routed.pop(job, None)
            self.city.finish(job)

    def attach(self, number: int) -> None:
        up = self.city.up()
        if up:
            self.city.attach(up[number % len(up)])

    def detach(self, _: int) -> None:
        for name in self.city.up():
            self.city.attach(name, 0)

    def ask(self, number: int) -> None:
        up = self.city.up()
        if up:
            self.city.ask(up[number % len(up)])

    def answer(self, _: int) -> None:
        for name in self.city.up():
            self.city.answer(name)

    def pin(self, number: int) -> None:
        if self.pick(number):
            self.city.pin(self.pick(number), for_s=30 + number)

    def wake(self, number: int) -> None:
        if self.pick(number):
            self.city.wake(self.pick(number), for_s=60)

    def remind(self, number: int) -> None:
        if self.pick(number):
            self.city.remind(self.pick(number), in_s=number % 40)

    def count(self, number: int) -> None:
        self.city.count("q", number % 5 if number % 7 else Unclear("no answer within 10s"))

    def unread(self, number: int) -> None:
        self.city.store.demand_unclear = "disk I/O error" if number % 2 else ""

    def blur(self, number: int) -> None:
        up = self.city.up()
        if up:
            self.city.host.of(up[number % len(up)]).attached_unclear = "busy" if number % 2 else ""

    def leave(self, number: int) -> None:
        up = self.city.up()
        if up:
            self.city.exit(up[number % len(up)], 0)

    def restart(self, _: int) -> None:
        self.city.restart()

    def wait(self, number: int) -> None:
        self.city.clock.advance(number)

    def settle_down(self) -> None:
        """Everything anybody asked for is over, and everything can be read."""
        self.city.store.demand_unclear = ""
        for one in self.city.host.sessions.values():
            one.attached, one.pending, one.attached_unclear = 0, None, ""
        for job in self.jobs:
            self.city.finish(job)
        self.jobs.clear()
        self.routed.clear()
        self.city.clock.advance(400)


DEEDS: dict[str, Callable[[Life, int], None]] = {
    one.__name__: one
    for one in (
        Life.sling,
        Life.give,
        Life.claim,
        Life.finish,
        Life.attach,
        Life.detach,
        Life.ask,
        Life.answer,
        Life.pin,
        Life.wake,
        Life.remind,
        Life.count,
        Life.unread,
        Life.blur,
        Life.leave,
        Life.restart,
        Life.wait,
    )
}
OFTEN = ("count", "count", "give", "pin", "attach", "sling", "claim", "wait")
SCRIPTS = st.lists(
    st.tuples(st.sampled_from((*sorted(DEEDS), *OFTEN)), st.integers(0, 60)),
    min_size=8,
    max_size=30,
)


def needed(city: DemandCity) -> set[str]:
    """Sessions that hold work or a wait, are pinned, attached or pending; by facts.

    A wake request is not among them: it is answered, and over, in the tick that finds it awake.
    """
    records = city.records()
    passing = {"dependency", "operator"}
    found = {name for name in city.names() if records.needs(name) - passing}
    for name in city.up():
        one = city.host.of(name)
        if one.attached or one.pending is not None:
            found.add(name)
    return found


def played(life: Life, script: list[tuple[str, int]]) -> None:
    """Do each deed and patrol after it; nobody who is needed is stopped or removed by a patrol."""
    city = life.city
    for name, number in script:
        DEEDS[name](life, number)
        held, up = needed(city), set(city.up())
        stops = {one: city.host.of(one).stops for one in held & up}
        before = city.names()
        began, seen = city.clock.monotonic(), len(city.script.log)
        city.tick()
        city.clock.advance(1)
        assert_doubt_moved_nobody(city, before)
        if any(m.at > began for m in city.script.log[seen:]):
            continue  # a start took its time, and pins and requests may have expired in it
        assert held <= set(city.names()), f"removed {held - set(city.names())} after {name}"
        stopped = [one for one, count in stops.items() if city.host.of(one).stops != count]
        assert not stopped, f"stopped {stopped} after {name}"
        for pool in city.plan.pools:
            most = city.config.agents[pool.template].pool
            assert most is not None
            assert pool.realized == pool.awake + pool.asleep
    # The bare facts say that a pool is needed, not which one slot of it carries that (POOL-14).
    spared = re.compile(r"S2: [pq]-\d+: asleep: idle through dependency")
    assert [one for one in city.overseer.violations if not spared.fullmatch(one)] == []


def assert_doubt_moved_nobody(city: DemandCity, before: list[str]) -> None:
    """While a count, or all demand, cannot be read no slot comes or goes, but for a need (R9)."""
    now = set(city.names())
    if city.store.demand_unclear:
        assert now >= set(before)
        assert {name for name in now - set(before) if name[0] in "pq"} <= {"p-1", "q-1"}
    if isinstance(city.said.counts["q"], Unclear):
        slots = {name for name in before if name.startswith("q-")}
        after = {name for name in now if name.startswith("q-")}
        assert after == slots or (not slots and after == {"q-1"})


@lives
@given(demand_cities(), SCRIPTS)
def test_nobody_needed_is_trimmed_or_slept_in_any_life(
    config: City, script: list[tuple[str, int]]
) -> None:
    """Work, people, questions, pins, requests, whatever else is unclear (R21, R9, F04, F12)."""
    with DemandCity(config) as city:
        city.count("q", 4)
        city.settle(3)
        played(Life(city), script)


@pytest.mark.slow
@lives
@given(demand_cities(), SCRIPTS)
def test_every_life_settles_at_what_is_wanted_and_then_nothing_moves(
    config: City, script: list[tuple[str, int]]
) -> None:
    """Occupancy is effective desired; then no action, no write, no event (POOL-18, R42, F58)."""
    with DemandCity(config) as city:
        city.count("q", 4)
        life = Life(city)
        played(life, script)
        life.settle_down()
        city.count("q", 2)
        city.settle(30)
        for pool in city.plan.pools:
            bounds = config.agents[pool.template].pool
            assert bounds is not None
            assert bounds.max is not None
            asked = 2 if pool.template == "q" else bounds.min
            wanted = min(max(asked, bounds.min), bounds.max)
            assert pool.effective_desired == pool.realized == wanted, pool
        assert city.plan.actions == ()
        before = (city.memory.commits, len(city.events()), city.starts())
        city.settle(20)
        assert (city.memory.commits, len(city.events()), city.starts()) == before


@lives
@given(demand_cities(), SCRIPTS)
def test_between_two_idle_sleeps_there_is_a_recorded_cause(
    config: City, script: list[tuple[str, int]]
) -> None:
    """No metronome: whoever sleeps again was woken by something that is written (WAKE-07, F20)."""
    with DemandCity(config) as city:
        city.count("q", 4)
        played(Life(city), script)
        city.clock.advance(100)
        city.settle(20)
        asleep: dict[str, bool] = {}
        for one in city.events("session.woke", "session.stopped", "session.removed"):
            name = one.subject
            if str(one.type) == "session.woke":
                why = set(one.payload.get("reasons", [one.payload.get("reason")]))
                assert why
                if asleep.get(name):
                    assert why - {"config"}, f"{name} was woken by config alone"
                asleep[name] = False
            elif one.payload.get("reason") == "idle":
                assert not asleep.get(name), f"{name} slept twice without a wake between"
                asleep[name] = True
            else:
                asleep.pop(name, None)
