"""One call of a provider script: `SCRIPT OP NAME [ARG…]`, bounded, nothing of it left behind.

Exit 0 is an answer, 1 an error whose text is on stderr, 2 an operation the script does not know.
A script that cannot run, hangs, floods or dies is unreachable; it never delays anybody for longer
than its deadline, and no process of it stays but what `start` was asked for.

Source: DESIGN §8 (CAP-20, R9, R10, R34, R69)
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gascity.runtimes.base import RuntimeUnreachable, Spec
from gascity.runtimes.bounded import Job, Ran, run
from gascity.runtimes.starting import environment

KIND: Final = "exec:"
UNKNOWN_OP: Final = 2
START_S: Final = 120.0  # the ecosystem's limit for `start`
CALL_S: Final = 30.0  # and for everything else that changes something
LOOK_S: Final = 3.0  # a look waits for nobody longer
_ERROR_MOST: Final = 300
_SECRET_LEAST: Final = 6


def find_script(said: str, city: Path) -> Path:
    """The file behind `exec:SAID`: a path, one below the city's folder, or a name on the path."""
    path = Path(os.path.expanduser(said))  # noqa: PTH111  Path.expanduser raises without a home
    if path.is_absolute():
        return path
    below = city / path
    if "/" in said or "\0" in said or os.path.isfile(below):  # noqa: PTH113  never raises
        return below
    found = shutil.which(said)
    return Path(found) if found else below


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the script said. `known` False: it does not know the operation, `out` is empty."""

    known: bool
    out: str = ""
    error: str = ""  # the text of an exit 1

    @property
    def word(self) -> str:
        """What it printed, without the space around it."""
        return self.out.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A provider script; `env` is the whole environment of every call, `cwd` its folder."""

    path: Path
    cwd: str
    env: Mapping[str, str]
    look_s: float = LOOK_S
    call_s: float = CALL_S
    start_s: float = START_S
    calls: list[tuple[str, ...]] = field(default_factory=list)

    async def ask(self, op: str, *args: str, stdin: str = "") -> Answer:
        """A question for a look.

        Raises:
            RuntimeUnreachable: there is no answer, not even that the operation is unknown.
        """
        return self._good(op, await self._run(op, args, stdin, deadline_s=self.look_s))

    async def tell(
        self, op: str, *args: str, stdin: str = "", deadline_s: float | None = None
    ) -> Answer:
        """An order, or a question that may take its time; an error is an answer with `error`.

        Raises:
            RuntimeUnreachable: nobody knows what came of it.
        """
        within = self.call_s if deadline_s is None else deadline_s
        ran = await self._run(op, args, stdin, deadline_s=within)
        if ran.problem:
            raise RuntimeUnreachable(f"{self.path.name} {op}: {ran.problem}")
        return _answer(ran)

    async def start(self, name: str, config: str, secrets: Mapping[str, str]) -> Answer:
        """`start`, whose children stay; no value of `secrets` gets into an error's text."""
        ran = await self._run("start", (name,), config, deadline_s=self.start_s, leaves=True)
        if ran.problem:
            raise RuntimeUnreachable(f"{self.path.name} start: {ran.problem}")
        answer = _answer(ran)
        return Answer(known=answer.known, out="", error=_masked(answer.error, secrets))

    def _good(self, op: str, ran: Ran) -> Answer:
        answer = _answer(ran)
        if ran.problem or answer.error:
            raise RuntimeUnreachable(f"{self.path.name} {op}: {ran.problem or answer.error}")
        return answer

    async def _run(
        self,
        op: str,
        args: tuple[str, ...],
        stdin: str,
        *,
        deadline_s: float,
        leaves: bool = False,
    ) -> Ran:
        self.calls.append((op, *args))
        del self.calls[:-100]
        job = Job(
            argv=(str(self.path), op, *args),
            cwd=self.cwd,
            env=self.env,
            deadline_s=deadline_s,
            stdin=stdin.encode("utf-8", "surrogateescape"),
            leaves=leaves,
            hears_errors=True,
        )
        return await run(job)


def _answer(ran: Ran) -> Answer:
    if ran.code == UNKNOWN_OP:
        return Answer(known=False)
    if ran.code == 0:
        return Answer(known=True, out=ran.out.rstrip("\n"))
    said = " ".join(ran.err.split())[:_ERROR_MOST]
    return Answer(known=True, error=said or f"ended with status {ran.code}")


def _masked(text: str, secrets: Mapping[str, str]) -> str:
    """An error without the values a script may repeat from what it was given."""
    for value in sorted(secrets.values(), key=len, reverse=True):
        if len(value) >= _SECRET_LEAST:
            text = text.replace(value, "…")
    return text


def start_config(spec: Spec) -> str:
    """What `start` reads: one JSON object with the ecosystem's keys, empty ones left out."""
    said: dict[str, Any] = {
        "work_dir": spec.work_dir,
        "command": spec.command,
        "env": environment(spec),
        "process_names": list(spec.process_names),
        "ready_prompt_prefix": spec.prompt_prefix,
        "ready_delay_ms": spec.ready_delay_ms,
    }
    return json.dumps({key: value for key, value in said.items() if value})
