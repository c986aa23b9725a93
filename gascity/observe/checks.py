"""What pools' own checks and agents' own work queries said last, asked beside the patrol.

A patrol never waits for a command: it reads the latest answer. A hung, failing or babbling command
is unclear, never none, and clear again with its next good answer.

Source: DESIGN §9 (R9, R21, R61, R69)
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final

import anyio
from anyio.abc import TaskGroup

from gascity.model.city import Agent, City
from gascity.model.reading import Known, Reading, Unclear
from gascity.model.session import Session
from gascity.observe.clock import Clock
from gascity.observe.commands import NOT_OURS, run_command
from gascity.observe.demand import NOT_ASKED
from gascity.observe.idle_probe import IdleProbes
from gascity.runtimes.bounded import Ran

_EMPTY: Final = re.compile(r"\[\s*\]|\{\s*\}|null|")


@dataclass(slots=True, kw_only=True)
class Answer:
    """The latest answer of one command and when it was asked for, in monotonic seconds."""

    command: str
    reading: Reading[str] = NOT_ASKED
    asked_s: float = float("-inf")
    running: bool = False


@dataclass(slots=True, kw_only=True)
class Checks:
    """The commands of one city: pool checks and work queries, each by agent identity."""

    clock: Clock
    changed: Callable[[], None]
    concurrency: int = 8
    _answers: dict[tuple[str, str], Answer] = field(default_factory=dict)
    _limiter: anyio.CapacityLimiter = field(init=False)
    _idle: IdleProbes = field(init=False)

    def __post_init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(self.concurrency)
        self._idle = IdleProbes(clock=self.clock, changed=self.changed, limiter=self._limiter)

    def ask(
        self, city: City, group: TaskGroup, sessions: Mapping[str, Session] = MappingProxyType({})
    ) -> None:
        """Ask again whatever is due, about these sessions too; returns at once."""
        self._idle.ask(city, group, sessions)
        wanted = _commands(city)
        for gone in [key for key in self._answers if key not in wanted]:
            del self._answers[gone]
        every = city.daemon.patrol_interval.seconds
        for key, (agent, command) in wanted.items():
            answer = self._answers.get(key)
            if answer is None or answer.command != command:
                answer = self._answers[key] = Answer(command=command)
            if not answer.running and self.clock.monotonic() - answer.asked_s >= every * 0.9:
                answer.running = True
                answer.asked_s = self.clock.monotonic()
                group.start_soon(self._run, answer, agent, city)

    def desired(self, identity: str) -> Reading[int]:
        """The count a pool's check printed last."""
        answer = self._answers.get(("check", identity))
        return count_of(answer.reading if answer is not None else NOT_ASKED)

    def has_work(self, identity: str) -> Reading[bool]:
        """Whether an agent's work query found work last."""
        answer = self._answers.get(("work_query", identity))
        reading = answer.reading if answer is not None else NOT_ASKED
        if isinstance(reading, Known):
            return Known(says_work(reading.value))
        return reading

    def last_activity(self, session: Session) -> datetime | None:
        """When a session last did something by its own probe; None where that says nothing."""
        return self._idle.last_activity(session)

    async def _run(self, answer: Answer, agent: Agent, city: City) -> None:
        async with self._limiter:
            ran = await run_command(
                answer.command,
                cwd=_directory(agent, city),
                env=_environment(agent, city),
                deadline_s=city.daemon.check_timeout.seconds,
            )
        before, answer.reading = answer.reading, _reading(ran)
        answer.running = False
        if answer.reading != before:
            self.changed()


def _commands(city: City) -> dict[tuple[str, str], tuple[Agent, str]]:
    """{(kind, agent identity): (agent, command)} of every command the city names."""
    found: dict[tuple[str, str], tuple[Agent, str]] = {}
    for identity, agent in city.agents.items():
        if agent.pool is not None and agent.pool.check:
            found["check", identity] = (agent, agent.pool.check)
        if agent.work_query:
            found["work_query", identity] = (agent, agent.work_query)
    return found


def _reading(ran: Ran) -> Reading[str]:
    if ran.problem:
        return Unclear(ran.problem)
    if ran.code != 0:
        return Unclear(f"ended with status {ran.code}")
    return Known(ran.out)


def says_work(printed: str) -> bool:
    """Whether what a work query printed names any work; linear in its length, whatever it is."""
    return not _EMPTY.fullmatch(printed.strip()) and "No ready work found" not in printed


def count_of(reading: Reading[str]) -> Reading[int]:
    """A printed count; anything else is unclear, never zero."""
    if not isinstance(reading, Known):
        return reading
    text = reading.value.strip()
    if not re.fullmatch(r"\+?[0-9]{1,6}", text, re.ASCII):
        return Unclear(f"printed {text[:40]!r}, not a count")
    return Known(int(text))


def _directory(agent: Agent, city: City) -> str:
    rig = city.rigs.get(agent.rig)
    path = Path(city.path) / rig.path if rig is not None and rig.path else Path(city.path)
    return str(path)


def _environment(agent: Agent, city: City) -> Mapping[str, str]:
    """The controller's environment and who is asked about; nobody else's marks (R69, E5)."""
    base = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("GC_") and not NOT_OURS.fullmatch(key)
    }
    return {**base, "GC_CITY": city.path, "GC_TEMPLATE": agent.identity, "GC_RIG": agent.rig}
