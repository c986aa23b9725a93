"""What is around a tool server: somebody to tell of open turns, somebody to keep durable waits.

A server inside a session of a city gets surroundings that speak to its controller; one that runs
by itself gets `Nowhere`. Who makes them is no business of this package.

Source: R48, R49
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitRequest:
    """A wait to be kept for the session: exactly one of `for_s` and `until`, and a note for later.

    `for_s` is whole seconds from now, `until` an aware instant.
    """

    note: str = ""
    for_s: int | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitRecorded:
    """A wait that is durable now: its id, and when it is due (aware UTC)."""

    id: str
    due_at: datetime


class WaitRefused(Exception):
    """The wait is not kept: `what` went wrong, and what to `do` about it."""

    def __init__(self, what: str, do: str) -> None:
        super().__init__(f"{what}; {do}")
        self.what = what
        self.do = do


class Surroundings(Protocol):
    """The world outside, as far as a tool may touch it."""

    def open_turn(self, what: str) -> AbstractAsyncContextManager[None]:
        """While the context is entered the session's turn is open, because of `what`.

        Entering and leaving never fail and never take longer than about a second, whatever becomes
        of the other side: a call goes on unannounced rather than not at all. Several may be open
        at a time. Leaving works under cancellation, too. When this process dies, all are closed.
        """
        ...

    async def record_wait(self, request: WaitRequest) -> WaitRecorded:
        """Keep a durable wait for this session; returns once it is stored.

        Raises `WaitRefused`.
        """
        ...


class Nowhere:
    """The surroundings of a server outside any city: nobody asks, and nothing can be kept."""

    @asynccontextmanager
    async def open_turn(self, what: str) -> AsyncIterator[None]:
        """Nobody is told."""
        yield

    async def record_wait(self, request: WaitRequest) -> WaitRecorded:
        """Always refused."""
        raise WaitRefused(
            "nobody here can keep a wait", "run the server inside a session of a city"
        )
