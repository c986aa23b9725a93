"""Which keep-warm window a session asks for, and what is left of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gascity.decide.policy import (
    effective_policy,
    masked_by,
    meets_interactive_contract,
    requested_policy,
)
from gascity.model.city import (
    Agent,
    NamedMode,
    NamedSession,
    Pool,
    Resume,
    Rig,
    SessionClass,
    Source,
    WakeMode,
)
from gascity.model.duration import OFF, KeepWarm, seconds
from gascity.model.plan import Capability, CapabilityClass, Policy
from gascity.model.roster import Place
from gascity.testing.builders import (
    a_city,
    a_world,
    agent,
    awake,
    decided,
    fresh,
    headless,
    length,
    running,
    span,
)

RESUME, FRESH, HEADLESS = SessionClass


def a_capability(kind: str = "full", **over: Any) -> Capability:
    """Everything a runtime of that class usually offers."""
    full = kind == "full"
    fields: dict[str, Any] = {
        "has_activity_clock": kind != "disabled",
        "has_idle_boundary": full,
        "has_pending_signal": full,
        "has_attachment_signal": full,
    }
    return Capability(kind=CapabilityClass(kind), **(fields | over))


def asked(owner: Agent, *, rig: str | None = None, workspace: str | None = None) -> Policy:
    """The requested policy of an agent under one rig and one workspace value."""
    kind = owner.session_class
    rigs = {"r": Rig(name="r", sleep={kind: span(rig)} if rig else {})}
    city = a_city(owner, rigs=rigs, session_sleep={kind: span(workspace)} if workspace else {})
    return requested_policy(owner, city)


def left_of(
    owner: Agent,
    capability: Capability,
    *,
    source: Source = Source.WORKSPACE_DEFAULT,
    value: KeepWarm = seconds(60),
    named: NamedMode | None = None,
) -> Policy:
    """What is left of a request on a runtime of this capability."""
    policy = Policy(
        requested=value, effective=value, source=source, session_class=owner.session_class
    )
    place = Place(name=owner.name, template=owner.identity, agent=owner, named=named)
    return effective_policy(policy, place, capability)


ROWS = [
    # agent value, its source, rig, workspace -> window, source
    ("POL-09", "30s", Source.AGENT, "5m", "60s", "30s", "agent"),
    ("POL-10", "0s", Source.RIG_OVERRIDE, "5m", "60s", "0s", "rig_override"),
    ("POL-11", "off", Source.AGENT_PATCH, "5m", "60s", "off", "agent_patch"),
    ("POL-12", None, Source.AGENT, "5m", "60s", "5m", "rig_default"),
    ("POL-13", None, Source.AGENT, None, "60s", "60s", "workspace_default"),
    ("POL-14", None, Source.AGENT, None, None, "off", "legacy_off"),
    ("POL-18 rig", None, Source.AGENT, "off", "60s", "off", "rig_default"),
    ("POL-18 workspace", None, Source.AGENT, None, "off", "off", "workspace_default"),
]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_the_first_layer_that_speaks_wins(row: tuple[Any, ...]) -> None:
    """The resolution table of the design, with value and source (POL-01..08)."""
    _, value, source, rig, workspace, window, named = row
    owner = agent("r/a", sleep_after_idle=span(value) if value else None, sleep_source=source)
    policy = asked(owner, rig=rig, workspace=workspace)
    assert (str(policy.requested), str(policy.source)) == (window, named)
    assert policy.effective == policy.requested
    assert policy.session_class is RESUME


def test_the_example_city_of_the_design_resolves_as_written() -> None:
    """Workspace, a partial rig table, an agent value and an override together (CFG-17)."""
    city = a_city(
        agent("mayor", sleep_after_idle=OFF),
        headless("payments/worker", sleep_after_idle=span("0s"), sleep_source=Source.RIG_OVERRIDE),
        agent("payments/clerk"),
        fresh("payments/scout"),
        rigs={"payments": Rig(name="payments", sleep={RESUME: span("5m")})},
    )
    found = {
        name: (str(p.requested), str(p.source))
        for name, p in ((n, requested_policy(a, city)) for n, a in city.agents.items())
    }
    assert found == {
        "mayor": ("off", "agent"),
        "payments/worker": ("0s", "rig_override"),
        "payments/clerk": ("5m", "rig_default"),
        "payments/scout": ("off", "workspace_default"),
    }


@pytest.mark.parametrize("other", [FRESH, HEADLESS])
def test_a_default_speaks_for_its_own_class_only(other: SessionClass) -> None:
    """Keys of other classes enable nothing (POL-15, POL-16, POL-17, ROLL-02..04, CFG-18)."""
    rigs = {"r": Rig(name="r", sleep={other: seconds(1)})}
    owner = agent("r/a")
    below = requested_policy(owner, a_city(owner, rigs=rigs, session_sleep={RESUME: seconds(9)}))
    assert (below.requested, below.source) == (seconds(9), Source.WORKSPACE_DEFAULT)
    alone = requested_policy(owner, a_city(owner, rigs=rigs, session_sleep={other: seconds(1)}))
    assert (alone.requested, alone.source) == (OFF, Source.LEGACY_OFF)
    empty = requested_policy(owner, a_city(owner, rigs={"r": Rig(name="r")}, session_sleep={}))
    assert empty.source is Source.LEGACY_OFF


def test_example_one_sleeps_mayor_after_a_minute_and_worker_at_once() -> None:
    """mayor 60s, worker 0s, polecat off until it opts in (POL-25..POL-27, CFG-19)."""
    city = a_city(agent(), headless(), fresh())
    windows = {
        name: str(requested_policy(one, city).requested) for name, one in city.agents.items()
    }
    assert windows == {"mayor": "60s", "worker": "0s", "polecat": "off"}
    seen = {"mayor": running(idle_s=59)}
    early, none = decided(a_world(city, awake(), seen=seen))
    assert (early.blocker_names, none) == (("keep_warm",), None)
    _, drain = decided(a_world(city, awake(), seen={"mayor": running(idle_s=60)}))
    assert drain is not None
    _, at_once = decided(
        a_world(city, awake("worker"), seen={"worker": running(idle_s=0)}), "worker"
    )
    assert at_once is not None
    polecat, never = decided(a_world(city, awake("polecat")), "polecat")
    assert (polecat.policy.adjustment, never) == ("fresh-agent-default", None)


def test_example_two_without_any_policy_nothing_sleeps() -> None:
    """Every agent resolves legacy_off and stays warm (POL-28, ROLL-01)."""
    city = a_city(agent(), headless(), fresh(), session_sleep={})
    for name in ("mayor", "worker", "polecat"):
        decision, action = decided(a_world(city, awake(name)), name)
        assert (decision.policy.source, decision.policy.effective) == (Source.LEGACY_OFF, OFF)
        assert (action, decision.reasons) == (None, ("config",))


def test_example_three_the_rig_speaks_before_the_workspace() -> None:
    """The rig's 5m replaces the workspace's window; the agent's own still wins (POL-29)."""
    rigs = {"r": Rig(name="r", sleep={RESUME: span("5m")})}
    city = a_city(agent("r/a"), agent("r/b", sleep_after_idle=seconds(9)), rigs=rigs)
    assert str(requested_policy(city.agents["r/a"], city).requested) == "5m"
    assert str(requested_policy(city.agents["r/b"], city).requested) == "9s"


def test_full_lets_everything_through() -> None:
    """A full runtime leaves any request as it is (POL-19)."""
    for owner in (agent(), fresh(), headless()):
        for value in (seconds(0), seconds(60), OFF):
            policy = left_of(owner, a_capability(), value=value, source=Source.AGENT)
            assert (policy.effective, policy.adjustment, policy.warning) == (value, "", "")


def test_timed_only_lets_headless_sessions_sleep_by_the_clock() -> None:
    """Positive windows pass; `0s` passes with a warning (POL-20, POL-21, R8, VAL-11)."""
    timed = a_capability("timed_only")
    assert left_of(headless(), timed, value=seconds(30)).warning == ""
    zero = left_of(headless(), timed, value=seconds(0))
    assert (zero.effective, zero.warning) == (seconds(0), "zero-window-without-boundary")


def test_timed_only_inherited_is_off_for_people() -> None:
    """Interactive: inherited is off, explicit is honoured if it meets the contract (POL-22, R7)."""
    timed = a_capability("timed_only", has_attachment_signal=True, has_pending_signal=True)
    inherited = left_of(agent(), timed)
    assert (inherited.effective, inherited.adjustment) == (OFF, "timed-only-inherited")
    explicit = left_of(agent(), timed, source=Source.AGENT)
    assert (explicit.effective, explicit.adjustment) == (seconds(60), "")


@pytest.mark.parametrize("source", Source)
def test_the_interactive_contract_binds_every_source(source: Source) -> None:
    """Without reliable attachment even an agent's own request is off (CAP-29, R7)."""
    blind = a_capability("full", has_attachment_signal=False)
    policy = left_of(agent(), blind, source=source)
    assert (policy.effective, policy.adjustment) == (OFF, "interactive-contract")
    assert (policy.requested, policy.source) == (seconds(60), source)


@pytest.mark.parametrize("attachment", [True, False])
@pytest.mark.parametrize("boundary", [True, False])
@pytest.mark.parametrize("pending", [True, False])
def test_the_contract_is_attachment_and_a_safe_moment(
    attachment: bool, boundary: bool, pending: bool
) -> None:
    """Attachment always, and a boundary or a structured question (CAP-27, CAP-28)."""
    capability = a_capability(
        has_attachment_signal=attachment, has_idle_boundary=boundary, has_pending_signal=pending
    )
    assert meets_interactive_contract(capability) is (attachment and (boundary or pending))


def test_disabled_turns_every_window_off_and_says_so() -> None:
    """No usable clock: effective off, request and source stay visible (POL-23, POL-24, R17)."""
    for owner in (agent(), fresh(), headless()):
        for value in (seconds(0), seconds(60)):
            policy = left_of(owner, a_capability("disabled"), value=value, source=Source.AGENT)
            assert (policy.effective, policy.adjustment) == (OFF, "capability-disabled")
            assert (policy.requested, policy.source) == (value, Source.AGENT)


@pytest.mark.parametrize("source", [Source.RIG_DEFAULT, Source.WORKSPACE_DEFAULT])
def test_a_default_of_off_is_named_for_fresh_agents(source: Source) -> None:
    """A fresh agent kept off by a default says so (META-07, STAT-07, CLS-07)."""
    assert left_of(fresh(), a_capability(), source=source, value=OFF).adjustment == (
        "fresh-agent-default"
    )
    assert left_of(agent(), a_capability(), source=source, value=OFF).adjustment == ""
    assert left_of(fresh(), a_capability(), source=Source.AGENT, value=OFF).adjustment == ""


def test_an_always_session_sleeps_only_by_a_value_of_its_own() -> None:
    """Inherited is off with `named-always`, its agent's own window is honoured (R4)."""
    inherited = left_of(agent(), a_capability(), named=NamedMode.ALWAYS)
    assert (inherited.effective, inherited.adjustment) == (OFF, "named-always")
    own = left_of(agent(), a_capability(), named=NamedMode.ALWAYS, source=Source.AGENT)
    assert own.effective == seconds(60)
    on_demand = left_of(agent(), a_capability(), named=NamedMode.ON_DEMAND)
    assert on_demand.effective == seconds(60)


def test_a_preset_that_cannot_resume_is_not_slept_by_inheritance() -> None:
    """A stop would lose its conversation: inherited off, explicit honoured (R62)."""
    lost = agent(preset="other", preset_known=True)
    assert left_of(lost, a_capability()).adjustment == "no-resume"
    assert left_of(lost, a_capability(), source=Source.AGENT).effective == seconds(60)
    able = replace(lost, resume=Resume(flag="--resume"))
    assert left_of(able, a_capability()).effective == seconds(60)
    unknown = replace(lost, preset_known=False)
    assert left_of(unknown, a_capability()).effective == seconds(60)
    forgetful = replace(lost, wake_mode=WakeMode.FRESH)
    assert left_of(forgetful, a_capability(), source=Source.RIG_DEFAULT).effective == seconds(60)


MASKS = [("30s", "60s", True), ("60s", "60s", True), ("61s", "60s", False), (None, "60s", False)]


@pytest.mark.parametrize(("timeout", "window", "masks"), MASKS)
def test_idle_timeout_masks_when_it_acts_first(
    timeout: str | None, window: str, masks: bool
) -> None:
    """Masked if and only if idle_timeout <= effective window (COEX-05, R40)."""
    owner = agent(idle_timeout=length(timeout) if timeout else None)
    policy = left_of(owner, a_capability(), value=length(window))
    assert masked_by(owner, policy) == (f"idle_timeout:{owner.idle_timeout}" if masks else "")
    off = left_of(owner, a_capability(), value=OFF)
    assert masked_by(owner, off) == ""


CLASSES = [
    ("CLS-01", True, WakeMode.RESUME, RESUME),
    ("CLS-02", True, WakeMode.FRESH, FRESH),
    ("CLS-03 resume", False, WakeMode.RESUME, HEADLESS),
    ("CLS-03 fresh", False, WakeMode.FRESH, HEADLESS),
]


@pytest.mark.parametrize("row", CLASSES, ids=[row[0] for row in CLASSES])
@pytest.mark.parametrize("pool", [False, True], ids=["fixed", "CLS-06 pooled"])
def test_the_class_comes_from_attach_and_wake_mode(row: tuple[Any, ...], pool: bool) -> None:
    """attach and wake_mode alone decide the class, pooled or not (CLS-01..CLS-06)."""
    _, attach, mode, kind = row
    owner = agent(attach=attach, wake_mode=mode, pool=Pool(max=3) if pool else None)
    assert owner.session_class is kind


def test_an_agent_that_says_nothing_is_interactive() -> None:
    """`attach` unset counts as not false (CLS-04)."""
    assert Agent(identity="a", name="a").session_class is RESUME


def test_what_it_does_now_never_changes_its_class() -> None:
    """Neither attachment nor being stopped changes the class (CLS-05)."""
    city = a_city(headless())
    for seen in (running(), running(idle_s=1)):
        decision, _ = decided(a_world(city, awake("worker"), seen=seen), "worker")
        assert decision.policy.session_class is HEADLESS


def test_a_named_session_resolves_by_its_own_agent() -> None:
    """A named session takes its agent's window and class (R4, POL-01)."""
    named = NamedSession(identity="boss", template="mayor", mode=NamedMode.ON_DEMAND)
    city = a_city(agent(), named_sessions=(named,))
    decision, _ = decided(a_world(city, awake("boss", template="mayor")), "boss")
    assert str(decision.policy.effective) == "60s"
