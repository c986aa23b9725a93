"""What a tool may touch of the world outside, where there is none."""

from __future__ import annotations

import pytest

from gascity.tools import Nowhere, Surroundings, WaitRefused, WaitRequest

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_turn_outside_a_city_opens_and_closes_unnoticed() -> None:
    """A server that runs by itself works as inside a city: several turns at once (R48)."""
    alone: Surroundings = Nowhere()
    async with alone.open_turn("sleep"), alone.open_turn("sleep"):
        pass


async def test_a_wait_outside_a_city_is_refused_with_the_remedy() -> None:
    """Nothing is promised that nobody keeps (R49)."""
    with pytest.raises(WaitRefused, match="run the server inside a session"):
        await Nowhere().record_wait(WaitRequest(for_s=60))
