"""Agents, session records and sightings for tests, each with a default for everything.

`builders` puts them together to worlds, and is what tests import.

Source: DESIGN §10, §11; style of tests: docs/TESTING.md
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from gascity.model.city import Agent, City, Pool, SessionClass, WakeMode
from gascity.model.duration import OFF, Duration, KeepWarm, seconds
from gascity.model.reading import Known
from gascity.model.session import (
    Pin,
    Session,
    SleepIntent,
    SleepReason,
    State,
    WakeNote,
)
from gascity.model.world import (
    Exit,
    Probe,
    ProbeResult,
    ScreenVerdict,
    Sighting,
    Support,
    Truth,
)

NOON: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)

FULL: Final = Support(
    activity_clock=True, idle_boundary=True, pending_signal=True, attachment_signal=True
)
TIMED: Final = Support(
    activity_clock=True, idle_boundary=False, pending_signal=False, attachment_signal=False
)
BLIND: Final = Support(
    activity_clock=False, idle_boundary=False, pending_signal=False, attachment_signal=False
)

STARTER: Final[Mapping[SessionClass, KeepWarm]] = {
    # The starter block (CFG-19).
    SessionClass.INTERACTIVE_RESUME: seconds(60),
    SessionClass.INTERACTIVE_FRESH: OFF,
    SessionClass.NONINTERACTIVE: seconds(0),
}


def ago(seconds_: float, now: datetime = NOON) -> datetime:
    """The instant so many seconds before noon, or before `now`."""
    return now - timedelta(seconds=seconds_)


def ahead(seconds_: float, now: datetime = NOON) -> datetime:
    """The instant so many seconds after noon, or after `now`."""
    return now + timedelta(seconds=seconds_)


def span(text: str) -> KeepWarm:
    """`off`, or whole seconds or minutes as an operator writes them: `30s`, `5m`."""
    if text == "off":
        return OFF
    unit = {"s": 1, "m": 60, "h": 3600}[text[-1]]
    return Duration(int(text[:-1]) * unit * 10**9, text)


def length(text: str) -> Duration:
    """Like `span`, for a value that is never `off`."""
    found = span(text)
    assert isinstance(found, Duration)
    return found


def agent(identity: str = "mayor", **over: Any) -> Agent:
    """An interactive agent that resumes, on tmux."""
    rig, _, name = identity.rpartition("/")
    fields: dict[str, Any] = {"name": name, "rig": rig, "start_command": "agent"}
    return Agent(identity=identity, **(fields | over))


def headless(identity: str = "worker", **over: Any) -> Agent:
    """An agent nobody attaches to."""
    return agent(identity, **({"attach": False} | over))


def fresh(identity: str = "polecat", **over: Any) -> Agent:
    """An interactive agent whose every start is a new conversation."""
    return agent(identity, **({"wake_mode": WakeMode.FRESH} | over))


def pooled(
    identity: str = "worker", *, min: int = 0, max: int | None = 3, check: str = "", **over: Any
) -> Agent:
    """A headless agent with numbered slots."""
    return headless(identity, pool=Pool(min=min, max=max, check=check), **over)


def a_city(*agents: Agent, **over: Any) -> City:
    """A city with the starter policy; give `session_sleep={}` for one without any."""
    given = {one.identity: one for one in agents or (agent(),)}
    fields: dict[str, Any] = {"name": "demo", "path": "/demo", "session_sleep": STARTER}
    return City(agents=given, **(fields | over))


def a_session(name: str = "mayor", **over: Any) -> Session:
    """A record that was realized and never started."""
    template, _, tail = name.rpartition("-")
    numbered = bool(template) and tail.isdecimal()
    fields: dict[str, Any] = {
        "template": (template if numbered else name).replace("--", "/"),
        "slot": int(tail) if numbered else None,
        "created_at": ago(86400),
        "since": ago(86400),
    }
    return Session(id=f"gc-{name}", version=1, name=name, **(fields | over))


def awake(name: str = "mayor", **over: Any) -> Session:
    """A session that was started yesterday and has been ready ever since."""
    fields: dict[str, Any] = {
        "state": State.AWAKE,
        "generation": 1,
        "instance_token": "t1",
        "woke_at": ago(86400),
        "ready_at": ago(86390),
        "detached_at": ago(86380),
    }
    return a_session(name, **(fields | over))


def starting(name: str = "mayor", *, since: float = 5, **over: Any) -> Session:
    """A session that was started `since` seconds ago and has not been ready yet."""
    fields: dict[str, Any] = {"woke_at": ago(since), "ready_at": None, "detached_at": None}
    return awake(name, **(fields | over))


def cold(name: str = "mayor", **over: Any) -> Session:
    """A session that went to sleep for idleness an hour ago, under the policy it has now."""
    fields: dict[str, Any] = {
        "state": State.ASLEEP,
        "sleep_reason": SleepReason.IDLE,
        "generation": 1,
        "instance_token": "t1",
        "latch_generation": 1,
        "woke_at": ago(7200),
        "slept_at": ago(3600),
        "since": ago(3600),
    }
    return a_session(name, **(fields | over))


def asleep(reason: SleepReason, name: str = "mayor", **over: Any) -> Session:
    """A session that is down for another reason than idleness."""
    fields: dict[str, Any] = {"sleep_reason": reason, "latch_generation": 0}
    return cold(name, **(fields | over))


def draining(name: str = "mayor", **over: Any) -> Session:
    """A session whose idle stop is announced."""
    return awake(name, **({"sleep_intent": SleepIntent.PENDING} | over))


def confirmed(name: str = "mayor", **over: Any) -> Session:
    """A session that was seen stopped on the idle path, not yet recorded as asleep."""
    return awake(name, **({"sleep_intent": SleepIntent.CONFIRMED} | over))


def a_note(by: str = "ann", *, left: float = 60) -> WakeNote:
    """An attach intent or wake request with so many seconds left."""
    return WakeNote(holder=f"{by}-1", by=by, at=ago(1), expires_at=ahead(left))


def a_pin(owner: str = "ann", *, left: float = 60, reason: str = "demo") -> Pin:
    """A pin with so many seconds left."""
    return Pin(owner=owner, reason=reason, at=ago(1), expires_at=ahead(left))


def running(*, idle_s: float | None = 3600, now: datetime = NOON, **over: Any) -> Sighting:
    """A detached, quiet session at its prompt; `idle_s` None is a runtime without a clock."""
    fields: dict[str, Any] = {
        "truth": Truth.RUNNING,
        "attached": Known(0),
        "activity": Known(None if idle_s is None else ago(idle_s, now)),
        "pending": Known(None),
        "screen": ScreenVerdict.IDLE,
        "ready": True,
        "token": "t1",
    }
    return Sighting(**(fields | over))


def stopped(code: int | None = None, **over: Any) -> Sighting:
    """A session that certainly does not run; `code` is its exit status where somebody saw it."""
    ending = Exit(code=code) if code is not None else None
    return replace(Sighting.stopped(exit=ending), **over)


def unseen(why: str = "timed out") -> Sighting:
    """A session nobody could be asked about."""
    return Sighting.unknown(why)


def a_probe(result: ProbeResult = ProbeResult.BUSY, *, at: float = 1, **over: Any) -> Probe:
    """What a probe said so many seconds ago."""
    fields: dict[str, Any] = {"blocker": "idle_boundary"} if result is ProbeResult.BUSY else {}
    return Probe(result=result, at=ago(at), **(fields | over))
