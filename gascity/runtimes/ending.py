"""Ending a session's whole process tree, gracefully first, and knowing what is left.

`kill-session` only hangs up on the panes. Everything below them, and every process that carries the
session's token although it went off on its own, is told to end, waited for, and killed at the
deadline. The search is repeated, for a tree that is ending may still grow.

Source: DESIGN §8 (R28, R63)
"""

from __future__ import annotations

import signal
from collections.abc import Collection
from typing import Final

import anyio
from anyio import to_thread

from gascity.runtimes import processes
from gascity.runtimes.base import Stopped

_LOOK_EVERY_S: Final = 0.02
_SEARCH_EVERY_S: Final = 0.25
_AFTER_KILL_S: Final = 1.5


class Hunt:
    """One tree being ended. `roots` and `token` say what belongs to it, `spare` what never does."""

    def __init__(
        self, *, roots: Collection[processes.Process], token: str, spare: Collection[int]
    ) -> None:
        self._roots = tuple(roots)
        self._token = token
        self._spare = tuple(spare)
        self._held: dict[tuple[int, int], processes.Held] = {}

    async def end(self, grace_s: float) -> Stopped:
        """Ask everything to end, kill what is there after `grace_s` seconds."""
        try:
            await self._press(signal.SIGTERM, grace_s)
            if self._alive:
                await self._press(signal.SIGKILL, _AFTER_KILL_S)
            return Stopped(
                signalled=tuple(sorted({pid for pid, _ in self._held})),
                left=tuple(sorted(one.process.pid for one in self._alive)),
            )
        finally:
            for one in self._held.values():
                one.close()

    async def _press(self, number: signal.Signals, within_s: float) -> None:
        """Signal everything, newcomers included, until nothing is left or the time is over."""
        for one in self._alive:
            _tell(one, number)
        search_at = anyio.current_time()
        deadline = search_at + within_s
        while True:
            now = anyio.current_time()
            if now >= search_at or not self._alive:
                newcomers = await self._search()
                for one in newcomers:
                    _tell(one, number)
                if not newcomers and not self._alive:
                    return
                search_at = now + _SEARCH_EVERY_S
            if now >= deadline:
                return
            await anyio.sleep(_LOOK_EVERY_S)

    async def _search(self) -> list[processes.Held]:
        # Known by pid and start time: between two looks a pid may have become another's (E13).
        roots = [one.process for one in self._alive] if self._held else self._roots
        found = await to_thread.run_sync(processes.tree, roots, self._token, self._spare)
        newcomers = []
        for one in found.values():
            key = (one.pid, one.started)
            if key not in self._held and (held := processes.Held.take(one)) is not None:
                self._held[key] = held
                newcomers.append(held)
        return newcomers

    @property
    def _alive(self) -> list[processes.Held]:
        return [one for one in self._held.values() if not one.is_over]


def _tell(one: processes.Held, number: signal.Signals) -> None:
    """Interactive shells ignore SIGTERM and end with their terminal; stopped jobs must hear it."""
    is_shell = number is signal.SIGTERM and one.process.name in processes.SHELLS
    if is_shell and processes.ignores_term(one.process.pid):
        one.send(signal.SIGHUP)
    one.send(number)
    one.send(signal.SIGCONT)
