"""What people, agents and the world do to a fake city: one short method each.

None of them waits, so each may be called between ticks or as a deed at a cut.

Source: DESIGN §5 (R18..R26), §H (HARN-03)
"""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

from gascity.act.save import Change, change
from gascity.beads.bead import IN_PROGRESS, Bead
from gascity.beads.memory import MemoryStore
from gascity.beads.notices import Mode, new_message
from gascity.beads.record import session_of
from gascity.beads.store import Batch, NewBead, Query, Update
from gascity.beads.work import new_task, new_wait
from gascity.daemon import Controller
from gascity.model.city import City
from gascity.model.session import Pin, Session, WakeNote
from gascity.model.world import Exit, OpenTurn, Pending
from gascity.observe.ports import Ports
from gascity.testing.clock import FakeClock
from gascity.testing.facts import Records
from gascity.testing.hosted import FakeHost
from gascity.testing.script import Script

T = TypeVar("T")


class People:
    """The hands of everybody but the controller. A dead controller's records are written directly.

    The attributes belong to `FakeCity`.
    """

    config: City
    clock: FakeClock
    host: FakeHost
    memory: MemoryStore
    script: Script
    ports: Ports
    controller: Controller

    @property
    def is_dead(self) -> bool:
        """Whether the controller crashed and was not restarted."""
        return self.script.crashed

    def session(self, name: str) -> Session:
        """The record of that name as it is on disk."""
        return session_of(self._bead(name))

    def has(self, name: str) -> bool:
        """Whether there is an open record of that name."""
        return self.records().session(name) is not None

    def runs(self, name: str) -> bool:
        """Whether the host runs it."""
        return self.host.of(name).running

    def records(self) -> Records:
        """Every open record as it is on disk."""
        edges = {name: agent.depends_on for name, agent in self.config.agents.items()}
        beads = tuple(at_once(self.memory.query(Query())))
        return Records(beads, self.clock.now(), edges)

    def _bead(self, name: str) -> Bead:
        bead = self.records().session(name)
        assert bead is not None, f"no session {name}"
        return bead

    def give(self, name: str, title: str = "fix it") -> str:
        """Assign work to a session; the id of the task."""
        return self._write(new_task(title, assignee=name))

    def remind(
        self, name: str, *, in_s: float = 0.0, note: str = "", tells_elapsed: bool = False
    ) -> str:
        """A wait of the session that is met in so many seconds; its id."""
        until = self.clock.now() + timedelta(seconds=in_s)
        session = self.session(name)
        new = new_wait(session, until=until, note=note, tells_elapsed=tells_elapsed)
        return self._write(new)

    def await_beads(
        self, name: str, *bead_ids: str, note: str = "", expires_s: float | None = None
    ) -> str:
        """A wait of the session for beads to be closed; its id."""
        expires = None if expires_s is None else self.clock.now() + timedelta(seconds=expires_s)
        session = self.session(name)
        return self._write(new_wait(session, bead_ids=bead_ids, note=note, expires_at=expires))

    def tell(self, name: str, text: str, *, mode: Mode = Mode.WAKE) -> str:
        """`gc session nudge --wake` or `--queue`; the id of the message."""
        return self._write(new_message(self.session(name), text, mode=mode))

    def take(self, name: str, bead_id: str) -> None:
        """The session claims a task."""
        self._apply(Batch(updates=(Update(id=bead_id, status=IN_PROGRESS, assignee=name),)))

    def finish(self, bead_id: str) -> None:
        """The task is done, the wait is over."""
        self._apply(Batch(updates=(Update(id=bead_id, status="closed"),)))

    def attach(self, name: str, count: int = 1) -> None:
        """So many people are attached from now on."""
        self.host.of(name).attached = count

    def ask(self, name: str, question: str = "May I?") -> None:
        """The session asks something and waits for an answer."""
        asked = Pending(kind="permission", question=question, since=self.clock.now())
        self.host.of(name).pending = asked
        self.touch(name)

    def answer(self, name: str) -> None:
        """Somebody answers, and the session is idle again."""
        self.host.of(name).pending = None
        self.touch(name)

    def touch(self, name: str) -> None:
        """The session does something."""
        if self.runs(name):
            self.host.of(name).activity = self.clock.now()

    def wake(self, name: str, *, for_s: float = 300.0) -> None:
        """`gc wake`."""
        note = self._note(for_s)
        self.change(name, lambda session, _: (replace(session, wake_request=note), ()))

    def want_to_attach(self, name: str, *, for_s: float = 300.0) -> None:
        """`gc attach` before anybody is attached."""
        note = self._note(for_s)
        self.change(name, lambda session, _: (replace(session, attach_intent=note), ()))

    def withdraw(self, name: str) -> None:
        """Every request and pin of people is gone."""
        self.change(
            name,
            lambda session, _: (
                replace(session, wake_request=None, attach_intent=None, pins=()),
                (),
            ),
        )

    def pin(self, name: str, *, for_s: float = 28_800.0) -> None:
        """`gc pin`."""
        now = self.clock.now()
        pin = Pin(owner="ann", reason="", at=now, expires_at=now + timedelta(seconds=for_s))
        self.change(name, lambda session, _: (replace(session, pins=(pin,)), ()))

    def begin_turn(self, name: str, what: str = "sleep 3600s") -> None:
        """Something in the session's present run announces an open turn."""
        session = self.session(name)
        turn = OpenTurn(token=session.instance_token, what=what, since=self.clock.now())
        if not self.is_dead:
            self.ports.memory.open_turn(session.id, turn)
            token = turn.token
            self.change(name, lambda session, _: (replace(session, open_turn=token), ()))

    def end_turn(self, name: str) -> None:
        """Whatever announced turns of the session ends, or dies."""
        session_id = self._bead(name).id
        for turn in self.ports.memory.turns.get(session_id, ()):
            self.ports.memory.close_turn(session_id, turn)
        self.controller.poke()

    def suspend(self, name: str) -> None:
        """`gc suspend`."""
        now = self.clock.now()
        self.change(
            name,
            lambda session, _: (replace(session, suspended_at=now, suspended_by="ann"), ()),
        )

    def resume(self, name: str) -> None:
        """`gc resume`."""
        self.change(
            name, lambda session, _: (replace(session, suspended_at=None, suspended_by=""), ())
        )

    def exit(self, name: str, code: int = 0) -> None:
        """The agent ends by itself with this status."""
        if self.runs(name):
            self.host.of(name).end(Exit(code=code))

    def begin_elsewhere(self, name: str) -> None:
        """Somebody else starts the session, under this city's mark and a token of their own."""
        one = self.host.of(name)
        one.running, one.ready, one.city = True, True, self.config.path
        one.token, one.exit, one.activity = "somebody-else", None, self.clock.now()
        one.starts += 1

    def configure(self, config: City) -> None:
        """The config changed and was read, by a patrol beside whatever is under way."""
        self.config = replace(config, path=self.config.path)
        self.ports.city = self.config
        self.ports.memory.missing, self.ports.memory.missing_since = frozenset(), None

    def change(self, name: str, fn: Change) -> None:
        """Change a record as a request does: durably, then a poke."""
        session_id = self._bead(name).id
        with self.script.offstage():
            if self.is_dead:
                at_once(change(self._offline(), session_id, fn))
            else:
                at_once(self.controller.change(session_id, fn))

    def _note(self, for_s: float) -> WakeNote:
        now = self.clock.now()
        return WakeNote(holder="ann-1", by="ann", at=now, expires_at=now + timedelta(seconds=for_s))

    def _write(self, new: NewBead) -> str:
        known = {bead.id for bead in self.records().beads}
        self._apply(Batch(creates=(new,)))
        return next(bead.id for bead in self.records().beads if bead.id not in known)

    def _apply(self, batch: Batch) -> None:
        with self.script.offstage():
            if self.is_dead:
                at_once(self.memory.apply(batch, now=self.clock.now()))
            else:
                at_once(self.controller.apply(batch))

    def _offline(self) -> Ports:
        """What a command holds while no controller runs (R71)."""
        return Ports(store=self.memory, clock=self.clock, runtimes={}, city=self.config)


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """The result of something that never really waits: nothing here leaves memory."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise AssertionError("it waited")
