"""Walk the idle drain of one session: do the effect of a phase, look again, follow the table.

Nothing about policy is decided here: `DRAIN` and `relook` say what follows.

Source: DESIGN §7, §10 (DRAIN-01..17, PROBE-01..11, R28, R31, R33, R35)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import anyio

from gascity.act.probe import probe
from gascity.act.save import Change, Gone, change, noting, read, write
from gascity.act.start import Launch, start
from gascity.beads.store import Conflict, StoreBroken, StoreUnavailable
from gascity.decide.drain import DRAIN, LAST, SHOWN, Effect, Phase, Verdict, follow
from gascity.decide.exits import fall_asleep, go_cold
from gascity.decide.explain import payload
from gascity.decide.relook import DrainContext, Looked, is_marked, relook
from gascity.model.events import Event, EventType
from gascity.model.plan import Blocker, CapabilityClass, Decision
from gascity.model.session import ExitClass, Session, SleepIntent, SleepReason
from gascity.model.world import ProbeResult, World
from gascity.observe.ports import Ports
from gascity.observe.world import Lookout
from gascity.runtimes.base import RuntimeUnreachable

STOP_SLACK_S: Final = 20.0
Progress = Callable[[Phase], None]


@dataclass(slots=True, kw_only=True)
class DrainWalk:
    """One drain on its way. `structural` says which structural reason applies to a session now."""

    session_id: str
    decision: Decision
    context: DrainContext
    ports: Ports
    lookout: Lookout
    structural: Callable[[Session], str]
    shown: Callable[[Any], None]
    world: World | None = None
    against: tuple[Blocker, ...] = ()
    looked: Looked | None = None


async def drain(walk: DrainWalk, *, after: Phase | None = None) -> Phase:
    """Walk the table to its end; the last phase whose effect was done.

    `after` names a phase that an earlier walk has done: the look that follows it comes first.
    """
    phase = last = after or Phase.PROBE
    if after is not None:
        phase = follow(after, await _look(walk, after))
    while phase is not Phase.END:
        walk.shown(SHOWN[phase])
        done = await PERFORM[DRAIN[phase].effect](walk)
        last = phase
        if phase in LAST and done:
            return last
        phase = follow(phase, await _look(walk, phase) if done else await _undone(walk, phase))
    return last


async def _look(walk: DrainWalk, phase: Phase) -> Verdict:
    """The verdict of a fresh look after the effect of `phase`."""
    try:
        walk.world = await walk.lookout.session(walk.session_id)
    except StoreBroken:
        raise
    except StoreUnavailable:
        return Verdict.FAILED
    walk.looked = relook(
        walk.world,
        walk.session_id,
        phase=phase,
        context=walk.context,
        structural=walk.structural,
    )
    walk.against = walk.looked.blockers
    return walk.looked.verdict


async def _undone(walk: DrainWalk, phase: Phase) -> Verdict:
    """An effect that did not happen ends the walk, but for a commit that met a late wake (S2)."""
    if phase is Phase.COMMIT and await _look(walk, Phase.CONFIRM) is Verdict.WOKEN:
        return Verdict.WOKEN
    return Verdict.FAILED


async def _probe(walk: DrainWalk) -> bool:
    """Ask for a safe boundary, where the runtime can say (PROBE-03, PROBE-09)."""
    full = walk.decision.capability.kind is CapabilityClass.FULL
    if walk.context.forced or not full:
        return True
    _, session = await read(walk.ports, walk.session_id)
    found = await probe(session, walk.ports)
    walk.ports.memory.probes[session.id] = found
    walk.context = replace(walk.context, probed_at=found.at)
    return found.result is ProbeResult.IDLE


async def _save_pending(walk: DrainWalk) -> bool:
    """Announce the stop, with the fingerprint it happens under (DRAIN-02, FP-05)."""

    shown = walk.world.sighting(walk.session_id).limit if walk.world is not None else None

    def pending(session: Session, now: datetime) -> tuple[Session, tuple[Event, ...]]:
        if session.generation != walk.context.generation:
            raise Conflict("another run of the session")
        noted = replace(
            session,
            sleep_intent=SleepIntent.PENDING,
            limited_until=shown.until if shown is not None else None,
            fingerprint=walk.decision.fingerprint,
            fingerprint_inputs=walk.decision.fingerprint_inputs,
        )
        reason = "operator" if walk.context.operator else "idle"
        event = _event(
            EventType.DRAINING,
            session,
            now,
            f"draining: {reason}",
            {**payload(walk.decision, now=now), "reason": reason},
        )
        return noted, (event,)

    return await _saved(walk, pending)


async def _stop(walk: DrainWalk) -> bool:
    """Ask the runtime to stop; the look after it, not this return, says whether it did (R28).

    Nothing is stopped that was written to since the last look: a wake that became durable in
    between is seen by the next patrol, which begins at once (S1).
    """
    _, session = await read(walk.ports, walk.session_id)
    runtime = walk.ports.runtime(session.runtime)
    if runtime is None or _moved(walk):
        return False
    grace = walk.ports.city.daemon.shutdown_timeout.seconds
    try:
        with anyio.fail_after(grace + STOP_SLACK_S):
            stopped = await runtime.stop(session.name, token=session.instance_token, grace_s=grace)
    except TimeoutError:
        return await _note_error(walk, f"stop: no answer within {grace + STOP_SLACK_S:g}s")
    except RuntimeUnreachable as problem:
        return await _note_error(walk, f"stop: {problem}")
    if stopped.left:
        await _note_error(walk, f"stop: left running: {', '.join(map(str, stopped.left))}")
    return True


def _moved(walk: DrainWalk) -> bool:
    """Whether a record or demand that the last look was about was written since."""
    world, ports = walk.world, walk.ports
    if world is None:
        return True
    moved = any(
        (now_is := ports.records.get(one.id)) is None or now_is.version != one.version
        for one in world.sessions.values()
    )
    return moved or ports.store.demand_revision != world.demand.revision


async def _save_confirmed(walk: DrainWalk) -> bool:
    """Record that the runtime was seen stopped on the idle path (REC-17)."""
    return await _saved(
        walk, lambda session, _: (replace(session, sleep_intent=SleepIntent.CONFIRMED), ())
    )


async def _save_asleep(walk: DrainWalk) -> bool:
    """Commit, insisting that no record that was looked at, nor demand, moved since (S2, R27)."""
    looked, world = walk.looked, walk.world
    if looked is None or world is None or looked.judged is None:
        return False
    bead, session = await read(walk.ports, walk.session_id)
    if session.version != world.sessions[walk.session_id].version or not is_marked(session):
        return False
    if walk.structural(session):  # the config is in no batch: asked as late as can be (S10)
        return False
    now = walk.ports.clock.now()
    asleep = go_cold(session, looked.judged, now=now)
    if walk.context.operator:
        asleep = fall_asleep(session, SleepReason.OPERATOR, now=now)
    after = replace(
        asleep,
        last_exit=str(ExitClass.IDLE_CONTROLLER_STOP),
        last_error="",
        diagnostics=replace(session.diagnostics, suppressed=True, blockers=()),
    )
    reason = str(after.sleep_reason)
    said = {
        **payload(walk.decision, now=now),
        "reason": reason,
        "suppressed": True,
        "fingerprint": after.fingerprint,
        "exit_intent": str(ExitClass.IDLE_CONTROLLER_STOP),
    }
    event = _event(EventType.STOPPED, session, now, f"asleep: {reason}", said)
    try:
        await write(
            walk.ports,
            bead,
            session,
            after,
            (event,),
            expect_demand=world.demand.revision,
            expect=[one for one in world.sessions.values() if one.id != session.id],
        )
    except StoreBroken:
        raise
    except (Conflict, StoreUnavailable):
        return False
    return True


async def _clear_intent(walk: DrainWalk) -> bool:
    """End the attempt and say what ended it (EVT-03, META-13, META-14)."""
    return await _saved(walk, _aborted(walk))


async def _clear_and_start(walk: DrainWalk) -> bool:
    """A wake came after the stop: no idle intent stays, and it is started at once (DRAIN-06)."""
    if not await _saved(walk, _aborted(walk)):
        return False
    names = tuple(dict.fromkeys(blocker.name for blocker in walk.against)) or ("config",)
    await start(Launch(session_id=walk.session_id, why=names), walk.ports)
    return True


def _aborted(walk: DrainWalk) -> Change:
    def aborted(session: Session, now: datetime) -> tuple[Session, tuple[Event, ...]]:
        if session.sleep_intent is SleepIntent.NONE:
            return replace(session, sleep_request=None), ()
        names = tuple(dict.fromkeys(blocker.name for blocker in walk.against))
        cleared = replace(
            session,
            sleep_intent=SleepIntent.NONE,
            limited_until=None,
            sleep_request=None,
            diagnostics=replace(session.diagnostics, abort_blockers=names, blocked_at=now),
        )
        said = {
            **payload(walk.decision, now=now),
            "reason": names[0] if names else "",
            "blockers": list(names),
            "capability": str(walk.decision.capability.kind),
            "aborted": True,
        }
        message = f"idle drain aborted: {', '.join(names)}"
        return cleared, (_event(EventType.SLEEP_ABORTED, session, now, message, said),)

    return aborted


async def _saved(walk: DrainWalk, fn: Change) -> bool:
    """Whether the change is on disk."""
    try:
        await change(walk.ports, walk.session_id, fn)
    except StoreBroken:
        raise
    except (Conflict, StoreUnavailable, Gone):
        return False
    return True


async def _note_error(walk: DrainWalk, why: str) -> bool:
    """Show what went wrong with the stop; always False, for the effect did not happen."""
    await _saved(walk, noting(why))
    return False


async def _nothing(_: DrainWalk) -> bool:
    return True


def _event(
    kind: EventType, session: Session, now: datetime, message: str, said: dict[str, Any]
) -> Event:
    return Event(type=kind, ts=now, subject=session.name, message=message, payload=said)


PERFORM: Final[Mapping[Effect, Callable[[DrainWalk], Awaitable[bool]]]] = {
    Effect.WAIT_FOR_IDLE: _probe,
    Effect.SAVE_PENDING: _save_pending,
    Effect.STOP_RUNTIME: _stop,
    Effect.SAVE_CONFIRMED: _save_confirmed,
    Effect.SAVE_ASLEEP: _save_asleep,
    Effect.CLEAR_INTENT: _clear_intent,
    Effect.CLEAR_AND_START: _clear_and_start,
    Effect.NOTHING: _nothing,
}
