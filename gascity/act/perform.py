"""Do what the plan says: one task a session, beside each other, within limits.

A tick never waits for a walk: a stop that hangs blocks its own session only (R34).

Source: DESIGN §X, §7 (R24, R33, R34; PROBE-05..08)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import assert_never

import anyio
from anyio.abc import TaskGroup

from gascity.act.budget import TickBudget
from gascity.act.deliver import close_notices, deliver
from gascity.act.drain import DrainWalk, drain
from gascity.act.release import release_quarantined
from gascity.act.save import Gone, apply
from gascity.act.start import Launch, Unsaved, await_ready, start
from gascity.act.stop import StopWalk, retire, stop
from gascity.beads.record import new_session
from gascity.beads.store import Batch, Conflict, StoreBroken, StoreUnavailable
from gascity.decide.drain import Phase
from gascity.decide.fingerprint import Fingerprint, still_holds
from gascity.decide.judge import place_of
from gascity.decide.relook import DrainContext
from gascity.model.drift import start_hash
from gascity.model.duration import OFF
from gascity.model.events import Event, EventType
from gascity.model.plan import (
    Action,
    AwaitReady,
    CapabilityClass,
    CloseNotices,
    Commit,
    Create,
    Decision,
    Deliver,
    Drain,
    Plan,
    Release,
    Retire,
    Start,
    Stop,
)
from gascity.model.roster import is_suspended
from gascity.model.session import Session, StopReason
from gascity.model.world import DrainPhase, Walk
from gascity.observe.ports import Ports
from gascity.observe.world import Lookout

Report = Callable[[str, BaseException], None]
Work = Callable[[], Awaitable[bool]]


@dataclass(slots=True, kw_only=True)
class Performer:
    """The hands of one controller. `broken` is called when the store must not be used again."""

    ports: Ports
    lookout: Lookout
    group: TaskGroup
    report: Report
    broken: Callable[[StoreBroken], None]
    progressed: Callable[[], None]
    taken: Mapping[str, StopReason] = field(default_factory=dict)
    unsaved: Mapping[str, Unsaved] = field(default_factory=dict)  # the store refused it
    _starts: anyio.CapacityLimiter = field(init=False)
    _stops: anyio.CapacityLimiter = field(init=False)
    _watched: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        settings = self.ports.city.daemon
        self._starts = anyio.CapacityLimiter(settings.max_concurrent_starts)
        self._stops = anyio.CapacityLimiter(settings.max_concurrent_stops)

    async def perform(self, plan: Plan, *, budget: TickBudget) -> None:
        """Begin every action of the plan; records are created before it returns."""
        creates = [action for action in plan.actions if isinstance(action, Create)]
        if creates:
            await self._create(creates)
        for action in plan.actions:
            if not isinstance(action, Create | CloseNotices):
                self.begin(action, plan.decisions, budget=budget)
        for action in plan.actions:
            if isinstance(action, CloseNotices):
                await close_notices(action, self.ports)

    def begin(
        self, action: Action, decisions: Mapping[str, Decision], *, budget: TickBudget
    ) -> None:
        """Begin one action in a task of its own, unless its session is on a walk already."""
        match action:
            case Start(session_id=session_id, why=why):
                unsaved = self.unsaved.get(session_id)
                launch = Launch(session_id=session_id, why=why, unsaved=unsaved)
                self.walk(session_id, Walk(kind="start"), lambda: self._start(launch))
            case AwaitReady(session_id=session_id):
                self._watch(session_id)
            case Drain(session_id=session_id, resume=resume):
                decision = decisions[session_id]
                probing = decision.capability.kind is CapabilityClass.FULL and not resume
                if not probing or budget.admits_probe():
                    after = Phase.RECORD if resume else None
                    self._drain(session_id, decision, after)
            case Commit(session_id=session_id):
                self._drain(session_id, decisions[session_id], Phase.CONFIRM)
            case Stop(session_id=session_id, reason=reason, restart=restart, retire=retires):
                self.stop(
                    StopWalk(
                        session_id=session_id,
                        reason=reason,
                        restart=restart,
                        retire=retires,
                        still_wanted=lambda session: self._still(session, reason),
                        restarting=lambda: self._show_start(session_id),
                    )
                )
            case Retire(session_id=session_id, reason=reason):
                walk = Walk(kind="stop", reason=reason)
                self.walk(session_id, walk, lambda: retire(session_id, reason, self.ports))
            case Deliver(session_id=session_id, bead_ids=bead_ids):
                self.walk(
                    session_id,
                    Walk(kind="deliver"),
                    lambda: deliver(session_id, bead_ids, self.ports, self.lookout),
                )
            case Release(session_id=session_id):
                released = partial(release_quarantined, session_id, self.ports, self.lookout)
                self.walk(session_id, Walk(kind="release"), released)
            case Create() | CloseNotices():
                raise AssertionError("creates are done first, closing last")
            case _:
                assert_never(action)

    def stop(self, walk: StopWalk) -> bool:
        """Begin a stop outside the idle path; False when the session is on a walk already."""

        async def limited() -> bool:
            async with self._stops:
                return await stop(walk, self.ports, self.lookout)

        shown = Walk(kind="stop", reason=walk.reason, phase=DrainPhase.STOPPING)
        return self.walk(walk.session_id, shown, limited)

    def walk(self, session_id: str, shown: Walk, work: Work) -> bool:
        """Do `work` for a session that is on no other walk; whether it was begun.

        `work` says whether it changed anything: only then a patrol follows at once, so that a walk
        that got nowhere cannot make the loop spin.
        """
        walks = self.ports.memory.walks
        if session_id in walks:
            return False
        walks[session_id] = replace(shown, since=self.ports.clock.now())
        self.group.start_soon(self._walk, session_id, work)
        return True

    async def _walk(self, session_id: str, work: Work) -> None:
        moved = False
        try:
            moved = await self._guarded(session_id, work)
        finally:
            self.ports.memory.walks.pop(session_id, None)
            self.progressed()
            if moved:
                self.ports.poke()

    async def _guarded(self, session_id: str, work: Work) -> bool:
        """A fault of the world or of ours ends this walk only; the next patrol starts from disk."""
        try:
            return await work()
        except StoreBroken as problem:
            self.broken(problem)
        except (StoreUnavailable, Conflict, Gone) as problem:
            self.report(session_id, problem)
        except Exception as problem:  # noqa: BLE001  the loop goes on, the traceback is logged
            self.report(session_id, problem)
        return False

    async def _start(self, launch: Launch) -> bool:
        async with self._starts:
            return await start(launch, self.ports)

    def _watch(self, session_id: str) -> None:
        """Watch for readiness beside everything else; it holds nothing up."""
        if session_id in self._watched:
            return
        self._watched.add(session_id)

        async def watch() -> None:
            moved = False
            try:
                moved = await self._guarded(
                    session_id, lambda: await_ready(session_id, self.ports, self.lookout)
                )
            finally:
                self._watched.discard(session_id)
                self.progressed()
                if moved:
                    self.ports.poke()

        self.group.start_soon(watch)

    def _drain(self, session_id: str, decision: Decision, after: Phase | None) -> None:
        async def walk_down() -> bool:
            session = self.ports.records.get(session_id)
            if session is None:
                return False
            walk = DrainWalk(
                session_id=session_id,
                decision=decision,
                context=_context(session, decision, resumed=after is not None),
                ports=self.ports,
                lookout=self.lookout,
                structural=self.structural,
                shown=lambda phase: self._show(session_id, phase),
            )
            async with self._stops:
                await drain(walk, after=after)
            # A stop without effect moves nothing on record: it waits for the next patrol.
            now_is = self.ports.records.get(session_id)
            return now_is is None or now_is.version != session.version

        first = DrainPhase.PROBING if after is None else DrainPhase.PENDING
        shown = Walk(kind="drain", reason=StopReason.IDLE, phase=first)
        self.walk(session_id, shown, walk_down)

    def _show(self, session_id: str, phase: DrainPhase) -> None:
        walks = self.ports.memory.walks
        if session_id in walks:
            walks[session_id] = replace(walks[session_id], phase=phase)
            self.progressed()

    def _show_start(self, session_id: str) -> None:
        """The stop of a restart is over: from here on it is a start."""
        walks = self.ports.memory.walks
        if session_id in walks:
            walks[session_id] = Walk(kind="start", since=self.ports.clock.now())
            self.progressed()

    def structural(self, session: Session) -> str:
        """The structural reason that applies to a session right now, or "" (DRAIN-12..15).

        Trims and removals are seen by the patrol, which keeps `taken`; the rest is asked here.
        """
        city = self.ports.city
        place = place_of(session, city)
        if session.id in self.taken:
            return str(self.taken[session.id])
        if place is None:
            return "" if city.incomplete else str(StopReason.ORPHANED)
        if session.suspended_at is not None or is_suspended(city, place.agent):
            return str(StopReason.SUSPENDED)
        drifted = session.started_hash and session.started_hash != start_hash(place.agent, city)
        return str(StopReason.CONFIG_DRIFT) if drifted and not city.incomplete else ""

    def _still(self, session: Session, reason: StopReason) -> bool:
        """Whether a stop is still asked for when its turn comes."""
        always = (StopReason.IDLE_TIMEOUT, StopReason.KILL, StopReason.CITY_STOP)
        return reason in always or self.structural(session) == reason

    async def _create(self, creates: list[Create]) -> None:
        """Write the records of new places in one batch, with their events."""
        now = self.ports.clock.now()
        beads = tuple(new_session(create.place, now=now) for create in creates)
        events = tuple(
            Event(
                type=EventType.CREATED,
                ts=now,
                subject=create.place.name,
                message="created",
                payload={"template": create.place.template, "slot": create.place.slot},
            )
            for create in creates
        )
        await apply(self.ports, Batch(creates=beads, events=events))


def _context(session: Session, decision: Decision, *, resumed: bool) -> DrainContext:
    """What the drain must still find true at its end (R35, R73)."""
    print_ = decision.fingerprint
    if resumed:
        current = Fingerprint(value=decision.fingerprint, inputs=decision.fingerprint_inputs)
        held = still_holds(
            current, stored=session.fingerprint, stored_inputs=session.fingerprint_inputs
        )
        print_ = decision.fingerprint if held else session.fingerprint
    request = session.sleep_request
    return DrainContext(
        fingerprint=print_,
        generation=session.generation,
        idle_since=decision.idle_reference_at,
        operator=request is not None and decision.policy.effective is OFF,
        forced=request is not None and request.force,
    )
