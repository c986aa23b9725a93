"""What an agent's own `idle_probe` says: whether it may be stopped, and when it last did something.

Exit 0 is idle, 1 is busy; JSON on stdout may say more: `{"busy": …, "last_activity": …, "detail":
…}`. Whatever else happens is no answer, and without an answer nobody is put to sleep.

Source: DESIGN §7, §8 (CAP-11, CAP-12, R13, R15, R16, R33, R69)
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup

from gascity.model.city import Agent, City
from gascity.model.session import Session, State
from gascity.model.world import ProbeResult
from gascity.observe.clock import Clock
from gascity.observe.commands import NOT_OURS
from gascity.runtimes.bounded import Job, Ran, run

DEADLINE_S: Final = 1.0
_BUSY: Final = 1
_DETAIL_MOST: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One answer. `result` is idle, busy or unclear; `detail` is shown."""

    result: ProbeResult
    last_activity: datetime | None = None
    detail: str = ""


async def ask_idle(session: Session, agent: Agent, city: City, *, now: datetime) -> Said:
    """Run the agent's `idle_probe` for this session, for a second at most."""
    job = Job(
        argv=agent.idle_probe,
        cwd=agent.work_dir or city.path,
        env=_environment(session, agent, city),
        deadline_s=DEADLINE_S,
    )
    return said_of(await run(job), now=now)


def said_of(ran: Ran, *, now: datetime) -> Said:
    """What the end of a probe means; the exit code and the JSON must agree."""
    if ran.problem or ran.code not in (0, _BUSY):
        return _unclear(ran.problem or f"ended with status {ran.code}")
    fields: Any = {}
    if ran.out.strip():
        try:
            fields = json.loads(ran.out)
        except (ValueError, RecursionError):
            fields = None
        if not isinstance(fields, dict) or not isinstance(fields.get("busy", False), bool):
            return _unclear(f"printed {ran.out.strip()[:40]!r}, not an object with busy")
    at = _instant(fields.get("last_activity"), now)
    if isinstance(at, str):
        return _unclear(at)
    is_busy = ran.code == _BUSY or fields.get("busy", False)
    return Said(
        result=ProbeResult.BUSY if is_busy else ProbeResult.IDLE,
        last_activity=at,
        detail=str(fields.get("detail") or ("busy" if is_busy else ""))[:_DETAIL_MOST],
    )


def _unclear(why: str) -> Said:
    return Said(result=ProbeResult.UNCLEAR, detail=f"idle_probe: {why}")


def _instant(said: object, now: datetime) -> datetime | str | None:
    """An RFC 3339 time with a zone, never later than now; else what is wrong with it."""
    if said is None or said == "":
        return None
    with contextlib.suppress(ValueError, OverflowError):
        at = datetime.fromisoformat(str(said))
        if at.tzinfo is not None:
            return min(at.astimezone(UTC), now)
    return f"last_activity is {str(said)[:40]!r}, not an RFC 3339 time"


@dataclass(slots=True, kw_only=True)
class _Heard:
    """The latest answer about one run of a session; times are monotonic seconds."""

    generation: int
    said: Said | None = None
    asked_s: float = float("-inf")
    running: bool = False


@dataclass(slots=True, kw_only=True)
class IdleProbes:
    """Asks each running session's own probe beside the patrols, for its activity."""

    clock: Clock
    changed: Callable[[], None]
    limiter: anyio.CapacityLimiter
    _heard: dict[str, _Heard] = field(default_factory=dict)  # by session id

    def ask(self, city: City, group: TaskGroup, sessions: Mapping[str, Session]) -> None:
        """Ask again whoever is due; returns at once."""
        every = city.daemon.patrol_interval.seconds
        now = self.clock.monotonic()
        wanted = {key: one for key, one in sessions.items() if one.state is State.AWAKE}
        for gone in self._heard.keys() - wanted.keys():
            del self._heard[gone]
        for key, session in wanted.items():
            agent = city.agents.get(session.template)
            if agent is None or not agent.idle_probe or session.ready_at is None:
                continue
            heard = self._heard.get(key)
            if heard is None or heard.generation != session.generation:
                heard = self._heard[key] = _Heard(generation=session.generation)
            if not heard.running and now - heard.asked_s >= every * 0.9:
                heard.running, heard.asked_s = True, now
                group.start_soon(self._run, heard, session, agent, city)

    async def _run(self, heard: _Heard, session: Session, agent: Agent, city: City) -> None:
        async with self.limiter:
            said = await ask_idle(session, agent, city, now=self.clock.now())
        is_first = heard.said is None
        heard.said, heard.running = said, False
        if is_first:
            self.changed()

    def last_activity(self, session: Session) -> datetime | None:
        """When this run of it last did something, as far as its own probe said."""
        heard = self._heard.get(session.id)
        if heard is None or heard.said is None or heard.generation != session.generation:
            return None
        return heard.said.last_activity


def _environment(session: Session, agent: Agent, city: City) -> dict[str, str]:
    """The controller's environment and who is asked about; nobody else's marks (R69, E5)."""
    base = {key: value for key, value in os.environ.items() if not NOT_OURS.fullmatch(key)}
    return {
        **base,
        "GC_CITY": city.path,
        "GC_TEMPLATE": agent.identity,
        "GC_RIG": agent.rig,
        "GC_SESSION_NAME": session.name,
        "GC_SESSION_ID": session.id,
    }
