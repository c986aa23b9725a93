"""Agents over the protocol under the contract: what is typed at others is prompted here."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gascity.model.world import ScreenVerdict
from gascity.runtimes import processes
from gascity.runtimes.acp import AcpRuntime
from gascity.runtimes.base import Ability, Spec
from tests.integration.rig import CITY, RuntimeRig

ACP_AGENT: Final = f"exec {sys.executable} -m gascity.testing.acp_agent"


class AcpRig(RuntimeRig):
    """Pipes held by this process: no host that could hang, no screen to misread."""

    lacks = frozenset({"attachment_signal", Ability.ATTACH, Ability.OUTLIVE, "host"})
    conditions = frozenset({"idle", "busy", "permission", "background", "exit"})

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.home = folder / "conversations"
        self.home.mkdir()
        self.made: list[AcpRuntime] = []
        self.runtime: AcpRuntime = self.again()

    def again(self, **changes: float) -> AcpRuntime:
        fields = {"handshake_s": 10.0, "helper_s": 0.05, **changes}
        self.made.append(AcpRuntime(self.folder / "notes", city=CITY, **fields))
        return self.made[-1]

    def spec(self, name: str, **changes: object) -> Spec:
        return super().spec(
            name, **{"command": ACP_AGENT, "env": {"ACP_HOME": str(self.home)}, **changes}
        )

    async def put(self, name: str, condition: str) -> None:
        if condition == "idle":
            return
        prompts = {"busy": "work 600", "background": "background 600", "exit": "exit 7"}
        await self.runtime.send(name, prompts.get(condition, condition), token=self.tokens[name])
        shows = {"permission": ScreenVerdict.PENDING, "busy": ScreenVerdict.BUSY}
        if condition == "background":
            await self.until(name, lambda seen: seen.screen is ScreenVerdict.IDLE)
        elif condition in shows:
            await self.until(name, lambda seen: seen.screen is shows[condition])

    @contextlib.contextmanager
    def attached(self, name: str) -> Iterator[None]:
        raise NotImplementedError("nobody can attach")
        yield

    @contextlib.contextmanager
    def hung(self) -> Iterator[None]:
        raise NotImplementedError("its host is this very process")
        yield

    async def close(self) -> None:
        """End what was started here, known by its tokens."""
        for runtime in self.made:
            await runtime.close()
        for token in self.tokens.values():
            for pid in processes.carriers("GC_INSTANCE_TOKEN", token):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
