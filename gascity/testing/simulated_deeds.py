"""What people, agents and their work do in a simulated city: one short deed each.

A deed takes a number and makes of it whatever it needs, so that a life is a list of (when, deed,
number) that can be drawn, shortened and written down. Requests are the product's own.

Source: DESIGN §5, §12; R4 of the reliability targets
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, Final, TypeAlias

from gascity.act.requests_attach import attach
from gascity.act.requests_hold import pin, resume, sleep, suspend, unpin
from gascity.act.requests_wake import wake
from gascity.beads.bead import IN_PROGRESS, TASK
from gascity.beads.notices import Mode
from gascity.beads.store import Batch, Update
from gascity.beads.work import new_task
from gascity.model.world import Exit, ScreenVerdict
from gascity.testing.auditor import FOREIGN, UNASKED
from gascity.testing.facts import name_of
from gascity.testing.simulated_city import SimulatedCity

PATIENCE: Final = (1.0, 20.0, 0.0)


async def hush(_: object) -> None:
    """Nobody listens to progress here."""


@dataclass
class Life:
    """One city being lived in; `told` are the texts of messages, in order."""

    city: SimulatedCity
    told: list[str] = field(default_factory=list)
    behind_s: float = 0.0  # how far the wall clock was set back in all

    # -- whom

    def names(self) -> list[str]:
        """Every session there is a record of."""
        return sorted(name_of(bead) for bead in self.city.records().sessions())

    def up(self) -> list[str]:
        """Every session of ours that runs."""
        return [name for name in self.names() if self.city.runs(name)]

    def anybody(self, number: int) -> str:
        """Some session, or ""."""
        return _pick(self.names(), number)

    def runner(self, number: int) -> str:
        """Some session that runs, or ""."""
        return _pick(self.up(), number)

    def moved(self, name: str) -> None:
        """The session did something: its window begins anew."""
        if name:
            self.city.touch(name)
            self.city.inspector.busy_at[name] = self.city.clock.monotonic()

    # -- people

    def attach(self, number: int) -> None:
        """So many people look at a running session."""
        name = self.runner(number)
        if name:
            self.city.attach(name, 1 + number % 2)
            self.moved(name)

    def detach(self, number: int) -> None:
        """Everybody leaves a session."""
        up = [name for name in self.up() if self.city.host.of(name).attached]
        name = _pick(up, number)
        if name:
            self.city.attach(name, 0)
            self.city.inspector.was_left(name)

    def type(self, number: int) -> None:
        """Somebody types, or the agent prints."""
        self.moved(self.runner(number))

    def come_in(self, number: int) -> None:
        """`gc attach`, with a terminal if it comes up, sometimes given up before."""
        name, agreed = self.anybody(number), number % 3 > 0
        by = "ann, who agreed" if agreed else UNASKED

        async def ask() -> None:
            reply = await attach(self.city.controller, name, say=hush, confirm_fresh=agreed, by=by)
            if "argv" in reply and self.city.runs(name):
                self.city.attach(name, 1)
                self.moved(name)

        if name:
            self.city.request(ask, patience_s=PATIENCE[number % 3])

    def wake(self, number: int) -> None:
        """`gc wake`, with or without waiting for it."""
        self._ask(wake, number, say=hush, wait=number % 2 == 0)

    def sleep(self, number: int) -> None:
        """`gc sleep`, sometimes by force."""
        self._ask(sleep, number, force=number % 3 == 0)

    def pin(self, number: int) -> None:
        """`gc pin` for seconds or minutes."""
        self._ask(pin, number, owner=f"ann{number % 2}", for_s=20.0 + 13 * (number % 50))

    def unpin(self, number: int) -> None:
        """`gc unpin`."""
        self._ask(unpin, number)

    def suspend(self, number: int) -> None:
        """`gc suspend`."""
        self._ask(suspend, number)

    def resume(self, number: int) -> None:
        """`gc resume` of everybody who is held."""
        held = [
            name_of(bead)
            for bead in self.city.records().sessions()
            if bead.metadata.get("suspended_at") or bead.metadata.get("quarantined_until")
        ]
        name = _pick(sorted(held), number)
        if name:
            self.city.request(partial(resume, self.city.controller, name))

    def kill(self, number: int) -> None:
        """`gc session kill`."""
        name = self.anybody(number)

        async def ask() -> None:
            with self.city.script.onstage():
                await self.city.controller.kill(self.city.session(name).id, by="ann")

        if name:
            self.city.request(ask)

    def _ask(self, fn: Callable[..., Awaitable[Any]], number: int, **over: Any) -> None:
        name = self.anybody(number)
        if name:
            self.city.request(partial(fn, self.city.controller, name, **over))

    # -- work

    def sling(self, number: int) -> None:
        """Ready work for an agent or a pool; some of it blocked or put off."""
        targets = sorted(self.city.ports.city.agents)
        self._task(number, routed_to=_pick(targets, number // 7))

    def give(self, number: int) -> None:
        """Work for one session, by its name."""
        name = self.anybody(number // 7)
        if name:
            self._task(number, assignee=name)

    def _task(self, number: int, **over: Any) -> None:
        kind = number % 7
        if kind == 1:
            open_ones = self._tasks()
            over["blocked_by"] = (open_ones[number % len(open_ones)],) if open_ones else ()
        if kind == 2:
            over["defer_until"] = self.city.clock.now() + timedelta(seconds=number * 11)
        self.city._write(new_task(f"job {number}", **over))

    def _tasks(self, status: str = "") -> list[str]:
        beads = self.city.records().beads
        return [one.id for one in beads if one.type == TASK and status in ("", one.status)]

    def claim(self, number: int) -> None:
        """A running session takes up work that it may do, and is busy from then on."""
        records, name = self.city.records(), self.runner(number)
        bead = records.session(name) if name else None
        if bead is None:
            return
        words = {name, bead.id, bead.metadata["template"]}
        for task in records.beads:
            free = task.type == TASK and task.status == "open" and records.can_be_done(task)
            if free and (task.assignee or task.metadata.get("gc.routed_to", "")) in words:
                update = Update(id=task.id, status=IN_PROGRESS, assignee=name)
                self.city._apply(Batch(updates=(update,)))
                self._screen(name, ScreenVerdict.BUSY if number % 3 else ScreenVerdict.IDLE)
                return

    def finish(self, number: int) -> None:
        """Some work is done; whoever did it is back at its prompt."""
        tasks = self._tasks(IN_PROGRESS) or self._tasks()
        if tasks:
            self._finish(tasks[number % len(tasks)])

    def _finish(self, bead_id: str) -> None:
        task = next(one for one in self.city.records().beads if one.id == bead_id)
        if task.assignee and self.city.runs(task.assignee):
            self._screen(task.assignee, ScreenVerdict.IDLE)
        self.city.finish(bead_id)

    def finish_everything(self) -> None:
        """Nobody has anything to do any more."""
        for bead_id in self._tasks():
            self._finish(bead_id)

    def remind(self, number: int) -> None:
        """A session waits for a time or for work."""
        name, tasks = self.anybody(number), self._tasks()
        if not name:
            return
        if tasks and number % 2:
            self.city.await_beads(name, tasks[number % len(tasks)], note=f"done {number}")
        else:
            self.city.remind(name, in_s=float(number * 3), note="time" if number % 3 else "")

    def tell(self, number: int) -> None:
        """A message that wakes, or one that waits."""
        name = self.anybody(number)
        if name:
            text = f"message {len(self.told)}"
            self.city.tell(name, text, mode=Mode.QUEUE if number % 3 == 0 else Mode.WAKE)
            self.told.append(text)

    def scribble(self, number: int) -> None:
        """Another tool writes something of its own on a record (D2)."""
        beads = [one.id for one in self.city.records().beads]
        if beads:
            noted = Update(id=beads[number % len(beads)], metadata={FOREIGN: f"note {number}"})
            self.city._apply(Batch(updates=(noted,)))

    # -- agents

    def _screen(self, name: str, what: ScreenVerdict) -> None:
        self.city.host.of(name).screen = what
        self.moved(name)

    def work_on(self, number: int) -> None:
        """It is in the middle of something, silently."""
        verdicts = (ScreenVerdict.BUSY, ScreenVerdict.BACKGROUND)
        if self.runner(number):
            self._screen(self.runner(number), verdicts[number % 2])

    def end_turn(self, number: int) -> None:
        """It is back at its prompt."""
        if self.runner(number):
            self._screen(self.runner(number), ScreenVerdict.IDLE)

    def ask(self, number: int) -> None:
        """It asks somebody something."""
        name = self.runner(number)
        if name:
            self.city.ask(name)
            self.moved(name)

    def answer(self, number: int) -> None:
        """All questions are answered."""
        for name in self.up():
            if self.city.host.of(name).pending is not None:
                self.city.answer(name)
                self.moved(name)

    def leave(self, number: int) -> None:
        """It ends by itself: in good order, with an error, or by a signal."""
        name = self.runner(number)
        if name:
            ends = (Exit(code=0), Exit(code=0), Exit(code=1), Exit(signal=9))
            self.city.host.of(name).end(ends[number % 4])
            self.city.inspector.exits[name] = self.city.inspector.exits.get(name, 0) + 1

    def count(self, number: int) -> None:
        """The pools' checks say something else, or fail."""
        for identity, agent in self.city.ports.city.agents.items():
            if agent.pool is not None and agent.pool.check:
                self.city.count(identity, None if number % 7 == 0 else number % 4)


Deed: TypeAlias = Callable[[Any, int], None]

# fmt: off
DEEDS: Final[dict[str, Deed]] = {
    one.__name__: one
    for one in (
        Life.attach, Life.detach, Life.type, Life.come_in, Life.wake, Life.sleep, Life.pin,
        Life.unpin, Life.suspend, Life.resume, Life.kill, Life.sling, Life.give, Life.claim,
        Life.finish, Life.remind, Life.tell, Life.work_on, Life.end_turn, Life.ask, Life.answer,
        Life.leave, Life.count, Life.scribble,
    )
}
# fmt: on


def _pick(names: list[str], number: int) -> str:
    return names[number % len(names)] if names else ""
