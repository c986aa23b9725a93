"""A controller in one hand: sessions in a dictionary, a clock, and steps played one a patrol.

Requests are tested against this; that the real controller behaves so is tested with the real one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

import anyio

from gascity.act.operate import Reply
from gascity.act.ports import Refused
from gascity.act.save import Gone
from gascity.beads.memory import MemoryStore
from gascity.beads.store import Applied, Batch, Store
from gascity.decide.signals import hear
from gascity.model.city import Agent, City, WakeMode
from gascity.model.events import Event
from gascity.model.plan import Plan
from gascity.model.reading import Known
from gascity.model.session import Session, SleepReason, State
from gascity.model.signals import Heard, Signal
from gascity.model.world import OpenTurn, Sighting, Support, Truth, World
from gascity.observe.clock import Clock
from gascity.runtimes.base import BY_TERMINAL, Ability, Listing, Spec, Stopped, Watch
from gascity.testing.clock import NOON, FakeClock, run_virtual
from gascity.testing.hosted import FULL

T = TypeVar("T")
Step = Callable[["FakeDesk"], None]

MAYOR = Agent(identity="mayor", name="mayor")
POET = Agent(identity="poet", name="poet", wake_mode=WakeMode.FRESH)
CITY = City(name="demo", path="", agents={"mayor": MAYOR, "poet": POET})
AN_HOUR_AGO = NOON - timedelta(hours=1)


def a_session(name: str = "mayor", **fields: Any) -> Session:
    """A session that was started once and sleeps for being idle, unless told otherwise."""
    told: dict[str, Any] = {
        "id": f"gc-{name}",
        "version": 1,
        "name": name,
        "template": name,
        "state": State.ASLEEP,
        "sleep_reason": SleepReason.IDLE,
        "generation": 1,
        "instance_token": "token-1",
        "woke_at": AN_HOUR_AGO,
        "ready_at": AN_HOUR_AGO,
    }
    return Session(**(told | fields))


def awake(name: str = "mayor", **fields: Any) -> Session:
    """A session that is up and ready."""
    return a_session(name, **({"state": State.AWAKE, "sleep_reason": SleepReason.NONE} | fields))


@dataclass(slots=True)
class StubRuntime:
    """Answers what `truths` says; remembers what was typed."""

    truths: dict[str, Sighting] = field(default_factory=dict)
    typed: list[tuple[str, str, str]] = field(default_factory=list)
    screen: str = ""
    attachable: bool = True
    hangs: bool = False
    kind: str = "tmux"
    support: Support = FULL

    async def list(self, watches: Any) -> Listing:
        if self.hangs:
            await anyio.sleep_forever()
        seen: dict[str, Sighting] = {}
        for watch in watches:
            assert isinstance(watch, Watch)
            seen[watch.name] = self.truths.get(watch.name, Sighting.stopped())
        return Listing(sightings=seen)

    async def start(self, spec: Spec) -> None:
        raise AssertionError("only the controller starts sessions")

    async def stop(self, name: str, *, token: str, grace_s: float) -> Stopped:
        raise AssertionError("only the controller stops sessions")

    @property
    def abilities(self) -> frozenset[Ability]:
        return BY_TERMINAL

    async def peek(self, name: str, *, lines: int) -> str:
        return self.screen

    async def send(self, name: str, text: str, *, token: str) -> None:
        self.typed.append((name, text, token))

    async def interrupt(self, name: str, *, token: str) -> None:
        raise AssertionError("nobody asks for that")

    def attach_command(self, name: str) -> tuple[str, ...]:
        return ("tmux", "attach-session", "-t", f"={name}") if self.attachable else ()

    async def close(self) -> None:
        return


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """What `snapshot` returns."""

    city: City
    sessions: Mapping[str, Session]
    plan: Plan | None
    world: World | None
    patrols: int
    last_patrol_at: datetime | None
    started_at: datetime
    problems: tuple[str, ...]


class FakeDesk:
    """The controller's interface; `steps` are what it does from one progress to the next."""

    def __init__(self, *sessions: Session, city: City = CITY, clock: Clock | None = None) -> None:
        self.clock: Any = clock or FakeClock()
        self.store: Store = MemoryStore()
        self.city = city
        self.sessions = {one.id: one for one in sessions}
        self.runtime = StubRuntime()
        self.plan: Plan | None = None
        self.steps: list[Step] = []
        self.progress = 0
        self.pokes = 0
        self.reloads = 0
        self.stopped: list[bool] = []
        self.turns: list[OpenTurn] = []
        self.heard: dict[str, Heard] = {}
        self.writes: list[Session] = []
        self.changed = anyio.Event()
        self.problems: tuple[str, ...] = ()
        for one in sessions:
            if one.state is State.AWAKE:
                self.runtime.truths[one.name] = running()

    def snapshot(self) -> Glance:
        seen = {
            one.id: self.runtime.truths.get(one.name, Sighting.stopped())
            for one in self.sessions.values()
        }
        return Glance(
            city=self.city,
            sessions=dict(self.sessions),
            plan=self.plan,
            world=World(
                now=self.clock.now(), city=self.city, sessions=self.sessions, sightings=seen
            ),
            patrols=self.progress,
            last_patrol_at=self.clock.now(),
            started_at=NOON,
            problems=self.problems,
        )

    def runtime_of(self, session: Session) -> StubRuntime:
        return self.runtime

    def poke(self) -> None:
        self.pokes += 1

    def reload(self) -> None:
        self.reloads += 1

    def stop(self, *, sessions: bool) -> None:
        self.stopped.append(sessions)

    async def change(
        self,
        session_id: str,
        fn: Callable[[Session, datetime], tuple[Session, tuple[Event, ...]]],
    ) -> Session:
        await anyio.lowlevel.checkpoint()
        before = self.sessions.get(session_id)
        if before is None:
            raise Gone(session_id)
        after, events = fn(before, self.clock.now())
        if events:
            await self.store.apply(Batch(events=events), now=self.clock.now())
        if after != before:
            self.sessions[session_id] = replace(after, version=before.version + 1)
            self.writes.append(after)
        self.poke()
        return self.sessions[session_id]

    async def ask(
        self,
        session_id: str,
        fn: Callable[[Session, datetime], tuple[Session, tuple[Event, ...]]],
    ) -> tuple[Session, bool]:
        return await self.change(session_id, fn), True

    def forget(self, session_id: str, /, *, holder: str) -> bool:
        return False

    async def wait_patrol(self) -> Glance:
        await self.wait_progress(self.progress)
        return self.snapshot()

    async def wait_progress(self, seen: int, /) -> int:
        await anyio.lowlevel.checkpoint()
        if self.progress > seen:
            return self.progress
        if self.steps:
            self.steps.pop(0)(self)
            self.move()
            return self.progress
        await self.changed.wait()
        return self.progress

    def move(self) -> None:
        """Let a patrol have ended."""
        self.progress += 1
        self.changed.set()
        self.changed = anyio.Event()

    @contextlib.contextmanager
    def in_turn(self, session_id: str, turn: OpenTurn, /) -> Iterator[None]:
        self.turns.append(turn)
        try:
            yield
        finally:
            self.turns.remove(turn)

    def hear(self, session_id: str, said: Signal, /) -> Heard:
        self.heard[session_id] = hear(self.heard.get(session_id), said)
        return self.heard[session_id]

    async def kill(self, session_id: str, *, by: str) -> None:
        self.runtime.truths[self.sessions[session_id].name] = Sighting.stopped()

    async def apply(self, batch: Batch, /) -> Applied:
        return await self.store.apply(batch, now=self.clock.now())

    def put(self, session_id: str, **fields: Any) -> None:
        """Change a record as the controller would."""
        self.sessions[session_id] = replace(self.sessions[session_id], **fields)


def running(**fields: Any) -> Sighting:
    """A session that runs with nobody attached."""
    told: dict[str, Any] = {"truth": Truth.RUNNING, "attached": Known(0), "pending": Known(None)}
    return Sighting(**(told | fields))


def comes_up(name: str = "mayor") -> Step:
    """The controller starts it, and it is ready at once; a wake request is answered."""

    def step(desk: FakeDesk) -> None:
        now = desk.clock.now()
        one = desk.sessions[f"gc-{name}"]
        desk.runtime.truths[name] = running()
        desk.put(
            one.id,
            state=State.AWAKE,
            sleep_reason=SleepReason.NONE,
            generation=one.generation + 1,
            woke_at=now,
            ready_at=now,
            wake_request=None,
        )

    return step


def fails(name: str = "mayor", why: str = "command not found") -> Step:
    """The start fails for certain: counted, and the requests that wanted it are over."""

    def step(desk: FakeDesk) -> None:
        one = desk.sessions[f"gc-{name}"]
        desk.put(
            one.id,
            last_error=why,
            failed_starts=(*one.failed_starts, desk.clock.now()),
            wake_request=None,
            attach_intent=None,
        )

    return step


def nothing(desk: FakeDesk) -> None:
    """A patrol that changes nothing."""


class Said(list[Reply]):
    """What a request says on its way."""

    async def __call__(self, part: Reply) -> None:
        self.append(part)


def run(desk: FakeDesk, fn: Callable[..., Awaitable[T]], *args: Any, **kwargs: Any) -> T:
    """Run a request to its end in virtual time."""

    async def body() -> T:
        desk.changed = anyio.Event()
        return await fn(desk, *args, **kwargs)

    return run_virtual(desk.clock, body)


def refusal(
    desk: FakeDesk, fn: Callable[..., Awaitable[Any]], *args: Any, **kwargs: Any
) -> Refused:
    """The refusal a request ends in."""
    try:
        run(desk, fn, *args, **kwargs)
    except Refused as refused:
        return refused
    raise AssertionError("it was not refused")
