"""The TOML surface, key by key: one class a table, each field a key we read.

Agents and what changes them; `schema_file` has the settings and the files as a whole.

Values are strict: a number is never taken for a text, nor a text for a number. Keys that other
tools of the ecosystem read are listed in `known`, and everything else is a warning, never an error.
The types here stay inside `config`.

Source: DESIGN §1 (R1, R2, R4, R5)
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema

from gascity.config.durations import BadSpan, parse_duration, parse_keep_warm
from gascity.model.duration import Duration, KeepWarm

_SLEEP_SCHEMA = {
    "type": "string",
    "examples": ["off", "0s", "60s", "5m"],
    "minLength": 1,
    "description": "A Go duration, `0s` for at once, or `off` for never. Leave out to inherit.",
}
_SPAN_SCHEMA = {"type": "string", "examples": ["30s", "1h30m"], "description": "A Go duration."}


def _positive(text: object) -> Duration:
    """A span longer than nothing."""
    span = parse_duration(text)
    if span.ns <= 0:
        raise BadSpan("must be longer than nothing", 'write a span such as "30s"')
    return span


def _at_least_zero(text: object) -> Duration:
    """A span of zero or more."""
    span = parse_duration(text)
    if span.ns < 0:
        raise BadSpan("a span cannot be negative", 'write a span such as "5s", or "0s"')
    return span


def _idle_timeout(text: object) -> Duration | None:
    """A span; none for "" and for zero, which both mean that nothing is restarted."""
    if text == "":
        return None
    span = _at_least_zero(text)
    return span if span.ns else None


def _kept(text: object) -> Duration:
    """A positive span; whole days are understood here, where months are usual."""
    if isinstance(text, str) and text[:-1].isascii() and text[:-1].isdigit() and text[-1] == "d":
        return Duration(_positive(f"{int(text[:-1][:6]) * 24}h").ns, text)
    return _positive(text)


Sleep = Annotated[KeepWarm, PlainValidator(parse_keep_warm), WithJsonSchema(_SLEEP_SCHEMA)]
SleepStamp = Annotated[
    KeepWarm,
    PlainValidator(partial(parse_keep_warm, stamps=True)),
    WithJsonSchema(_SLEEP_SCHEMA),
]
Span = Annotated[Duration, PlainValidator(_positive), WithJsonSchema(_SPAN_SCHEMA)]
SpanOrZero = Annotated[Duration, PlainValidator(_at_least_zero), WithJsonSchema(_SPAN_SCHEMA)]
IdleTimeout = Annotated[
    Duration | None, PlainValidator(_idle_timeout), WithJsonSchema(_SPAN_SCHEMA)
]
Kept = Annotated[Duration, PlainValidator(_kept), WithJsonSchema(_SPAN_SCHEMA)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=128)]
Scope = Literal["", "city", "rig"]
Words = list[str]
Env = dict[str, str]


class Table(BaseModel):
    """A table of the file. What is not a field is looked up in `known`."""

    model_config = ConfigDict(strict=True, extra="ignore", arbitrary_types_allowed=True)


class SleepTable(Table):
    """`[session_sleep]` and `[rigs.session_sleep]`: one window per session class."""

    interactive_resume: Sleep | None = None
    interactive_fresh: Sleep | None = None
    noninteractive: Sleep | None = None


class PoolTable(Table):
    """`[agent.pool]`: the older way to write a pool."""

    min: int | None = Field(None, ge=0)
    max: int | None = Field(None, ge=-1)
    check: str | None = None


class ResumeFields(Table):
    """How a conversation comes back; the same keys for an agent and for a provider."""

    resume_flag: str | None = None
    resume_style: Literal["", "flag", "subcommand"] | None = None
    resume_command: str | None = None
    session_id_flag: str | None = None
    transcript: str | None = None


class CliFields(ResumeFields):
    """How an agent CLI is started and recognised."""

    args: Words | None = None
    env: Env | None = None
    ready_prompt_prefix: str | None = None
    ready_delay_ms: int | None = Field(None, ge=0, le=3_600_000)
    process_names: Words | None = None
    screens: str | None = None


class AgentFields(CliFields):
    """What an agent, an override and a patch may all set."""

    provider: str | None = None
    start_command: str | None = None
    work_dir: str | None = None
    attach: bool | None = None
    wake_mode: Literal["", "resume", "fresh"] | None = None
    sleep_after_idle: Sleep | None = None
    idle_timeout: IdleTimeout = None
    suspended: bool | None = None
    session: str | None = None
    min_active_sessions: int | None = Field(None, ge=0)
    max_active_sessions: int | None = Field(None, ge=-1)
    scale_check: str | None = None
    pool: PoolTable | None = None
    depends_on: Words | None = None
    work_query: str | None = None
    idle_probe: Words | None = None
    description: str | None = None


class AgentTable(AgentFields):
    """`[[agent]]`, also an `agent.toml`, where the folder gives the name."""

    name: Name
    dir: str = Field("", pattern=r"^[A-Za-z0-9_./-]*$", max_length=512)
    scope: Scope = ""
    fallback: bool = False


class StampFields(AgentFields):
    """What only a later layer may do: take a value back."""

    sleep_after_idle: SleepStamp | None = None
    unset: Words = []
    env_remove: Words = []


class OverrideTable(StampFields):
    """`[[rigs.overrides]]` and `[[rigs.patches]]`."""

    agent: str = Field(min_length=1)


class PatchTable(StampFields):
    """`[[patches.agent]]`."""

    name: str = Field(min_length=1)
    dir: str = ""


class RigPatchTable(Table):
    """`[[patches.rigs]]`."""

    name: str = Field(min_length=1)
    path: str | None = None
    suspended: bool | None = None


class ProviderPatchTable(CliFields):
    """`[[patches.providers]]`; with `_replace` nothing earlier is kept."""

    name: str = Field(min_length=1)
    replace: bool = False
    base: str | None = None
    command: str | None = None
    args_append: Words | None = None
    acp_command: str | None = None
    acp_args: Words | None = None
    env_remove: Words = []


class NamedPatchTable(Table):
    """`[[patches.named_session]]`: finds a session by the agent it is made from, or by its name."""

    template: str = Field(min_length=1)
    name: str = ""
    dir: str = ""
    mode: Literal["", "always", "on_demand"] | None = None


class PatchesTable(Table):
    """`[patches]`."""

    agent: list[PatchTable] = []
    rigs: list[RigPatchTable] = []
    providers: list[ProviderPatchTable] = []
    named_session: list[NamedPatchTable] = []


class ImportTable(Table):
    """`[imports.NAME]` and `[rigs.imports.NAME]`: a pack under a name of its own."""

    source: str = Field(min_length=1)
    version: str = ""
    export: bool = False
    transitive: bool = True
    shadow: Literal["", "warn", "silent"] = ""
    agents_exclude: Words = []


class PackRefTable(Table):
    """`[packs.NAME]`: a pack that includes may call by this name."""

    source: str = Field(min_length=1)
    ref: str = ""
    path: str = ""


class NamedSessionTable(Table):
    """`[[named_session]]`."""

    template: str = Field(min_length=1)
    name: Annotated[str, Field(pattern=r"^([A-Za-z0-9][A-Za-z0-9_.-]*)?$", max_length=128)] = ""
    dir: str = Field("", pattern=r"^[A-Za-z0-9_./-]*$", max_length=512)
    scope: Scope = ""
    mode: Literal["", "always", "on_demand"] = "on_demand"


class RigTable(Table):
    """`[[rigs]]`."""

    name: Name
    path: str = ""
    suspended: bool = False
    suspended_on_start: bool = False
    includes: Words = []
    imports: dict[str, ImportTable] = {}
    session_sleep: SleepTable | None = None
    overrides: list[OverrideTable] = []
    patches: list[OverrideTable] = []


class WorkspaceTable(Table):
    """`[workspace]`."""

    name: Annotated[str, Field(pattern=r"^[^/\x00-\x1f\x7f]*$", max_length=128)] = ""
    provider: str = ""
    start_command: str = ""
    suspended: bool = False
    includes: Words = []
    env: Env = {}


class AgentDefaultsTable(Table):
    """`[agent_defaults]`, also written `[agents]`: never feeds sleep policy or wake mode."""

    provider: str = ""


class ProviderTable(CliFields):
    """`[providers.NAME]`: an agent CLI of one's own, or other settings for one we know."""

    base: str | None = None
    command: str | None = None
    args_append: Words | None = None
