"""The JSON form of a picture: nothing lost, other versions understood, nonsense refused."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from gascity.model.city import NamedSession, Origin, Pool, Rig, SessionClass, SleepLayer, Source
from gascity.model.duration import OFF, Duration
from gascity.model.plan import Plan
from gascity.model.reading import Known, Unclear, Unsupported
from gascity.model.session import Diagnostics, PolicyNote, SleepRequest, StopNote, StopReason
from gascity.model.world import (
    Demand,
    DrainPhase,
    Exit,
    Pending,
    ProbeResult,
    ScreenVerdict,
    Sighting,
    Walk,
    World,
)
from gascity.report.codec import Found, Unreadable, decode, encode
from gascity.testing.builders import (
    NOON,
    a_city,
    a_note,
    a_pin,
    a_probe,
    a_session,
    a_world,
    agent,
    pooled,
    running,
    stopped,
)


def full_world() -> World:
    """A picture in which every kind of value that a world may hold is found."""
    layer = SleepLayer(Source.AGENT, None, Origin("city.toml", "[[agent]]", 7))
    mayor = agent(
        "mayor",
        sleep_after_idle=Duration(61 * 10**9, "1m1s"),
        sleep_layers=(layer, SleepLayer(Source.AGENT, OFF, layer.origin)),
        env={"KEY": "välue\ud800"},
        args=("-x", "a b"),
    )
    city = a_city(
        mayor,
        pooled("worker", max=None),
        agent("poet", pool=Pool(check="true")),
        named_sessions=(NamedSession(identity="n", template="mayor"),),
        rigs={"r": Rig(name="r", sleep={SessionClass.NONINTERACTIVE: OFF})},
        origins={("mayor", "env"): layer.origin, ("", "x"): Origin("f", "t")},
        warnings=("mind",),
    )
    session = a_session(
        "mayor",
        slot=3,
        attach_intent=a_note(),
        wake_request=a_note(),
        pins=(a_pin(),),
        sleep_request=SleepRequest(by="ann", at=NOON, force=True),
        stop_note=StopNote(reason=StopReason.EXCESS, generation=2, at=NOON),
        exits=(NOON, NOON + timedelta(microseconds=1)),
        policy=PolicyNote(requested="60s"),
        diagnostics=Diagnostics(suppressed=True, blockers=("work",), blocked_at=NOON),
    )
    asked = Pending(kind="choice", question="a or b?", since=NOON)
    return a_world(
        city,
        session,
        a_session("worker-1", template="worker", slot=1),
        seen={
            "mayor": running(attached=Known(2), pending=Known(asked), screen=ScreenVerdict.PENDING),
            "worker-1": stopped(exit=Exit(signal=9)),
        },
        support={"mayor": Unsupported(), "worker-1": Unclear("no route")},
        probes={"mayor": a_probe(ProbeResult.BUSY)},
        walks={"mayor": Walk(kind="stop", reason=StopReason.KILL, phase=DrainPhase.PENDING)},
        missing=frozenset({"gone", "also"}),
        waiting_since={"mayor": NOON},
        resumed_at=NOON.astimezone(timezone(timedelta(hours=-3, minutes=-30))),
        demand=Demand(
            work={"gc-mayor": Known(("w1", "w2")), "x": Unclear("?")},
            pool_checks={"worker": Known(0)},
            pending_waits=frozenset({"gc-mayor"}),
            notices={"gc-mayor": ("m1",)},
            next_moment=NOON,
            revision=2**60,
        ),
        writable=False,
    )


def through_json(world: World) -> World:
    """Written as text and read again."""
    found = Found()
    read: World = decode(World, json.loads(json.dumps(encode(world))), found)
    assert (found.unknown, found.absent) == ({}, set())
    return read


def test_every_kind_of_value_comes_back() -> None:
    """R73: equal, to the fields that equality passes over: the words of a span, lost layers."""
    world = full_world()
    read = through_json(world)
    assert read == world
    assert encode(read) == encode(world)
    mayor = read.city.agents["mayor"]
    assert str(mayor.sleep_after_idle) == "1m1s"
    assert mayor.sleep_layers[1].value is OFF
    assert list(read.city.agents) == list(world.city.agents)


def test_kinds_of_readings_stay_apart() -> None:
    """R9, R10: known nothing, not asked, unsupported and doubt are four different answers."""
    answers: tuple[Any, ...] = (Known(None), None, Unsupported(), Unclear("why"))
    written = [encode(Sighting(pending=answer)) for answer in answers]
    assert [decode(Sighting, one).pending for one in written] == list(answers)


def test_a_field_of_another_version_is_kept_and_named() -> None:
    """R73: a newer version's field is no obstacle, and neither is it passed over silently."""
    data = encode(a_world(a_city(agent("mayor")), a_session("mayor")))
    data["sessions"]["gc-mayor"]["colour"] = {"deep": [1]}
    data["weather"] = "rain"
    found = Found()
    decode(World, data, found)
    assert found.unknown == {"Session.colour": {"deep": [1]}, "World.weather": "rain"}


def test_a_field_that_an_older_version_lacked_takes_its_default() -> None:
    """R73: the default holds, and the field is named."""
    data = encode(a_world(a_city(agent("mayor")), a_session("mayor")))
    del data["city"]["daemon"]["record_ticks"], data["writable"]
    found = Found()
    read = decode(World, data, found)
    assert read.writable
    assert found.absent == {"DaemonSettings.record_ticks", "World.writable"}


def _set(data: Any, path: str, value: Any) -> None:
    *way, last = path.split("/")
    for step in way:
        data = data[step]
    data[last] = value


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("now", "soon", "World.now"),
        ("now", "2026-03-01T12:00:00", "World"),  # naive
        ("now", None, "World.now"),
        ("writable", 1, "World.writable"),
        ("sessions", [], "World.sessions"),
        ("sessions/gc-mayor/state", "melted", "state"),
        ("sessions/gc-mayor/state", ["awake"], "state"),
        ("sessions/gc-mayor/slot", 0, "gc-mayor"),
        ("sessions/gc-mayor/slot", True, "slot"),
        ("sessions/gc-mayor/exits", "x", "exits"),
        ("sessions/gc-mayor/pins", [3], "pins"),
        ("sightings/gc-mayor/attached", {"is": "Guess", "value": 1}, "attached"),
        ("sightings/gc-mayor/attached", 4, "attached"),
        ("sightings/gc-mayor/attached", {"is": "Known"}, "attached"),
        ("city/origins", [["a"]], "origins"),
        ("city/origins", [[["a"], {}]], "origins"),
        ("city/session_sleep", {"interactive_resume": {"is": "Off", "value": []}}, "session_sleep"),
        ("city", 5, "World.city"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(path: str, value: Any, named: str) -> None:
    """R73: a value that this version cannot understand is never guessed at."""
    data = encode(a_world(a_city(agent("mayor")), a_session("mayor")))
    _set(data, path, value)
    with pytest.raises(Unreadable, match=named):
        decode(World, data)


def test_a_type_without_a_form_is_a_mistake_of_ours() -> None:
    """Found when the form is made, not when a value of it turns up."""

    @dataclass(frozen=True)
    class Odd:
        what: complex

    with pytest.raises(TypeError, match="no JSON form"):
        encode(Odd(1j), Odd)


def test_a_plan_s_parts_that_are_recorded_have_a_form() -> None:
    """Instants are RFC 3339."""
    assert encode(datetime(2026, 1, 2, tzinfo=UTC)) == "2026-01-02T00:00:00+00:00"
    assert Plan().decisions == {}
