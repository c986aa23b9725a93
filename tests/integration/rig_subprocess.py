"""Plain processes under the contract: the stand-in reads its commands from a pipe of the test's."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gascity.runtimes import processes
from gascity.runtimes.base import Ability, Runtime, Spec
from gascity.runtimes.subprocess import SubprocessRuntime
from tests.integration.rig import AGENT, CITY, RuntimeRig
from tests.polling import eventually

COMMANDS: Final = {
    "busy": "work 600\n",
    "permission": "permission\n",
    "unknown": "unknown\n",
    "draft": "half a thou",
    "background": "background 600\n",
    "exit": "exit 7\n",
}
MARKS: Final = {
    "busy": "esc to interrupt",
    "permission": "Do you want to proceed?",
    "unknown": "[ Inbox ]",
    "draft": "half a thou",
    "background": "in the background",
}


class PipedRig(RuntimeRig):
    """Stand-ins without a terminal, each at the end of a named pipe."""

    def spec(self, name: str, **changes: object) -> Spec:
        pipe = self.folder / f"{name}.in"
        if not pipe.exists():
            os.mkfifo(pipe)
        command = f"exec 0<>{shlex.quote(str(pipe))}; exec {AGENT}"
        return super().spec(name, **{"command": command, **changes})

    def say(self, name: str, text: str) -> None:
        """Put text into the stand-in's input."""
        with (self.folder / f"{name}.in").open("w", encoding="utf-8") as pipe:
            pipe.write(text)

    async def put(self, name: str, condition: str) -> None:
        if condition != "idle":
            self.say(name, COMMANDS[condition])
        if (mark := MARKS.get(condition)) is not None:

            async def shown() -> bool:
                return mark in await self.runtime.peek(name, lines=30)

            await eventually(shown, what=f"{mark!r} printed by {name}")

    @contextlib.contextmanager
    def attached(self, name: str) -> Iterator[None]:
        raise NotImplementedError("nobody can attach")
        yield


class SubprocessRig(PipedRig):
    """A folder of sessions; it is hung while a file stands in its place."""

    lacks = frozenset(
        {
            "idle_boundary",
            "pending_signal",
            "attachment_signal",
            Ability.SEND,
            Ability.ATTACH,
            Ability.RESPOND,
        }
    )

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.home = folder / "sessions"
        self.made: list[Runtime] = []
        self.runtime: Runtime = self.again()

    def again(self) -> Runtime:
        self.made.append(SubprocessRuntime(self.home, city=CITY))
        return self.made[-1]

    @contextlib.contextmanager
    def hung(self) -> Iterator[None]:
        aside = self.folder / "aside"
        self.home.rename(aside)
        self.home.touch()
        try:
            yield
        finally:
            self.home.unlink()
            aside.rename(self.home)

    async def close(self) -> None:
        """End what was started here, known by its tokens."""
        for token in self.tokens.values():
            for pid in processes.carriers("GC_INSTANCE_TOKEN", token):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for runtime in self.made:
            await runtime.close()
