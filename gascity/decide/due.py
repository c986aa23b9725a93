"""When the next patrol is due because time alone changes an answer.

Source: DESIGN §X (R80)
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from gascity.decide.deliver import TRY_AGAIN
from gascity.decide.exits import restart_backoff
from gascity.decide.idle import turn_doubt_until
from gascity.decide.probing import Entry
from gascity.decide.signals import signals_end_at
from gascity.model.world import Truth, World


def next_due(entries: Mapping[str, Entry], world: World) -> datetime | None:
    """The earliest instant at which time alone changes an answer (R80)."""
    due: list[datetime | None] = [world.demand.next_moment]
    for entry in entries.values():
        session, window = entry.settled.session, entry.judged.window
        if world.sighting(session.id).truth is Truth.RUNNING:
            due.append(window.deadline)
        limit = entry.judged.place.agent.idle_timeout
        if limit is not None and window.reference_at is not None:
            due.append(window.reference_at + limit.delta)
        notes = (session.attach_intent, session.wake_request, *session.pins)
        due.extend(item.expires_at for item in notes if item is not None)
        if entry.session.wake_request is not None and session.wake_request is None:
            due.append(world.now + TRY_AGAIN)  # it was answered: what is shown must not stay
        due += (session.quarantined_until, session.held_until, session.limited_until)
        due += (turn_doubt_until(session, world.memory), *signals_end_at(session, world))
        if session.exits or session.failed_starts:
            due.append(world.now + restart_backoff(session, world.now))
        if world.demand.notices.get(session.id) and session.ready_at is not None:
            due.append(world.now + TRY_AGAIN)
    return min((at for at in due if at is not None and at > world.now), default=None)
