"""What the SDK's parser cannot read is made readable."""

from __future__ import annotations

import io
import json
import time

import pytest

from gascity.tools.sleep import parse_seconds
from gascity.tools.wire import Lines, readable

LONG = "9" * 5000


def test_a_number_too_long_becomes_one_too_large() -> None:
    """The tool refuses it for what it is; its sign stays (TOOL-18, R58)."""
    with pytest.raises(ValueError, match="must not exceed"):
        parse_seconds(json.loads(readable(f'{{"seconds": {LONG}}}')))
    with pytest.raises(ValueError, match="non-negative"):
        parse_seconds(json.loads(readable(f'{{"seconds": -{LONG}}}')))


@pytest.mark.parametrize(
    "text",
    [
        '{"seconds": 5}',
        f'{{"note": "{"x" * 5000}"}}',
        f"not JSON {LONG}",
        "[" * 100_000 + LONG,
    ],
    ids=["short", "long without a long number", "no JSON", "too deep"],
)
def test_other_text_stays_as_it_is(text: str) -> None:
    """Nothing is rewritten that can be read, nor what nobody can read (TOOL-18)."""
    assert readable(text) == text


def test_many_numbers_that_are_nearly_too_long_cost_little() -> None:
    """A megabyte of them is looked at in one pass, not once for each digit."""
    text = f"[{','.join(['9' * 3999] * 260)}]"
    began = time.process_time()
    assert readable(text) == text
    assert time.process_time() - began < 1


def test_digits_in_a_text_are_text() -> None:
    """A long number in quotes is not touched, though the message is written anew (TOOL-18)."""
    message = {"note": LONG, "seconds": 5}
    assert json.loads(readable(json.dumps(message))) == message


@pytest.mark.anyio
async def test_lines_are_read_to_the_end(anyio_backend: str) -> None:
    """Bytes that are no UTF-8 do not end the reading, nor does a last line without an end."""
    lines = Lines(io.BytesIO(b'{"a": 1}\n\xff\n{"b": ' + LONG.encode() + b"}"))
    first, second, third = [line async for line in lines]
    assert (first, second) == ('{"a": 1}\n', "\ufffd\n")
    assert json.loads(third)["b"] == 10**100


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
