"""The fake city: the product's controller, moved by hand."""

from __future__ import annotations

from gascity.daemon import Controller
from gascity.model.duration import seconds
from gascity.model.session import SleepIntent, State
from gascity.testing.city import FakeCity
from gascity.testing.records import a_city, agent

CONFIG = a_city(agent("mayor", sleep_after_idle=seconds(30)), session_sleep={})


def awake_city() -> FakeCity:
    """A city whose mayor has just come up."""
    city = FakeCity(CONFIG)
    city.tick(2)
    return city


def test_it_runs_the_product_s_controller() -> None:
    """HARN-04: what is driven here is what ships."""
    with FakeCity(CONFIG) as city:
        assert type(city.controller) is Controller


def test_a_tick_is_a_whole_patrol_with_its_walks() -> None:
    """HARN-02: one tick after the window the idle mayor is cold; no real time passes."""
    with awake_city() as city:
        city.clock.advance(29)
        city.tick()
        assert city.session("mayor").state is State.AWAKE
        city.clock.advance(2)
        city.tick()
        assert city.session("mayor").is_cold
        assert not city.runs("mayor")
        assert city.overseer.violations == []


def test_left_alone_it_lives_by_its_own_timer() -> None:
    """HARN-02, R80: the loop puts the mayor to sleep when its window ends, not a patrol late."""
    with awake_city() as city:
        city.live(33)
        assert city.session("mayor").is_cold
        city.live(3600)
        assert city.host.of("mayor").starts == 1


def test_a_settled_city_writes_nothing() -> None:
    """R42, EVT-11: hours of patrols over a cold city leave no trace."""
    with awake_city() as city:
        city.live(60)
        commits, events = city.memory.commits, len(city.events())
        city.live(3600)
        begun = [event for event in city.events()[events:] if event.type == "controller.started"]
        assert city.memory.commits - commits == len(begun)


def test_a_deed_at_a_cut_happens_in_the_middle_of_a_drain() -> None:
    """HARN-03: work that comes right after the stop ends with the mayor running."""
    with awake_city() as city:
        city.clock.advance(31)
        city.script.after("stop", lambda: (city.give("mayor"), None)[1])
        city.tick()
        assert city.runs("mayor")
        assert city.session("mayor").sleep_intent is SleepIntent.NONE


def test_a_restart_finds_what_the_last_controller_left() -> None:
    """HARN-04: a controller that dies at a cut changes nothing more; the next one goes on."""
    with awake_city() as city:
        city.clock.advance(31)
        city.script.crash("after", "save idle-stop-pending")
        city.tick()
        assert city.is_dead
        assert city.session("mayor").sleep_intent is SleepIntent.PENDING
        city.restart()
        city.tick()
        assert city.session("mayor").is_cold


def test_people_may_write_while_no_controller_runs() -> None:
    """R71: a request written after a death is there for the next controller."""
    with awake_city() as city:
        city.clock.advance(31)
        city.script.crash("after", "save asleep")
        city.tick()
        city.wake("mayor")
        city.restart()
        city.tick(2)
        assert city.session("mayor").state is State.AWAKE


def test_a_fork_goes_its_own_way() -> None:
    """HARN-04: what happens in a copy of a city does not reach the city."""
    with awake_city() as city, city.fork() as other:
        other.suspend("mayor")
        other.clock.advance(60)
        other.tick(2)
        assert not other.runs("mayor")
        assert city.runs("mayor")
        assert city.session("mayor").suspended_at is None
        assert city.clock.now() < other.clock.now()
