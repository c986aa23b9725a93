"""The events the city reports: their names and the one shape they share.

An event that is not yet stored has `seq` 0; the store numbers it in commit order.

Source: DESIGN §11 (EVT-01..16); surface "Words used everywhere"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class EventType(StrEnum):
    """Every event type this product emits."""

    SLEEP_POLICY_RESOLVED = "session.sleep_policy_resolved"
    DRAINING = "session.draining"
    SLEEP_ABORTED = "session.sleep_aborted"
    STOPPED = "session.stopped"
    WOKE = "session.woke"
    SLEEP_CAPABILITY_CHANGED = "session.sleep_capability_changed"
    UPDATED = "session.updated"
    RECOVERY_AMBIGUOUS = "session.sleep_recovery_ambiguous"
    CRASHED = "session.crashed"
    QUARANTINED = "session.quarantined"
    CREATED = "session.created"
    REMOVED = "session.removed"
    WAKE_REFUSED = "session.wake_refused"
    BEAD_RELEASED = "bead.released"
    BEAD_CREATED = "bead.created"
    BEAD_UPDATED = "bead.updated"
    BEAD_CLOSED = "bead.closed"
    CONTROLLER_STARTED = "controller.started"
    CONTROLLER_STOPPED = "controller.stopped"
    CONFIG_RELOADED = "controller.config_reloaded"
    CONFIG_REJECTED = "controller.config_rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One line of the log. `subject` is a session or bead name; `payload` is JSON-ready."""

    type: EventType | str
    ts: datetime
    subject: str = ""
    message: str = ""
    actor: str = "gc"
    payload: Mapping[str, Any] = field(default_factory=dict)
    seq: int = 0
