"""`gc doctor runtime exec:SCRIPT`: call a session script as the controller would, and judge it.

One throw-away session is started, asked everything, and stopped; whatever is left of it is told.

Source: DESIGN §8 (CAP-20, R34, R63)
"""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from gascity.decide.capability import CLASS
from gascity.observe.commands import NOT_OURS
from gascity.runtimes import processes
from gascity.runtimes.base import RuntimeUnreachable, Spec
from gascity.runtimes.exec import KIND, OPTIONAL, Answer, Script, find_script, start_config
from gascity.runtimes.exec.answers import activity_of, is_support

GOOD: Final = "good"
MISSING: Final = "missing"  # the script does not know it, and need not
WRONG: Final = "wrong"
SLOW_S: Final = 1.0
_READY: Final = "gc-check-ready"
_COMMAND: Final = f"trap : INT; echo {_READY}; while :; do sleep 1; done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One operation: how it did, and what that means for people."""

    op: str
    result: str
    what: str = ""
    ms: int = 0


@dataclass(slots=True, kw_only=True)
class Trial:
    """One script under test with its throw-away session."""

    script: Script
    spec: Spec
    has_clock: bool = False
    knows: set[str] = field(default_factory=set)

    @property
    def kind(self) -> str:
        """The capability class its sessions get."""
        return CLASS[self.has_clock, "wait-for-idle" in self.knows].value

    async def run(self) -> AsyncIterator[Check]:
        """Every check in turn; the session is stopped whatever happens."""
        yield await self._judged("unknown operation", self._unknown)
        yield await self._judged("is-running (absent)", lambda: self._is_running(wanted=False))
        began = await self._judged("start", self._start)
        yield began
        if began.result != GOOD:
            return
        try:
            for name, step in self._steps().items():
                yield await self._judged(name, step)
        finally:
            stopped = await self._judged("stop", self._stop)
        yield stopped
        yield await self._judged("is-running (stopped)", lambda: self._is_running(wanted=False))
        yield await self._judged("stop (again)", self._stop)
        yield await self._judged("nothing left", self._nothing_left)

    def _steps(self) -> Mapping[str, Callable[[], Awaitable[tuple[str, str]]]]:
        return {
            "is-running": lambda: self._is_running(wanted=True),
            "start (taken)": self._start_taken,
            "list-running": self._list,
            "set-meta, get-meta, remove-meta": self._meta,
            "process-alive": self._process_alive,
            "get-last-activity": self._activity,
            "peek": self._peek,
            "nudge": lambda: self._order("nudge", "hello"),
            "interrupt": lambda: self._order("interrupt"),
            **{op: lambda op=op: self._optional(op) for op in OPTIONAL},  # type: ignore[misc]
        }

    async def _judged(self, op: str, step: Callable[[], Awaitable[tuple[str, str]]]) -> Check:
        began = time.monotonic()
        try:
            result, what = await step()
        except RuntimeUnreachable as problem:
            result, what = WRONG, str(problem)
        took = time.monotonic() - began
        if took > SLOW_S and result == GOOD and not what:
            what = "slow: a look asks this of every session"
        return Check(op=op, result=result, what=what, ms=round(took * 1000))

    async def _tell(self, op: str, *args: str, stdin: str = "") -> Answer:
        return await self.script.tell(op, self.spec.name, *args, stdin=stdin)

    async def _unknown(self) -> tuple[str, str]:
        answer = await self._tell("gc-no-such-operation")
        if answer.known:
            return WRONG, "an operation it does not know must exit 2, nothing else"
        return GOOD, ""

    async def _is_running(self, *, wanted: bool) -> tuple[str, str]:
        answer = await self._tell("is-running")
        if answer.error or not answer.known:
            return WRONG, f"it must print true or false: {answer.error or 'exit 2'}"
        if (answer.word == "true") is wanted:
            return GOOD, ""
        return WRONG, f"printed {answer.word[:40]!r}, which is not so"

    async def _start(self) -> tuple[str, str]:
        config = start_config(self.spec)
        answer = await self.script.start(self.spec.name, config, self.spec.env)
        if answer.error or not answer.known:
            return WRONG, answer.error or "a script must know start"
        return GOOD, ""

    async def _start_taken(self) -> tuple[str, str]:
        config = start_config(self.spec)
        answer = await self.script.start(self.spec.name, config, self.spec.env)
        if not answer.error:
            return WRONG, "a second start of the same name must fail"
        return await self._is_running(wanted=True)

    async def _list(self) -> tuple[str, str]:
        answer = await self.script.tell("list-running", "")
        if not answer.known:
            return MISSING, "without it each look asks about each session"
        if self.spec.name not in answer.out.split():
            return WRONG, "the session that runs is not in it"
        return GOOD, ""

    async def _meta(self) -> tuple[str, str]:
        before = await self._tell("get-meta", "GC_CHECK")
        if not before.known:
            return MISSING, "without it a session of another city is taken for ours"
        await self._tell("set-meta", "GC_CHECK", stdin="a b")
        after = await self._tell("get-meta", "GC_CHECK")
        await self._tell("remove-meta", "GC_CHECK")
        gone = await self._tell("get-meta", "GC_CHECK")
        if (before.out, after.out, gone.out) != ("", "a b", ""):
            return WRONG, "what is set is not what is got, or is not removed"
        return GOOD, ""

    async def _process_alive(self) -> tuple[str, str]:
        answer = await self._tell("process-alive", stdin="gc-no-such-process\n")
        if not answer.known:
            return MISSING, "an agent that left its shell behind is not noticed"
        return (GOOD, "") if answer.word == "false" else (WRONG, "no such process runs in it")

    async def _activity(self) -> tuple[str, str]:
        answer = await self._tell("get-last-activity")
        at = activity_of(answer.word, now=datetime.now(UTC))
        self.has_clock = at is not None
        if at is None and answer.word:
            return WRONG, f"printed {answer.word[:40]!r}, which is no RFC 3339 time"
        return (GOOD, "") if at else (MISSING, "no clock: its sessions never sleep for idleness")

    async def _peek(self) -> tuple[str, str]:
        deadline = time.monotonic() + 3.0
        while True:
            answer = await self._tell("peek", "10")
            if not answer.known:
                return MISSING, "nothing it prints can be read"
            if _READY in answer.out:
                return GOOD, ""
            if time.monotonic() > deadline:
                return WRONG, f"the session printed {_READY!r}, which is not shown"
            await asyncio.sleep(0.1)

    async def _order(self, op: str, stdin: str = "") -> tuple[str, str]:
        answer = await self._tell(op, stdin=stdin)
        if not answer.known:
            return MISSING, f"gc cannot {op} its sessions"
        return (WRONG, answer.error) if answer.error else await self._is_running(wanted=True)

    async def _optional(self, op: str) -> tuple[str, str]:
        answer = await self._tell(op, *(["0"] if op == "wait-for-idle" else []))
        if is_support(op, answer):
            self.knows.add(op)
            return GOOD, ""
        if not answer.known:
            return MISSING, "optional; it would raise the class of its sessions"
        return WRONG, f"printed {answer.word[:40]!r}: {answer.error or 'no answer of that kind'}"

    async def _stop(self) -> tuple[str, str]:
        answer = await self._tell("stop")
        if answer.error or not answer.known:
            return WRONG, answer.error or "a script must know stop"
        return GOOD, ""

    async def _nothing_left(self) -> tuple[str, str]:
        deadline = time.monotonic() + 2.0
        while left := _alive(self.spec.token):
            if time.monotonic() > deadline:
                return WRONG, f"processes of the stopped session still run: {left}"
            await asyncio.sleep(0.05)
        return GOOD, ""


def _alive(token: str) -> list[int]:
    found = processes.carriers("GC_INSTANCE_TOKEN", token)
    return sorted(pid for pid in found if (one := processes.read(pid)) and not one.is_over)


def trial_of(said: str, folder: Path) -> Trial:
    """A trial of `exec:SCRIPT`, or of a script's path, called from this folder."""
    env = {key: value for key, value in os.environ.items() if not NOT_OURS.fullmatch(key)}
    path = find_script(said.removeprefix(KIND), folder)
    token = secrets.token_hex(8)
    spec = Spec(
        name=f"gc-check-{os.getpid()}",
        session_id="gc-check",
        token=token,
        city=str(folder),
        command=_COMMAND,
        work_dir=str(folder),
        env={"PATH": os.environ.get("PATH", os.defpath)},
    )
    return Trial(script=Script(path=path, cwd=str(folder), env=env), spec=spec)


def report(trial: Trial, checks: list[Check]) -> dict[str, Any]:
    """The object of `--json`."""
    return {
        "schema": 1,
        "script": str(trial.script.path),
        "ok": all(one.result != WRONG for one in checks),
        "class": trial.kind,
        "checks": [
            {"op": one.op, "result": one.result, "what": one.what, "ms": one.ms} for one in checks
        ],
    }
