"""The open calls of a server: counted however they end."""

from __future__ import annotations

import anyio
import pytest

from gascity.tools.calls import Calls, Counts, Full

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_every_end_is_counted_as_what_it_was() -> None:
    """Answered, cancelled from outside, ended here, left by its caller, not begun (R48)."""
    said: list[str] = []
    calls = Calls(said.append, most_open=1)
    with calls.open("sleep") as call, call.scope:
        assert len(calls) == 1
        with pytest.raises(Full, match="1 calls are open"), calls.open("sleep"):
            pass
    with anyio.CancelScope() as outside, calls.open("sleep") as call, call.scope:
        outside.cancel()
        await anyio.sleep(60)
    with calls.open("sleep") as call, call.scope:
        calls.end_all()
        await anyio.sleep(60)
    gone = anyio.Event()
    with calls.open("sleep", gone=gone) as call, call.scope:
        gone.set()
        call.scope.cancel()
        await anyio.sleep(60)
    assert len(calls) == 0
    assert calls.counts == Counts(answered=1, cancelled=2, abandoned=1, refused=1)
    assert said == ["sleep ended after 0s: its connection was closed (1 so far)"]


async def test_an_answered_call_is_no_abandoned_one() -> None:
    """A client that leaves after its answer has abandoned nothing."""
    calls = Calls(lambda line: None)
    gone = anyio.Event()
    with calls.open("sleep", gone=gone) as call, call.scope:
        gone.set()
    assert calls.counts == Counts(answered=1)
