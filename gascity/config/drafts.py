"""What the files of a city say, typed but not composed.

Source: DESIGN §1 (R6a)
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gascity.config.problems import Where
from gascity.config.rows import Row, Values
from gascity.config.schema import (
    AgentTable,
    ImportTable,
    NamedPatchTable,
    NamedSessionTable,
    OverrideTable,
    PackRefTable,
    PatchTable,
    ProviderPatchTable,
    ProviderTable,
    RigPatchTable,
    RigTable,
)
from gascity.config.schema_file import ScreensTable

Imports = dict[str, Row[ImportTable]]
"""{binding: the import of that name}."""

Includes = list[tuple[str, Where]]
"""Packs by the older way: (as written, the table that names it)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RigRow:
    """A rig with its own class defaults, its packs and the overrides of its agents."""

    where: Where
    table: RigTable
    sleep: Values
    imports: Imports
    overrides: tuple[Row[OverrideTable], ...]

    @property
    def includes(self) -> Includes:
        """Its packs by the older way."""
        return [(one, self.where) for one in self.table.includes]


@dataclass(slots=True)
class Patches:
    """`[patches]`, in the order written."""

    agents: list[Row[PatchTable]] = field(default_factory=list)
    rigs: list[Row[RigPatchTable]] = field(default_factory=list)
    providers: list[Row[ProviderPatchTable]] = field(default_factory=list)
    named: list[Row[NamedPatchTable]] = field(default_factory=list)


@dataclass(slots=True)
class Draft:
    """Everything the documents say, typed but not composed."""

    workspace: Values = field(default_factory=dict)
    agent_defaults: Values = field(default_factory=dict)
    session_sleep: Values = field(default_factory=dict)
    daemon: Values = field(default_factory=dict)
    session: Values = field(default_factory=dict)
    events: Values = field(default_factory=dict)
    beads: Values = field(default_factory=dict)
    providers: dict[str, Row[ProviderTable]] = field(default_factory=dict)
    screens: dict[str, Row[ScreensTable]] = field(default_factory=dict)
    agents: list[Row[AgentTable]] = field(default_factory=list)
    named: list[Row[NamedSessionTable]] = field(default_factory=list)
    rigs: list[RigRow] = field(default_factory=list)
    patches: Patches = field(default_factory=Patches)
    imports: Imports = field(default_factory=dict)
    includes: Includes = field(default_factory=list)
    packs: dict[str, Row[PackRefTable]] = field(default_factory=dict)
