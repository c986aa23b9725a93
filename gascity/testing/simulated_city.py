"""A whole city that lives by itself in virtual time: its controller runs, dies and comes back.

It is the product's `Controller.run` over the fakes, on three runtimes that differ in what they can
answer. Stretches in which nothing can happen may be passed over: see `pass_until`.

Source: DESIGN §H (HARN-01..04); R4 of the reliability targets
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from typing import Final

import anyio
from anyio.abc import TaskGroup

from gascity.act.ports import Refused
from gascity.act.save import Gone
from gascity.beads.store import Conflict, StoreBroken, StoreUnavailable
from gascity.daemon import Controller
from gascity.model.city import City
from gascity.model.reading import Known
from gascity.model.world import Support
from gascity.observe.ports import Ports
from gascity.testing.auditor import Auditor
from gascity.testing.city import FakeCity, _is_crash
from gascity.testing.facts import Records
from gascity.testing.hosted import DISABLED, FULL, TIMED_ONLY, FakeSession
from gascity.testing.inspector import Inspector
from gascity.testing.runtime import connect
from gascity.testing.script import AFTER, Crash, Moment
from gascity.testing.simulated_surroundings import UNREAD, EditedConfig, Said, seeded
from gascity.testing.store import ScriptedStore

KINDS: Final[dict[str, Support]] = {"tmux": FULL, "k8s": TIMED_ONLY, "subprocess": DISABLED}
REFUSALS: Final = (Refused, Gone, Conflict, StoreUnavailable, StoreBroken)


class SimulatedCity(FakeCity):
    """A city with a supervisor that restarts its controller; `live` runs a whole life of it.

    `down_s` is how long the next dead controller stays dead. `skips`: stretches without anything to
    do are passed over. `lines` is the trace when `traced`, and `digest` its hash always.
    """

    def __init__(
        self, config: City, *, seed: int, skips: bool = True, traced: bool = False
    ) -> None:
        self.seed = seed
        self.skips, self.traced = skips, traced
        self.lines: list[str] = []
        self.digest = hashlib.sha256()
        self.said = Said()
        self.disk_full = False
        self.faults_on = False
        self.down_s = 5.0
        self.dies_in = 0  # calls from now; 0 is never
        self.patrols = 0
        self._passed = (0, -1)  # (patrols, commits) when something happened last
        self._pending = 0  # deeds and requests that are not over
        self._over = False
        self._group: TaskGroup | None = None
        self._requests: anyio.CancelScope | None = None
        super().__init__(config)

    def _settle(self) -> None:
        self.edits = EditedConfig(self.config)
        self.inspector = Inspector(self)
        self.auditor = Auditor(self, self.inspector.fault)
        super()._settle()
        self.overseer.structural = self.inspector.structural
        self.script.watch = self._saw

    def restart(self) -> None:
        """A fresh controller over what survived."""
        began = getattr(self, "controller", None)
        self.patrols += began.snapshot().patrols if began is not None else 0
        self.memory = self.memory.reopened()
        self.memory.full = self.disk_full
        self.script.revive()
        self.overseer.new_life()
        self.auditor.new_life()
        self.edits.begin()
        unclear = self.store.demand_unclear if began is not None else ""
        self.store = ScriptedStore(
            self.memory, self.script, demand_unclear=unclear, witness=self._wrote
        )
        runtimes = {
            kind: connect(self.host, self.script, city=self.config.path, kind=kind, support=support)
            for kind, support in KINDS.items()
        }
        # A config that cannot be read keeps a controller from starting; the one before it is used.
        city = self.edits.written or self.config
        self.ports = Ports(store=self.store, clock=self.clock, runtimes=runtimes, city=city)
        self.ports.answers = self.said
        self.controller = Controller(self.ports, config=self.edits)  # type: ignore[arg-type]
        self.controller._checks = self.said  # type: ignore[assignment]
        self._is_new = False

    def records(self) -> Records:
        """Every open record, with what the config in force suspends."""
        city = self.ports.city if hasattr(self, "ports") else self.config
        held = frozenset(name for name, agent in city.agents.items() if agent.suspended)
        found = super().records()
        edges = {name: agent.depends_on for name, agent in city.agents.items()}
        return replace(found, edges=edges, suspended=held)

    # -- a life

    def live(self, life: Callable[[], Awaitable[None]]) -> None:  # type: ignore[override]
        """Run the controller, and `life` beside it, until `life` is over."""
        with seeded(self.seed):
            self.run(self._life(life))
        self.patrols += self.controller.snapshot().patrols

    async def _life(self, life: Callable[[], Awaitable[None]]) -> None:
        async with anyio.create_task_group() as group:
            self._group = group
            group.start_soon(self._keep_up)
            await life()
            self._over = True
            group.cancel_scope.cancel()

    async def _keep_up(self) -> None:
        """What a supervisor does: start the controller again, whatever it died of."""
        while True:
            with anyio.CancelScope() as self._requests:
                try:
                    async with anyio.create_task_group() as group:
                        self._servants = group
                        await self.controller.run()
                except BaseException as problem:
                    if self._over or not _is_death(problem):
                        raise
            self.script.crashed = True  # whoever still holds on to it gets no answer
            self.note(f"controller down for {self.down_s:g} s")
            self.inspector.controller_died()
            await self.clock.sleep_until(self.clock.monotonic() + self.down_s)
            self.restart()

    def later(self, deed: Callable[[], Awaitable[None] | None], after_s: float = 0.0) -> None:
        """Do something in a while, beside everything else."""
        assert self._group is not None, "nobody lives here yet"
        self._group.start_soon(self._later, deed, after_s)

    async def _later(self, deed: Callable[[], Awaitable[None] | None], after_s: float) -> None:
        self._pending += 1
        await self.clock.sleep_until(self.clock.monotonic() + after_s)
        await self.do(deed)
        self._pending -= 1

    async def do(self, deed: Callable[[], Awaitable[None] | None]) -> None:
        """Do it now; that it is refused, or that nobody is there to ask, is part of life."""
        self.happened()
        with contextlib.suppress(*REFUSALS, Crash):
            done = deed()
            if done is not None:
                await done

    def happened(self) -> None:
        """Something changed that patrols have to look at: none is passed over for a while."""
        self._passed = (self.controller.snapshot().patrols, -1)

    def request(self, ask: Callable[[], Awaitable[object]], *, patience_s: float = 0.0) -> None:
        """What a command does over the socket; it ends with the controller, or when given up."""
        if not self.is_dead:
            self._servants.start_soon(self._request, ask, patience_s)

    async def _request(self, ask: Callable[[], Awaitable[object]], patience_s: float) -> None:
        self._pending += 1
        try:
            with (
                self.script.offstage(),
                contextlib.suppress(*REFUSALS),
                anyio.move_on_after(patience_s or 900),
            ):
                await ask()
        finally:
            self._pending -= 1
            self.happened()

    # -- time

    async def pass_until(self, monotonic: float) -> None:
        """Let time pass. Patrols that could find nothing new are passed over, in whole intervals.

        Nothing new: two patrols wrote nothing and left nothing to do, nobody walks, no fault is on,
        and neither the script nor the plan's own next deadline comes before.
        """
        while self.clock.monotonic() < monotonic:
            target = self._could_pass(monotonic)
            if target is not None:
                self.clock.advance_to(target)
                await anyio.lowlevel.checkpoint()
                continue
            step = self.ports.city.daemon.patrol_interval.seconds
            await self.clock.sleep_until(min(monotonic, self.clock.monotonic() + step))

    def _could_pass(self, until: float) -> float | None:
        seen = self.controller.snapshot()
        now, before = (seen.patrols, self.memory.commits), self._passed
        quiet = before[1] == now[1] and before[0] + 2 <= now[0]
        if not quiet:
            if before[1] != now[1] or before[0] > now[0]:
                self._passed = now
            return None
        memory, plan = self.ports.memory, seen.plan
        busy = self.faults_on or self.is_dead or not self.skips or memory.walks or self._pending
        if busy or plan is None or plan.actions or plan.queued or memory.missing_since is not None:
            return None
        if plan.next_due is not None:
            until = min(until, self.clock.monotonic() + self._seconds_to(plan.next_due))
        step = self.ports.city.daemon.patrol_interval.seconds
        began = self.controller.pulse.began_s
        count = int((until - began) // step) - 1
        return began + count * step if count >= 2 else None

    def _seconds_to(self, at: datetime) -> float:
        return (at - self.clock.now()).total_seconds()

    # -- watching

    def _saw(self, moment: Moment) -> None:
        if self.traced:
            self.note(str(moment))
        self.overseer.saw(moment)
        self.inspector.saw(moment)
        self.auditor.saw(moment)
        if len(self.script.log) > 1000:
            del self.script.log[:]
        if moment.when == AFTER and moment.call == "start" and self.runs(moment.of):
            self._begin_to_boot(self.host.of(moment.of))
        if self.dies_in:
            self.dies_in -= 1
            self.script.crashed = self.script.crashed or not self.dies_in

    def _begin_to_boot(self, one: FakeSession) -> None:
        """It shows its prompt some seconds after its start."""
        token, boot_s = one.token, (sum(one.name.encode()) + one.starts) % 9

        def come_up() -> None:
            if one.token == token and one.running and not one.ready:
                one.ready = True

        self.later(come_up, float(boot_s))

    def _wrote(self, batch: object, applied: object, before: object) -> None:
        self.overseer.wrote(batch, applied, before)  # type: ignore[arg-type]
        self.inspector.wrote(batch, applied, before)  # type: ignore[arg-type]
        self.auditor.wrote(batch, applied, before)  # type: ignore[arg-type]
        for event in batch.events:  # type: ignore[attr-defined]
            self.note(f"{event.type} {event.subject}: {event.message}")
        for bead in applied.beads.values():  # type: ignore[attr-defined]
            self.note(f"{bead.id} v{bead.version} {sorted(bead.metadata.items())}")

    def note(self, text: str) -> None:
        """A line of the trace."""
        line = f"{self.clock.monotonic() - 1000:.6f} {text}"
        self.digest.update(line.encode())
        if self.traced:
            self.lines.append(line)

    def count(self, pool: str, said: int | None) -> None:
        """What a pool's check says from now on; None: it fails."""
        self.said.counts[pool] = UNREAD if said is None else Known(said)

    def edit(self, city: City | None) -> None:
        """Somebody writes the config and asks for a reload; None is half a file."""
        self.edits.written = city
        if not self.is_dead:
            self.controller.reload()

    def fill_disk(self, *, full: bool) -> None:
        """No space left, or room again."""
        self.disk_full = self.memory.full = full


def _is_death(problem: BaseException) -> bool:
    if isinstance(problem, BaseExceptionGroup):
        return all(_is_death(one) for one in problem.exceptions)
    return isinstance(problem, StoreBroken | StoreUnavailable) or _is_crash(problem)
