"""What waits for a probe, and what does not."""

from __future__ import annotations

from gascity.model.session import SleepIntent, State
from gascity.testing.city import FakeCity
from gascity.testing.hosted import FULL
from gascity.testing.records import a_city, agent, headless
from gascity.testing.script import AFTER


def test_a_drain_waits_for_its_own_probe_and_nobody_else_does() -> None:
    """While it is asked, nothing of it is written or stopped, and others start (PROBE-04, R33)."""
    seen: list[tuple[SleepIntent, State, bool]] = []
    with FakeCity(a_city(agent("mayor"), headless("worker")), support=FULL) as city:
        city.tick(3)
        city.clock.advance(120)

        def meanwhile() -> None:
            mayor = city.session("mayor")
            seen.append((mayor.sleep_intent, mayor.state, city.host.of("mayor").running))

        city.script.after("wait_for_idle", meanwhile, of="mayor")
        city.give("worker")
        city.tick(3)
        assert seen == [(SleepIntent.NONE, State.AWAKE, True)]
        done = [(moment.call, moment.of) for moment in city.script.log if moment.when is AFTER]
        assert ("start", "worker") in done
        assert city.session("mayor").is_cold
