"""The exec adapter: sessions behind a script of the operator's, asked one short call at a time.

What the script does not answer is unsupported, what it answers wrongly is unclear. A session
carries mark and token as `set-meta` values where the script keeps any; where it keeps none, its
name is all there is to go by.

Source: DESIGN §8 (CAP-20, CAP-24, CAP-25, R9..R12, R28, R37, R63)
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar

import anyio

from gascity.model.reading import Known, Reading, Unsupported
from gascity.model.world import Pending, ProbeResult, ScreenVerdict, Sighting, Support, Truth
from gascity.runtimes.base import (
    BY_TERMINAL,
    Ability,
    Boundary,
    Listing,
    RuntimeUnreachable,
    Spec,
    StartFailed,
    Stopped,
    Watch,
)
from gascity.runtimes.exec.answers import (
    activity_of,
    attached_of,
    boundary_of,
    is_support,
    may_be_attached,
    pending_of,
    read_answer,
    truth_of,
)
from gascity.runtimes.exec.lore import OPTIONAL, Lore
from gascity.runtimes.exec.script import KIND, Script, start_config
from gascity.runtimes.plain import last_lines
from gascity.runtimes.starting import check

T = TypeVar("T")
TOKEN: Final = "GC_INSTANCE_TOKEN"
MARK: Final = "GC_CITY"
STANDSTILL_S: Final = 1.0
YOUNG_S: Final = 5.0  # before that age its shell may still be about to start the agent
BESIDE: Final = 8  # calls at a time


class ExecRuntime:
    """Sessions of one script. `said` is the word behind `exec:`, `city` the city's mark."""

    def __init__(self, script: Script, *, said: str, city: str, lore: Path) -> None:
        self._script = script
        self._said = said
        self._city = city
        self._lore = Lore(script.path, lore)
        self._lists = False  # `list-running` has named somebody once
        self._tokens: dict[str, str] = {}  # of those that ran at the last look
        self._since: dict[str, float] = {}  # monotonic: seen running, or started, at
        self._delays: dict[str, float] = {}
        self._beside = anyio.CapacityLimiter(BESIDE)
        self._learning = anyio.Lock()

    @property
    def kind(self) -> str:
        """The word in `session = "..."`."""
        return f"{KIND}{self._said}"

    @property
    def support(self) -> Support:
        """The clock may be asked for; the rest as far as the script has shown it (CAP-20)."""
        return Support(
            activity_clock=True,
            idle_boundary=self._lore.knows("wait-for-idle"),
            pending_signal=self._lore.knows("pending"),
            attachment_signal=self._lore.knows("is-attached"),
            screen=False,
        )

    @property
    def abilities(self) -> frozenset[Ability]:
        """The protocol has no word for how a session ended."""
        return BY_TERMINAL - {Ability.EXIT_STATUS}

    async def list(self, watches: Collection[Watch]) -> Listing:
        """A sighting of every watched session; who got no answer in time is unknown."""
        late = f"{self._script.path.name} gave no answer within {self._script.look_s:g} s"
        found: dict[str, Sighting] = {}
        with anyio.move_on_after(self._script.look_s):
            listed = await self._listed()
            async with anyio.create_task_group() as group:
                for watch in watches:
                    group.start_soon(self._see, watch, listed, found)
        if watches and not found:
            raise RuntimeUnreachable(late)
        missed = {one.name: Sighting.unknown(late) for one in watches if one.name not in found}
        return Listing(sightings=found | missed)

    async def _listed(self) -> frozenset[str] | None:
        """The names of what runs, in one call; None when that cannot be relied on.

        An empty list is believed of a script only once it has named somebody: some only pretend.
        """
        answer = await self._script.ask("list-running", "")
        names = frozenset(answer.out.split())
        self._lists = self._lists or bool(names)
        return names if answer.known and self._lists else None

    async def _see(
        self, watch: Watch, listed: frozenset[str] | None, found: dict[str, Sighting]
    ) -> None:
        async with self._beside:
            try:
                found[watch.name] = await self._sighting(watch, listed)
            except RuntimeUnreachable as doubt:
                found[watch.name] = Sighting.unknown(str(doubt))

    async def _sighting(self, watch: Watch, listed: frozenset[str] | None) -> Sighting:
        name = watch.name
        if not (await self._runs(name) if listed is None else name in listed):
            self._forget(name)
            return Sighting.stopped()
        self._since.setdefault(name, time.monotonic() - STANDSTILL_S)
        token = await self._token(name)
        if token is None:
            return Sighting(
                truth=Truth.STOPPED,
                why="a session that is not ours has its name",
                attached=Known(0),
                pending=Known(None),
            )
        if self._lore.unlearnt():
            await self._learn(name)
        attached = await self._optional("is-attached", name, attached_of)
        if not may_be_attached(attached) and await self._agent_is_gone(watch):
            return Sighting(
                truth=Truth.STOPPED,
                attached=Known(0),
                pending=Known(None),
                agent_exited=True,
                token=token,
            )
        pending: Reading[Pending | None] = await self._optional("pending", name, pending_of)
        asks = isinstance(pending, Known) and pending.value is not None
        return Sighting(
            truth=Truth.RUNNING,
            attached=attached,
            activity=await self._activity(name),
            pending=pending,
            screen=ScreenVerdict.PENDING if asks else None,
            ready=self._age(name) >= self._delays.get(name, STANDSTILL_S),
            token=token,
        )

    async def _runs(self, name: str) -> bool:
        return truth_of((await self._script.ask("is-running", name)).word)

    def _age(self, name: str) -> float:
        return time.monotonic() - self._since.get(name, time.monotonic())

    def _forget(self, name: str) -> None:
        for kept in (self._tokens, self._since, self._delays):
            kept.pop(name, None)

    async def _token(self, name: str, *, afresh: bool = False) -> str | None:
        """The token a session carries, "" for none; None when it is another city's."""
        if afresh or name not in self._tokens:
            mark = (await self._script.ask("get-meta", name, MARK)).word
            if mark and mark != self._city:
                return None
            self._tokens[name] = (await self._script.ask("get-meta", name, TOKEN)).word
        return self._tokens[name]

    async def _learn(self, name: str) -> None:
        """Try each optional operation on a session that runs; only a good answer is support."""
        found: dict[str, bool] = {}

        async def attempt(op: str) -> None:
            args = (name, "0") if op == "wait-for-idle" else (name,)
            with contextlib.suppress(RuntimeUnreachable):
                answer = await self._script.tell(op, *args, deadline_s=self._script.look_s / 2)
                found[op] = is_support(op, answer)

        async with self._learning:
            if not self._lore.unlearnt():
                return
            async with anyio.create_task_group() as group:
                for op in OPTIONAL:
                    group.start_soon(attempt, op)
            self._lore.learn(found)

    async def _optional(self, op: str, name: str, parsed: Callable[[str], T]) -> Reading[T]:
        if not self._lore.knows(op):
            return Unsupported()
        return await read_answer(self._script.ask(op, name), parsed)

    async def _activity(self, name: str) -> Reading[datetime | None]:
        now = datetime.now(UTC)
        return await read_answer(
            self._script.ask("get-last-activity", name), lambda word: activity_of(word, now=now)
        )

    async def _agent_is_gone(self, watch: Watch) -> bool:
        """Whether its shell lives and its agent does not, where the script can tell (R11)."""
        if not watch.process_names or self._age(watch.name) < YOUNG_S:
            return False
        names = "".join(f"{one}\n" for one in watch.process_names)
        answer = await self._script.ask("process-alive", watch.name, stdin=names)
        return answer.word == "false"

    async def start(self, spec: Spec) -> None:
        """Have the script start a session, then mark it as ours."""
        check(spec)
        if await self._runs(spec.name):
            raise StartFailed(f"{spec.name} runs already")
        answer = await self._script.start(spec.name, start_config(spec), spec.env)
        runs = await self._runs(spec.name)
        if "already exists" in answer.error:
            raise StartFailed(f"{spec.name} runs already: {answer.error}")
        if not runs:
            unknown = "" if answer.known else "the script knows no start"
            raise StartFailed(answer.error or unknown or "it ended at once")
        if answer.error:
            raise RuntimeUnreachable(f"start failed, yet it runs: {answer.error}")
        for key, value in ((MARK, spec.city), (TOKEN, spec.token)):
            marked = await self._script.tell("set-meta", spec.name, key, stdin=value)
            if marked.error:
                raise RuntimeUnreachable(f"it runs and cannot be marked: {marked.error}")
        self._forget(spec.name)
        self._since[spec.name] = time.monotonic()
        self._delays[spec.name] = max(STANDSTILL_S, spec.ready_delay_ms / 1000)

    async def stop(self, name: str, *, token: str, grace_s: float) -> Stopped:
        """Have the script stop the run with this token; how gently is up to the script."""
        if not await self._runs(name):
            self._forget(name)
            return Stopped()
        if await self._token(name, afresh=True) not in ("", token):
            return Stopped()
        answer = await self._script.tell("stop", name, deadline_s=grace_s + self._script.call_s)
        if answer.error or not answer.known:
            why = answer.error or "the script knows no stop"
            raise RuntimeUnreachable(f"stop: {why}")
        return Stopped()

    async def wait_for_idle(self, watch: Watch, *, timeout_s: float) -> Boundary:
        """What the script says of it, where it can say that."""
        if not self._lore.knows("wait-for-idle"):
            return Boundary(result=ProbeResult.UNSUPPORTED)
        answer = await self._script.tell(
            "wait-for-idle", watch.name, f"{timeout_s:g}", deadline_s=timeout_s + 0.5
        )
        if answer.error or not answer.known:
            raise RuntimeUnreachable(f"wait-for-idle: {answer.error or 'unknown all at once'}")
        return boundary_of(answer.word)

    async def peek(self, name: str, *, lines: int) -> str:
        """The last lines of what the script shows, as plain text."""
        if not await self._runs(name):
            return ""
        answer = await self._script.ask("peek", name, str(lines))
        return last_lines(answer.out, lines)

    async def send(self, name: str, text: str, *, token: str) -> None:
        """Hand the text to the script, which types it and presses Enter."""
        await self._order("nudge", name, token, stdin=text)

    async def interrupt(self, name: str, *, token: str) -> None:
        """Have the script break off what it does."""
        await self._order("interrupt", name, token)

    async def _order(self, op: str, name: str, token: str, *, stdin: str = "") -> None:
        if not await self._runs(name) or await self._token(name, afresh=True) not in ("", token):
            raise RuntimeUnreachable(f"no run of {name} carries that token")
        answer = await self._script.tell(op, name, stdin=stdin)
        if answer.error or not answer.known:
            why = answer.error or f"the script knows no {op}"
            raise RuntimeUnreachable(f"{op}: {why}")

    def attach_command(self, name: str) -> tuple[str, ...]:
        """The script itself takes the terminal over."""
        return (str(self._script.path), "attach", name)

    async def close(self) -> None:
        """Nothing is held."""
