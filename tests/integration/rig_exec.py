"""The shipped example of a session script under the contract, behind a switch that hangs it."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gascity.runtimes import processes
from gascity.runtimes.base import Ability, Runtime
from gascity.runtimes.exec import ExecRuntime, Script
from tests.integration.rig import CITY, REPOSITORY, RuntimeRig, terminal
from tests.integration.rig_subprocess import COMMANDS, MARKS
from tests.polling import eventually, wait_until

EXAMPLE: Final = REPOSITORY / "examples" / "04_session_script" / "gc-session-files"


class ExecRig(RuntimeRig):
    """Stand-ins without a terminal, hosted by a script."""

    lacks = frozenset({Ability.EXIT_STATUS, Ability.RESPOND})

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.home = folder / "state"
        self.script = folder / "script"
        hang = f"[ ! -e {folder}/hang ] || exec sleep 600"
        self.write(f'{hang}\nexec {EXAMPLE} "$@"')
        self.runtime: Runtime = self.again()

    def write(self, text: str) -> None:
        """Replace the script."""
        self.script.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        self.script.chmod(0o755)

    def again(self, *, look_s: float = 2.0) -> ExecRuntime:
        script = Script(
            path=self.script,
            cwd=str(self.folder),
            env={
                "PATH": os.environ["PATH"],
                "SESSION_FILES": str(self.home),
                "HELPER_S": "-1",
            },
            look_s=look_s,
            call_s=2.0,
            start_s=2.0,
        )
        return ExecRuntime(script, said="script", city=CITY, lore=self.folder / "lore.json")

    def say(self, name: str, text: str) -> None:
        """Put text into the stand-in's input."""
        with (self.home / name / "in").open("w", encoding="utf-8") as pipe:
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
        clients = self.home / name / "clients"
        before = len(list(clients.iterdir()))
        argv = ["env", f"SESSION_FILES={self.home}", *self.runtime.attach_command(name)]
        with terminal(argv):
            wait_until(lambda: len(list(clients.iterdir())) > before)
            yield
        wait_until(lambda: len(list(clients.iterdir())) <= before)

    @contextlib.contextmanager
    def hung(self) -> Iterator[None]:
        switch = self.folder / "hang"
        switch.touch()
        try:
            yield
        finally:
            switch.unlink()

    async def close(self) -> None:
        """End what was started here, known by its tokens."""
        for token in self.tokens.values():
            for pid in processes.carriers("GC_INSTANCE_TOKEN", token):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
