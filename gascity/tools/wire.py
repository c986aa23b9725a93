"""What comes over the wire, made readable: a number too long to read becomes one that is too large.

The SDK's parser gives up on an integer of more than some thousand digits, and over stdio drops the
whole message, so that its caller waits for ever. The model shall read what is wrong instead.

Source: TOOL-18
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import BinaryIO, Final

import anyio
import anyio.to_thread

LONGEST: Final = 4_000  # digits; Python's own limit and the parser's are 4300
TOO_LARGE: Final = 10**100

_DIGITS: Final = re.compile("[0-9]+")


def readable(text: str) -> str:
    """The JSON text with over-long integers cut; any other text as it is."""
    # Each run of digits is looked at once: a pattern that counts them would start again at each.
    if len(text) < LONGEST or not any(len(run[0]) >= LONGEST for run in _DIGITS.finditer(text)):
        return text
    try:
        return json.dumps(json.loads(text, parse_int=_shortened)) + "\n"
    except (ValueError, RecursionError):
        return text  # not JSON: whoever parses it says so


def _shortened(digits: str) -> int:
    if len(digits) < LONGEST:
        return int(digits)
    return -TOO_LARGE if digits.startswith("-") else TOO_LARGE


class Lines:
    """The lines of a binary stream, as readable text; bytes that are no UTF-8 are replaced."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        """The next line, awaited in a thread."""
        line = await anyio.to_thread.run_sync(self._stream.readline)
        if not line:
            raise StopAsyncIteration
        return readable(line.decode(errors="replace"))
