"""One durable record: a session, a piece of work, a wait or a message.

Source: DESIGN §11; surface "Work beads"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

SESSION: Final = "session"
TASK: Final = "task"
WAIT: Final = "gate"
MESSAGE: Final = "message"

OPEN: Final = "open"
IN_PROGRESS: Final = "in_progress"
BLOCKED: Final = "blocked"
CLOSED: Final = "closed"
STATUSES: Final = (OPEN, IN_PROGRESS, BLOCKED, CLOSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bead:
    """A record with a version for compare-and-set.

    `metadata` is flat text to text; a missing key and "" mean the same. `blocked_by` are bead ids.
    Instants are aware UTC. `version` starts at 1 and rises by 1 with every write.
    """

    id: str
    type: str
    status: str = OPEN
    title: str = ""
    labels: tuple[str, ...] = ()
    assignee: str = ""
    priority: int = 2
    blocked_by: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    created_at: datetime
    updated_at: datetime
    closed_at: datetime | None = None
    version: int = 1
