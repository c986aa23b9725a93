"""Readings and sightings: three answers, never a guess."""

from __future__ import annotations

import pytest

from gascity.model.city import Origin
from gascity.model.reading import Known, Unclear, Unsupported, known_or
from gascity.model.world import Exit, Sighting, Truth
from gascity.testing.builders import a_city, a_session, a_world, agent


def test_only_a_known_answer_has_a_value() -> None:
    """Unsupported, unclear and unasked fall back (R9)."""
    assert known_or(Known(3), 0) == 3
    assert [known_or(one, 0) for one in (Unsupported(), Unclear("?"), None)] == [0, 0, 0]


def test_a_session_nobody_looked_at_is_unknown() -> None:
    """No sighting is no knowledge (R9, R10)."""
    world = a_world(a_city(agent()))
    assert world.sighting("nobody").truth is Truth.UNKNOWN
    assert isinstance(Sighting.unknown("x").attached, Unclear)
    assert Sighting.stopped().attached == Known(0)


@pytest.mark.parametrize(
    ("ending", "text", "clean"),
    [
        (Exit(), "unknown", False),
        (Exit(code=0), "status 0", True),
        (Exit(code=3), "status 3", False),
        (Exit(code=0, signal=9), "signal 9", False),
        (Exit(host_gone=True), "host gone", False),
    ],
)
def test_an_exit_says_how_it_ended(ending: Exit, text: str, clean: bool) -> None:
    """Status, signal, host or unknown (R78)."""
    assert (str(ending), ending.is_clean) == (text, clean)


def test_slots_count_from_one() -> None:
    """Slot 0 is a mistake of ours (POOL-10)."""
    with pytest.raises(AssertionError, match="slots count from 1"):
        a_session("worker", slot=0)


def test_an_origin_names_file_line_and_table() -> None:
    """Where a value was written (CFG-14)."""
    assert str(Origin("city.toml", "[[agent]]", 7)) == "city.toml:7 [[agent]]"
    assert str(Origin("city.toml", "[[agent]]")) == "city.toml [[agent]]"
    assert a_city(agent()).origin("mayor", "attach") is None
