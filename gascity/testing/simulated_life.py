"""One whole simulated life: trouble, recovery, an answer at once, peace; and how it went.

Source: DESIGN §H (HARN-01..04); R4 of the reliability targets (S1..S10, L1..L8, A1..A3, X1, D4)
"""

from __future__ import annotations

import contextlib
import logging
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gascity.beads.store import Conflict, StoreUnavailable
from gascity.report.log import set_up
from gascity.runtimes.base import RuntimeUnreachable
from gascity.testing.calm import astray, is_restless, misjudged, mistold, unmet
from gascity.testing.clock import NobodyWakes, Spinning
from gascity.testing.drawn_lives import Drawn, Step
from gascity.testing.facts import name_of
from gascity.testing.inspector import window_of
from gascity.testing.script import Crash
from gascity.testing.simulated_city import SimulatedCity
from gascity.testing.simulated_deeds import DEEDS
from gascity.testing.simulated_faults import FAULTS, HARMLESS, Misfortune

DAY_S: Final = 86400.0
BACK_TO_NORMAL_S: Final = 3 * 3600.0  # longer than any quarantine
NOTHING_TO_DO_S: Final = 1800.0  # longer than any pin, request and window
SOON_S: Final = 60.0
RESTLESS_DAYS: Final = 0.1
ALL: Final = DEEDS | FAULTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one life went. `broken` is empty when every promise held."""

    seed: int
    broken: tuple[str, ...]
    lived_s: float
    patrols: int
    calls: int
    events: int
    digest: str
    lines: tuple[str, ...] = ()
    cpu_s: float = 0.0


class Broken(Exception):
    """A promise broke; the life ends here."""


@dataclass(slots=True)
class _Living:
    """One life under way."""

    drawn: Drawn
    city: SimulatedCity
    life: Misfortune

    async def rounds(self) -> None:
        """From the first start to the last day."""
        try:
            for number, days in enumerate(self.drawn.peace_days):
                await self._trouble(number)
                await self._recover(number)
                await self._answer_at_once()
                await self._peace(days)
        except Broken:
            return

    async def _trouble(self, number: int) -> None:
        began = self.city.clock.monotonic()
        for step in self.drawn.steps:
            if step.round != number:
                continue
            await self.city.pass_until(began + step.at_s)
            self.city.note(str(step))
            if step.deed in FAULTS and step.deed not in HARMLESS:
                self.city.faults_on = True
            before = self.city.clock.now(), self.city.clock.monotonic()

            def deed(step: Step = step) -> None:
                ALL[step.deed](self.life, step.number)

            await self.city.do(deed)
            stepped = (self.city.clock.now() - before[0]).total_seconds()
            self.stepped_back(stepped - (self.city.clock.monotonic() - before[1]))
            self._check()

    def stepped_back(self, seconds: float) -> None:
        """A clock that was set back makes everything that is dated last longer, by as much."""
        self.life.behind_s += max(0.0, -seconds)

    async def _pass(self, seconds: float) -> None:
        await self.city.pass_until(self.city.clock.monotonic() + seconds)
        self._check()

    async def _recover(self, number: int) -> None:
        """Faults stop: whoever is needed runs; without need everybody is in place (L1..L8)."""
        self.city.note(f"round {number}: faults stop")
        await self._pass(SOON_S)
        self.life.heal()
        self.city.faults_on = False
        self.city.happened()
        self.life.calm_down()
        await self._pass(BACK_TO_NORMAL_S + self.life.behind_s)
        self.life.behind_s = 0.0
        self.life.calm_down()
        await self._pass(SOON_S)
        self._expect(unmet(self.city))
        self._expect(mistold(self.city, self.life.told))
        self._expect(misjudged(self.city))
        self.life.finish_everything()
        self.life.calm_down()
        self.city.happened()
        await self._pass(NOTHING_TO_DO_S)
        await self._pass(NOTHING_TO_DO_S)
        self._expect(astray(self.city))

    async def _answer_at_once(self) -> None:
        """Work for everybody who sleeps: all are up soon, and asleep again in time (L1, L2)."""
        records, config = self.city.records(), self.city.ports.city
        sleepers = [
            name_of(bead)
            for bead in records.sessions()
            if not records.is_held(bead)
            and not self.city.runs(name_of(bead))
            and bead.metadata.get("sleep_reason") != "drained"
        ]
        for name in sleepers:
            self.city.give(name)
        self.city.happened()
        waves = math.ceil(len(sleepers) / config.daemon.max_wakes_per_tick)
        await self._pass(SOON_S + 10 * waves)
        self._expect(unmet(self.city))
        self.life.finish_everything()
        self.life.calm_down()
        self.city.happened()
        windows = [window_of(one, config) or 0.0 for one in config.agents.values()]
        await self._pass(max(windows) + SOON_S + 2 * len(records.beads))
        self._expect(astray(self.city))

    async def _peace(self, days: float) -> None:
        """Nothing happens to anybody for days: no write, no event, no start, no stop (L4, L5)."""
        restless = is_restless(self.city.ports.city)
        await self._pass(SOON_S * 2)
        before = self._moved()
        self.city.note("peace")
        await self._pass(DAY_S * (RESTLESS_DAYS if restless else days))
        if not restless and self._moved() != before:
            self.city.inspector.fault("L5", "the city", f"moved in peace: {before} {self._moved()}")
        self._expect(misjudged(self.city))

    def _moved(self) -> tuple[int, int, int]:
        hosts = self.city.host.sessions.values()
        starts = sum(one.starts + one.stops for one in hosts)
        return self.city.inspector.writes, self.city.inspector.events, starts

    def _expect(self, wrongs: Iterator[str]) -> None:
        for wrong in wrongs:
            promise, _, text = wrong.partition(": ")
            name, _, why = text.partition(" ")
            self.city.inspector.fault(promise, name, why)
        self._check()

    def _check(self) -> None:
        if self.city.inspector.broken or self.city.overseer.violations:
            raise Broken


def live(drawn: Drawn, *, skips: bool = True, traced: bool = False) -> Outcome:
    """Live this life. Without `skips` every single patrol of it really runs."""
    with (
        SimulatedCity(drawn.city, seed=drawn.seed, skips=skips, traced=traced) as city,
        _listening(city),
    ):
        began, began_cpu = city.clock.monotonic(), time.process_time()
        for identity, agent in drawn.city.agents.items():
            if agent.pool is not None and agent.pool.check:
                city.count(identity, 1)
        living = _Living(drawn, city, Misfortune(city))
        try:
            city.live(living.rounds)
        except (Spinning, NobodyWakes) as problem:
            city.inspector.fault("L7", "the controller", str(problem))
        return Outcome(
            seed=drawn.seed,
            broken=(*city.inspector.broken, *city.overseer.violations),
            lived_s=city.clock.monotonic() - began,
            patrols=city.patrols,
            calls=city.inspector.calls,
            events=city.inspector.events,
            digest=city.digest.hexdigest(),
            lines=tuple(city.lines),
            cpu_s=time.process_time() - began_cpu,
        )


class _Listener(logging.Handler):
    """Hears what the product logs: an error that no fault here explains is a fault of its own."""

    def __init__(self, city: SimulatedCity) -> None:
        super().__init__(logging.ERROR)
        self.city = city

    def emit(self, record: logging.LogRecord) -> None:
        """One line of the log."""
        said = record.msg if isinstance(record.msg, dict) else {"event": record.getMessage()}
        problem = said.get("exc_info")
        if isinstance(problem, BaseException) and not _explained(problem):
            self.city.inspector.fault("LOG", str(said.get("event")), repr(problem))


def _explained(problem: BaseException) -> bool:
    if isinstance(problem, BaseExceptionGroup):
        return all(map(_explained, problem.exceptions))
    return isinstance(problem, StoreUnavailable | Conflict | RuntimeUnreachable | Crash)


@contextlib.contextmanager
def _listening(city: SimulatedCity) -> Iterator[None]:
    set_up(None)
    product = logging.getLogger("gascity")
    kept, product.handlers[:] = list(product.handlers), [_Listener(city)]
    try:
        yield
    finally:
        product.handlers[:] = kept
