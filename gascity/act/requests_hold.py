"""Sleep, pin, suspend, resume, kill: what an operator orders about keeping a session up or down.

All but the kill are durable facts that the next patrol acts on.

Source: DESIGN §12 (R18, R26, R64, R78)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

import anyio

from gascity.act.operate import (
    Desk,
    Reply,
    current,
    decision_of,
    find,
    hold_of,
    seen_last,
    seen_now,
)
from gascity.act.ports import Refused
from gascity.beads.times import time_text
from gascity.model.city import City
from gascity.model.events import Event
from gascity.model.plan import Blocker
from gascity.model.roster import is_suspended
from gascity.model.session import Pin, Session, SleepRequest, State
from gascity.model.world import Truth

PIN_S: Final = 8 * 3600.0  # a person's, without a word about its end
AGENT_PIN_S: Final = 24 * 3600.0
PATROL_S: Final = 5.0  # how long `gc sleep` waits for a fresh judgement before it uses the last one

# What a request to sleep is there to shorten, and so cannot be refused by.
SHORTENED: Final = frozenset({"keep_warm"})


async def sleep(desk: Desk, said: str, *, by: str = "operator", force: bool = False) -> Reply:
    """Close the keep-warm window now and ask for an idle drain (R64).

    Returns:
        `outcome` (`requested`, `already asleep`) and the `blockers` that were overruled.

    Raises:
        Refused: something keeps it up, and `force` was not given.
    """
    session = find(desk.snapshot(), said)
    if _is_asleep(session) and seen_last(desk.snapshot(), session).truth is not Truth.RUNNING:
        return {
            "outcome": "already asleep",
            "session": session.name,
            "state": session.state.value,
            "reason": session.sleep_reason.value,
            "blockers": [],
        }
    with anyio.move_on_after(PATROL_S):
        await desk.wait_patrol()
    look = desk.snapshot()
    decision = decision_of(look, session)
    blockers = [one for one in (decision.blockers if decision else ()) if one.name not in SHORTENED]
    if blockers and not force:
        raise Refused(
            f"{session.name} is kept up by {', '.join(map(_blocker_text, blockers))}",
            f"gc why {session.name} says more; --force overrules it",
        )

    def ask(now_is: Session, now: datetime) -> tuple[Session, tuple[Event, ...]]:
        request = SleepRequest(by=by, at=now, force=force)
        # The operator's latest word wins over an earlier wake.
        return replace(now_is, sleep_request=request, wake_request=None), ()

    await desk.change(session.id, ask)
    return {
        "outcome": "requested",
        "session": session.name,
        "blockers": [one.name for one in blockers],
    }


def _is_asleep(session: Session) -> bool:
    return session.state in (State.ASLEEP, State.SUSPENDED, State.QUARANTINED)


def _blocker_text(blocker: Blocker) -> str:
    return f"{blocker.name} ({blocker.detail})" if blocker.detail else blocker.name


async def pin(
    desk: Desk,
    said: str,
    *,
    owner: str = "operator",
    reason: str = "",
    for_s: float | None = None,
    agent: bool = False,
) -> Reply:
    """Keep a session up for a while; the same owner's earlier pin is replaced (R18, R78).

    Args:
        agent: An agent asks. It has to say for how long, at most a day: nobody would miss it.

    Raises:
        Refused: an agent's pin without an end, or with one too far away.
    """
    session = find(desk.snapshot(), said)
    owner = owner or "operator"
    if agent and (for_s is None or for_s > AGENT_PIN_S):
        raise Refused("a pin from inside a session has to end", "say --for, at most 24h", exit=2)
    length = timedelta(seconds=PIN_S if for_s is None else for_s)

    def put(now_is: Session, now: datetime) -> tuple[Session, tuple[Event, ...]]:
        new = Pin(owner=owner, reason=reason, at=now, expires_at=now + length)
        others = [one for one in now_is.pins if one.owner != owner and one.expires_at > now]
        return replace(now_is, pins=(*others, new)), ()

    after = await desk.change(session.id, put)
    made = next(one for one in after.pins if one.owner == owner)
    hold = hold_of(after, desk.snapshot().city, desk.clock.now())
    note = {"note": f"{hold.what}: the pin holds from then on; {hold.do}"} if hold else {}
    return {"pin": pin_object(after, made), **note}


async def unpin(desk: Desk, said: str, *, owner: str = "") -> Reply:
    """Take away the pins of an owner, all of them without one; how many went."""
    session = find(desk.snapshot(), said)
    removed = 0

    def take(now_is: Session, now: datetime) -> tuple[Session, tuple[Event, ...]]:
        nonlocal removed
        kept = tuple(one for one in now_is.pins if owner and one.owner != owner)
        removed = len(now_is.pins) - len(kept)
        return (replace(now_is, pins=kept) if removed else now_is), ()

    await desk.change(session.id, take)
    return {"removed": removed, "session": session.name}


async def pins(desk: Desk) -> Reply:
    """Every pin that has not expired, by session name."""
    now = desk.clock.now()
    sessions = sorted(desk.snapshot().sessions.values(), key=lambda one: one.name)
    held = [(one, pin) for one in sessions for pin in one.pins if pin.expires_at > now]
    return {"pins": [pin_object(one, pin) for one, pin in held]}


def pin_object(session: Session, pin: Pin) -> dict[str, Any]:
    """One pin as JSON shows it."""
    return {
        "session": session.name,
        "owner": pin.owner,
        "reason": pin.reason,
        "at": time_text(pin.at),
        "expires_at": time_text(pin.expires_at),
        "held": pin.held,
    }


async def suspend(desk: Desk, said: str = "", *, all: bool = False, by: str = "operator") -> Reply:
    """Hold a session, or all of them, until it is resumed; the names that changed."""

    def hold(now_is: Session, now: datetime) -> tuple[Session, tuple[Event, ...]]:
        if now_is.suspended_at is not None:
            return now_is, ()
        return replace(now_is, suspended_at=now, suspended_by=by or "operator"), ()

    return await _each(desk, said, all, hold)


async def resume(desk: Desk, said: str = "", *, all: bool = False, by: str = "operator") -> Reply:
    """Lift the holds of one session (suspended, held, quarantined), or every suspension.

    Raises:
        Refused: it is the config that suspends it.
    """
    if not all and said:
        _refuse_config_hold(find(desk.snapshot(), said), desk.snapshot().city)

    def lift(now_is: Session, now: datetime) -> tuple[Session, tuple[Event, ...]]:
        freed = replace(now_is, suspended_at=None, suspended_by="")
        if not all:
            freed = replace(freed, held_until=None)
            if now_is.quarantined_until is not None or now_is.state is State.QUARANTINED:
                # Forgiven: counted again from nothing, else the next failure closes the door.
                freed = replace(
                    freed, quarantined_until=None, quarantine_cycle=0, exits=(), failed_starts=()
                )
        return (now_is if freed == now_is else freed), ()

    return await _each(desk, said, all, lift)


def _refuse_config_hold(session: Session, city: City) -> None:
    agent = city.agents.get(session.template)
    by_config = is_suspended(city, agent) if agent is not None else ""
    if by_config and session.suspended_at is None:
        raise Refused(
            f"{session.name} is suspended by {by_config} in city.toml",
            f"set suspended = false for the {by_config} there",
        )


async def _each(
    desk: Desk,
    said: str,
    all: bool,
    fn: Callable[[Session, datetime], tuple[Session, tuple[Event, ...]]],
) -> Reply:
    if all == bool(said):
        raise Refused("name one session or all of them", "send session, or all: true", exit=2)
    look = desk.snapshot()
    chosen = list(look.sessions.values()) if all else [find(look, said)]
    names = []
    for one in chosen:
        before = current(desk.snapshot(), one)
        after = await desk.change(one.id, fn)
        if not all or after != before:
            names.append(one.name)
    return {"sessions": sorted(names)}


async def kill(desk: Desk, said: str, *, by: str = "operator") -> Reply:
    """Stop a session now, whatever it does, and say what is seen of it afterwards."""
    session = find(desk.snapshot(), said)
    before = await seen_now(desk, session)
    if before.truth is Truth.STOPPED:
        return {"outcome": "already stopped", "session": session.name, "state": "stopped"}
    await desk.kill(session.id, by=by)
    after = await seen_now(desk, session)
    if after.truth is Truth.STOPPED or session.id not in desk.snapshot().sessions:
        return {"outcome": "killed", "session": session.name, "state": "stopped"}
    again = current(desk.snapshot(), session)
    if again.generation != session.generation:
        return {"outcome": "killed", "session": session.name, "state": "restarted"}
    return {
        "outcome": "failed",
        "session": session.name,
        "state": after.truth.value,
        "exit": 1,
        "what": f"{session.name} was told to stop and is seen {after.truth.value}",
        "do": f"look at gc why {session.name}",
    }
