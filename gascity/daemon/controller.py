"""The controller: patrols on a timer and at once when poked, until it is told to end.

Its exit stops nobody (R37) unless it is told to. A read of its state is always there at once.

Source: DESIGN §X, §13 (R6, R21, R34, R64, R75, R80)
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Final

import anyio
from anyio.abc import TaskGroup

from gascity.act import unrecorded
from gascity.act.perform import Performer
from gascity.act.ports import Refused
from gascity.act.save import Change, Gone, apply, change
from gascity.act.stop import StopWalk
from gascity.beads.store import Applied, Batch, Conflict, Store, StoreBroken, StoreUnavailable
from gascity.daemon.announced import in_turn, take_signal
from gascity.daemon.chores import Chores
from gascity.daemon.config_watch import ConfigWatch
from gascity.daemon.ending import Ending, end
from gascity.daemon.notify import tell_manager
from gascity.daemon.patrol import patrol, remember, shown_now
from gascity.daemon.pulse import Pulse
from gascity.daemon.snapshot import Snapshot
from gascity.model.plan import Plan
from gascity.model.session import Session, StopReason
from gascity.model.signals import Heard, Signal
from gascity.model.world import OpenTurn, World
from gascity.observe.checks import Checks
from gascity.observe.clock import Clock
from gascity.observe.ports import Ports
from gascity.observe.recollection import ANNOUNCE_AGAIN_S
from gascity.observe.world import Lookout
from gascity.report.log import logger
from gascity.runtimes.base import Runtime

KILL_GRACE_S: Final = 1.0
log = logger("daemon")


class Controller:
    """One city's controller over its ports. `run` is its whole life."""

    def __init__(self, ports: Ports, *, config: ConfigWatch | None = None) -> None:
        self.ports = ports
        self.lookout = Lookout(ports=ports)
        self.pulse = Pulse(ports.clock)
        self._chores = Chores(ports, config)
        self._checks = Checks(
            clock=ports.clock,
            changed=self.pulse.poke,
            concurrency=ports.city.daemon.probe_concurrency,
        )
        self._performer: Performer | None = None
        self._plan: Plan | None = None
        self._world: World | None = None
        self._begun = 0
        self._ended = 0
        self._started_at = ports.clock.now()
        self._ending: Ending | None = None
        self._broken: StoreBroken | None = None
        ports.memory.turns_sure_at = ports.clock.monotonic() + ANNOUNCE_AGAIN_S
        ports.poke, ports.active_at = self.pulse.poke, self._checks.last_activity
        ports.answers = ports.answers or self._checks

    @property
    def store(self) -> Store:
        """Where beads and events are kept."""
        return self.ports.store

    @property
    def clock(self) -> Clock:
        """The time it lives by."""
        return self.ports.clock

    @property
    def progress(self) -> int:
        """A number that moves after each patrol and each step of a walk."""
        return self.pulse.progress

    def snapshot(self) -> Snapshot:
        """What is known now; never waits. A session on a walk is shown where the walk stands."""
        return Snapshot(
            city=self.ports.city,
            sessions=self.ports.shown(),
            plan=shown_now(self._plan, self._world, self.ports),
            world=self._world,
            patrols=self._ended,
            last_patrol_at=self._world.now if self._world is not None else None,
            started_at=self._started_at,
            problems=self._chores.problems(),
        )

    def runtime_of(self, session: Session) -> Runtime:
        """The runtime that hosts it, or would.

        Raises:
            Refused: there is none of that kind here.
        """
        agent = self.ports.city.agents.get(session.template)
        routed = agent.route(session.name) if agent is not None else session.runtime
        kinds = (session.runtime, routed) if session.was_started else (routed, session.runtime)
        for kind in kinds:
            runtime = self.ports.runtime(kind)
            if runtime is not None:
                return runtime
        raise Refused(f"{session.name} has no runtime here ({kinds[0]})")

    def poke(self) -> None:
        """Patrol at once."""
        self.pulse.poke()

    def reload(self) -> None:
        """Read the config again, beside everything else; a patrol takes it at once."""
        self._chores.ask_config()

    def stop(self, *, sessions: bool) -> None:
        """Ask the loop to end; `sessions` stops every session gracefully first."""
        self._ending = Ending.STOP_SESSIONS if sessions else Ending.LEAVE_SESSIONS
        self.pulse.move()
        self.poke()

    async def change(self, session_id: str, fn: Change, /) -> Session:
        """Change one record durably, then patrol.

        Raises:
            Refused: by `fn`, or the session is gone.
        """
        try:
            session = await change(self.ports, session_id, fn)
        except Gone:
            raise Refused("the session is gone", "see `gc status`") from None
        except StoreBroken as problem:
            self._break(problem)
            raise
        self.poke()
        return session

    async def ask(self, session_id: str, fn: Change, /) -> tuple[Session, bool]:
        """Write a request to be awake, then patrol; the record, and whether it is on disk.

        A store that takes no writes keeps nobody from waking: it is written later (R75).
        """
        try:
            return await self.change(session_id, fn), True
        except StoreBroken:
            raise
        except StoreUnavailable:
            asked = unrecorded.ask(self.ports, session_id, fn)
            self.poke()
            return asked, False

    def forget(self, session_id: str, /, *, holder: str) -> bool:
        """Take back an attach intent that could not be written; whether there was one."""
        return unrecorded.forget(self.ports, session_id, holder=holder)

    def in_turn(
        self, session_id: str, turn: OpenTurn, /
    ) -> contextlib.AbstractContextManager[None]:
        """While this lasts, the session counts as being in that turn, in looks from now on."""
        return in_turn(self.ports, session_id, turn)

    def hear(self, session_id: str, said: Signal, /) -> Heard:
        """Take what a hook of its agent says; what is known of them after it."""
        return take_signal(self.ports, session_id, said)

    async def apply(self, batch: Batch, /) -> Applied:
        """Write work, waits or events durably, then patrol."""
        try:
            applied = await apply(self.ports, batch)
        except StoreBroken as problem:
            self._break(problem)
            raise
        self.poke()
        return applied

    async def wait_patrol(self) -> Snapshot:
        """What a patrol that begins after this call has found."""
        wanted = self._begun + 1
        self.poke()
        while self._ended < wanted and self._ending is None:
            await self.pulse.wait_moved()
        return self.snapshot()

    async def wait_progress(self, seen: int, /) -> int:
        """Return once anything moved past `seen`, with the number it stands at."""
        while self.progress <= seen:
            await self.pulse.wait_moved()
        return self.progress

    async def kill(self, session_id: str, *, by: str) -> None:
        """Stop a session's runtime now, whatever speaks against it; no crash is counted.

        Raises:
            Refused: it is being stopped or started already, or it still runs.
        """
        if self._performer is None:
            raise Refused("the controller is not running")
        walk = StopWalk(session_id=session_id, reason=StopReason.KILL, by=by, grace_s=KILL_GRACE_S)
        if not self._performer.stop(walk):
            raise Refused("it is being started or stopped right now", "try again in a moment")
        while session_id in self.ports.memory.walks:
            await self.pulse.wait_moved()
        session = self.ports.records.get(session_id)
        if session is not None and session.stop_note is not None:
            raise Refused(session.last_error or "it still runs", "see `gc doctor`", exit=1)

    async def run(self, *, ready: Callable[[], None] = lambda: None) -> None:
        """Patrol until told to end; `ready` is called after the first good patrol.

        Raises:
            StoreBroken: the store failed in a way that only a restart may touch (R75).
        """
        await self._chores.begin(self.lookout)
        announced = False
        async with anyio.create_task_group() as group:
            performer = self.open(group)
            group.start_soon(self._chores.watch_config, self.poke)
            while self._ending is None:
                good = await self.patrol_once()
                if good and not announced:
                    announced = True
                    ready()
                    tell_manager("READY=1")
                if self._ending is None:
                    await self._wait_for_next()
            tell_manager("STOPPING=1")
            if self._broken is None:
                await end(self._ending, self.ports, self.lookout, performer, self.pulse.wait_moved)
            group.cancel_scope.cancel()
        if self._broken is not None:
            raise self._broken

    def open(self, group: TaskGroup) -> Performer:
        """Begin to act, with walks as tasks of `group`."""
        self._performer = Performer(
            ports=self.ports,
            lookout=self.lookout,
            group=group,
            report=_report_walk,
            broken=self._break,
            progressed=self.pulse.move,
        )
        return self._performer

    async def patrol_once(self) -> bool:
        """One patrol; whether it succeeded. After a fault the next one starts from disk."""
        assert self._performer is not None, "open first"
        self._begun += 1
        number = self._begun
        self.pulse.begin()
        try:
            await self._chores.before_patrol()
            self._checks.ask(self.ports.city, self._performer.group, self.ports.records)
            done = await patrol(self.ports, self.lookout, self._performer)
            if remember(self.ports, done, monotonic=self.clock.monotonic()):
                self.pulse.ask_soon()
            unrecorded.answered(self.ports, done.world, done.plan)
            self._plan, self._world = done.plan, done.world
            await self._chores.after_patrol(done.world.now)
        except StoreBroken as problem:
            self._break(problem)
            return False
        except (StoreUnavailable, Conflict) as problem:
            log.warning("patrol failed", problem=str(problem))
            return False
        except Exception as problem:
            log.error("patrol failed", exc_info=problem)
            return False
        finally:
            self._ended = number
            self.pulse.move()
        tell_manager("WATCHDOG=1")
        return True

    async def _wait_for_next(self) -> None:
        """Until poked, or the interval is over, or time alone changes an answer (R80)."""
        due = None
        if self._plan is not None and self._plan.next_due is not None:
            ahead = (self._plan.next_due - self.clock.now()).total_seconds()
            due = self.clock.monotonic() + max(0.0, ahead)
        interval = self.ports.city.daemon.patrol_interval.seconds
        await self.pulse.wait_for_patrol(interval_s=interval, due_s=due)

    def _break(self, problem: StoreBroken) -> None:
        """The store must not be touched again by this process (D3)."""
        log.error("store broken; ending", problem=str(problem))
        self._broken = problem
        self.stop(sessions=False)


def _report_walk(session_id: str, problem: BaseException) -> None:
    log.error("walk failed", session=session_id, problem=repr(problem), exc_info=problem)
