"""THE list: every key that is ever persisted, with its format, its writer and its meaning.

`record` walks the session table both ways; `docs/reference/metadata.md` is drawn from all of them.
A key that is not here is another tool's: kept and never acted on.

Source: DESIGN §11 (META-01..22; R73)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gascity.beads import formats as fmt
from gascity.beads.formats import Format


@dataclass(frozen=True, slots=True)
class Key:
    """One persisted key of a session. `field` is its place in `Session`.

    `owner` is who writes it: `roster` at creation, `controller`, `operator` (commands), `policy`
    (the controller, about the last patrol: decides nothing), or `others` (read here, written by
    other tools).
    """

    name: str
    field: str
    format: Format
    owner: str
    meaning: str

    @property
    def decides(self) -> bool:
        """Whether a decision depends on it; the rest is for people (META-22)."""
        return self.owner != "policy"


KEYS: Final[tuple[Key, ...]] = (
    # Who it is.
    Key("session_name", "name", fmt.TEXT, "roster", "name of the session and of its runtime"),
    Key("template", "template", fmt.TEXT, "roster", "identity of the agent it is made from"),
    Key("pool_slot", "slot", fmt.SLOT, "roster", "number in its pool"),
    Key(
        "runtime", "runtime", fmt.RUNTIME, "roster", "kind of runtime that hosts it; empty is tmux"
    ),
    # Where it stands.
    Key("state", "state", fmt.STATE, "controller", "lifecycle state (META-19)"),
    Key(
        "sleep_reason",
        "sleep_reason",
        fmt.SLEEP_REASON,
        "controller",
        "why it does not run (META-16)",
    ),
    Key(
        "sleep_intent",
        "sleep_intent",
        fmt.SLEEP_INTENT,
        "controller",
        "idle stop under way (META-09)",
    ),
    Key("state_changed_at", "since", fmt.TIME, "controller", "when `state` last changed"),
    Key("last_woke_at", "woke_at", fmt.TIME, "controller", "last start"),
    Key("ready_at", "ready_at", fmt.TIME, "controller", "first readiness of this start (R66)"),
    Key("slept_at", "slept_at", fmt.TIME, "controller", "last time it went to sleep"),
    Key("detached_at", "detached_at", fmt.TIME, "controller", "first seen detached (META-01)"),
    Key("open_turn", "open_turn", fmt.TEXT, "controller", "mark of the run in an open turn (R48)"),
    Key("turn_ended_at", "turn_ended_at", fmt.TIME, "controller", "when its last turn ended (R14)"),
    # Which run it is.
    Key("generation", "generation", fmt.COUNT, "controller", "counts starts (R63)"),
    Key("instance_token", "instance_token", fmt.TEXT, "controller", "mark of this run (R63)"),
    Key("signals_from", "heard_from", fmt.TEXT, "controller", "mark of the run whose hooks spoke"),
    Key("session_key", "session_key", fmt.TEXT, "controller", "conversation to resume (R62)"),
    Key(
        "started_config_hash",
        "started_hash",
        fmt.TEXT,
        "controller",
        "what it was started with (R32)",
    ),
    Key(
        "sleep_policy_fingerprint",
        "fingerprint",
        fmt.TEXT,
        "controller",
        "policy under which it went idle-asleep (META-05)",
    ),
    Key(
        "sleep_policy_fingerprint_inputs",
        "fingerprint_inputs",
        fmt.TEXT,
        "controller",
        "what the fingerprint is made of (META-06)",
    ),
    Key(
        "sleep_latch_generation",
        "latch_generation",
        fmt.COUNT,
        "controller",
        "generation under which it went idle-asleep (R63)",
    ),
    # What was asked for.
    Key("attach_intent", "attach_intent", fmt.WAKE_NOTE, "operator", "wake to attach (META-10)"),
    Key("wake_request", "wake_request", fmt.WAKE_NOTE, "operator", "`gc wake` (R25)"),
    Key("pins", "pins", fmt.PINS, "operator", "timed keep-awakes (R18)"),
    Key("sleep_request", "sleep_request", fmt.SLEEP_REQUEST, "operator", "`gc sleep` (R64)"),
    Key("stop_note", "stop_note", fmt.STOP_NOTE, "controller", "stop under way, not for idleness"),
    Key("suspended_at", "suspended_at", fmt.SINCE, "operator", "`gc suspend`: since when"),
    Key("suspended_by", "suspended_by", fmt.TEXT, "operator", "`gc suspend`: by whom"),
    Key("held_until", "held_until", fmt.HOLD_TIME, "others", "masks every wake until then (R26)"),
    # How it failed.
    Key("recent_exits", "exits", fmt.TIMES, "controller", "unexpected exits in the window (R41)"),
    Key(
        "recent_failed_starts",
        "failed_starts",
        fmt.TIMES,
        "controller",
        "failed starts in the window (R41)",
    ),
    Key("quarantined_until", "quarantined_until", fmt.HOLD_TIME, "controller", "end of quarantine"),
    Key(
        "rate_limited_until",
        "limited_until",
        fmt.TIME,
        "controller",
        "end of its provider's limit; until then only an operator wakes it",
    ),
    Key("quarantine_cycle", "quarantine_cycle", fmt.COUNT, "controller", "quarantines in a row"),
    Key("last_exit", "last_exit", fmt.TEXT, "controller", "how the last run ended"),
    Key("last_error", "last_error", fmt.TEXT, "controller", "last failed start or stop"),
    Key(
        "idle_timeout_deferrals",
        "idle_timeout_deferrals",
        fmt.TEXT,
        "controller",
        "`<bead id>:<count>` of put-off restarts (R40)",
    ),
    # What the last patrol made of it.
    Key(
        "requested_sleep_after_idle",
        "policy.requested",
        fmt.TEXT,
        "policy",
        "window before the capability filter (META-02)",
    ),
    Key(
        "effective_sleep_after_idle",
        "policy.effective",
        fmt.TEXT,
        "policy",
        "window after it (META-03)",
    ),
    Key("sleep_policy_source", "policy.source", fmt.TEXT, "policy", "deciding layer (META-04)"),
    Key(
        "sleep_policy_adjustment_reason",
        "policy.adjustment",
        fmt.TEXT,
        "policy",
        "why effective differs from requested (META-07)",
    ),
    Key("sleep_capability", "policy.capability", fmt.TEXT, "policy", "capability (META-15)"),
    Key(
        "sleep_probe_health",
        "policy.probe_health",
        fmt.TEXT,
        "policy",
        "`healthy` or `failed_closed` (META-08)",
    ),
    Key(
        "config_wake_suppressed",
        "diagnostics.suppressed",
        fmt.FLAG,
        "policy",
        "config alone does not wake it (META-11, META-21)",
    ),
    Key(
        "current_sleep_blockers",
        "diagnostics.blockers",
        fmt.WORDS,
        "policy",
        "what keeps it awake (META-12)",
    ),
    Key(
        "last_sleep_abort_blockers",
        "diagnostics.abort_blockers",
        fmt.WORDS,
        "policy",
        "what ended the last aborted attempt (META-13)",
    ),
    Key(
        "last_sleep_blocked_at",
        "diagnostics.blocked_at",
        fmt.TIME,
        "policy",
        "when an attempt was last aborted (META-14)",
    ),
    Key(
        "sleep_decision_snapshot",
        "diagnostics.snapshot",
        fmt.TEXT,
        "policy",
        "the decision at the last edge, as JSON (META-17)",
    ),
)


# Written once, at creation, for other tools that read the same records; never read here.
COURTESY_KEYS: Final = (
    ("agent_name", "identity of the agent, with `-<slot>` in a pool"),
    ("pool_managed", "`true` for a pool slot"),
    ("configured_named_session", "`true` for a named session"),
    ("configured_named_mode", "`always` or `on_demand`"),
)

TASK_KEYS: Final = (
    ("gc.routed_to", "identity of the agent whose pool may take it"),
    ("defer_until", "RFC 3339 time before which it is not ready"),
    ("work_released_from", "session that held it before it went back to open (R68)"),
    ("close_reason", "why it was closed"),
)

WAIT_KEYS: Final = (
    ("session_id", "session that waits"),
    ("session_name", "its name"),
    ("kind", "`time`, or `beads` (`deps` is read as `beads`)"),
    ("state", "`pending`, `ready`, `closed`, `canceled`, `expired` or `failed`"),
    ("due_at", "RFC 3339 time at which a `time` wait is ready"),
    ("dep_ids", "bead ids joined by commas"),
    ("dep_mode", "`all` (when empty) or `any` of them closed"),
    ("expires_at", "RFC 3339 time at which it gives up if it is not ready"),
    ("note", "what to type into the session when it is awake; empty: it is only woken"),
    ("elapsed", "`true`: the note is typed with the time that really passed"),
    ("delivery", "of the note: empty, `delivering`, `delivered` or `unclear`"),
)

MESSAGE_KEYS: Final = (
    ("session_id", "session that is to be told"),
    ("session_name", "its name"),
    ("text", "what is typed into it, on one line"),
    ("mode", "`wake`: it wakes its session; `queue`: it waits for the next wake"),
    ("by", "who sends it"),
    ("state", "`queued`, `delivering`, `delivered`, `unclear`, `canceled` or `failed`"),
)

# Facts about the city itself, kept as notes beside the records.
NOTE_KEYS: Final = (
    ("tmux.socket", "path of the city's tmux socket (R67)"),
    ("tmux.server", "`<pid> <start time>` of the server last seen behind it (R10)"),
)
