"""The volatile memory of this controller process, and its frozen form for a World.

Losing it at any instant costs nothing but a probe: everything that must survive is in the store.

Source: DESIGN §7, §10 (REC-15)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from gascity.model.world import Memory, Probe, Walk


@dataclass(slots=True)
class Recollection:
    """Probes, walks under way, waiting starts: {session id: ...}."""

    probes: dict[str, Probe] = field(default_factory=dict)
    walks: dict[str, Walk] = field(default_factory=dict)
    waiting_since: dict[str, datetime] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()
    missing_since: float | None = None  # monotonic second of the first reading that missed somebody
    missing_in: int = 0  # which reading of the config that was
    readings: int = 0  # how often the config was read
    rereads: bool = False  # whether it is read again by itself: without that, time alone confirms
    resumed_at: datetime | None = None

    def frozen(self) -> Memory:
        """A copy that later changes do not reach."""
        return Memory(
            probes=dict(self.probes),
            walks=dict(self.walks),
            waiting_since=dict(self.waiting_since),
            missing=self.missing,
            resumed_at=self.resumed_at,
        )

    def keep_only(self, sessions: Mapping[str, object]) -> None:
        """Forget what concerns sessions that are gone."""
        for table in (self.probes, self.waiting_since):
            for session_id in [known for known in table if known not in sessions]:
                del table[session_id]
