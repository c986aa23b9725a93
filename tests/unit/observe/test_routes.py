"""Where each session is asked about, and what becomes of one whose route leads nowhere."""

from __future__ import annotations

from gascity.decide.capability import NO_ROUTE
from gascity.model.plan import Capability, CapabilityClass
from gascity.model.reading import Known, Unclear
from gascity.model.world import Truth, World
from gascity.testing.builders import a_city, headless
from gascity.testing.city import FakeCity
from gascity.testing.hosted import DISABLED, FULL, FakeHost
from gascity.testing.runtime import connect

HYBRID = a_city(
    headless("mayor", runtime="hybrid", remote_match="pod"),
    headless("pod-1", runtime="hybrid", remote_match="pod"),
)


def world_of(city: FakeCity) -> World:
    """What the last patrol saw."""
    world = city.controller.snapshot().world
    assert world is not None
    return world


def capability_of(city: FakeCity, name: str) -> Capability:
    """What it made of one session."""
    plan = city.controller.snapshot().plan
    assert plan is not None
    found = plan.decisions[city.session(name).id].capability
    assert found is not None
    return found


def test_a_route_that_leads_nowhere_is_unclear() -> None:
    """Of two sessions of one hybrid city, one has a route and one has none (CAP-13, CAP-23)."""
    with FakeCity(HYBRID) as city:
        city.tick(3)
        near, far = city.session("mayor"), city.session("pod-1")
        world = world_of(city)
        assert (near.runtime, far.runtime) == ("tmux", "k8s")
        assert isinstance(world.support[near.id], Known)
        assert isinstance(world.support[far.id], Unclear)
        assert world.sighting(far.id).truth is Truth.UNKNOWN
        assert "k8s" in world.sighting(far.id).why
        assert capability_of(city, "mayor").kind is CapabilityClass.FULL
        lost = capability_of(city, "pod-1")
        assert (lost.kind, lost.adjustment) == (CapabilityClass.DISABLED, NO_ROUTE)
        assert city.host.of("pod-1").starts == 0
        problems = city.controller.snapshot().problems
        assert [one for one in problems if one.startswith("pod-1: ")]


def test_each_session_has_the_class_of_its_own_route() -> None:
    """Class, pending and attachment come from the routed runtime (CAP-08, CAP-23, CAP-24)."""
    with FakeCity(HYBRID) as city:
        far = connect(city.host, city.script, city=city.config.path, kind="k8s", support=DISABLED)
        city.ports.runtimes = {**city.ports.runtimes, "k8s": far}
        city.tick(3)
        world = world_of(city)
        assert world.support[city.session("mayor").id] == Known(FULL)
        assert world.support[city.session("pod-1").id] == Known(DISABLED)
        full, disabled = capability_of(city, "mayor"), capability_of(city, "pod-1")
        assert (full.kind, disabled.kind) == (CapabilityClass.FULL, CapabilityClass.DISABLED)
        assert full.has_pending_signal
        assert not disabled.has_pending_signal
        city.clock.advance(600)
        city.tick(3)
        assert city.session("mayor").is_cold
        assert not city.session("pod-1").is_cold


def test_a_hung_runtime_holds_up_the_patrols_of_the_others_once() -> None:
    """After one whole wait it is given half a second, and its sessions stay unknown (R34)."""
    with FakeCity(HYBRID) as city:
        far_host = FakeHost(city.clock)
        far = connect(far_host, city.script, city=city.config.path, kind="k8s")
        city.ports.runtimes = {**city.ports.runtimes, "k8s": far}
        city.tick(3)
        far_host.hangs = True
        took = []
        for _ in range(4):
            began = city.clock.monotonic()
            city.tick()
            took.append(city.clock.monotonic() - began)
        assert took[0] >= 1.0
        assert max(took[1:]) <= 0.6
        assert world_of(city).sighting(city.session("pod-1").id).truth is Truth.UNKNOWN
        far_host.unhang()
        city.tick()
        assert world_of(city).sighting(city.session("pod-1").id).truth is not Truth.UNKNOWN
