"""Changes that outrank idle sleep: removal, suspension, trim, drift; and restart-on-idle.

Source: DESIGN §10 (DRAIN-12..17, R6a, R21, R32), §I (COEX-01..08, R40)
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from gascity.decide.wake import held_reason
from gascity.model.plan import Blocker, Cause
from gascity.model.roster import Place, is_suspended
from gascity.model.session import Session, State, StopReason
from gascity.model.world import ScreenVerdict, Truth, World

# A drift restart waits for people, questions, work and doubt (R32); nothing else stops it.
DRIFT_WAITS_FOR: Final = frozenset(
    {
        "attached",
        "pending",
        "pin",
        "work",
        "background",
        "turn_open",
        "idle_boundary",
        "starting",
        "attachment_unknown",
        "pending_unknown",
        "runtime_unknown",
        "demand_unknown",
    }
)
# Restart-on-idle waits for people, questions and doubt; for work only so often (R40).
IDLE_TIMEOUT_WAITS_FOR: Final = DRIFT_WAITS_FOR - {"work", "idle_boundary"} | {"operator"}
MAX_DEFERRALS: Final = 3


def structural_reason(
    session: Session,
    world: World,
    place: Place | None,
    *,
    trimmed: AbstractSet[str],
    started_with: str,
) -> StopReason | None:
    """The highest structural reason that applies to this session now, or None (DRAIN-16).

    Args:
        place: Where the config still asks for it; None when it does not.
        trimmed: Session ids that are outside their pool's effective count.
        started_with: The hash a start would use now, to see drift.
    """
    if place is None:
        certain = session.id in world.memory.missing and not world.city.incomplete
        return StopReason.ORPHANED if certain else None
    if session.suspended_at is not None or is_suspended(world.city, place.agent):
        return StopReason.SUSPENDED
    if session.id in trimmed:
        return StopReason.EXCESS
    running = world.sighting(session.id).truth is Truth.RUNNING
    drifted = session.started_hash and session.started_hash != started_with
    if running and drifted and not world.city.incomplete:
        return StopReason.CONFIG_DRIFT
    return None


def drift_may_restart(blockers: tuple[Blocker, ...]) -> bool:
    """Whether nothing asks a drift restart to wait (R32)."""
    return not any(blocker.name in DRIFT_WAITS_FOR for blocker in blockers)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleTimeout:
    """What restart-on-idle wants now: `restart`, or a record with one more deferral."""

    restart: bool = False
    deferred: Session | None = None
    note: str = ""


def idle_timeout_due(
    session: Session,
    place: Place,
    world: World,
    *,
    blockers: tuple[Blocker, ...],
    reference_at: datetime | None,
) -> IdleTimeout:
    """Whether a session without activity for `idle_timeout` is to be restarted (COEX-01, COEX-02).

    A session that is held or not running has nothing to restart. Work in progress defers it for at
    most three windows in a row of the same bead.
    """
    limit = place.agent.idle_timeout
    seen = world.sighting(session.id)
    if limit is None or reference_at is None or seen.truth is not Truth.RUNNING:
        return IdleTimeout()
    if session.state is not State.AWAKE or held_reason(session, world):
        return IdleTimeout()
    bead, count, deferred_at = _deferral(session)
    if deferred_at is None or deferred_at < reference_at:
        bead, count = "", 0  # it was active since: no longer in a row
    since = max(reference_at, deferred_at) if deferred_at else reference_at
    if world.now - since < limit.delta:
        return IdleTimeout()
    if any(blocker.name in IDLE_TIMEOUT_WAITS_FOR for blocker in blockers):
        return IdleTimeout()
    if seen.screen in (ScreenVerdict.BUSY, ScreenVerdict.BACKGROUND, ScreenVerdict.PENDING):
        return IdleTimeout()
    working = next((b.detail for b in blockers if b.name == Cause.WORK), "").split(", ")[0]
    if working and not (bead == working and count >= MAX_DEFERRALS):
        count = count + 1 if bead == working else 1
        note = f"{working}|{count}|{world.now.isoformat()}"
        return IdleTimeout(deferred=replace(session, idle_timeout_deferrals=note))
    note = f"still holds {working} after {MAX_DEFERRALS} windows" if working else ""
    return IdleTimeout(restart=True, note=note)


def _deferral(session: Session) -> tuple[str, int, datetime | None]:
    """The stored deferral as (bead, count, last instant); ("", 0, None) when there is none."""
    parts = session.idle_timeout_deferrals.split("|")
    if len(parts) != 3 or not parts[1].isdecimal():
        return "", 0, None
    try:
        return parts[0], int(parts[1]), datetime.fromisoformat(parts[2])
    except ValueError:
        return "", 0, None


def missing_sessions(world: World, unplaced: AbstractSet[str]) -> frozenset[str]:
    """Ids of sessions that this complete reading of the config does not name (R21)."""
    if world.city.incomplete:
        return frozenset()
    return frozenset(one for one in unplaced if not world.sessions[one].foreign_state)
