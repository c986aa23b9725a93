"""What we see right now: one `World` per look, with `now` as data.

`Sighting` holds every reading about one session. `Demand` says who is asked for. The volatile
part (`Memory`) is what the controller saw earlier and may forget at any restart.

Source: DESIGN §X, §6, §8 (R9..R15)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from gascity.model.city import City
from gascity.model.reading import Known, Reading, Unclear, Unsupported
from gascity.model.screens import ScreenVerdict as ScreenVerdict
from gascity.model.session import Session, StopReason
from gascity.model.signals import Heard


class Truth(StrEnum):
    """Whether the runtime hosts the session."""

    RUNNING = "running"
    STOPPED = "stopped"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A question that stops the turn until somebody answers (R79).

    `request` and `options` are there where the runtime itself can give the answer.
    """

    kind: str  # "permission", "plan", "choice", "trust", ...
    question: str = ""
    since: datetime | None = None
    request: str = ""
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A provider's limit: what was said of it, and when it is over; None when that was not said."""

    said: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """How a runtime ended; both None when nobody saw it. `host_gone`: its host went with it."""

    code: int | None = None
    signal: int | None = None
    host_gone: bool = False

    @property
    def is_clean(self) -> bool:
        """Whether it ended by itself with status 0."""
        return self.code == 0 and not self.signal

    def __str__(self) -> str:
        if self.host_gone:
            return "host gone"
        if self.signal:
            return f"signal {self.signal}"
        return "unknown" if self.code is None else f"status {self.code}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """Which questions a routed runtime can answer for one session, by its type (CAP-25).

    `screen` False: where there is a boundary, a look alone still shows no verdict on the screen.
    """

    activity_clock: bool
    idle_boundary: bool
    pending_signal: bool
    attachment_signal: bool
    screen: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """All readings about one session in one look.

    `activity` Known(None) is the zero time: the runtime keeps no clock (CAP-11). `pending` None
    means not asked in this look, because the answer could change nothing. `token` is the instance
    token found on the runtime, "" for none; `ours` whether it carries this city's mark (R37).
    """

    truth: Truth = Truth.UNKNOWN
    why: str = ""
    attached: Reading[int] = Unsupported()
    activity: Reading[datetime | None] = Unsupported()
    pending: Reading[Pending | None] | None = None
    screen: ScreenVerdict | None = None
    screen_rule: str = ""
    detail: str = ""
    ready: bool = False
    token: str = ""
    exit: Exit | None = None
    limit: Limit | None = None  # it shows its provider's limit, or ended at it
    agent_exited: bool = False  # the agent is gone, its shell lives (R11)

    @classmethod
    def unknown(cls, why: str) -> Sighting:
        """A session nobody could be asked about."""
        doubt = Unclear(why)
        return cls(truth=Truth.UNKNOWN, why=why, attached=doubt, activity=doubt, pending=doubt)

    @classmethod
    def stopped(cls, *, exit: Exit | None = None) -> Sighting:
        """A session that certainly does not run; nobody can be attached to it."""
        return cls(truth=Truth.STOPPED, attached=Known(0), pending=Known(None), exit=exit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Who is asked for, per session id and template. A missing key means certainly nothing.

    `work` and `waits` name beads. `routed` names ready, unassigned beads routed to a template;
    `pool_checks` are the desired counts. `unclear` non-empty: no demand could be read at all.
    `notices` are what each session is still to be told, oldest first: ready waits and messages.
    While it runs they all count like `waits`; while it does not, only those in `waits` do.
    `interrupted` are notices whose delivery began and was never seen to end; `lapsed` are waits
    past their expiry. `in_progress` names the work each session has taken, blocked work included.
    `next_moment` is the next instant at which time alone changes work or waits (R80).
    `revision` changes with every write to work or waits, so that a commit can insist on it.
    """

    work: Mapping[str, Reading[tuple[str, ...]]] = field(default_factory=dict)
    waits: Mapping[str, Reading[tuple[str, ...]]] = field(default_factory=dict)
    routed: Mapping[str, Reading[tuple[str, ...]]] = field(default_factory=dict)
    pool_checks: Mapping[str, Reading[int]] = field(default_factory=dict)
    pending_waits: frozenset[str] = frozenset()  # session ids with a wait not yet ready
    notices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    interrupted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    lapsed: tuple[str, ...] = ()
    in_progress: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    next_moment: datetime | None = None
    unclear: str = ""
    revision: int = 0


class ProbeResult(StrEnum):
    """What the latest look for an idle boundary said (META-18)."""

    NONE = "none"
    IDLE = "idle"
    BUSY = "busy"
    UNSUPPORTED = "unsupported"
    UNCLEAR = "unclear"


class DrainPhase(StrEnum):
    """Where a drain stands (META-18)."""

    NONE = "none"
    PROBING = "probing"
    PENDING = "pending"
    STOPPING = "stopping"
    CONFIRMED = "confirmed"
    COMMITTED = "committed"
    ABORTED = "aborted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """The latest probe of one session; `blocker` is the word it adds while it still holds."""

    result: ProbeResult
    at: datetime
    blocker: str = ""  # idle_boundary, background, pending, ...
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """Something already being done with a session by this controller."""

    kind: str  # "drain", "start", "stop", "deliver", "release"
    reason: StopReason | None = None
    phase: DrainPhase = DrainPhase.NONE
    since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTurn:
    """A turn that something says is open; `token` names the run of the session it belongs to.

    With an `owner` it also holds that owner's pin. From outside the session there is that alone,
    and no token.
    """

    token: str
    what: str = ""
    since: datetime | None = None
    owner: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What this controller process remembers without writing it down.

    `missing` are sessions the previous complete reading of the config did not name either (R21);
    `waiting_since` is when a wanted start was first deferred (R24). `turns` are those announced
    and not over; until `turns_unsure_until` turns of the controller before may still be announced
    again. `heard` is what agents said by their own hooks.
    """

    probes: Mapping[str, Probe] = field(default_factory=dict)
    walks: Mapping[str, Walk] = field(default_factory=dict)
    waiting_since: Mapping[str, datetime] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()
    resumed_at: datetime | None = None
    turns: Mapping[str, tuple[OpenTurn, ...]] = field(default_factory=dict)
    turns_unsure_until: datetime | None = None
    heard: Mapping[str, Heard] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One consistent picture of the city. Mappings are keyed by session id.

    A session without a sighting is unknown. `support` is per session because composite runtimes
    route each session on its own (CAP-08); Unclear means the route could not be looked up.
    `writable` False: the store takes no writes, so nothing may be stopped (R75).
    """

    now: datetime
    city: City
    sessions: Mapping[str, Session] = field(default_factory=dict)
    sightings: Mapping[str, Sighting] = field(default_factory=dict)
    support: Mapping[str, Reading[Support]] = field(default_factory=dict)
    demand: Demand = Demand()
    memory: Memory = Memory()
    writable: bool = True

    def __post_init__(self) -> None:
        assert self.now.tzinfo is not None, "now is aware UTC"

    def sighting(self, session_id: str) -> Sighting:
        """What is seen of one session; unknown when nobody was asked."""
        return self.sightings.get(session_id) or _UNASKED


_UNASKED = Sighting.unknown("not asked")
