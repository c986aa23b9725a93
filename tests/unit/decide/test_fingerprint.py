"""What re-arms a cold session, and what does not."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest

from gascity.decide.fingerprint import Fingerprint, changed_inputs, fingerprint, still_holds
from gascity.model.city import Pool, SessionClass, Source, WakeMode
from gascity.model.duration import OFF, Duration, seconds
from gascity.model.plan import CapabilityClass, Policy
from gascity.model.reading import Unclear
from gascity.model.roster import Place
from gascity.testing.builders import (
    a_city,
    a_world,
    agent,
    awake,
    cold,
    decided,
    headless,
    running,
)

BASE = Place(name="mayor", template="mayor", agent=agent(depends_on=("db",)))
POLICY = Policy(
    requested=seconds(60),
    effective=seconds(60),
    source=Source.AGENT,
    session_class=SessionClass.INTERACTIVE_RESUME,
)


def of(
    place: Place = BASE, policy: Policy = POLICY, kind: CapabilityClass = CapabilityClass.FULL
) -> Fingerprint:
    return fingerprint(place, policy, kind)


def with_agent(**over: object) -> Place:
    return replace(BASE, agent=replace(BASE.agent, **over))  # type: ignore[arg-type]


INPUTS: dict[str, Callable[[], Fingerprint]] = {
    "effective": lambda: of(policy=replace(POLICY, effective=seconds(61))),
    "effective off": lambda: of(policy=replace(POLICY, effective=OFF)),
    "class": lambda: of(policy=replace(POLICY, session_class=SessionClass.NONINTERACTIVE)),
    "wake_mode": lambda: of(with_agent(wake_mode=WakeMode.FRESH)),
    "runtime": lambda: of(with_agent(runtime="k8s")),
    "capability": lambda: of(kind=CapabilityClass.TIMED_ONLY),
    "depends_on": lambda: of(with_agent(depends_on=("db", "cache"))),
    "template": lambda: of(replace(BASE, template="other")),
    "slot": lambda: of(replace(BASE, slot=2)),
}


@pytest.mark.parametrize("name", INPUTS)
def test_each_input_changes_it(name: str) -> None:
    """A change of any one input re-arms a cold slot, and is named (FP-01, FP-02, FP-08)."""
    now, was = INPUTS[name](), of()
    assert now.value != was.value
    assert not still_holds(now, stored=was.value, stored_inputs=was.inputs)
    assert changed_inputs(now, was.inputs) == (name.split()[0],)


def test_every_recorded_input_has_a_row() -> None:
    """No input takes part without a test of its own (FP-01)."""
    assert {name.split()[0] for name in INPUTS} == set(json.loads(of().inputs))


UNRELATED: dict[str, Callable[[], Fingerprint]] = {
    "source of the window": lambda: of(policy=replace(POLICY, source=Source.AGENT_PATCH)),
    "requested": lambda: of(policy=replace(POLICY, requested=OFF)),
    "other words": lambda: of(policy=replace(POLICY, effective=Duration(60 * 10**9, "1m"))),
    "command": lambda: of(with_agent(start_command="other")),
    "environment": lambda: of(with_agent(env={"A": "1"})),
    "screens": lambda: of(with_agent(screens="claude")),
    "description": lambda: of(with_agent(description="x")),
    "pool size": lambda: of(with_agent(pool=Pool(max=9))),
    "name": lambda: of(replace(BASE, name="x")),
}


@pytest.mark.parametrize("name", UNRELATED)
def test_nothing_else_changes_it(name: str) -> None:
    """Only declared inputs take part (FP-03, F31)."""
    assert UNRELATED[name]() == of()


def test_the_order_of_dependencies_does_not_matter() -> None:
    """Reordered keys re-arm nobody (F31)."""
    one, two = (of(with_agent(depends_on=order)) for order in (("a", "b"), ("b", "a")))
    assert one == two


def test_it_is_the_same_in_another_process() -> None:
    """Equal values keep suppression across a controller restart (FP-06)."""
    code = "from tests.unit.decide.test_fingerprint import of; print(of().value)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == of().value


def test_no_sleep_is_recorded_by_its_word() -> None:
    """What is on disk says `off`, which no window of this or another version is (FP-01)."""
    off = of(policy=replace(POLICY, effective=OFF))
    assert json.loads(off.inputs)["effective"] == "off"


def test_one_of_this_version_is_compared_as_a_whole() -> None:
    """Even a garbled one that begins like ours is not judged by its inputs (R73)."""
    now = of()
    assert still_holds(now, stored=now.value, stored_inputs="")
    assert not still_holds(now, stored="v1:be:ef", stored_inputs=now.inputs)


def test_a_version_before_compares_what_was_recorded() -> None:
    """An upgrade re-arms nobody unless an input both know has changed (R73, F31)."""
    now = of()
    known = json.loads(now.inputs)
    del known["slot"]
    old = json.dumps(known | {"forgotten": 1})
    assert still_holds(now, stored="v0:beef", stored_inputs=old)
    other = json.dumps(known | {"effective": 1})
    assert not still_holds(now, stored="v0:beef", stored_inputs=other)


@pytest.mark.parametrize("inputs", ["", "not json", "[1]", "{}"])
def test_a_version_before_without_readable_inputs_holds_nothing(inputs: str) -> None:
    """Nothing to compare: the latch is not trusted (FP-07, R73)."""
    assert not still_holds(of(), stored="v0:beef", stored_inputs=inputs)


def test_no_fingerprint_holds_nothing() -> None:
    """A sleeper without a stored fingerprint is not latched (FP-05)."""
    assert not still_holds(of(), stored="", stored_inputs=of().inputs)


@pytest.mark.parametrize("inputs", ["not json", "[1]"])
def test_unreadable_inputs_explain_nothing(inputs: str) -> None:
    """The explanation of a re-arm is a diagnostic: it never fails (FP-08, META-22)."""
    assert changed_inputs(of(), inputs) == ()


def test_a_cold_session_wakes_by_config_when_its_policy_changes() -> None:
    """A changed window breaks the latch, and config may wake it again (WAKE-21, WAKE-22, FP-02)."""
    world = a_world(a_city(agent()), cold())
    assert decided(world)[1] is None
    changed = replace(world, city=a_city(agent(sleep_after_idle=seconds(30))))
    decision, action = decided(changed)
    assert action is not None
    assert (decision.reasons, decision.suppressed) == (("config",), False)


def test_an_unrelated_edit_wakes_nobody() -> None:
    """A new agent, another command: the sleeper stays cold (F31, R24)."""
    world = a_world(a_city(agent()), cold())
    edited = replace(world, city=a_city(agent(start_command="new"), headless()))
    assert decided(edited)[1] is None


def test_a_bad_look_is_no_part_of_it() -> None:
    """Capability enters through its class alone, not through probe health (FP-04, CAP-06)."""
    good = a_world(a_city(agent()), awake())
    bad = replace(good, sightings={"gc-mayor": running(attached=Unclear("?"))})
    one, two = decided(good)[0], decided(bad)[0]
    assert one.capability.probe_health != two.capability.probe_health
    assert one.fingerprint == two.fingerprint
