"""A runtime without processes: the contract of the real ones, every call a cut, lies on demand.

Each call and each reading inside `list` is announced to the script, so that a test can change the
city in between. Several controllers, one after the other, may share one host.

Source: DESIGN §8, §H (HARN-01); CAP-08..25
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NoReturn

import anyio

from gascity.model.reading import Known, Reading, Unclear, Unsupported
from gascity.model.world import Exit, Pending, ScreenVerdict, Sighting, Support, Truth
from gascity.runtimes.base import (
    BY_TERMINAL,
    Ability,
    Boundary,
    Listing,
    Runtime,
    RuntimeUnreachable,
    Spec,
    StartFailed,
    Stopped,
    Watch,
)
from gascity.testing.hosted import FULL, TIMED_ONLY, FakeHost, FakeSession
from gascity.testing.script import AFTER, BEFORE, Script


class ClockOnlyRuntime:
    """A controller's connection to a `FakeHost` that cannot confirm an idle boundary.

    `city` is the mark of the city it serves.
    """

    def __init__(
        self,
        host: FakeHost,
        script: Script,
        *,
        city: str = "/city",
        kind: str = "tmux",
        support: Support = TIMED_ONLY,
    ) -> None:
        self.host = host
        self.script = script
        self._city = city
        self._kind = kind
        self._support = support

    @property
    def kind(self) -> str:
        """The word in `session = "..."`."""
        return self._kind

    @property
    def support(self) -> Support:
        """Which questions this runtime can answer."""
        return self._support

    @property
    def abilities(self) -> frozenset[Ability]:
        """Everything, but for attaching where nobody's attachment would be seen."""
        return BY_TERMINAL if self._support.attachment_signal else BY_TERMINAL - {Ability.ATTACH}

    async def list(self, watches: Collection[Watch]) -> Listing:
        """A sighting of every watched session."""
        await self.script.reach(BEFORE, "list")
        await self._answer("list")
        sightings = {watch.name: await self._sighting(watch) for watch in watches}
        foreign = tuple(
            sorted(
                name
                for name, one in self.host.sessions.items()
                if one.running and one.city != self._city
            )
        )
        await self.script.reach(AFTER, "list")
        return Listing(sightings=sightings, foreign=foreign)

    async def start(self, spec: Spec) -> None:
        """Start a session, in the place of a dead one of that name."""
        await self.script.reach(BEFORE, "start", spec.name, note=f"token {spec.token}")
        one = self.host.of(spec.name)
        await self._answer("start", spec.name)
        if one.start_hangs:
            await self._hang("start", spec.name)
        problem = one.start_fails or (f"{spec.name} runs already" if one.running else "")
        if problem:
            await self._fail("start", spec.name, problem)
            raise StartFailed(problem)
        if one.start_raises:
            await self._unreachable("start", spec.name, one.start_raises)
        self.host.is_gone = False
        one.begin(spec, now=self.host.clock.now())
        if one.ends_at_once is not None:
            one.end()
            problem = f"it ended at once ({one.ends_at_once})"
            await self._fail("start", spec.name, problem)
            raise StartFailed(problem)
        if one.start_lost:
            await self._unreachable("start", spec.name, one.start_lost)
        await self.script.reach(AFTER, "start", spec.name)

    async def stop(self, name: str, *, token: str, grace_s: float) -> Stopped:
        """Stop the run with this token; any other is left alone."""
        one = self.host.of(name)
        reaches = self._carries(one, token)
        note = f"token {token}" if reaches or not one.running else f"fenced off: token {token}"
        await self.script.reach(BEFORE, "stop", name, note=note)
        await self._answer("stop", name)
        if one.stop_hangs:
            await self._hang("stop", name)
        if one.stop_raises:
            await self._unreachable("stop", name, one.stop_raises)
        reaches = self._carries(one, token)
        pids: tuple[int, ...] = ()
        if reaches and one.stop_works:
            pids = (_pid(one),) if one.running else ()
            one.stops += one.running
            one.end()
        elif reaches and one.running:
            await self.script.reach(AFTER, "stop", name, note="still running")
            return Stopped(signalled=(_pid(one),), left=(_pid(one),))
        if one.stop_lost:
            await self._unreachable("stop", name, one.stop_lost)
        await self.script.reach(AFTER, "stop", name)
        return Stopped(signalled=pids)

    async def peek(self, name: str, *, lines: int) -> str:
        """The last lines of what was written to its screen."""
        await self.script.reach(BEFORE, "peek", name)
        await self._answer("peek", name)
        one = self.host.of(name)
        text = "\n".join(one.lines[-lines:] if one.running else ())
        await self.script.reach(AFTER, "peek", name)
        return text

    async def send(self, name: str, text: str, *, token: str) -> None:
        """Type into the run with this token; what is typed is shown."""
        await self.script.reach(BEFORE, "send", name, note=text)
        await self._answer("send", name)
        one = await self._fenced("send", name, token)
        one.take(text, now=self.host.clock.now())
        await self.script.reach(AFTER, "send", name)

    async def interrupt(self, name: str, *, token: str) -> None:
        """Interrupt the run with this token."""
        await self.script.reach(BEFORE, "interrupt", name)
        await self._answer("interrupt", name)
        one = await self._fenced("interrupt", name, token)
        one.break_off()
        await self.script.reach(AFTER, "interrupt", name)

    def attach_command(self, name: str) -> tuple[str, ...]:
        """An argv that can be shown and never run."""
        return ("attach-to-the-fake", name) if self._support.attachment_signal else ()

    async def close(self) -> None:
        """Sessions go on."""
        await self.script.reach(BEFORE, "close")

    async def _sighting(self, watch: Watch) -> Sighting:
        """Each reading in turn; the session may change between two of them."""
        one = self.host.of(watch.name)
        await self.script.reach(BEFORE, "is_running", watch.name)
        truth = self._truth(one)
        gone = Exit(host_gone=True) if self.host.is_gone else one.exit
        await self.script.reach(AFTER, "is_running", watch.name, value=truth)
        if truth is Truth.UNKNOWN:
            return Sighting.unknown(one.unclear)
        if truth is Truth.STOPPED and not one.agent_exited:
            return Sighting.stopped(exit=gone if one.city in (None, self._city) else None)
        await self.script.reach(BEFORE, "attached", watch.name)
        attached = self._reading("attachment_signal", one.attached_unclear, one.attached)
        await self.script.reach(AFTER, "attached", watch.name, value=attached)
        await self.script.reach(BEFORE, "activity", watch.name)
        activity = self._reading("activity_clock", one.activity_unclear, one.activity)
        await self.script.reach(AFTER, "activity", watch.name, value=activity)
        pending: Reading[Pending | None] | None = None
        screen: ScreenVerdict | None = None
        if watch.screen:
            await self.script.reach(BEFORE, "pending", watch.name)
            pending = self._reading("pending_signal", one.pending_unclear, one.pending)
            asks = isinstance(pending, Known) and pending.value is not None
            screen = ScreenVerdict.PENDING if asks else one.screen
            await self.script.reach(AFTER, "pending", watch.name, value=pending)
        return Sighting(
            truth=truth,
            attached=attached,
            activity=activity,
            pending=pending,
            screen=screen if self._support.idle_boundary else None,
            detail=one.detail,
            ready=one.ready,
            token="" if one.has_hidden_token else one.token,
            exit=one.exit,
            agent_exited=one.agent_exited,
        )

    def _truth(self, one: FakeSession) -> Truth:
        if one.unclear:
            return Truth.UNKNOWN
        ours = one.running and one.city == self._city and not one.agent_exited
        return Truth.RUNNING if ours else Truth.STOPPED

    def _reading(self, question: str, doubt: str, value: object) -> Reading[Any]:
        if not getattr(self._support, question):
            return Unsupported()
        return Unclear(doubt) if doubt else Known(value)

    def _carries(self, one: FakeSession, token: str) -> bool:
        return one.city == self._city and one.token == token and not one.has_hidden_token

    async def _fenced(self, call: str, name: str, token: str) -> FakeSession:
        """The run with this token, or no certain answer (R63)."""
        one = self.host.of(name)
        if not (one.running and self._carries(one, token)):
            await self._unreachable(call, name, f"no run of {name} carries that token")
        return one

    async def _hang(self, call: str, name: str) -> None:
        """Stand still until the host goes on; give up at the deadline."""
        if not await self.host.hang():
            await self._unreachable(call, name, f"no answer within {self.host.deadline_s:g} s")

    async def _answer(self, call: str, name: str = "") -> None:
        """Take the time it takes; fail when the host cannot be asked."""
        taken = self.host.took.get(call, 0.0)
        if taken:
            await self.host.clock.sleep_until(self.host.clock.monotonic() + taken)
        if self.host.hangs:
            await self._hang(call, name)
        if self.host.unreachable:
            await self._unreachable(call, name, self.host.unreachable)

    async def _unreachable(self, call: str, name: str, why: str) -> NoReturn:
        await self._fail(call, name, why)
        raise RuntimeUnreachable(why)

    async def _fail(self, call: str, name: str, why: str) -> None:
        await self.script.reach(AFTER, call, name, note=why, failed=True)


class FakeRuntime(ClockOnlyRuntime):
    """The same, and it can confirm an idle boundary (CAP-12)."""

    def __init__(
        self,
        host: FakeHost,
        script: Script,
        *,
        city: str = "/city",
        kind: str = "tmux",
        support: Support = FULL,
    ) -> None:
        super().__init__(host, script, city=city, kind=kind, support=support)

    async def wait_for_idle(self, watch: Watch, *, timeout_s: float) -> Boundary:
        """What the session's fields say, or its lie."""
        await self.script.reach(BEFORE, "wait_for_idle", watch.name)
        await self._answer("wait_for_idle", watch.name)
        one = self.host.of(watch.name)
        if one.probe_hangs:
            with anyio.move_on_after(timeout_s):
                await self.host.hang()
            await self._unreachable("wait_for_idle", watch.name, f"no answer in {timeout_s:g} s")
        if one.probe_raises:
            await self._unreachable("wait_for_idle", watch.name, one.probe_raises)
        answer = one.boundary()
        await self.script.reach(AFTER, "wait_for_idle", watch.name, value=answer)
        return answer


def connect(
    host: FakeHost,
    script: Script,
    *,
    city: str = "/city",
    kind: str = "tmux",
    support: Support = FULL,
) -> Runtime:
    """A connection that supports exactly what it says."""
    make = FakeRuntime if support.idle_boundary else ClockOnlyRuntime
    return make(host, script, city=city, kind=kind, support=support)


def _pid(one: FakeSession) -> int:
    return 10_000 + one.starts
