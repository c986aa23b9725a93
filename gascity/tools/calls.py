"""The open calls of one tool server: a limit on them, counts of how they ended, the end of all.

A caller can be gone without a word. Where the transport tells, its call is ended here and counted;
where it cannot, the limit and the tools' own longest wait bound what is held for nobody.

Source: R48
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import anyio

MOST_OPEN: Final = 100


class Full(Exception):
    """As many calls are open as may be."""


@dataclass(slots=True, kw_only=True)
class Counts:
    """How calls ended so far; `abandoned` are those whose callers were gone."""

    answered: int = 0
    cancelled: int = 0
    abandoned: int = 0
    refused: int = 0


class Call:
    """One open call; cancelling its `scope` ends it."""

    def __init__(self, name: str, gone: anyio.Event | None) -> None:
        self.name = name
        self.gone = gone
        self.scope = anyio.CancelScope()
        self._began = anyio.current_time()

    @property
    def is_abandoned(self) -> bool:
        """True once nobody is there any more to take the answer."""
        return self.gone is not None and self.gone.is_set()

    def seconds(self) -> float:
        """Since it began."""
        return anyio.current_time() - self._began


class Calls:
    """All open calls of a server. `say` is told in one line of each caller that was gone."""

    def __init__(self, say: Callable[[str], None], *, most_open: int = MOST_OPEN) -> None:
        self._say = say
        self._most_open = most_open
        self._open: set[Call] = set()
        self.counts = Counts()

    def __len__(self) -> int:
        return len(self._open)

    @contextmanager
    def open(self, name: str, *, gone: anyio.Event | None = None) -> Iterator[Call]:
        """Hold a call open and count how it ends. `gone` is set when its caller is gone, if ever.

        The caller of this enters the call's scope, which is how `end_all` reaches it.

        Raises `Full`.
        """
        if len(self._open) >= self._most_open:
            self.counts.refused += 1
            raise Full(f"{self._most_open} calls are open here already; wait until one has ended")
        call = Call(name, gone)
        self._open.add(call)
        is_answered = False
        try:
            yield call
            is_answered = not call.scope.cancelled_caught
        finally:
            self._open.remove(call)
            self._count(call, is_answered=is_answered)

    def _count(self, call: Call, *, is_answered: bool) -> None:
        if is_answered:
            self.counts.answered += 1
        elif call.is_abandoned:
            self.counts.abandoned += 1
            after = f"{call.name} ended after {call.seconds():.0f}s"
            so_far = f"{self.counts.abandoned} so far"
            self._say(f"{after}: its connection was closed ({so_far})")
        else:
            self.counts.cancelled += 1

    def end_all(self) -> None:
        """End every call that is open; the server is going away."""
        for call in tuple(self._open):
            call.scope.cancel()
