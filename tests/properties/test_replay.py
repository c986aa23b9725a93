"""What holds for every picture: it survives being written down, and masking changes no decision."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import replace

from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from gascity.decide.tick import decide
from gascity.model.world import World
from gascity.report.codec import Found, Unreadable, decode, encode
from gascity.report.mask import Mask
from gascity.report.replay import replay
from gascity.report.ticks import Skipped, Tick, outcome_of, read, written
from gascity.testing.strategies import worlds

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
quick = hypothesis_settings(
    max_examples=1000 if THOROUGH else 40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
KEY = b"k" * 32


def with_secrets(world: World) -> World:
    """The same city, with values that must stay where they are; nobody drifts by it."""
    agents = {
        key: replace(one, env={"TOKEN": f"s3cret-{key}"}, args=("--key", "s3cret"))
        for key, one in world.city.agents.items()
    }
    return replace(world, city=replace(world.city, agents=agents))


@quick
@given(worlds())
def test_a_picture_survives_being_written_down(world: World) -> None:
    """R73: equal after JSON text, with nothing unknown and nothing absent."""
    found = Found()
    back = decode(World, json.loads(json.dumps(encode(world))), found)
    assert back == world
    assert encode(back) == encode(world)
    assert (found.unknown, found.absent) == ({}, set())


@quick
@given(worlds())
def test_masking_changes_no_decision(world: World) -> None:
    """REC-09, R32: what is recorded is decided exactly as what was seen."""
    assert outcome_of(decide(Mask(KEY).world(world))) == outcome_of(decide(world))


@quick
@given(worlds())
def test_drift_shows_where_it_showed_and_no_secret_with_it(world: World) -> None:
    """R32, R78: every session started with other values than now configured drifts in both."""
    changed = with_secrets(world)
    masked = Mask(KEY).world(changed)
    assert outcome_of(decide(masked)) == outcome_of(decide(changed))
    assert "s3cret" not in json.dumps(encode(masked))


@quick
@given(worlds())
def test_a_recorded_tick_replays_without_a_difference(world: World) -> None:
    """NORM-07: the same picture gives the same decisions, through the file and back."""
    line = written(json.dumps(encode(Mask(KEY).world(world))), decide(world), version="1")
    found = replay(read([line.encode()]), decide)
    assert found.ticks == 1
    assert found.differences == []
    assert found.is_same


@quick
@given(worlds(), st.data())
def test_a_line_cut_anywhere_is_torn_and_nothing_else(world: World, data: st.DataObject) -> None:
    """R74: a writer that died in a line costs that line."""
    line = written(json.dumps(encode(world)), decide(world), version="1").encode()
    cut = data.draw(st.integers(1, len(line) - 2))
    first, second = read([line, line[:cut]])
    assert isinstance(first, Tick)
    assert isinstance(second, Skipped)
    assert second.torn


@quick
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(("now", "city", "is", "schema", "x")), inner, max_size=4
            )
        ),
        max_leaves=12,
    )
)
def test_nonsense_is_refused_and_never_crashes(data: object) -> None:
    """R73: any JSON value is a tick, a skipped line, or no picture; nothing else is raised."""
    assert all(isinstance(one, Tick | Skipped) for one in read([json.dumps(data).encode()]))
    with contextlib.suppress(Unreadable):
        decode(World, data)
