"""Why a session is awake: hard wakes, and the config reason with its suppression.

One rule, one function: the plan and every re-look inside a drain call `hard_wakes`. Suppression
masks the config reason and nothing else (R23).

Source: DESIGN §4, §5 (WAKE-01..28, R18..R26)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from gascity.decide.dependencies import Need, needed_templates, upstream_edges
from gascity.decide.fingerprint import Fingerprint, still_holds
from gascity.decide.signals import question_wake
from gascity.model.city import NamedMode, SessionClass
from gascity.model.duration import OFF
from gascity.model.plan import Cause, HardWake, Policy
from gascity.model.reading import Known, Unclear
from gascity.model.roster import Place, is_suspended
from gascity.model.session import Session, SleepReason, State
from gascity.model.world import Sighting, Truth, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Wakes:
    """Every hard wake of one look.

    `by_session` is {session id: hard wakes, own causes first}; `needs` is {template: need};
    `unborn` are needed templates that have no session to carry them yet.
    """

    by_session: Mapping[str, tuple[HardWake, ...]]
    needs: Mapping[str, Need]
    unborn: frozenset[str]

    def of(self, session_id: str) -> tuple[HardWake, ...]:
        """The hard wakes of one session."""
        return self.by_session.get(session_id, ())


def hard_wakes(world: World) -> Wakes:
    """Direct causes of every session, then what they need upstream (NORM-02, NORM-03)."""
    direct = {
        session_id: causes
        for session_id, session in world.sessions.items()
        if (causes := direct_wakes(session, world))
    }
    roots: dict[str, list[str]] = defaultdict(list)
    for session_id, causes in direct.items():
        session = world.sessions[session_id]
        roots[session.template].extend(f"{session.name}:{wake.cause}" for wake in causes)
    for template in _served_pools(world):
        roots[template].append(f"{template}:{Cause.WORK}")
    needs = needed_templates(roots, upstream_edges(roots, world.city.agents))
    if not needs:
        return Wakes(by_session=direct, needs={}, unborn=frozenset())
    return _with_dependencies(world, direct, needs)


def _served_pools(world: World) -> Iterable[str]:
    """Pools that ready work is routed to: whichever slot takes it stands on the same templates."""
    for template, reading in world.demand.routed.items():
        agent = world.city.agents.get(template)
        if agent is None or not isinstance(reading, Known) or not reading.value:
            continue
        if not is_suspended(world.city, agent):
            yield template


def _with_dependencies(
    world: World, direct: Mapping[str, tuple[HardWake, ...]], needs: Mapping[str, Need]
) -> Wakes:
    """Give each needed template one bearer and name who stands behind it (R22)."""
    below = {name for need in needs.values() for name in need.dependents}
    by_template: dict[str, list[Session]] = defaultdict(list)
    for session in world.sessions.values():
        if session.template in needs or session.template in below:
            by_template[session.template].append(session)
    # Of the templates below, a pool with routed work only has its next slot to name.
    bearers = {name: bearer(world, by_template.get(name, ())) for name in needs.keys() | below}
    found = dict(direct)
    for template, need in needs.items():
        carrying = bearers[template]
        if carrying is None:
            continue
        wake = HardWake(
            cause=Cause.DEPENDENCY,
            dependents=_downstream(need, needs, by_template, direct, bearers),
            roots=need.roots,
        )
        found[carrying.id] = (*found.get(carrying.id, ()), wake)
    unborn = frozenset(
        name
        for name in needs
        if bearers[name] is None and not is_suspended(world.city, world.city.agents[name])
    )
    return Wakes(by_session=found, needs=needs, unborn=unborn)


def _downstream(
    need: Need,
    needs: Mapping[str, Need],
    by_template: Mapping[str, list[Session]],
    direct: Mapping[str, tuple[HardWake, ...]],
    bearers: Mapping[str, Session | None],
) -> tuple[str, ...]:
    """The sessions right below that need it: rooted ones, and bearers of needed templates."""
    names: dict[str, None] = {}
    for template in need.dependents:
        rooted = [one for one in by_template.get(template, ()) if one.id in direct]
        carrying = bearers.get(template)
        if carrying is not None and (template in needs or not rooted):
            names[carrying.name] = None
        names.update(dict.fromkeys(session.name for session in rooted))
    return tuple(sorted(names))


def bearer(world: World, sessions: Iterable[Session]) -> Session | None:
    """The one session that answers a need: the lowest awake one, else the lowest cold one (R22)."""

    def rank(session: Session) -> tuple[bool, int, str]:
        running = world.sighting(session.id).truth is not Truth.STOPPED
        return (not running, session.slot or 0, session.name)

    able = (session for session in sessions if not held_reason(session, world))
    return min(able, key=rank, default=None)


def direct_wakes(session: Session, world: World) -> tuple[HardWake, ...]:
    """The session's own hard causes, in a fixed order. A held session is woken by none (R26).

    One that runs while it is held, or is being stopped, keeps its causes: nobody is slept away from
    a person, a question or work in progress (BLK-01..04). Expiry is judged here as well as by
    normalisation, so that a re-look cannot honour what has lapsed since the tick began.
    """
    if world.sighting(session.id).truth is not Truth.RUNNING and held_reason(session, world):
        return ()
    found = [_bead_wake(Cause.WORK, world.demand.work.get(session.id))]
    found.append(_bead_wake(Cause.WAIT, _told(session, world)))
    found.extend(_seen_wakes(world.sighting(session.id)))
    if not any(wake is not None and wake.cause is Cause.PENDING for wake in found):
        found.append(question_wake(session, world))
    found.append(_operator_wake(session, world.now))
    pins = tuple(pin for pin in session.pins if pin.expires_at > world.now)
    if pins:
        owners = tuple(f"{pin.owner}: {pin.reason}" if pin.reason else pin.owner for pin in pins)
        found.append(HardWake(cause=Cause.PIN, details=owners))
    return tuple(wake for wake in found if wake is not None)


def _told(session: Session, world: World) -> object:
    """What it is to be told: all of it while it runs, else only what is to wake it (R66)."""
    waits, notices = world.demand.waits.get(session.id), world.demand.notices.get(session.id, ())
    if world.sighting(session.id).truth is not Truth.RUNNING or isinstance(waits, Unclear):
        return waits
    return Known(notices) if notices else waits


def _bead_wake(cause: Cause, reading: object) -> HardWake | None:
    """A wake by work or waits; only a certain answer wakes (R9)."""
    if isinstance(reading, Known) and reading.value:
        return HardWake(cause=cause, details=tuple(reading.value))
    return None


def _seen_wakes(seen: Sighting) -> list[HardWake | None]:
    """What the runtime shows: people, and questions that stop the turn."""
    found: list[HardWake | None] = []
    if seen.truth is not Truth.RUNNING:
        return found
    if isinstance(seen.attached, Known) and seen.attached.value > 0:
        count = seen.attached.value
        found.append(HardWake(cause=Cause.ATTACHED, details=(f"{count} attached",)))
    if isinstance(seen.pending, Known) and seen.pending.value is not None:
        asked = seen.pending.value
        found.append(HardWake(cause=Cause.PENDING, details=(asked.kind, asked.question)))
    return found


def _operator_wake(session: Session, now: datetime) -> HardWake | None:
    """An unexpired attach intent or wake request."""
    kinds = (("attach", session.attach_intent), ("wake", session.wake_request))
    asked = tuple(f"{kind} by {note.by}" for kind, note in kinds if note and note.expires_at > now)
    return HardWake(cause=Cause.OPERATOR, details=asked) if asked else None


def held_reason(session: Session, world: World) -> str:
    """Why nothing may wake this session, with the cause named, or "" (R26)."""
    if session.foreign_state:
        return f"state {session.foreign_state} belongs to another tool"
    if session.suspended_at is not None:
        return f"suspended by {session.suspended_by or 'operator'}"
    agent = world.city.agents.get(session.template)
    by_config = is_suspended(world.city, agent) if agent is not None else ""
    if by_config:
        return f"suspended by {by_config}"
    if session.held_until is not None and session.held_until > world.now:
        return f"held until {session.held_until.isoformat()}"
    if session.quarantined_until is not None and session.quarantined_until > world.now:
        return f"quarantined until {session.quarantined_until.isoformat()}"
    if session.state is State.ASLEEP and session.sleep_reason is SleepReason.DRAINED:
        return "drained"
    limit = session.limited_until
    if limit is not None and limit > world.now and _operator_wake(session, world.now) is None:
        return f"at its provider's limit until {limit.isoformat()}"
    return ""


def latch_holds(session: Session, place: Place, current: Fingerprint) -> bool:
    """Whether a cold session's config reason stays masked (WAKE-08..12, R63).

    Needs the same template, slot and generation, and a fingerprint that still matches.
    """
    return (
        session.is_cold
        and session.template == place.template
        and session.slot == place.slot
        and session.latch_generation == session.generation
        and still_holds(
            current, stored=session.fingerprint, stored_inputs=session.fingerprint_inputs
        )
    )


def config_wakes(
    session: Session, seen: Sighting, place: Place, policy: Policy, *, latched: bool, open: bool
) -> bool:
    """Whether being configured is, right now, reason enough to be awake (WAKE-04..06).

    Args:
        latched: The idle-sleep latch holds.
        open: The keep-warm window is open, or the policy is off.
    """
    running = seen.truth is not Truth.STOPPED
    if running:
        return open
    if latched or place.named is NamedMode.ON_DEMAND:
        return False
    if session.state is State.ASLEEP and session.sleep_reason is SleepReason.OPERATOR:
        return False
    if policy.effective is OFF:
        return True
    return not rests_unstarted(session, policy)


# Crashes, limits and restarts-on-idle come back by config; an operator's sleep stays one (R64).
_NOT_IDLE: Final = (
    SleepReason.CRASH,
    SleepReason.IDLE_TIMEOUT,
    SleepReason.OPERATOR,
    SleepReason.RATE_LIMIT,
)


def rests_unstarted(session: Session, policy: Policy) -> bool:
    """Whether a stopped session with a policy and no hard wake goes cold instead of starting.

    True for headless sessions that ended by themselves or never had a reason to run (REC-14,
    POOL-19). A crash, a restart-on-idle and a broken latch are reasons of their own.
    """
    if policy.session_class is not SessionClass.NONINTERACTIVE:
        return False
    if session.is_cold:
        return False  # the latch broke: config may wake it again (WAKE-21)
    if session.state is State.CREATING and not session.was_started:
        return policy.effective is not OFF and policy.effective.ns == 0
    return session.sleep_reason not in _NOT_IDLE
