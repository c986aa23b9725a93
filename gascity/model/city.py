"""What the operator asked for: the composed city, frozen, with the source of each value.

Built by `config/`, read by everybody. Nothing here knows TOML, files or runtimes.

Source: DESIGN §1, §2, §3
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from gascity.model.duration import Duration, KeepWarm, seconds
from gascity.model.screens import ScreenRules

TMUX: Final = "tmux"
K8S: Final = "k8s"
AUTO: Final = "auto"  # the two words that stand for a choice among others
HYBRID: Final = "hybrid"


class SessionClass(StrEnum):
    """How a session is used, decided by configuration alone (CLS-01..06)."""

    INTERACTIVE_RESUME = "interactive_resume"  # people attach; the conversation comes back
    INTERACTIVE_FRESH = "interactive_fresh"  # people attach; every start is a new conversation
    NONINTERACTIVE = "noninteractive"  # nobody attaches


class Source(StrEnum):
    """Which layer set the keep-warm window (POL-03..08)."""

    AGENT = "agent"  # the agent's own table, inline or from a pack
    RIG_OVERRIDE = "rig_override"  # stamped by [[rigs.overrides]]
    AGENT_PATCH = "agent_patch"  # stamped by [[patches.agent]]
    RIG_DEFAULT = "rig_default"  # inherited from [rigs.session_sleep]
    WORKSPACE_DEFAULT = "workspace_default"  # inherited from [session_sleep]
    LEGACY_OFF = "legacy_off"  # nobody said anything


class WakeMode(StrEnum):
    """What a start continues."""

    RESUME = "resume"  # the same conversation
    FRESH = "fresh"  # a new one


class NamedMode(StrEnum):
    """What keeps a named session up (R4)."""

    ALWAYS = "always"  # configured means awake; inherited sleep policy is off
    ON_DEMAND = "on_demand"  # only a hard wake starts it


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value was written; `line` is 0 where it is not known."""

    file: str
    table: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.table}" if self.line else f"{self.file} {self.table}"


@dataclass(frozen=True, slots=True)
class SleepLayer:
    """What one layer of composition said about `sleep_after_idle`; None takes it back (R2)."""

    source: Source
    value: KeepWarm | None
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """How an agent CLI gets a conversation back (R62). Empty strings mean "does not know how".

    `session_id_flag` passes our own key at the first start; `flag` (style `flag` appended,
    `subcommand` inserted after the first word) or `command` (a template with `{{.SessionKey}}`)
    passes it again later. `transcript` is a path template that exists once there is something
    to resume: `{home}`, `{cwd_slug}` and `{key}` are filled in.
    """

    flag: str = ""
    style: str = "flag"
    command: str = ""
    session_id_flag: str = ""
    transcript: str = ""

    @property
    def can_resume(self) -> bool:
        """Whether a later start can name the conversation to continue."""
        return bool(self.flag or self.command)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Numbered slots (R4). `max` None is unlimited; `check` prints the desired count."""

    min: int = 0
    max: int | None = None
    check: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One agent as composed; its `identity` is `[rig/][binding.]name` (R6b)."""

    identity: str
    name: str
    rig: str = ""
    attach: bool = True
    wake_mode: WakeMode = WakeMode.RESUME
    sleep_after_idle: KeepWarm | None = None
    sleep_source: Source = Source.AGENT
    # Every layer that spoke, in order, losing ones included; says nothing about the agent itself.
    sleep_layers: tuple[SleepLayer, ...] = field(default=(), compare=False, repr=False)
    idle_timeout: Duration | None = None
    suspended: bool = False
    preset: str = ""  # name of the agent CLI: "claude", ... or "" for a plain command
    preset_known: bool = False  # whether the preset is one we ship, so that "cannot resume" is sure
    start_command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    work_dir: str = ""
    ready_prompt_prefix: str = ""
    ready_delay_ms: int = 0
    process_names: tuple[str, ...] = ()
    screens: str = ""  # which screen rules apply: "claude", ... or "" for the generic prompt
    resume: Resume = Resume()
    runtime: str = "tmux"
    remote_match: str = ""  # of `[session]`: what `hybrid` sends elsewhere
    pool: Pool | None = None
    depends_on: tuple[str, ...] = ()
    work_query: str = ""
    idle_probe: tuple[str, ...] = ()  # the argv that says whether a session may be stopped
    description: str = ""

    @property
    def session_class(self) -> SessionClass:
        """The class, from `attach` and `wake_mode` only (CLS-01..03)."""
        if not self.attach:
            return SessionClass.NONINTERACTIVE
        if self.wake_mode is WakeMode.FRESH:
            return SessionClass.INTERACTIVE_FRESH
        return SessionClass.INTERACTIVE_RESUME

    def route(self, name: str) -> str:
        """The runtime that hosts its session of that name (CAP-08, CAP-23, R72).

        `auto` is tmux, beside agents that name another runtime themselves; `hybrid` is k8s for
        names that contain `remote_match`, else tmux. Every other word routes to itself.
        """
        if self.runtime == AUTO:
            return TMUX
        if self.runtime == HYBRID:
            return K8S if self.remote_match and self.remote_match in name else TMUX
        return self.runtime


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSession:
    """A session with a public name of its own, made from an agent."""

    identity: str
    template: str
    mode: NamedMode = NamedMode.ON_DEMAND


@dataclass(frozen=True, slots=True, kw_only=True)
class Rig:
    """A repository the city works on; `sleep` holds its explicit class defaults."""

    name: str
    path: str = ""
    suspended: bool = False
    sleep: Mapping[SessionClass, KeepWarm] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonSettings:
    """`[daemon]`: how the controller itself runs."""

    patrol_interval: Duration = seconds(30)
    max_restarts: int = 5
    restart_window: Duration = Duration(3600 * 10**9, "1h")
    shutdown_timeout: Duration = seconds(5)
    probe_concurrency: int = 8
    check_timeout: Duration = seconds(10)
    max_wakes_per_tick: int = 5
    max_concurrent_starts: int = 8
    max_concurrent_stops: int = 16
    max_idle_probes_per_tick: int = 3
    record_ticks: int = 0  # how many ticks are kept for `gc replay`; 0 records none


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """`[session]`: how sessions are hosted. An empty socket means the city's own (R67)."""

    provider: str = ""
    startup_timeout: Duration = seconds(60)
    socket: str = ""
    tmux_config: str = ""
    remote_match: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSettings:
    """`[events]`: how long the log is kept (R74)."""

    keep: Duration = Duration(30 * 24 * 3600 * 10**9, "720h")
    max_bytes: int = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class City:
    """A composed city. Mappings are read-only; `agents` is keyed by identity, in file order."""

    name: str
    path: str
    agents: Mapping[str, Agent] = field(default_factory=dict)
    named_sessions: tuple[NamedSession, ...] = ()
    rigs: Mapping[str, Rig] = field(default_factory=dict)
    session_sleep: Mapping[SessionClass, KeepWarm] = field(default_factory=dict)
    screens: Mapping[str, ScreenRules] = field(default_factory=dict)
    daemon: DaemonSettings = DaemonSettings()
    session: SessionSettings = SessionSettings()
    events: EventSettings = EventSettings()
    beads_provider: str = ""
    suspended: bool = False
    incomplete: bool = False  # a pack or include was missing: absence proves nothing (R6a)
    warnings: tuple[str, ...] = ()
    origins: Mapping[tuple[str, str], Origin] = field(default_factory=dict)
    revision: str = ""

    def __post_init__(self) -> None:
        assert self.name, "a city has a name"

    def screens_of(self, agent: Agent) -> ScreenRules | None:
        """What the file says about this agent's screens, beside the rules that ship."""
        return self.screens.get(agent.screens or "generic")

    def origin(self, owner: str, key: str) -> Origin | None:
        """Where `key` of `owner` (an agent identity, a rig name, or "" for the city) was set."""
        return self.origins.get((owner, key))


EMPTY_CITY: Final = City(name="empty", path="")
