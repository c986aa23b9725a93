"""Faults that simulated lives found, each as the shortest story that still shows it."""

from __future__ import annotations

import pytest

from gascity.testing.city import FakeCity
from gascity.testing.records import a_city, agent
from gascity.testing.script import BEFORE


def test_a_patrol_that_began_during_a_drain_does_not_finish_it_again() -> None:
    """Its picture of the record is older than the end of the walk (R28, R34, EVT-04)."""
    with FakeCity(a_city(agent("mayor"))) as city:
        city.tick()
        city.clock.advance(61)
        waiting: list[bool] = []
        city.script.before("save asleep", lambda: waiting.append(True), of="mayor")
        gate = city.script.hold(BEFORE, "save asleep", of="mayor")
        # The walk stands still until the next patrol has read the records and asks the runtime.
        city.script.always(BEFORE, "list", lambda: gate.open() if waiting else None)
        city.host.took["list"] = 1.0
        city.live(100)
        assert waiting
        assert [event.subject for event in city.events("session.stopped")] == ["mayor"]
        assert city.overseer.violations == []


@pytest.mark.parametrize("lie", ["stop_works", "has_hidden_token"])
def test_a_stop_without_effect_is_tried_at_patrols_and_not_round_and_round(lie: str) -> None:
    """A controller must not spin on a session that it cannot stop (F53, F24, L7)."""
    with FakeCity(a_city(agent("mayor"))) as city:
        city.tick()
        city.clock.advance(61)
        setattr(city.host.of("mayor"), lie, lie == "has_hidden_token")
        city.live(300)
        assert 3 <= len(city.script.calls("stop", of="mayor")) <= 12
        assert city.runs("mayor")
        assert city.session("mayor").sleep_intent == "idle-stop-pending"
