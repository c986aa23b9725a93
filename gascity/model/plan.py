"""What will be done and why: at most one action per session, a decision for every session.

Source: DESIGN §X, §11
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from gascity.model.city import SessionClass, Source
from gascity.model.duration import KeepWarm
from gascity.model.events import Event
from gascity.model.roster import Place
from gascity.model.session import Session, StopReason
from gascity.model.world import DrainPhase, ProbeResult


class Cause(StrEnum):
    """A hard wake: wakes a cold session and cancels an idle drain (R18)."""

    WORK = "work"
    WAIT = "wait"
    ATTACHED = "attached"
    PENDING = "pending"
    OPERATOR = "operator"
    DEPENDENCY = "dependency"
    PIN = "pin"


@dataclass(frozen=True, slots=True, kw_only=True)
class HardWake:
    """One cause with what stands behind it: bead ids, a question, a pin's owner, ...

    For `dependency`, `dependents` names the downstream sessions and `roots` the sessions whose own
    hard wake started the propagation, as `<session>:<cause>` (DEP-09, DEP-10).
    """

    cause: Cause
    details: tuple[str, ...] = ()
    dependents: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()


class CapabilityClass(StrEnum):
    """What idle sleep a routed runtime allows (CAP-15..17)."""

    FULL = "full"
    TIMED_ONLY = "timed_only"
    DISABLED = "disabled"


class ProbeHealth(StrEnum):
    """Whether this look had to fail closed (CAP-03)."""

    HEALTHY = "healthy"
    FAILED_CLOSED = "failed_closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """The snapshot made by `resolve_capability`, the only judge of runtime evidence (CAP-01)."""

    kind: CapabilityClass
    has_activity_clock: bool
    has_idle_boundary: bool
    has_pending_signal: bool
    has_attachment_signal: bool
    adjustment: str = ""  # `unclear:<reading>` for a look that failed closed
    probe_health: ProbeHealth = ProbeHealth.HEALTHY


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Requested and effective keep-warm window with the layer that said so (POL-24)."""

    requested: KeepWarm
    effective: KeepWarm
    source: Source
    session_class: SessionClass
    adjustment: str = ""
    warning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """One named reason why a session does not sleep now (BLK-01..07)."""

    name: str
    detail: str = ""
    dependents: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()


class Path(StrEnum):
    """What a line of the recovery table says to do."""

    HOLD = "hold"  # truth unknown: leave everything as it is
    STRUCTURAL = "structural"  # a structural change wins over the idle path
    WAKE = "wake"  # clear idle markers; keep or make awake
    EVALUATE = "evaluate"  # ordinary wake and idle evaluation
    DRAIN = "drain"  # go on with the idle drain
    ADOPT = "adopt"  # it runs: take it as awake again
    REST = "rest"  # leave the cold slot cold
    COMMIT = "commit"  # the stop was seen: write asleep: idle
    PRESERVE = "preserve"  # the stop was seen, but it sleeps for another reason: keep that
    AMBIGUOUS = "ambiguous"  # stopped, and nobody saw why


class DisplayState(StrEnum):
    """The state column of `gc status` (surface)."""

    AWAKE = "awake"
    ASLEEP = "asleep"
    STARTING = "starting"
    DRAINING = "draining"
    SUSPENDED = "suspended"
    QUARANTINED = "quarantined"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The whole judgement of one session in one tick: enough to explain it (X1)."""

    session_id: str
    name: str
    state: DisplayState
    row: str
    path: Path
    policy: Policy
    capability: Capability
    reasons: tuple[str, ...] = ()
    hard_wakes: tuple[HardWake, ...] = ()
    blockers: tuple[Blocker, ...] = ()
    suppressed: bool = False
    masked_by: str = ""
    idle_reference_at: datetime | None = None
    keep_warm_deadline: datetime | None = None
    fingerprint: str = ""
    fingerprint_inputs: str = ""
    probe_result: ProbeResult = ProbeResult.NONE
    drain_phase: DrainPhase = DrainPhase.NONE
    held_back: str = ""  # why a wanted start is not made now: quarantine, budget, dependency, ...
    wake_sources: tuple[str, ...] = ()
    verdict: str = ""  # one sentence for people

    @property
    def blocker_names(self) -> tuple[str, ...]:
        """The blocker words, in order, without repeats."""
        return tuple(dict.fromkeys(blocker.name for blocker in self.blockers))


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """Realize a place: write its session record."""

    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Start the runtime; `why` are the reasons, hard ones first."""

    session_id: str
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitReady:
    """Watch a started runtime until its first readiness (R66)."""

    session_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """Walk the idle drain. `resume`: the pending marker is already saved (REC-02)."""

    session_id: str
    resume: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """Finish a confirmed idle stop (REC-06)."""

    session_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Stop outside the idle path. `restart`: start again at once. `retire`: close the record."""

    session_id: str
    reason: StopReason
    restart: bool = False
    retire: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Retire:
    """Close the record of a session that does not run and is no longer asked for."""

    session_id: str
    reason: StopReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliver:
    """Tell a session at its prompt what it is to be told, in this order (R66)."""

    session_id: str
    bead_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Give the work that a quarantined session holds back to its agent (R68)."""

    session_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseNotices:
    """Write down, once, waits that expired and deliveries that nobody saw end."""

    lapsed: tuple[str, ...] = ()
    interrupted: tuple[str, ...] = ()


Action: TypeAlias = (
    Create | Start | AwaitReady | Drain | Commit | Stop | Retire | Deliver | Release | CloseNotices
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolState:
    """The counts of one pool as shown in status."""

    template: str
    desired: int | None
    effective_desired: int
    realized: int
    awake: int
    asleep: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One tick's answer. `changes` are whole new records, saved together with `events` before acts.

    `candidates` is how many idle candidates there were beyond the probe budget's view; `next_due`
    the earliest instant at which time alone changes an answer (R80); `missing` feeds the next
    tick's memory.
    """

    actions: tuple[Action, ...] = ()
    decisions: Mapping[str, Decision] = field(default_factory=dict)
    changes: Mapping[str, Session] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    pools: tuple[PoolState, ...] = ()
    queued: frozenset[str] = frozenset()  # session ids whose start waits for budget or order
    missing: frozenset[str] = frozenset()
    next_due: datetime | None = None
    warnings: tuple[str, ...] = ()
