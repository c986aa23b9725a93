"""When a session counts as idle: the reference instant, the window, and what blocks sleeping.

Source: DESIGN §6, §7 (IDLE-01..12, PROBE-01..11, BLK-01..07, R9, R13..R16, R52, R66)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from gascity.decide.capability import NO_ROUTE
from gascity.decide.signals import signal_blockers
from gascity.model.city import SessionClass
from gascity.model.duration import OFF
from gascity.model.plan import Blocker, Capability, CapabilityClass, HardWake, Policy
from gascity.model.reading import Known, Unclear
from gascity.model.session import Session
from gascity.model.world import (
    Demand,
    Memory,
    Probe,
    ProbeResult,
    ScreenVerdict,
    Sighting,
    Truth,
    Walk,
    World,
)

SCREEN_BLOCKERS: Final[Mapping[ScreenVerdict, str]] = {
    # What is on the screen, seen from the sleep side. A question that the runtime reports is a
    # hard wake of its own; one that only the screen shows still blocks.
    ScreenVerdict.BUSY: "idle_boundary",
    ScreenVerdict.PENDING: "pending",
    ScreenVerdict.BACKGROUND: "background",
    ScreenVerdict.DRAFT: "idle_boundary",
    ScreenVerdict.RATELIMIT: "idle_boundary",
    ScreenVerdict.SHELL: "idle_boundary",
    ScreenVerdict.PAGER: "idle_boundary",
    ScreenVerdict.UNKNOWN: "idle_boundary",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The keep-warm window of one session.

    `deadline` is None while the window never closes: policy off, or no reference known.
    """

    reference_at: datetime | None
    deadline: datetime | None
    is_open: bool


def keep_warm_window(
    session: Session, seen: Sighting, policy: Policy, *, now: datetime, resumed_at: datetime | None
) -> Window:
    """The window as of now; a session woken at T never closes it before T + window (R14).

    Future references are clamped to now, so a clock that went back sleeps nobody early (R39).
    """
    reference = idle_reference(session, seen, now=now, resumed_at=resumed_at)
    if policy.effective is OFF:
        return Window(reference_at=reference, deadline=None, is_open=True)
    if reference is None:
        return Window(reference_at=None, deadline=None, is_open=True)
    asked = session.sleep_request
    if asked is not None and sleep_is_asked(session, reference):
        return Window(reference_at=reference, deadline=asked.at, is_open=False)
    deadline = reference + policy.effective.delta
    return Window(reference_at=reference, deadline=deadline, is_open=now < deadline)


def sleep_is_asked(session: Session, reference: datetime | None) -> bool:
    """Whether `gc sleep` still stands: what happened after it takes it back (R64)."""
    asked = session.sleep_request
    return asked is not None and (reference is None or asked.at >= reference)


def idle_reference(
    session: Session, seen: Sighting, *, now: datetime, resumed_at: datetime | None
) -> datetime | None:
    """The latest of activity, detachment, waking, readiness, a turn's end and a resume (R14)."""
    activity = seen.activity.value if isinstance(seen.activity, Known) else None
    instants = (
        activity,
        session.detached_at,
        session.woke_at,
        session.ready_at,
        session.turn_ended_at,
        resumed_at,
    )
    known = [min(instant, now) for instant in instants if instant is not None]
    return max(known, default=None)


def is_starting(session: Session, seen: Sighting) -> bool:
    """Whether it runs but has not been ready once since this start (R66)."""
    return seen.truth is Truth.RUNNING and session.was_started and session.ready_at is None


def wake_blockers(wakes: Sequence[HardWake]) -> list[Blocker]:
    """Each hard wake, seen from the sleep side."""
    return [
        Blocker(
            name=str(wake.cause),
            detail=", ".join(filter(None, wake.details)),
            dependents=wake.dependents,
            roots=wake.roots,
        )
        for wake in wakes
    ]


def doubt_blockers(
    session: Session, seen: Sighting, policy: Policy, capability: Capability, demand: Demand
) -> list[Blocker]:
    """Every reading whose doubt holds the session where it is (R9, DRAIN-10, DRAIN-11)."""
    if seen.truth is Truth.UNKNOWN:
        return [Blocker(name="runtime_unknown", detail=seen.why)]
    found = demand_doubt(session, demand)
    if seen.truth is not Truth.RUNNING:
        return found
    if capability.adjustment == NO_ROUTE:
        found.append(Blocker(name="runtime_unknown", detail="its route could not be looked up"))
    interactive = policy.session_class is not SessionClass.NONINTERACTIVE
    if isinstance(seen.attached, Unclear) and (interactive or capability.has_attachment_signal):
        found.append(Blocker(name="attachment_unknown", detail=seen.attached.why))
    if isinstance(seen.pending, Unclear):
        found.append(Blocker(name="pending_unknown", detail=seen.pending.why))
    if isinstance(seen.activity, Unclear):
        found.append(Blocker(name="runtime_unknown", detail=seen.activity.why))
    return found


def demand_doubt(session: Session, demand: Demand) -> list[Blocker]:
    """Demand for this session that could not be read (R9, R61)."""
    if demand.unclear:
        return [Blocker(name="demand_unknown", detail=demand.unclear)]
    for reading in (
        demand.work.get(session.id),
        demand.waits.get(session.id),
        demand.routed.get(session.template),
        demand.pool_checks.get(session.template),
    ):
        if isinstance(reading, Unclear):
            return [Blocker(name="demand_unknown", detail=reading.why)]
    return []


def screen_blockers(seen: Sighting, capability: Capability) -> list[Blocker]:
    """What this look's screen says against a safe boundary; only a probe can say yes (R15)."""
    if capability.kind is not CapabilityClass.FULL or seen.screen is None:
        return []
    shown = SCREEN_BLOCKERS.get(seen.screen)
    if seen.screen is ScreenVerdict.RATELIMIT and seen.limit is not None and seen.limit.until:
        return []  # nothing goes on before the limit is over, and it is known when that is
    return [Blocker(name=shown, detail=seen.detail or str(seen.screen))] if shown else []


def probe_blockers(
    seen: Sighting, capability: Capability, probe: Probe | None, reference: datetime | None
) -> list[Blocker]:
    """What the latest probe still says; an answer older than the reference is void (R33)."""
    if capability.kind is not CapabilityClass.FULL or probe is None:
        return []
    if probe.result in (ProbeResult.IDLE, ProbeResult.NONE, ProbeResult.UNSUPPORTED):
        return []
    if reference is not None and probe.at < reference:
        return []
    return [Blocker(name=probe.blocker or "idle_boundary", detail=probe.detail)]


def turn_blockers(session: Session, memory: Memory) -> list[Blocker]:
    """A turn that this run announced, or one noted whose end nobody has seen yet (R48).

    A turn of an earlier run says nothing about this one.
    """
    token = session.instance_token
    turns = [one for one in memory.turns.get(session.id, ()) if one.token == token]
    if turns:
        said = ", ".join(dict.fromkeys(one.what for one in turns if one.what))
        return [Blocker(name="turn_open", detail=said)]
    if not token or session.open_turn != token:
        return []
    again = memory.turns_unsure_until is not None
    return [Blocker(name="turn_open", detail="may be announced again" if again else "just ended")]


def turn_doubt_until(session: Session, memory: Memory) -> datetime | None:
    """When a noted turn that nobody announced again is taken to be over."""
    noted = session.open_turn or any(pin.held for pin in session.pins)
    return memory.turns_unsure_until if noted else None


def walk_blockers(walk: Walk | None) -> list[Blocker]:
    """A stop for another reason that is already under way (BLK-06)."""
    if walk is None or walk.reason is None or walk.kind != "stop":
        return []
    return [Blocker(name=f"draining:{walk.reason}")]


def solid_blockers(
    session: Session,
    world: World,
    *,
    wakes: Sequence[HardWake],
    policy: Policy,
    capability: Capability,
    window: Window,
) -> tuple[Blocker, ...]:
    """Every reason, in a fixed order, for which this running session is not even probed now."""
    seen = world.sighting(session.id)
    found = wake_blockers(wakes)
    found += doubt_blockers(session, seen, policy, capability, world.demand)
    if is_starting(session, seen):
        found.append(Blocker(name="starting"))
    found += turn_blockers(session, world.memory)
    named = {blocker.name for blocker in found}
    found += (one for one in signal_blockers(session, world) if one.name not in named)
    found += walk_blockers(world.memory.walks.get(session.id))
    if seen.truth is Truth.RUNNING and (policy.effective is not OFF or session.sleep_request):
        if policy.effective is not OFF and window.is_open:
            found.append(Blocker(name="keep_warm"))
        named = {blocker.name for blocker in found}
        found += (b for b in screen_blockers(seen, capability) if b.name not in named)
    return tuple(found)
