"""What sessions are still to be told, and waits that are over, read from records of one moment.

Source: DESIGN §5 (R18, R66, R80); F26
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from gascity.beads.bead import WAIT, Bead
from gascity.beads.notices import Delivery, delivery_of, wakes
from gascity.beads.work import WaitState, wait_state


@dataclass(frozen=True, slots=True, kw_only=True)
class Notices:
    """By session id: what wakes it, all it is to be told, and deliveries nobody saw end.

    `pending` are session ids with a wait that is not ready yet; `lapsed` are waits past their
    expiry.
    """

    waking: Mapping[str, list[str]]
    told: Mapping[str, tuple[str, ...]]
    interrupted: Mapping[str, tuple[str, ...]]
    pending: frozenset[str]
    lapsed: tuple[str, ...]


def read_notices(
    waits: Sequence[Bead], messages: Sequence[Bead], live: Mapping[str, Bead], now: datetime
) -> Notices:
    """The notices in these records, oldest first."""
    waking: dict[str, list[str]] = defaultdict(list)
    told: dict[str, list[str]] = defaultdict(list)
    interrupted: dict[str, list[str]] = defaultdict(list)
    pending: set[str] = set()
    lapsed: list[str] = []
    for bead in sorted((*waits, *messages), key=lambda one: one.created_at):
        session_id = bead.metadata.get("session_id", "")
        if delivery_of(bead) is not Delivery.QUEUED:
            interrupted[session_id].append(bead.id)
            continue
        state = wait_state(bead, live, now) if bead.type == WAIT else WaitState.READY
        if state is WaitState.PENDING:
            pending.add(session_id)
        elif state is WaitState.EXPIRED:
            lapsed.append(bead.id)
        elif state is WaitState.READY:
            told[session_id].append(bead.id)
            if bead.type == WAIT or wakes(bead):
                waking[session_id].append(bead.id)
    return Notices(
        waking=waking,
        told={key: tuple(ids) for key, ids in told.items()},
        interrupted={key: tuple(ids) for key, ids in interrupted.items()},
        pending=frozenset(pending),
        lapsed=tuple(lapsed),
    )
