"""Signals of hooks in a fake city: whole lives in which a hook is heard, lost, late or foreign."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from gascity.act.ports import Refused
from gascity.act.requests_signal import signal
from gascity.decide.signals import TURN_AGAINST_SCREEN, TURN_UNSEEN
from gascity.model.duration import seconds
from gascity.model.world import ScreenVerdict
from gascity.testing.city import FakeCity
from gascity.testing.records import a_city, agent

WINDOW_S = 30
CONFIG = a_city(agent("mayor", sleep_after_idle=seconds(WINDOW_S)), session_sleep={})


@cache
def up() -> FakeCity:
    """A city whose mayor is awake and idle inside its window. Never use it itself: fork it."""
    found = FakeCity(CONFIG)
    found.tick(2)
    return found


@pytest.fixture
def city() -> Iterator[FakeCity]:
    with up().fork() as found:
        found.live(11)
        yield found


def tell(city: FakeCity, kind: str, *, token: str = "", **fields: Any) -> None:
    """A hook of the mayor's run, or of the run with that token, says something."""
    mark = token or city.session("mayor").instance_token
    city.run(signal(city.controller, "mayor", {"kind": kind, "token": mark, **fields}))


def blockers(city: FakeCity) -> list[str]:
    return list(city.session("mayor").diagnostics.blockers)


def test_a_turn_that_hooks_tell_is_a_turn(city: FakeCity) -> None:
    """Open it blocks sleep behind an idle-looking screen, closed it does no more (R15)."""
    tell(city, "turn-open", source="UserPromptSubmit")
    city.live(WINDOW_S + 60)
    assert (blockers(city), city.runs("mayor")) == (["turn_open"], True)
    tell(city, "turn-close")
    city.live(5)
    assert city.session("mayor").is_cold
    assert city.overseer.violations == []


def test_a_lost_end_of_a_turn_keeps_nobody_up_for_ever(city: FakeCity) -> None:
    """The screen shows an idle prompt all the while: minutes later it is believed (R15, R80)."""
    tell(city, "turn-open")
    city.live(TURN_AGAINST_SCREEN.total_seconds() - 15)
    assert city.runs("mayor")
    city.live(WINDOW_S + 15)
    assert city.session("mayor").is_cold


def test_a_lost_end_before_an_unknown_screen_holds_longer(city: FakeCity) -> None:
    """And then the unknown screen itself still keeps it up: unknown is never idle (R15)."""
    city.host.of("mayor").screen = ScreenVerdict.UNKNOWN
    tell(city, "turn-open")
    city.live(TURN_UNSEEN.total_seconds() + 60)
    assert (blockers(city), city.runs("mayor")) == (["idle_boundary"], True)


def test_a_lost_begin_of_a_turn_lets_no_busy_session_sleep(city: FakeCity) -> None:
    """Hooks said that the turn is over, the screen shows that it is not (R15)."""
    city.host.of("mayor").screen = ScreenVerdict.BUSY
    tell(city, "turn-close")
    city.live(3600)
    assert (blockers(city), city.runs("mayor")) == (["idle_boundary"], True)


def test_a_question_of_a_hook_waits_for_its_answer(city: FakeCity) -> None:
    """`pending` with its words, until it is answered (R79)."""
    city.host.of("mayor").screen = ScreenVerdict.UNKNOWN
    tell(city, "pending", what="permission", question="Bash:\x1b[2J make")
    city.live(3600)
    assert "pending" in blockers(city)
    plan = city.controller.snapshot().plan
    assert plan is not None
    [wake] = plan.decisions[city.session("mayor").id].hard_wakes
    assert wake.details == ("permission", "Bash: make")
    city.host.of("mayor").screen = ScreenVerdict.IDLE
    tell(city, "pending-clear")
    city.live(WINDOW_S + 5)
    assert city.session("mayor").is_cold


def test_a_signal_changes_the_plan_at_once(city: FakeCity) -> None:
    """Not at the next patrol: the signal brings one (R15)."""
    patrols = city.controller.snapshot().patrols
    tell(city, "turn-open")
    city.live(0.5)
    assert city.controller.snapshot().patrols > patrols
    assert "turn_open" in blockers(city)


def test_what_changes_nothing_brings_no_patrol(city: FakeCity) -> None:
    """An agent that uses a hundred tools does not make the controller run (R42)."""
    tell(city, "turn-open")
    city.live(2)
    patrols, written = city.controller.snapshot().patrols, city.session("mayor").version
    for _ in range(100):
        tell(city, "turn-open")
        tell(city, "beat")
    city.live(1)
    assert city.controller.snapshot().patrols == patrols + 1  # the one that its loop begins with
    assert city.session("mayor").version == written


def test_a_signal_of_another_run_is_refused(city: FakeCity) -> None:
    """Fenced by the instance token, before and after a new start (R63)."""
    old = city.session("mayor").instance_token
    with pytest.raises(Refused, match="another run"):
        tell(city, "turn-open", token="not-mine")
    tell(city, "turn-open")
    city.host.of("mayor").end()
    city.live(20)
    assert city.session("mayor").instance_token != old
    assert "turn_open" not in blockers(city)
    with pytest.raises(Refused, match="another run"):
        tell(city, "turn-open", token=old)


def test_an_unknown_word_is_refused(city: FakeCity) -> None:
    """The words are listed (R5)."""
    with pytest.raises(Refused, match="no signal 'jump'"):
        tell(city, "jump")


def test_what_was_heard_is_gone_with_the_controller(city: FakeCity) -> None:
    """The screen stays as evidence; that the run has hooks is remembered (R37, CAP-20)."""
    tell(city, "turn-open")
    city.live(2)
    token = city.session("mayor").instance_token
    city.restart()
    city.live(WINDOW_S + 20)
    assert city.session("mayor").heard_from == token
    assert city.session("mayor").is_cold


def test_the_end_of_an_agent_voids_what_it_said(city: FakeCity) -> None:
    """`gone`: whatever was open is so no more (R15)."""
    tell(city, "turn-open")
    tell(city, "work", items=["npm start"])
    tell(city, "gone")
    city.live(WINDOW_S + 5)
    assert city.session("mayor").is_cold
