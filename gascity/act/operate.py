"""What every operator request shares: the controller it asks, the session it means, what is seen.

The requests themselves: `requests_wake`, `requests_attach`, `requests_hold` (sleep, pin, suspend,
kill), `requests_talk` (peek, nudge), `requests_turn`, `requests_signal`, `requests_work`,
`requests_why`. Each takes a `Desk` and ends in a reply, or raises `Refused`. A long one says on
the way how it stands.

Source: DESIGN §12 (R25, R26, R65)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, Protocol, TypeAlias

import anyio

from gascity.act.ports import Refused
from gascity.beads.store import Applied, Batch, Store
from gascity.decide.wake import held_reason
from gascity.model.city import City
from gascity.model.events import Event
from gascity.model.plan import Decision, Plan
from gascity.model.roster import is_suspended
from gascity.model.session import Session, SleepIntent, SleepReason, State
from gascity.model.signals import Heard, Signal
from gascity.model.world import OpenTurn, Sighting, Truth, World
from gascity.observe.clock import Clock
from gascity.observe.world import watch_of
from gascity.runtimes.base import Runtime, RuntimeUnreachable

Reply: TypeAlias = dict[str, Any]
Say: TypeAlias = Callable[[Reply], Awaitable[None]]
Change: TypeAlias = Callable[[Session, datetime], tuple[Session, tuple[Event, ...]]]

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_REFUSED: Final = 3
EXIT_TIMED_OUT: Final = 4

LOOK_S: Final = 2.0  # how long a request waits for one runtime to say how a session is
HEARTBEAT_S: Final = 3.0  # a waiting request says something at least this often
UNRECORDED: Final = "the store takes no writes; it is recorded once it does"


class Look(Protocol):
    """What the last patrol saw and decided; there at once, whatever hangs."""

    @property
    def city(self) -> City: ...
    @property
    def sessions(self) -> Mapping[str, Session]: ...
    @property
    def plan(self) -> Plan | None: ...
    @property
    def world(self) -> World | None: ...
    @property
    def patrols(self) -> int: ...
    @property
    def last_patrol_at(self) -> datetime | None: ...
    @property
    def started_at(self) -> datetime: ...
    @property
    def problems(self) -> tuple[str, ...]: ...


class Desk(Protocol):
    """The controller, as far as requests know it."""

    @property
    def store(self) -> Store: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def progress(self) -> int: ...

    def snapshot(self) -> Look: ...
    def runtime_of(self, session: Session) -> Runtime: ...
    def poke(self) -> None: ...
    def reload(self) -> None: ...
    def stop(self, *, sessions: bool) -> None: ...
    async def change(self, session_id: str, fn: Change, /) -> Session: ...
    async def ask(self, session_id: str, fn: Change, /) -> tuple[Session, bool]: ...
    def forget(self, session_id: str, /, *, holder: str) -> bool: ...
    async def wait_patrol(self) -> Look: ...
    async def wait_progress(self, seen: int, /) -> int: ...
    async def kill(self, session_id: str, *, by: str) -> None: ...
    def in_turn(self, session_id: str, turn: OpenTurn, /) -> AbstractContextManager[None]: ...
    def hear(self, session_id: str, said: Signal, /) -> Heard: ...
    async def apply(self, batch: Batch, /) -> Applied: ...


def find(look: Look, said: str) -> Session:
    """The session a person means: by name, by id, by agent, or by the agent's bare name (R6b).

    Raises:
        Refused: nobody, or several of them, all listed.
    """
    sessions = list(look.sessions.values())
    for matches in (
        [one for one in sessions if one.name == said],
        [one for one in sessions if one.id == said],
        [one for one in sessions if one.template == said],
        [one for one in sessions if _bare(one.template) == said],
    ):
        if len(matches) > 1:
            names = ", ".join(sorted(one.name for one in matches))
            raise Refused(f"{said!r} may be any of {names}", "name one of them", EXIT_USAGE)
        if matches:
            return matches[0]
    if any(said in (identity, _bare(identity)) for identity in look.city.agents):
        raise Refused(
            f"the agent {said} has no session now", f"give it work: gc sling {said} TITLE"
        )
    raise Refused(f"no session {said!r} in this city", "gc status lists them", EXIT_USAGE)


def _bare(identity: str) -> str:
    """`[rig/][binding.]name` → `name`."""
    return identity.rpartition("/")[2].rpartition(".")[2]


def current(look: Look, session: Session) -> Session:
    """The same session as it is recorded now.

    Raises:
        Refused: it is gone.
    """
    found = look.sessions.get(session.id)
    if found is None:
        raise Refused(f"{session.name} was removed meanwhile", "gc status lists what there is")
    return found


def decision_of(look: Look, session: Session) -> Decision | None:
    """What the last patrol decided about it, if it has been judged yet."""
    return look.plan.decisions.get(session.id) if look.plan is not None else None


def seen_last(look: Look, session: Session) -> Sighting:
    """How the last patrol saw it."""
    if look.world is None:
        return Sighting.unknown("no patrol yet")
    return look.world.sighting(session.id)


async def seen_now(desk: Desk, session: Session, *, screen: bool = False) -> Sighting:
    """How it is at this moment; unknown when its runtime does not say so within two seconds."""
    watch = replace(
        watch_of(session, desk.snapshot().city, screen=screen), token=session.instance_token
    )
    try:
        with anyio.fail_after(LOOK_S):
            listing = await desk.runtime_of(session).list([watch])
    except TimeoutError:
        return Sighting.unknown(f"no answer within {LOOK_S:g}s")
    except RuntimeUnreachable as problem:
        return Sighting.unknown(str(problem))
    return listing.sightings.get(session.name) or Sighting.unknown("not listed")


def is_up(session: Session) -> bool:
    """Whether the record says awake, ready, and nothing is taking it away."""
    return (
        session.state is State.AWAKE
        and session.ready_at is not None
        and session.ready_at >= (session.woke_at or session.ready_at)
        and not is_leaving(session)
    )


def is_leaving(session: Session) -> bool:
    """Whether a stop of this generation has been announced."""
    note = session.stop_note
    announced = note is not None and note.generation == session.generation
    return session.sleep_intent is not SleepIntent.NONE or announced


def came_up(look: Look, session: Session, *, since: datetime, recorded: bool = True) -> bool:
    """Whether it was seen up after `since`: ready again, or still running with its drain undone.

    Of one whose request could not be recorded the record says nothing: what is seen counts (R75).
    """
    if recorded and not is_up(session):
        return False
    if recorded and session.ready_at is not None and session.ready_at >= since:
        return True
    world = look.world
    if world is None or world.now < since:
        return False
    return world.sighting(session.id).truth is Truth.RUNNING


def start_failure(asked: Session, session: Session) -> str:
    """What a start that certainly failed since the record said `asked` told, or "".

    Only counted failures are certain: an error noted beside them may still turn out well (ATT-14).
    The failure that fills the count ends in quarantine, which begins a count of its own (R41).
    """
    fresh = Counter(session.failed_starts) - Counter(asked.failed_starts)
    put_away = session.quarantine_cycle > asked.quarantine_cycle
    if fresh or put_away:
        return session.last_error.removeprefix("start failed: ") or "the start failed"
    return ""


def hold_of(session: Session, city: City, now: datetime) -> Refused | None:
    """Why nothing may wake this session, with what lifts that, or None (R26, R65)."""
    # A provider's limit holds back everything but an operator.
    why = held_reason(replace(session, limited_until=None), World(now=now, city=city))
    if not why:
        return None
    agent = city.agents.get(session.template)
    by_config = is_suspended(city, agent) if agent is not None else ""
    if session.foreign_state:
        do = f"clear it there, or: gc bead update {session.id} --metadata state=asleep"
    elif session.suspended_at is None and by_config:
        do = f"set suspended = false for the {by_config} in city.toml"
    elif is_drained(session):
        do = f"wake it with gc wake {session.name}"
    else:
        do = f"lift it with gc resume {session.name}"
    return Refused(f"{session.name} is {why}", do)


def is_drained(session: Session) -> bool:
    """Whether it was drained away for good, and only an operator's wake brings it back."""
    return session.state is State.ASLEEP and session.sleep_reason is SleepReason.DRAINED


async def next_progress(desk: Desk, seen: int, *, until: float) -> int:
    """Wait until the controller got somewhere, or until the monotonic second `until`."""
    reached = seen
    async with anyio.create_task_group() as both:

        async def alarm() -> None:
            await desk.clock.sleep_until(until)
            both.cancel_scope.cancel()

        both.start_soon(alarm)
        reached = await desk.wait_progress(seen)
        both.cancel_scope.cancel()
    return reached
