"""Which idle drains are begun this tick, and which candidates are left over for the next.

Source: DESIGN §7 (PROBE-05..08, R33; field: fair probes)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from gascity.decide.case import Settled
from gascity.decide.judge import Judged
from gascity.decide.recovery import Row
from gascity.model.plan import CapabilityClass, Drain
from gascity.model.session import Session
from gascity.model.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One session the config names, on its way through assembly."""

    session: Session
    row: Row
    judged: Judged
    settled: Settled


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """Session ids whose drain is begun, and those that ask for a follow-up tick (R33)."""

    drains: frozenset[str]
    left_over: frozenset[str]


def admit_drains(entries: Mapping[str, Entry], world: World) -> Admitted:
    """Every drain that needs no new probe, and as many probes as one tick may begin.

    At most `max_idle_probes_per_tick` probes; the candidate that waited longest goes first. One
    left over asks for a follow-up tick only when it was not probed for a whole patrol, so that
    busy ones do not make the controller spin.
    """
    drains = {
        session_id: entry
        for session_id, entry in entries.items()
        if isinstance(entry.settled.action, Drain)
    }
    probing = [session_id for session_id, entry in drains.items() if _needs_probe(entry)]
    probing.sort(key=lambda session_id: _probe_rank(session_id, drains[session_id], world))
    left = probing[world.city.daemon.max_idle_probes_per_tick :]
    stale = world.now - world.city.daemon.patrol_interval.delta
    probes = world.memory.probes
    return Admitted(
        drains=frozenset(drains) - frozenset(left),
        left_over=frozenset(one for one in left if one not in probes or probes[one].at <= stale),
    )


def _needs_probe(entry: Entry) -> bool:
    action = entry.settled.action
    fresh = isinstance(action, Drain) and not action.resume
    return fresh and entry.judged.capability.kind is CapabilityClass.FULL


def _probe_rank(session_id: str, entry: Entry, world: World) -> tuple[datetime, str]:
    probe = world.memory.probes.get(session_id)
    due = entry.judged.window.deadline or world.now
    return (max(due, probe.at) if probe is not None else due, session_id)
