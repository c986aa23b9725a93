"""Evidence of a routed runtime, and the capability it proves."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from gascity.decide import capability
from gascity.decide.capability import CLASS, resolve_capability, unclear_reading
from gascity.model.plan import Capability, CapabilityClass, ProbeHealth
from gascity.model.reading import Known, Reading, Unclear, Unsupported
from gascity.model.session import PolicyNote, Session
from gascity.model.world import Probe, ProbeResult, Sighting, Support
from gascity.testing.builders import (
    BLIND,
    FULL,
    TIMED,
    a_city,
    a_probe,
    a_world,
    agent,
    awake,
    cold,
    decided,
    headless,
    running,
    stopped,
    unseen,
)

F, T, D = CapabilityClass.FULL, CapabilityClass.TIMED_ONLY, CapabilityClass.DISABLED


def resolved(
    support: Reading[Support] | Support = FULL,
    seen: Sighting | None = None,
    *,
    probe: Probe | None = None,
    session: Session | None = None,
    runtime: str = "tmux",
) -> Capability:
    """The capability of one session by what was offered and seen."""
    return resolve_capability(
        session or awake(),
        support=Known(support) if isinstance(support, Support) else support,
        sighting=seen or running(),
        probe=probe,
        runtime=runtime,
    )


def remembering(kind: str, **over: Any) -> Session:
    """A session whose last patrol noted this class."""
    return awake(policy=PolicyNote(capability=kind, **over))


def test_the_class_table_is_total() -> None:
    """Every pair of clock and boundary has a class (CAP-15, CAP-16, CAP-17)."""
    assert dict(CLASS) == {(True, True): F, (True, False): T, (False, True): D, (False, False): D}
    assert set(CLASS) == set(product((True, False), repeat=2))


K8S = replace(TIMED, attachment_signal=False)
SCRIPTED = replace(BLIND, activity_clock=True)
PROVIDERS = [
    # row, what the type offers, the sighting -> class, pending, boundary
    ("CAP-18 tmux", FULL, running(), F, True, True),
    ("CAP-19 k8s", K8S, running(pending=Unsupported(), attached=Unsupported()), T, False, False),
    ("CAP-20 exec with activity", SCRIPTED, running(pending=Unsupported()), T, False, False),
    ("CAP-20 exec without", SCRIPTED, running(idle_s=None, pending=Unsupported()), D, False, False),
    ("CAP-21 subprocess", BLIND, running(idle_s=None, pending=Unsupported()), D, False, False),
    ("CAP-22 acp", BLIND, running(activity=Unsupported()), D, False, False),
]


@pytest.mark.parametrize("row", PROVIDERS, ids=[row[0] for row in PROVIDERS])
def test_each_runtime_earns_its_class_by_evidence(row: tuple[Any, ...]) -> None:
    """The provider table, from what each one answers (CAP-18..CAP-22, TEST-09..TEST-11)."""
    _, support, seen, kind, pending, boundary = row
    found = resolved(support, seen)
    assert (found.kind, found.has_pending_signal, found.has_idle_boundary) == (
        kind, pending, boundary,
    )  # fmt: skip
    assert found.has_activity_clock is (kind is not D)
    assert (found.probe_health, found.adjustment) == (ProbeHealth.HEALTHY, "")


def test_two_sessions_of_one_composite_runtime_may_differ() -> None:
    """Capability is decided per routed session (CAP-08, CAP-23, CAP-24, TEST-12)."""
    city = a_city(agent("a"), agent("b"))
    support = {"a": Known(FULL), "b": Known(BLIND)}
    world = a_world(city, awake("a"), awake("b"), support=support)
    assert decided(world, "a")[0].capability.kind is F
    assert decided(world, "b")[0].capability.kind is D


@pytest.mark.parametrize("have", list(product((True, False), repeat=4)), ids=str)
def test_any_mix_of_missing_answers_is_tolerated(have: tuple[bool, ...]) -> None:
    """Every optional part may be missing (CAP-01, CAP-02, CAP-25)."""
    clock, boundary, pending, attachment = have
    support = Support(
        activity_clock=clock, idle_boundary=boundary,
        pending_signal=pending, attachment_signal=attachment,
    )  # fmt: skip
    found = resolved(support)
    assert found.kind is CLASS[clock, boundary]
    assert (found.has_pending_signal, found.has_attachment_signal) == (pending, attachment)


def test_an_unsupported_question_takes_the_signal_away() -> None:
    """Pending unsupported: no structured pending signal (CAP-09, CAP-10, CAP-26)."""
    found = resolved(FULL, running(pending=Unsupported(), attached=Unsupported()))
    assert (found.kind, found.has_pending_signal, found.has_attachment_signal) == (F, False, False)


def test_the_zero_time_is_no_clock() -> None:
    """A zero activity time means no useful clock (CAP-11, R17)."""
    assert resolved(FULL, running(idle_s=None)).kind is D
    assert resolved(FULL, running(activity=Unsupported())).kind is D


def test_an_unsupported_boundary_is_timed_only_a_busy_one_is_not() -> None:
    """Unsupported takes the boundary; timed out or busy keeps `full` (CAP-12, R16)."""
    assert resolved(probe=a_probe(ProbeResult.UNSUPPORTED)).kind is T
    assert resolved(probe=a_probe(ProbeResult.BUSY)).kind is F
    assert resolved(probe=a_probe(ProbeResult.IDLE)).kind is F


UNCLEAR = [
    ("activity", running(activity=Unclear("timed out"))),
    ("attachment", running(attached=Unclear("timed out"))),
    ("pending", running(pending=Unclear("garbled"))),
    ("runtime", unseen()),
]


@pytest.mark.parametrize(("reading", "seen"), UNCLEAR, ids=[row[0] for row in UNCLEAR])
@pytest.mark.parametrize("kind", ["full", "timed_only"])
def test_one_bad_look_fails_closed_and_keeps_the_class(
    kind: str, reading: str, seen: Sighting
) -> None:
    """Doubt never reads as support and never changes the class (CAP-06, CAP-07, CAP-13, CAP-14)."""
    support = FULL if kind == "full" else TIMED
    found = resolved(support, seen, session=remembering(kind))
    assert str(found.kind) == kind
    assert found.probe_health is ProbeHealth.FAILED_CLOSED
    assert found.adjustment == f"unclear:{reading}"


def test_an_unclear_probe_fails_closed() -> None:
    """A probe without an answer is named for what it was (CAP-14, PROBE-11)."""
    found = resolved(probe=a_probe(ProbeResult.UNCLEAR))
    assert (found.kind, found.adjustment) == (F, "unclear:idle_boundary")


@pytest.mark.parametrize("kind", ["full", "timed_only", "disabled"])
def test_a_lost_route_changes_nothing_it_was_known_for(kind: str) -> None:
    """Without a route the last class and signals stand, failed closed (CAP-13, CAP-14, FP-03)."""
    found = resolved(Unclear("no route"), session=remembering(kind))
    assert str(found.kind) == kind
    assert found.adjustment == "unclear:route"
    assert found.has_attachment_signal is (kind != "disabled")


def test_a_lost_route_does_not_invent_what_was_missing() -> None:
    """A contract that was not met before is not met by losing the route (CAP-05, CAP-29)."""
    noted = remembering("full", adjustment="interactive-contract")
    found = resolved(Unclear("no route"), session=noted)
    assert (found.has_attachment_signal, found.has_pending_signal) == (False, False)


SIGNALS = {F: (True, True, True, True), T: (True, False, True, True), D: (False,) * 4}


def a_capability(kind: CapabilityClass, signals: Any, **over: Any) -> Capability:
    names = ("activity_clock", "idle_boundary", "pending_signal", "attachment_signal")
    has = {f"has_{name}": value for name, value in zip(names, signals, strict=True)}
    return Capability(kind=kind, **has, **over)


@pytest.mark.parametrize("kind", SIGNALS)
def test_a_lost_route_leaves_the_signals_of_the_class(kind: CapabilityClass) -> None:
    """All that is told of a session whose route is lost, and that it failed closed (FP-03)."""
    assert resolved(Unclear("gone"), session=remembering(str(kind))) == a_capability(
        kind,
        SIGNALS[kind],
        adjustment="unclear:route",
        probe_health=ProbeHealth.FAILED_CLOSED,
    )


def test_a_runtime_that_offers_nothing_has_nothing() -> None:
    """No signal, no class, and nothing wrong with the look (CAP-17)."""
    assert resolved(Unsupported()) == a_capability(D, SIGNALS[D])


def test_a_healthy_look_adjusts_nothing() -> None:
    """Everything the runtime offers, as it offers it (CAP-15)."""
    assert resolved() == a_capability(F, SIGNALS[F])


def test_a_route_never_known_is_no_support() -> None:
    """Nothing remembered and nothing known: disabled (CAP-13, VAL-09, R6c)."""
    assert resolved(Unclear("no route")).kind is D
    assert resolved(Unsupported()).kind is D


def test_a_class_earned_on_another_runtime_is_void() -> None:
    """The stored class of another runtime says nothing (CAP-08)."""
    session = remembering("full")
    assert resolved(Unclear("?"), session=session, runtime="k8s").kind is D
    assert resolved(Unclear("?"), session=awake(policy=PolicyNote(capability="odd"))).kind is D


def test_a_stopped_session_keeps_what_was_seen_before() -> None:
    """Asleep, the class stays: a sleeper without a clock is not promoted (CAP-06, FP-03)."""
    assert resolved(FULL, stopped(), session=cold()).kind is F
    assert resolved(FULL, stopped(), session=remembering("disabled")).kind is D
    assert resolved(BLIND, stopped()).kind is D


def test_a_session_nobody_asked_about_is_unclear_not_unsupported() -> None:
    """A missing answer is doubt, which keeps the class (R9, CAP-13)."""
    world = a_world(a_city(agent()), remembering("full"), support=None)
    decision, action = decided(world)
    assert (decision.capability.kind, action) == (F, None)
    assert decision.capability.adjustment == "unclear:route"
    assert "runtime_unknown" in decision.blocker_names


def test_doubt_of_a_stopped_session_is_none() -> None:
    """Once it is known to be stopped, nothing about it is unclear (R28)."""
    assert unclear_reading(stopped(attached=Unclear("?"))) == ""
    assert unclear_reading(running()) == ""


@pytest.mark.parametrize("runtime", ["k8s", "exec", "acp"])
def test_interactive_sleep_fails_closed_where_attachment_is_unknown(runtime: str) -> None:
    """k8s, exec and acp style evidence never sleeps people (CAP-30, CAP-33)."""
    support = {"k8s": K8S, "exec": SCRIPTED, "acp": BLIND}[runtime]
    world = a_world(a_city(agent(runtime=runtime)), awake(runtime=runtime), support=support)
    decision, action = decided(world)
    assert (str(decision.policy.effective), action) == ("off", None)
    assert decision.policy.adjustment in ("interactive-contract", "capability-disabled")


def test_a_timed_only_worker_sleeps_by_the_clock_alone() -> None:
    """Without a boundary, timed inactivity sleeps a timed_only session (PROBE-09, ROLL-08)."""
    city = a_city(headless())
    decision, action = decided(a_world(city, awake("worker"), support=TIMED), "worker")
    assert action is not None
    assert decision.policy.warning == "zero-window-without-boundary"


def test_a_disabled_worker_never_sleeps() -> None:
    """No usable clock, no idle sleep, `0s` included (PROBE-10, F37, ROLL-10)."""
    decision, action = decided(
        a_world(a_city(headless()), awake("worker"), support=BLIND), "worker"
    )
    assert (decision.policy.adjustment, action) == ("capability-disabled", None)


def test_probe_health_has_two_words() -> None:
    """`healthy` or `failed_closed` (CAP-03, META-08)."""
    assert [str(one) for one in ProbeHealth] == ["healthy", "failed_closed"]


def test_evidence_is_judged_in_one_place() -> None:
    """No other module of the decision makes a capability out of readings (CAP-04, CAP-05)."""
    folder = Path(capability.__file__).parent
    makers = {
        path.stem for path in folder.glob("*.py") if re.search(r"\bCapability\(", path.read_text())
    }
    # `orphans` states that a session the config does not name has none; `forecast` says what a kind
    # of runtime is expected to allow before anything was seen.
    assert makers == {"capability", "forecast", "orphans"}
