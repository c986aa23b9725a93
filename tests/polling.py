"""Waiting for real parts in tests: ask again until it holds or a deadline passes."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import anyio

T = TypeVar("T")
EVERY_S: Final = 0.02


def wait_until(predicate: Callable[[], T], timeout_s: float = 10.0, *, what: str = "") -> T:
    """The first true answer of `predicate`; fails when there is none within `timeout_s` seconds."""
    deadline = time.monotonic() + timeout_s
    while not (answer := predicate()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout_s:g} s: {what or predicate}")
        time.sleep(EVERY_S)
    return answer


async def eventually(
    predicate: Callable[[], Awaitable[T]], timeout_s: float = 10.0, *, what: str = ""
) -> T:
    """The first true answer of an asynchronous `predicate`, like `wait_until`."""
    deadline = time.monotonic() + timeout_s
    while not (answer := await predicate()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout_s:g} s: {what or predicate}")
        await anyio.sleep(EVERY_S)
    return answer
