"""Which wanted starts are made now."""

from __future__ import annotations

from dataclasses import replace

from gascity.decide.tick import decide
from gascity.model.city import DaemonSettings
from gascity.model.plan import Start
from gascity.model.world import Walk
from gascity.testing.builders import (
    a_city,
    a_note,
    a_world,
    agent,
    ago,
    awake,
    cold,
    decision_of,
    headless,
)

NAMES = [f"s{number}" for number in range(8)]
CITY = replace(
    a_city(*(agent(name) for name in NAMES)),
    daemon=DaemonSettings(max_wakes_per_tick=3, max_concurrent_starts=4),
)


def started(world: object) -> list[str]:
    return [one.session_id for one in decide(world).actions if isinstance(one, Start)]  # type: ignore[arg-type]


def test_no_more_starts_than_the_budget_and_the_rest_says_so() -> None:
    """Deferral is not failure: it is queued, shown and asks for a follow-up tick (R24, F45)."""
    world = a_world(CITY, *map(cold, NAMES), work=dict.fromkeys(NAMES, "w"))
    plan = decide(world)
    assert started(world) == ["gc-s0", "gc-s1", "gc-s2"]
    assert plan.queued == {f"gc-{name}" for name in NAMES[3:]}
    assert decision_of(plan, "s3").held_back == "queued for a start, number 1"
    assert decision_of(plan, "s3").verdict.endswith("queued for a start, number 1")
    assert not any(event.type == "session.crashed" for event in plan.events)


def test_whoever_waited_longest_goes_first() -> None:
    """Fair: the longest-waiting before the others (R24, F45)."""
    since = {"s7": ago(9), "s5": ago(5)}
    world = a_world(CITY, *map(cold, NAMES), work=dict.fromkeys(NAMES, "w"), waiting_since=since)
    assert started(world) == ["gc-s7", "gc-s5", "gc-s0"]


def test_people_go_before_all_others() -> None:
    """Attach and operator wakes come first, whoever waits (R24)."""
    records = [cold(name) for name in NAMES[:6]]
    asked = [cold("s6", wake_request=a_note()), cold("s7", attach_intent=a_note())]
    world = a_world(
        CITY, *records, *asked, work=dict.fromkeys(NAMES[:6], "w"),
        waiting_since={name: ago(9) for name in NAMES[:6]},
    )  # fmt: skip
    assert started(world) == ["gc-s6", "gc-s7", "gc-s0"]


def test_starts_under_way_count_against_concurrency() -> None:
    """At most so many beside each other (R34)."""
    walks = {name: Walk(kind="start") for name in NAMES[:3]}
    world = a_world(CITY, *map(cold, NAMES), work=dict.fromkeys(NAMES, "w"), walks=walks)
    assert started(world) == ["gc-s3"]
    full = {name: Walk(kind="start") for name in NAMES[:5]}
    world = a_world(CITY, *map(cold, NAMES), work=dict.fromkeys(NAMES, "w"), walks=full)
    assert started(world) == []


def test_dependencies_go_before_dependents_among_equals() -> None:
    """Within one budget the base comes first (R24, DEP-08)."""
    city = replace(
        a_city(agent("a", depends_on=("z",)), agent("m"), headless("z")),
        daemon=DaemonSettings(max_wakes_per_tick=1),
    )
    world = a_world(city, cold("a"), cold("m"), cold("z"), work={"a": "w", "m": "w"})
    assert started(world) == ["gc-z"]


def test_ten_sleepers_with_work_are_all_served_within_four_ticks() -> None:
    """Budget 3: each starts within four ticks (F45)."""
    names = [f"n{number}" for number in range(10)]
    city = replace(
        a_city(*(agent(name) for name in names)), daemon=DaemonSettings(max_wakes_per_tick=3)
    )
    waiting, served = list(names), []
    for turn in range(4):
        world = a_world(
            city, *map(cold, waiting), work=dict.fromkeys(waiting, "w"),
            waiting_since={name: ago(60 - turn) for name in waiting},
        )  # fmt: skip
        now = [one.removeprefix("gc-") for one in started(world)]
        served += now
        waiting = [name for name in waiting if name not in now]
    assert sorted(served) == sorted(names)


def test_the_budget_is_that_of_a_second_too() -> None:
    """A tick right after another starts only what the second still allows (R24, F45)."""
    just = [awake(name, woke_at=ago(0.5)) for name in NAMES[:2]]
    rest = [cold(name) for name in NAMES[2:]]
    work = dict.fromkeys(NAMES, "w")
    assert started(a_world(CITY, *just, *rest, work=work)) == ["gc-s2"]
    earlier = [awake(name, woke_at=ago(1)) for name in NAMES[:2]]
    assert len(started(a_world(CITY, *earlier, *rest, work=work))) == 3


def test_a_person_waits_for_no_second() -> None:
    """An operator wake begins at once, whatever began just now (R24, R25)."""
    just = [awake(name, woke_at=ago(0.5)) for name in NAMES[:3]]
    rest = [cold(name) for name in NAMES[3:7]]
    asked = cold("s7", wake_request=a_note())
    world = a_world(CITY, *just, *rest, asked, work=dict.fromkeys(NAMES[:7], "w"))
    assert started(world) == ["gc-s7"]
