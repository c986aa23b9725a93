"""A morning in a small city, recorded tick by tick: `python -m tests.recorded FILE` writes it.

`python -m tests.recorded differences FILE...` writes, beside each recording, what the rules decide
otherwise now: do that when a change is meant, read it, and commit it with the change.

Files in tests/data/ticks/ were made by it, each by the version in its lines. They are kept as they
are: what an older version recorded is what a newer one is measured by.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from gascity.daemon.recorder import FILE, FOLDER, TickRecorder
from gascity.decide.tick import decide
from gascity.model.city import City, DaemonSettings
from gascity.model.duration import seconds
from gascity.model.plan import Plan
from gascity.model.world import World
from gascity.report.replay import replay
from gascity.report.ticks import read
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


def differences(file: Path) -> list[dict[str, Any]]:
    """What is decided otherwise now than in a recording, as it is kept beside it."""
    with file.open("rb") as lines:
        found = replay(read(lines), decide)
    assert found.ticks
    assert not found.skipped, found.skipped
    return [
        {"line": one.line, "session": one.name, "fact": one.fact, "then": one.then, "now": one.now}
        for one in found.differences
    ]


def kept_differences(file: Path) -> list[dict[str, Any]]:
    """What is listed beside a recording; nothing where there is no list."""
    kept = file.with_suffix(".differences.json")
    listed: list[dict[str, Any]] = json.loads(kept.read_text()) if kept.exists() else []
    return listed


def main(words: list[str]) -> None:
    """Write a recording, or the lists beside some."""
    if words[0] != "differences":
        with tempfile.TemporaryDirectory() as made_in:
            Path(words[0]).write_bytes(record_morning(Path(made_in)).read_bytes())
        return
    for file in map(Path, words[1:]):
        lines = ",\n".join(json.dumps(one) for one in differences(file))
        kept = file.with_suffix(".differences.json")
        kept.write_text(f"[\n{lines}\n]\n") if lines else kept.unlink(missing_ok=True)


if __name__ == "__main__":
    main(sys.argv[1:])
