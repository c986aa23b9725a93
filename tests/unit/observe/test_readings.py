"""The one door where a runtime's faults become readings."""

from __future__ import annotations

from collections.abc import Collection

import anyio
import pytest

from gascity.model.reading import Unclear
from gascity.model.world import Sighting, Truth
from gascity.observe.readings import read_runtime
from gascity.runtimes.base import Listing, RuntimeUnreachable, Watch

pytestmark = pytest.mark.anyio
WATCHES = (Watch(name="a"), Watch(name="b"))


class Answers:
    """A runtime that answers as told."""

    kind = "tmux"

    def __init__(self, listing: Listing | None = None, problem: str = "") -> None:
        self._listing = listing
        self._problem = problem
        self.asked = 0

    async def list(self, watches: Collection[Watch]) -> Listing:
        self.asked += 1
        if self._problem:
            raise RuntimeUnreachable(self._problem)
        if self._listing is None:
            await anyio.sleep_forever()
            raise AssertionError("never")
        return self._listing


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_an_unreachable_runtime_makes_everybody_unknown_with_the_reason() -> None:
    """No answer is never "not running", "not attached" or "nothing pending" (R9, R10, S7)."""
    found = await read_runtime(Answers(problem="no such door"), WATCHES)  # type: ignore[arg-type]
    for name in ("a", "b"):
        seen = found.sightings[name]
        assert seen.truth is Truth.UNKNOWN
        assert seen.why == "no such door"
        assert isinstance(seen.attached, Unclear)
        assert isinstance(seen.pending, Unclear)


async def test_a_hung_runtime_costs_its_time_limit_only() -> None:
    """A look that hangs ends at its limit, and everybody is unknown (R34)."""
    found = await read_runtime(Answers(), WATCHES, timeout_s=0.01)  # type: ignore[arg-type]
    assert {seen.truth for seen in found.sightings.values()} == {Truth.UNKNOWN}


async def test_whoever_is_not_mentioned_is_unknown_not_stopped() -> None:
    """A partial answer stops nobody (S8)."""
    listing = Listing(sightings={"a": Sighting.stopped()}, foreign=("x",))
    found = await read_runtime(Answers(listing), WATCHES)  # type: ignore[arg-type]
    assert found.sightings["a"].truth is Truth.STOPPED
    assert found.sightings["b"].truth is Truth.UNKNOWN
    assert found.foreign == ("x",)


async def test_nobody_to_ask_about_asks_nothing() -> None:
    """An empty city costs no call."""
    runtime = Answers(problem="asked")
    assert (await read_runtime(runtime, ())).sightings == {}  # type: ignore[arg-type]
    assert runtime.asked == 0
