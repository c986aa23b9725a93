"""A morning in a small city, recorded tick by tick: `python -m tests.recorded FILE` writes it.

Files in tests/data/ticks/ were made by it, each by the version in its lines. They are kept as they
are: what an older version recorded is what a newer one is measured by.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from gascity.daemon.recorder import FILE, FOLDER, TickRecorder
from gascity.model.city import City, DaemonSettings
from gascity.model.duration import seconds
from gascity.model.plan import Plan
from gascity.model.world import World
from gascity.testing.city import FakeCity
from gascity.testing.records import a_city, agent, pooled

RECORDS = DaemonSettings(record_ticks=1000)
WARM_S = 30


def config(**mayor: object) -> City:
    """A mayor who sleeps, a clerk who depends on a store, and a pool."""
    return replace(
        a_city(
            agent("mayor", sleep_after_idle=seconds(WARM_S), env={"API_KEY": "s3cret"}, **mayor),
            agent("store", sleep_after_idle=seconds(0)),
            agent("clerk", sleep_after_idle=seconds(WARM_S), depends_on=("store",)),
            pooled("worker", max=2, sleep_after_idle=seconds(0)),
            session_sleep={},
        ),
        daemon=RECORDS,
    )


def morning(city: FakeCity) -> None:
    """Waking up, drains, an aborted one, work, a question, a crash, drift, a restart."""
    city.tick(2)
    city.clock.advance(WARM_S + 1)
    city.tick(2)  # everybody is put to sleep
    assert city.session("mayor").is_cold
    city.wake("mayor")
    city.tick()
    city.ask("mayor", "May I read s3cret?")
    city.clock.advance(WARM_S + 301)
    city.tick()  # the question keeps it up
    city.answer("mayor")
    task = city.give("clerk")
    city.tick(3)  # the clerk brings up its store
    city.take("clerk", task)
    city.exit("clerk", 1)
    city.tick(2)  # a crash, with work in hand
    city.finish(task)
    city.attach("mayor")
    city.clock.advance(WARM_S + 1)
    city.tick()
    city.attach("mayor", 0)
    city.configure(replace(config(work_dir="elsewhere")))
    city.tick(3)  # drift: the mayor is restarted when nobody looks
    city.suspend("store")
    city.tick(2)
    city.clock.advance(WARM_S + 1)
    city.tick(2)


def record_morning(state: Path) -> Path:
    """Record the morning in the folder of a city; the file."""
    recorder = TickRecorder(state, queued=1000)

    def record(world: World, outcome: Plan | Exception) -> None:
        recorder.record(replace(world, city=replace(world.city, path="/city")), outcome)

    with FakeCity(config()) as city:
        city.ports.record = record
        morning(city)
        assert city.overseer.violations == []
    recorder.close()
    assert recorder.lost == 0
    return state / FOLDER / FILE


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made_in:
        Path(sys.argv[1]).write_bytes(record_morning(Path(made_in)).read_bytes())
