"""The fake runtime under the contract of the real ones: what a test may do to its host."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from gascity.model.world import Exit, Pending, ScreenVerdict
from gascity.runtimes.base import Ability, Runtime, Spec
from gascity.testing.clock import FakeClock
from gascity.testing.hosted import FakeHost
from gascity.testing.runtime import FakeRuntime
from gascity.testing.script import Script
from tests.integration.rig import CITY, RuntimeRig


class FakeRig(RuntimeRig):
    """A host of fields. Conditions that a real agent brings about are set."""

    lacks = frozenset({Ability.RESPOND})

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.clock = FakeClock(start=datetime.now(UTC))
        self.host = FakeHost(self.clock, deadline_s=0.01)
        self.runtime: Runtime = self.again()

    def again(self) -> Runtime:
        return FakeRuntime(self.host, Script(), city=CITY)

    def spec(self, name: str, **changes: object) -> Spec:
        spec = super().spec(name, **changes)
        code = spec.command.removeprefix("exit ")
        self.host.of(name).ends_at_once = Exit(code=int(code)) if code.isdecimal() else None
        return spec

    async def put(self, name: str, condition: str) -> None:
        one = self.host.of(name)
        self.clock.advance(1)
        one.activity = self.clock.now()
        if condition == "permission":
            question = "Do you want to proceed?"
            one.pending = Pending(kind=condition, question=question, since=one.activity)
        elif condition == "exit":
            one.end(Exit(code=7))
        else:
            one.screen = ScreenVerdict(condition)
            one.detail = "sleep 600" if condition == "background" else ""

    @contextlib.contextmanager
    def attached(self, name: str) -> Iterator[None]:
        self.host.of(name).attached += 1
        yield
        self.host.of(name).attached -= 1

    @contextlib.contextmanager
    def hung(self) -> Iterator[None]:
        self.host.hangs = True
        yield
        self.host.unhang()

    async def close(self) -> None:
        """Nothing was started that must end."""
