"""The TOML surface of whole files: the settings of a city, and each kind of file it is made of.

Source: DESIGN §1 (R5)
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from gascity.config.schema import (
    AgentDefaultsTable,
    AgentTable,
    ImportTable,
    Kept,
    Name,
    NamedSessionTable,
    PackRefTable,
    PatchesTable,
    ProviderTable,
    RigTable,
    SleepTable,
    Span,
    SpanOrZero,
    Table,
    Words,
    WorkspaceTable,
)


class DaemonTable(Table):
    """`[daemon]`."""

    patrol_interval: Span | None = None
    max_restarts: int | None = Field(None, ge=0)
    restart_window: Span | None = None
    shutdown_timeout: SpanOrZero | None = None
    probe_concurrency: int | None = Field(None, ge=1)
    check_timeout: Span | None = None
    max_wakes_per_tick: int | None = Field(None, ge=1)
    max_concurrent_starts: int | None = Field(None, ge=1)
    max_concurrent_stops: int | None = Field(None, ge=1)
    max_idle_probes_per_tick: int | None = Field(None, ge=1)
    record_ticks: int | None = Field(None, ge=0, le=100_000)


class SessionTable(Table):
    """`[session]`."""

    provider: str | None = None
    startup_timeout: Span | None = None
    socket: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]*$", max_length=64)] | None = None
    tmux_config: str | None = None
    remote_match: str | None = None


class EventsTable(Table):
    """`[events]`."""

    keep: Kept | None = None
    max_bytes: int | None = Field(None, ge=65_536)


class BeadsTable(Table):
    """`[beads]`."""

    provider: str | None = None


class ScreenRuleTable(Table):
    """`[[screens.NAME.rules]]`."""

    name: Name
    verdict: Literal[
        "idle", "busy", "pending", "background", "draft", "ratelimit", "shell", "pager", "unknown"
    ]
    region: str = Field(min_length=1)
    pattern: str = Field(min_length=1)
    unless: str = ""
    kind: str = ""


class ScreensTable(Table):
    """`[screens.NAME]`: rules about the screens of one kind of program."""

    base: str = ""
    placeholders: Words = Field([])
    ticking: Words = Field([])
    rules: list[ScreenRuleTable] = Field([])


class CityFile(Table):
    """`city.toml` and every fragment it includes."""

    include: Words = Field([])
    workspace: WorkspaceTable | None = None
    imports: dict[str, ImportTable] = Field({})
    packs: dict[str, PackRefTable] = Field({})
    agent: list[AgentTable] = Field([])
    named_session: list[NamedSessionTable] = Field([])
    rigs: list[RigTable] = Field([])
    patches: PatchesTable | None = None
    agent_defaults: AgentDefaultsTable | None = None
    providers: dict[str, ProviderTable] = Field({})
    screens: dict[str, ScreensTable] = Field({})
    session_sleep: SleepTable | None = None
    daemon: DaemonTable | None = None
    session: SessionTable | None = None
    events: EventsTable | None = None
    beads: BeadsTable | None = None


class PackTable(Table):
    """`[pack]`."""

    name: str = ""
    includes: Words = Field([])


class PackFile(Table):
    """`pack.toml`, of the city itself or of a pack that it names."""

    pack: PackTable | None = None
    imports: dict[str, ImportTable] = Field({})
    agent: list[AgentTable] = Field([])
    named_session: list[NamedSessionTable] = Field([])
    patches: PatchesTable | None = None
    agent_defaults: AgentDefaultsTable | None = None
    providers: dict[str, ProviderTable] = Field({})


class SiteRigTable(Table):
    """`[[rig]]` of `.gc/site.toml`: where a rig lies on this machine."""

    name: str = Field(min_length=1)
    path: str = ""


class SiteFile(Table):
    """`.gc/site.toml`: what holds on this machine only."""

    workspace_name: str = ""
    rig: list[SiteRigTable] = Field([])


class MapTable(Table):
    """`[[map]]` of a pack map: sources, and the folder that stands for them."""

    sources: Words
    dir: str = Field(min_length=1)


class LockTable(Table):
    """`[packs."SOURCE"]` of `packs.lock`."""

    commit: str = Field("", pattern=r"^[0-9a-fA-F]*$")


def json_schema() -> dict[str, Any]:
    """The JSON schema of `city.toml`, for editors; further keys are allowed."""
    schema = CityFile.model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "city.toml",
        "description": "The configuration of a city; see docs/reference/config.md.",
        **{key: value for key, value in schema.items() if key not in ("title", "description")},
    }
