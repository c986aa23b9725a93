"""What we remember about one session between ticks.

The fields that decide are apart from the diagnostic ones (META-19..22): deleting or corrupting a
diagnostic changes no decision. Text forms live in `beads/record.py`, the list of persisted keys.

Source: DESIGN §10, §11
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class State(StrEnum):
    """The lifecycle state on the bead (surface "Words used everywhere")."""

    CREATING = "creating"  # realized, its runtime not yet seen up for this generation
    AWAKE = "awake"  # its runtime is wanted and was started
    ASLEEP = "asleep"  # stopped on purpose or by itself; `sleep_reason` says which
    SUSPENDED = "suspended"  # held by administrative order
    QUARANTINED = "quarantined"  # held because it kept failing


class SleepReason(StrEnum):
    """Why a session is not running. Only `idle` is the idle-sleep latch (R50, COEX-06)."""

    NONE = ""
    IDLE = "idle"
    IDLE_TIMEOUT = "idle-timeout"
    SUSPENDED = "suspended"
    QUARANTINE = "quarantine"
    OPERATOR = "operator"
    DRAINED = "drained"
    CRASH = "crash"
    CITY_STOP = "city-stop"
    RATE_LIMIT = "rate_limit"


class SleepIntent(StrEnum):
    """The durable marker of an unfinished idle stop (META-09)."""

    NONE = ""
    PENDING = "idle-stop-pending"  # stop announced, not yet seen done (REC-16)
    CONFIRMED = "idle-stop-confirmed"  # runtime seen stopped on the idle path (REC-17)


class StopReason(StrEnum):
    """Why a session is stopped outside the idle path; also the word in `draining:<reason>`."""

    IDLE = "idle"
    CONFIG_DRIFT = "config-drift"
    EXCESS = "excess"
    ORPHANED = "orphaned"
    SUSPENDED = "suspended"
    OPERATOR = "operator"
    IDLE_TIMEOUT = "idle-timeout"
    CITY_STOP = "city-stop"
    KILL = "kill"


class ExitClass(StrEnum):
    """How an exit is accounted for; only `unexpected_exit` is a crash (CRASH-01..06, R41)."""

    IDLE_CONTROLLER_STOP = "idle_controller_stop"
    IDLE_SELF_EXIT = "idle_self_exit"
    UNEXPECTED_EXIT = "unexpected_exit"
    OPERATOR_STOP = "operator_stop"
    FAILED_START = "failed_start"
    HOST_RESTART = "host_restart"
    RATE_LIMIT = "rate_limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeNote:
    """A durable request to be awake with a bounded life: attach intent or operator wake.

    `holder` tells two requesters apart; `expires_at` always lies ahead of `at` by at most 5 minutes
    (A3) and moves once when the start attempt begins (R24).
    """

    holder: str
    by: str
    at: datetime
    expires_at: datetime
    started_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """A timed keep-awake: who asked, why, until when.

    One that is `held` ends, before its time, with the turn that its owner announced.
    """

    owner: str
    reason: str
    at: datetime
    expires_at: datetime
    held: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StopNote:
    """A stop outside the idle path, saved before the stop is asked for. Fenced by `generation`."""

    reason: StopReason
    generation: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SleepRequest:
    """An operator's `gc sleep`: the keep-warm window counts as closed from `at` on (R64)."""

    by: str
    at: datetime
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyNote:
    """The policy and capability of the last patrol, as words; kept so that edges can be seen."""

    requested: str = ""
    effective: str = ""
    source: str = ""
    adjustment: str = ""
    capability: str = ""
    probe_health: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostics:
    """What the last patrol concluded, for people only (META-22)."""

    suppressed: bool = False
    blockers: tuple[str, ...] = ()
    abort_blockers: tuple[str, ...] = ()
    blocked_at: datetime | None = None
    snapshot: str = ""  # JSON of the decision at the last edge


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One durable session record. `version` is the store's, for compare-and-set.

    All instants are aware UTC. `latch_generation` and `fingerprint` are those under which the
    session went idle-asleep (R63, FP-05). `exits` and `failed_starts` are the instants inside the
    restart window (R41).
    """

    id: str
    version: int
    name: str
    template: str
    slot: int | None = None
    runtime: str = "tmux"
    foreign_state: str = ""  # a state word of another tool: kept, never acted on

    state: State = State.CREATING
    sleep_reason: SleepReason = SleepReason.NONE
    sleep_intent: SleepIntent = SleepIntent.NONE
    created_at: datetime | None = None
    since: datetime | None = None  # when `state` last changed
    woke_at: datetime | None = None
    ready_at: datetime | None = None  # first readiness of this generation (R66)
    slept_at: datetime | None = None
    detached_at: datetime | None = None
    open_turn: str = ""  # instance token of the run that is in a turn it announced (R48)
    turn_ended_at: datetime | None = None

    generation: int = 0
    instance_token: str = ""
    heard_from: str = ""  # token of the run whose own hooks have spoken
    session_key: str = ""
    started_hash: str = ""  # what the runtime was started with, for drift (R32)

    fingerprint: str = ""
    fingerprint_inputs: str = ""
    latch_generation: int = 0

    attach_intent: WakeNote | None = None
    wake_request: WakeNote | None = None
    pins: tuple[Pin, ...] = ()
    sleep_request: SleepRequest | None = None
    stop_note: StopNote | None = None
    suspended_at: datetime | None = None  # by `gc suspend`; config suspension is not stored
    suspended_by: str = ""
    held_until: datetime | None = None  # set by other tools; masks every wake until then

    exits: tuple[datetime, ...] = ()
    failed_starts: tuple[datetime, ...] = ()
    quarantined_until: datetime | None = None
    limited_until: datetime | None = None  # end of its provider's limit
    quarantine_cycle: int = 0
    last_exit: str = ""
    last_error: str = ""
    idle_timeout_deferrals: str = ""  # "<bead id>:<count>" (R40)

    policy: PolicyNote = PolicyNote()
    diagnostics: Diagnostics = Diagnostics()

    def __post_init__(self) -> None:
        assert self.slot is None or self.slot >= 1, "slots count from 1"

    @property
    def is_cold(self) -> bool:
        """Asleep because it was idle: the only state that can latch config suppression."""
        return self.state is State.ASLEEP and self.sleep_reason is SleepReason.IDLE

    @property
    def was_started(self) -> bool:
        """Whether a runtime was ever asked to host it."""
        return self.generation > 0
