"""What a reader gets of the controller at any moment, without waiting.

Source: DESIGN §X
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from gascity.model.city import City
from gascity.model.plan import Plan
from gascity.model.session import Session
from gascity.model.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What the last patrol saw and decided, with the records as they are now."""

    city: City
    sessions: Mapping[str, Session]
    plan: Plan | None
    world: World | None
    patrols: int
    last_patrol_at: datetime | None
    started_at: datetime
    problems: tuple[str, ...]
