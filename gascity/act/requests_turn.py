"""An announced turn: for as long as whoever announced it stays, its session is in a turn.

Fenced by the instance token (R63). Before the announcement is answered the record says that a turn
is open, so that a controller which dies now leaves that behind for the next one. The note is taken
away by a patrol, never here: the end of this request may be the end of the controller.

Source: DESIGN §14 (R18, R48, R63, R75)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from gascity.act.operate import Desk, Reply, Say, find
from gascity.act.ports import Refused
from gascity.act.requests_talk import plain
from gascity.beads.store import StoreBroken, StoreUnavailable
from gascity.model.events import Event
from gascity.model.session import Pin, Session
from gascity.model.world import OpenTurn

TURN_MOST_S: Final = 25 * 3600.0
"""A longer turn has to be announced again: whoever holds it may have frozen."""
WHAT_MOST: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Announced:
    """What is announced: `token` of the run it belongs to, `what` goes on, the `owner` of a pin."""

    token: str = ""
    what: str = ""
    owner: str = ""


async def turn(desk: Desk, said: str, told: Announced, *, say: Say) -> Reply:
    """Count as a turn of the session until the client leaves; it is told once that it does.

    With an owner the session is pinned for as long, by whomever and from wherever.

    Raises:
        Refused: neither a run nor an owner is named, the session has another run by now, or too
            many turns.
    """
    if not told.token and not told.owner:
        raise Refused("a turn belongs to a run", "send its instance token", exit=2)
    session = find(desk.snapshot(), said)
    line = " ".join(plain(told.what).split())[:WHAT_MOST]
    now = desk.clock.now()
    opened = OpenTurn(token=told.token, what=line, since=now, owner=told.owner)
    with desk.in_turn(session.id, opened):
        try:
            await desk.change(session.id, partial(_noted, opened))
        except StoreBroken:
            raise
        except StoreUnavailable:
            pass  # nobody is put to sleep meanwhile, and the next patrol that can writes it
        await say({"open": True, "session": session.name})
        await desk.clock.sleep_until(desk.clock.monotonic() + TURN_MOST_S)
    return {"open": False, "session": session.name}


def _noted(turn: OpenTurn, session: Session, now: datetime) -> tuple[Session, tuple[Event, ...]]:
    """The record that knows of the turn."""
    if turn.token and session.instance_token != turn.token:
        raise Refused(f"{session.name} has another run by now", "this one's turns are over")
    after = session
    if turn.token and session.open_turn != turn.token:
        after = replace(after, open_turn=turn.token)
    if turn.owner:
        ends = now + timedelta(seconds=TURN_MOST_S)
        pin = Pin(owner=turn.owner, reason=turn.what, at=now, expires_at=ends, held=True)
        others = (one for one in after.pins if one.owner != turn.owner and one.expires_at > now)
        after = replace(after, pins=(*others, pin))
    return after, ()
