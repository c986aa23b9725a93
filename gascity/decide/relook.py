"""What a fresh look says about a drain that is under way.

The same rules as the plan (`hard_wakes`, the keep-warm window, structural changes), over the
session, its demand and its dependents at every level (R27).

Source: DESIGN §10 (R27, R28, R35; DRAIN-03..16, PROBE-02)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from gascity.decide.doubt import spread_doubt
from gascity.decide.drain import STOP_ASKED, Phase, Verdict
from gascity.decide.idle import demand_doubt, doubt_blockers
from gascity.decide.judge import Judged, judge
from gascity.decide.pools import causes_of
from gascity.decide.wake import hard_wakes
from gascity.model.duration import OFF
from gascity.model.plan import Blocker
from gascity.model.session import Session, SleepIntent, StopReason
from gascity.model.world import Truth, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """A verdict with the blockers that made it, and the judgement they came from."""

    verdict: Verdict
    blockers: tuple[Blocker, ...] = ()
    judged: Judged | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainContext:
    """What a drain started from: it must not end under anything else.

    `operator` is a drain asked for by `gc sleep` on a session without a policy; `forced` ignores
    every blocker but doubt about the runtime. `idle_since` is what the plan counted from.
    """

    fingerprint: str
    generation: int
    idle_since: datetime | None = None
    probed_at: datetime | None = None
    operator: bool = False
    forced: bool = False


NOT_IDLE: Final = frozenset({"starting", "background", "idle_boundary"})
GONE: Final = Looked(verdict=Verdict.TAKEN, blockers=(Blocker(name="draining:orphaned"),))


def relook(
    world: World,
    session_id: str,
    *,
    phase: Phase,
    context: DrainContext,
    structural: Callable[[Session], str],
) -> Looked:
    """Judge the world after the effect of `phase`.

    Args:
        structural: The structural reason that applies to a session now, or "".
    """
    session = world.sessions.get(session_id)
    if session is None:
        return GONE
    world = spread_doubt(world)
    truth = world.sighting(session_id).truth
    taken = structural(session)
    if taken or session.generation != context.generation:
        name = f"draining:{taken}" if taken else "draining:operator"
        # A drifted session that is down already gets its restart by being started.
        done = taken == StopReason.CONFIG_DRIFT and truth is Truth.STOPPED
        verdict = Verdict.WOKEN if done else Verdict.TAKEN
        return Looked(verdict=verdict, blockers=(Blocker(name=name),))
    judged = judge(session, world, causes_of(session, world, hard_wakes(world)))
    if judged is None:
        return GONE
    stopped = phase in STOP_ASKED and truth is Truth.STOPPED
    against = _against(judged, session, world, context, stopped=stopped)
    if against:
        return Looked(verdict=Verdict.WOKEN, blockers=against, judged=judged)
    unsure = _unsure(judged, session, world, stopped=stopped)
    if context.forced:
        unsure = tuple(blocker for blocker in unsure if blocker.name == "runtime_unknown")
    # A stop that was seen is recorded whatever the demand; finishing waits for clear demand.
    if unsure and not (stopped and phase is Phase.STOP):
        return Looked(verdict=Verdict.UNSURE, blockers=unsure, judged=judged)
    if phase in STOP_ASKED and truth is Truth.RUNNING:
        return Looked(verdict=Verdict.RUNNING, judged=judged)
    if phase not in STOP_ASKED and truth is Truth.STOPPED:
        # It went by itself before we asked: the next patrol classifies that exit.
        return Looked(verdict=Verdict.TAKEN, judged=judged)
    return Looked(verdict=Verdict.CLEAR, judged=judged)


def _against(
    judged: Judged, session: Session, world: World, context: DrainContext, *, stopped: bool
) -> tuple[Blocker, ...]:
    """What ends the idle path for good: a wake, a new policy, activity newer than the probe."""
    if context.forced:
        return ()
    wakes = tuple(b for b in judged.blockers if b.name in judged.wake_names)
    if wakes:
        return wakes
    if not context.operator and (
        judged.policy.effective is OFF or judged.fingerprint.value != context.fingerprint
    ):
        return (Blocker(name="keep_warm", detail="the sleep policy changed"),)
    if stopped:
        return ()
    turns = tuple(b for b in judged.solid if b.name == "turn_open")
    if turns or context.operator:
        return turns
    if judged.window.is_open:
        return (Blocker(name="keep_warm", detail="active again"),)
    if _is_active_since(judged.window.reference_at, context):
        return (Blocker(name="keep_warm", detail="active since the probe"),)
    return tuple(b for b in judged.solid if b.name in NOT_IDLE)


def _is_active_since(late: datetime | None, context: DrainContext) -> bool:
    """Whether something happened after the probe; the probe's own instant counts if it is new.

    The window does not tell: the clock may have been set forward over it meanwhile.
    """
    if late is None or context.probed_at is None:
        return False
    is_new = context.idle_since is None or late > context.idle_since
    return late > context.probed_at or (late == context.probed_at and is_new)


def _unsure(
    judged: Judged, session: Session, world: World, *, stopped: bool
) -> tuple[Blocker, ...]:
    """Doubt that holds the walk where it is. Of a stopped runtime only demand matters (R28)."""
    if stopped:
        return tuple(demand_doubt(session, world.demand))
    seen = world.sighting(session.id)
    found = doubt_blockers(session, seen, judged.policy, judged.capability, world.demand)
    return tuple(found)


def is_marked(session: Session) -> bool:
    """Whether an idle drain of this session was announced."""
    return session.sleep_intent is not SleepIntent.NONE
