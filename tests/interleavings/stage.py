"""A city whose every step says what it looked at, so that cuts which nobody can tell apart are one.

A controller is a function of the answers it got. Where an arrival changes nothing that is looked at
between two cuts, it makes no difference at which of the two it comes. What a step looks at is
recorded here; what an arrival changes is said in `events`, and `test_pruning` holds both to it.

Source: DESIGN §H (HARN-01..04); R1 of the reliability targets
"""

from __future__ import annotations

import asyncio
import secrets
import uuid
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, Final

from gascity.model.city import City
from gascity.model.session import Session
from gascity.model.world import Truth
from gascity.observe.ports import Ports
from gascity.observe.recollection import Recollection
from gascity.testing.city import FakeCity
from gascity.testing.clock import FakeClock, VirtualLoop
from gascity.testing.facts import Records
from gascity.testing.hosted import FakeHost, FakeSession
from gascity.testing.inspector import Inspector
from gascity.testing.overseer import Overseer
from gascity.testing.script import AFTER, BEFORE, Deed, Moment, Script
from gascity.testing.store import ScriptedStore

ANYTHING: Final = "*"
"""Looked at by a step that has an effect: nothing may be moved across it."""
EFFECTS: Final = ("wait_for_idle", "stop", "start", "send", "interrupt", "peek")
WRITES: Final = ("save", "create", "clear")
READINGS: Final = ("is_running", "attached", "activity", "pending")
LOOKS: Final = {
    "list": ("host",),
    "query session": ("session",),
    "query task": ("task", "demand unclear"),
    "query gate": ("gate", "demand unclear"),
    "query message": ("message",),
    "get": ("session",),
}


def is_write(moment: Moment) -> bool:
    """Whether it is the call of a write to the records."""
    return moment.call.startswith(WRITES) and moment.call != "save note"


class Steps(Script):
    """A script by position: deeds are due at the nth moment, whatever it is called.

    `seen[n]` is what was looked at between moment n - 1 and moment n.
    """

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(lambda: clock._monotonic)
        self.begun = 0
        self.due: dict[int, list[Deed]] = {}
        self.seen: list[frozenset[str]] = []
        self.muted = False
        self._seen: set[str] = set()
        self._late = ""
        self._at = -1.0

    def begin(self) -> None:
        """Positions count from here."""
        self.log.clear()
        self.seen.clear()

    def mark(self, what: str) -> None:
        """Somebody looks at this."""
        if not self.muted:
            self._seen.add(what)

    def _matching(self, moment: Moment) -> list[Deed]:
        call, of = moment.call, moment.of
        if moment.at != self._at:
            self._seen.add(ANYTHING)
            self._at = moment.at
        if moment.when == AFTER and call == "list":
            self._seen |= {"is_running db", "is_running app"}
        self.seen.append(frozenset(self._seen))
        self._seen.clear()
        if call == "pending" and moment.when == BEFORE and self._late:
            self.seen[-1] -= {self._late}  # the rest is looked at after this reading
        self._late = ""
        if moment.when == BEFORE:
            if call in EFFECTS or call.startswith(WRITES):
                self._seen.add(ANYTHING)
            elif call in READINGS:
                self._seen.add(f"{call} {of}")
            else:
                self._seen.update(LOOKS.get(call, (ANYTHING,)))
        elif call in ("activity", "pending") or (
            call == "is_running" and moment.value is not Truth.RUNNING
        ):
            self._late = f"is_running {of}"
            self._seen.add(self._late)
        return self.due.get(len(self.seen) - 1, [])


class SeenClock(FakeClock):
    """A clock that says when it is looked at. Deadlines of the loop count as such."""

    steps: Steps | None = None

    def now(self) -> datetime:
        """Wall time, noted."""
        if self.steps is not None:
            self.steps.mark("now")
        return FakeClock.now(self)

    def monotonic(self) -> float:
        """Seconds, noted."""
        if self.steps is not None:
            self.steps.mark("monotonic")
        return self._monotonic


class SeenPorts(Ports):
    """Ports that say when config and records are looked at."""

    steps: Steps

    @property
    def city(self) -> City:  # type: ignore[override]
        """The config, noted."""
        self.steps.mark("city")
        return self._city

    @city.setter
    def city(self, value: City) -> None:
        self._city = value

    @property
    def records(self) -> dict[str, Session]:  # type: ignore[override]
        """The records in memory, noted."""
        self.steps.mark("session")
        return self._records

    @property
    def memory(self) -> Recollection:  # type: ignore[override]
        """What is kept in memory alone, noted."""
        self.steps.mark("turns")
        return self._memory

    @memory.setter
    def memory(self, value: Recollection) -> None:
        self._memory = value

    @records.setter
    def records(self, value: dict[str, Session]) -> None:
        self._records = value


class SeenStore(ScriptedStore):
    """A store that says when the number of demand is looked at."""

    @property
    def demand_revision(self) -> int:
        """The number, noted."""
        assert isinstance(self.script, Steps)
        self.script.mark("revision")
        return self.memory.demand_revision


class OneLoop(VirtualLoop):
    """One loop for every stage of this process, one after the other; making one is not cheap."""

    def __init__(self) -> None:
        super().__init__(FakeClock())

    def take(self, clock: SeenClock) -> None:
        """Live by this clock from now on; whatever an earlier one left is dropped."""
        self._fake = self._selector._clock = clock  # type: ignore[attr-defined]
        self._ready.clear()  # type: ignore[attr-defined]
        self._scheduled.clear()  # type: ignore[attr-defined]

    def time(self) -> float:
        """Seconds. The loop's own looks are nobody's."""
        return self._fake._monotonic

    def call_at(self, when: float, *args: Any, **more: Any) -> asyncio.TimerHandle:
        """A deadline is set: it stands on the time."""
        clock = self._fake
        if isinstance(clock, SeenClock) and clock.steps is not None:
            clock.steps.mark("monotonic")
        return super().call_at(when, *args, **more)

    def close(self) -> None:
        """It serves the next stage."""


class _Seen:
    """What the inspector judges by: the config as the controller knew it when it began to write."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stage, name)

    @property
    def ports(self) -> _Seen:
        """For its config."""
        return self

    @property
    def city(self) -> City:
        """The config of the last look."""
        return self._stage.looked


_LOOP: list[OneLoop] = []
_CONFIGS: list[City] = []
SESSION_FIELDS: Final = tuple(
    one.name for one in fields(FakeSession) if one.name not in ("heard", "starts", "stops", "env")
)


class Stage(FakeCity):
    """A fork of a fake city by positions, watched by both judges."""

    script: Steps
    clock: SeenClock

    @classmethod
    def on(cls, base: FakeCity) -> Stage:
        """A stage that stands where `base` stands; `base` is left as it is."""
        stage = object.__new__(cls)
        stage.config, stage.support = base.config, base.support
        stage.clock = SeenClock(base.clock.start)
        stage.clock._monotonic = base.clock._monotonic
        stage.clock._ahead = base.clock._ahead
        sessions = {name: _copied(one) for name, one in base.host.sessions.items()}
        host = base.host
        stage.host = FakeHost(
            stage.clock, sessions=sessions, is_gone=host.is_gone, took=dict(host.took)
        )
        stage.host.unreachable = host.unreachable
        kept = base.memory._closed
        stage.memory = base.memory.reopened()
        base.memory._closed = kept
        stage._settle()
        return stage

    def _settle(self) -> None:
        if not _LOOP:
            _LOOP.append(OneLoop())
        self._loop = _LOOP[0]
        _LOOP[0].take(self.clock)
        self.script = self.clock.steps = Steps(self.clock)
        self.ticks = 0
        self.judges()
        self.restart()

    def judges(self) -> None:
        """Fresh ones: what was seen before today's tick is nothing to go by."""
        found = self.overseer.violations if hasattr(self, "overseer") else []
        self.overseer = Overseer(self.records, self._structural, found)
        self.inspector = Inspector(_Seen(self), found)  # type: ignore[arg-type]
        self.inspector.deaths = 1_000_000  # what is counted as a crash is judged by the overseer
        self.script.watch = self._watch

    def _structural(self, name: str) -> str:
        """By the config as it was when the write began: it is in no batch."""
        bead = self.records().session(name)
        agent = self.written.agents.get(bead.metadata.get("template", "")) if bead else None
        return "suspended by the config" if agent is not None and agent.suspended else ""

    def _watch(self, moment: Moment) -> None:
        self.script.muted = True
        if moment.when == BEFORE and moment.call != "query session":
            self.looked = self.ports._city if self._has_looked else self.looked
        self._has_looked = moment.when == AFTER and moment.call == "query gate"
        if moment.when == BEFORE and is_write(moment):
            self.written = self.ports._city
        self.overseer.saw(moment)
        self.inspector.saw(moment)
        self.script.muted = False

    def _witness(self, *written: Any) -> None:
        self.script.muted = True
        self.overseer.wrote(*written)
        self.inspector.wrote(*written)
        self.script.muted = False

    def restart(self) -> None:
        """A fresh controller over the same records and runtime."""
        from gascity.daemon import Controller
        from gascity.testing.runtime import connect

        self.memory = self.memory.reopened()
        self.script.revive()
        self.script.mark(ANYTHING)
        self.overseer.new_life()
        self.inspector.failed_reads.clear()
        self.inspector.refused = False
        self.store = SeenStore(self.memory, self.script, witness=self._witness)
        self.runtime = connect(self.host, self.script, city=self.config.path, support=self.support)
        SeenPorts.steps = self.script
        self.ports = SeenPorts(
            store=self.store,
            clock=self.clock,
            runtimes={self.runtime.kind: self.runtime},
            city=self.config,
        )
        self.looked = self.written = self.config
        self._has_looked = False
        self.controller = Controller(self.ports)
        self._is_new = True

    def configure(self, config: City) -> None:
        """The config changed. One that was there before is the same object again."""
        config = replace(config, path=self.config.path)
        known = next((one for one in _CONFIGS if one == config), None)
        if known is None:
            _CONFIGS.append(config)
        super().configure(known or config)
        self.config = self.ports._city = known or config

    def records(self) -> Records:
        """Every open record as it is on disk."""
        edges = {name: agent.depends_on for name, agent in self.config.agents.items()}
        beads = tuple(self.memory._ledger.open.values())
        return Records(beads, FakeClock.now(self.clock), edges)

    # -- the state, as something that can be compared

    def world(self) -> Hashable:
        """Everything that outlives a controller, but for numbers that only count writes."""
        ledger = self.memory._ledger
        beads = tuple(
            (
                bead.id,
                bead.type,
                bead.status,
                bead.title,
                bead.assignee,
                bead.blocked_by,
                bead.created_at,
                tuple(sorted(bead.metadata.items())),
            )
            for bead in ledger.open.values()
        )
        sessions = tuple(
            (name, *(_plain(getattr(one, key)) for key in SESSION_FIELDS))
            for name, one in sorted(self.host.sessions.items())
        )
        host = (self.host.unreachable, self.host.hangs, self.host.is_gone)
        clock = (self.clock._monotonic, self.clock._ahead)
        notes = tuple(sorted(ledger.notes.items()))
        lies = (self.memory.full, self.store.demand_unclear, tuple(self.store.refuse))
        return beads, sessions, host, clock, notes, lies, id(self.config)

    def state(self) -> Hashable:
        """The world, and what this controller remembers between two patrols."""
        memory = repr(self.ports.memory)
        assert " object at 0x" not in memory, "what has no value of its own cannot be compared"
        jumps = self.controller._chores._jumps
        seen = (jumps._wall, jumps._monotonic, self.ports.writable, self._is_new)
        asked = tuple(sorted(self.ports.records.items(), key=lambda pair: pair[0]))
        records = tuple((key, one.instance_token, one.sleep_intent) for key, one in asked)
        return self.world(), memory, seen, records, tuple(self.inspector.asleep.items())


def _copied(one: FakeSession) -> FakeSession:
    return replace(one, lines=list(one.lines), typed=list(one.typed), heard=list(one.heard))


def _plain(value: Any) -> Hashable:
    return tuple(value) if isinstance(value, list) else value


@contextmanager
def counted_tokens() -> Iterator[None]:
    """Tokens and keys are numbers in order, so that two stages can be compared."""
    kept = secrets.token_hex, uuid.uuid4
    numbers = iter(range(1, 1_000_000_000))

    def token_hex(_: int | None = None) -> str:
        return f"token-{next(numbers)}"

    def uuid4() -> uuid.UUID:
        return uuid.UUID(int=next(numbers))

    secrets.token_hex, uuid.uuid4 = token_hex, uuid4
    try:
        yield
    finally:
        secrets.token_hex, uuid.uuid4 = kept
