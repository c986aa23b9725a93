"""Evidence of a routed runtime → one capability snapshot per session.

The only place where a reading becomes a capability (CAP-04, CAP-05). The class is stable: a bad
minute never changes it, it only fails the look closed (CAP-07, CAP-13, CAP-14).

Source: DESIGN §8 (CAP-01..34, R16, R17)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gascity.decide.signals import is_heard
from gascity.model.plan import Capability, CapabilityClass, ProbeHealth
from gascity.model.reading import Known, Reading, Unclear, Unsupported
from gascity.model.session import Session
from gascity.model.world import Probe, ProbeResult, Sighting, Support, Truth

CLASS: Final[Mapping[tuple[bool, bool], CapabilityClass]] = {
    # (activity clock, idle boundary)
    (True, True): CapabilityClass.FULL,
    (True, False): CapabilityClass.TIMED_ONLY,
    (False, True): CapabilityClass.DISABLED,
    (False, False): CapabilityClass.DISABLED,
}

NO_ROUTE: Final = "unclear:route"
UNMET: Final = "interactive-contract"  # what policy notes when the signals were not enough

_NOTHING: Final = Support(
    activity_clock=False, idle_boundary=False, pending_signal=False, attachment_signal=False
)


def resolve_capability(
    session: Session,
    *,
    support: Reading[Support],
    sighting: Sighting,
    probe: Probe | None,
    runtime: str,
) -> Capability:
    """The capability of one session as of this look.

    Args:
        support: What its routed runtime can answer; Unclear when the route is not known.
        probe: The latest look for a boundary; an `unsupported` one takes the boundary away (R16).
        runtime: The runtime the config routes it to. A stored class of another one is void.
    """
    remembered = _remembered(session, runtime)
    if isinstance(support, Unclear):
        return _as_before(session, remembered or CapabilityClass.DISABLED)
    offered = support.value if isinstance(support, Known) else _NOTHING
    activity = _has_clock(offered, sighting, remembered)
    boundary = offered.idle_boundary and not (
        probe is not None and probe.result is ProbeResult.UNSUPPORTED
    )
    found = Support(
        activity_clock=activity,
        idle_boundary=boundary,
        pending_signal=is_heard(session)
        or (offered.pending_signal and not isinstance(sighting.pending, Unsupported)),
        attachment_signal=offered.attachment_signal
        and not isinstance(sighting.attached, Unsupported),
    )
    kind = CLASS[activity, boundary]
    doubt = unclear_reading(sighting) or (
        "idle_boundary" if probe is not None and probe.result is ProbeResult.UNCLEAR else ""
    )
    if doubt:
        return _failed(kind, found, doubt)
    return _snapshot(kind, found)


def unclear_reading(sighting: Sighting) -> str:
    """The first reading of this look that got no certain answer, or ""."""
    if sighting.truth is Truth.UNKNOWN:
        return "runtime"
    if sighting.truth is Truth.STOPPED:
        return ""
    for name, reading in (
        ("attachment", sighting.attached),
        ("activity", sighting.activity),
        ("pending", sighting.pending),
    ):
        if isinstance(reading, Unclear):
            return name
    return ""


def _has_clock(offered: Support, sighting: Sighting, remembered: CapabilityClass | None) -> bool:
    """Whether there is a useful activity clock; the zero time is none (CAP-11, R17)."""
    if not offered.activity_clock or isinstance(sighting.activity, Unsupported):
        running = sighting.truth is Truth.RUNNING
        if running or not offered.activity_clock:
            return False
    if sighting.truth is Truth.RUNNING and isinstance(sighting.activity, Known):
        return sighting.activity.value is not None
    # Not running, or no answer this time: what was seen before still stands.
    return remembered is not CapabilityClass.DISABLED


def _remembered(session: Session, runtime: str) -> CapabilityClass | None:
    """The stored class, unless it was earned on another runtime or never."""
    if session.runtime != runtime:
        return None
    try:
        return CapabilityClass(session.policy.capability)
    except ValueError:
        return None


def _as_before(session: Session, kind: CapabilityClass) -> Capability:
    """Without a route only memory speaks: signals as the last resolved policy had them (FP-03)."""
    enough = kind is not CapabilityClass.DISABLED and session.policy.adjustment != UNMET
    signals = Support(
        activity_clock=kind is not CapabilityClass.DISABLED,
        idle_boundary=kind is CapabilityClass.FULL,
        pending_signal=enough,
        attachment_signal=enough,
    )
    return _snapshot(kind, signals, NO_ROUTE, ProbeHealth.FAILED_CLOSED)


def _failed(kind: CapabilityClass, found: Support, reading: str) -> Capability:
    return _snapshot(kind, found, f"unclear:{reading}", ProbeHealth.FAILED_CLOSED)


def _snapshot(
    kind: CapabilityClass,
    found: Support,
    adjustment: str = "",
    health: ProbeHealth = ProbeHealth.HEALTHY,
) -> Capability:
    return Capability(
        kind=kind,
        has_activity_clock=found.activity_clock,
        has_idle_boundary=found.idle_boundary,
        has_pending_signal=found.pending_signal,
        has_attachment_signal=found.attachment_signal,
        adjustment=adjustment,
        probe_health=health,
    )
