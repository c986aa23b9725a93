"""All documents of a city to one draft of typed rows, not yet composed.

Source: DESIGN §1 (R6a)
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gascity.config.documents import Document, tables
from gascity.config.problems import Problems, Where
from gascity.config.rows import Row, T, TableReader, Values
from gascity.config.schema import (
    AgentDefaultsTable,
    AgentTable,
    BeadsTable,
    CityFile,
    DaemonTable,
    EventsTable,
    NamedSessionTable,
    OverrideTable,
    PatchTable,
    ProviderTable,
    RigTable,
    SessionTable,
    SleepTable,
    Table,
    WorkspaceTable,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RigRow:
    """A rig with its own class defaults and the overrides it applies to its agents."""

    where: Where
    table: RigTable
    sleep: Values
    overrides: tuple[Row[OverrideTable], ...]


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
    agents: list[Row[AgentTable]] = field(default_factory=list)
    named: list[Row[NamedSessionTable]] = field(default_factory=list)
    rigs: list[RigRow] = field(default_factory=list)
    patches: list[Row[PatchTable]] = field(default_factory=list)


def draft(documents: list[Document], problems: Problems) -> Draft:
    """Type every table of every document."""
    read = _DocumentReader(documents, problems)
    result = Draft(
        workspace=read.shared("workspace", WorkspaceTable),
        agent_defaults=read.agent_defaults(),
        session_sleep=read.shared("session_sleep", SleepTable),
        daemon=read.last("daemon", DaemonTable),
        session=read.last("session", SessionTable),
        events=read.last("events", EventsTable),
        beads=read.last("beads", BeadsTable),
    )
    for document in documents:
        read.top_level(document)
        result.providers |= read.providers(document, result.providers)
        result.agents += read.array(document.data, document.where(""), "agent", AgentTable)
        result.named += read.array(
            document.data, document.where(""), "named_session", NamedSessionTable
        )
        result.rigs += read.rigs(document)
        result.patches += read.patches(document)
    return result


class _DocumentReader(TableReader):
    """Reads the tables of several documents into one draft."""

    def __init__(self, documents: list[Document], problems: Problems) -> None:
        super().__init__(problems)
        self.documents = documents

    def top_level(self, document: Document) -> None:
        """Report top-level keys that nobody knows."""
        self.warn_of_unknown(
            document.data, document.where(""), "", frozenset(CityFile.model_fields)
        )

    def shared(self, key: str, model: type[Table]) -> Values:
        """A table that files may share: per key, the last file wins and says so."""
        values: Values = {}
        for row in self._each(key, model):
            for name in row.said():
                if name in values and values[name][1].file != row.where.file:
                    what = f"redefines the value of {values[name][1].file}"
                    self.problems.add(row.where.warning(what, "keep one of them", key=name))
                values[name] = (getattr(row.table, name), row.where)
        return values

    def last(self, key: str, model: type[Table]) -> Values:
        """A table that belongs to one file: the last one replaces the others as a whole."""
        values: Values = {}
        before: Where | None = None
        for row in self._each(key, model):
            if before is not None:
                what = f"replaces the whole table of {before.file}"
                self.problems.add(row.where.warning(what, "keep one of them"))
            values = {name: (getattr(row.table, name), row.where) for name in row.said()}
            before = row.where
        return values

    def agent_defaults(self) -> Values:
        """`[agent_defaults]`, or `[agents]` where that is a table; never sleep policy (CFG-06)."""
        values: Values = {}
        for key in ("agents", "agent_defaults"):
            for document, raw in tables(self.documents, key):
                where = document.where(f"[{key}]", key)
                if isinstance(raw, dict) and "sleep_after_idle" in raw:
                    what = "agent defaults never feed sleep policy"
                    remedy = "set it on the agent, or a class default in [session_sleep]"
                    said = raw["sleep_after_idle"]
                    self.problems.add(where.error(what, remedy, key="sleep_after_idle", value=said))
                    raw = {k: v for k, v in raw.items() if k != "sleep_after_idle"}
                table = self.table(AgentDefaultsTable, raw, where, "agent_defaults")
                if table is not None and table.provider:
                    values["provider"] = (table.provider, where)
        return values

    def _each(self, key: str, model: type[T]) -> list[Row[T]]:
        rows = []
        for document, raw in tables(self.documents, key):
            where = document.where(f"[{key}]", key)
            table = self.table(model, raw, where, key)
            if table is not None:
                rows.append(Row(where, table))
        return rows

    def providers(
        self, document: Document, before: dict[str, Row[ProviderTable]]
    ) -> dict[str, Row[ProviderTable]]:
        """`[providers.NAME]` of one document."""
        raw = document.data.get("providers", {})
        if not isinstance(raw, dict):
            self.problems.add(document.where("[providers]", "providers").error("must be a table"))
            return {}
        rows = {}
        for name, inner in raw.items():
            where = document.where(f"[providers.{name}]", "providers", name)
            if name in before:
                what = f"replaces the whole table of {before[name].where.file}"
                self.problems.add(where.warning(what, "keep one of them"))
            table = self.table(ProviderTable, inner, where, "provider")
            if table is not None:
                rows[name] = Row(where, table)
        return rows

    def rigs(self, document: Document) -> list[RigRow]:
        """`[[rigs]]` with all that stands inside them."""
        result = []
        for raw, where in self.elements(document.data, document.where(""), "rigs", "rigs"):
            own = {
                k: v for k, v in raw.items() if k not in ("session_sleep", "overrides", "patches")
            }
            table = self.table(RigTable, own, where, "rigs")
            name = str(raw.get("name", "?"))
            sleep: Values = {}
            if "session_sleep" in raw:
                place = where.below(f"[rigs.session_sleep] {name}", "session_sleep")
                inner = self.table(SleepTable, raw["session_sleep"], place, "session_sleep")
                if inner is not None:
                    said = Row(place, inner).said()
                    sleep = {key: (getattr(inner, key), place) for key in said}
            overrides = [
                row
                for key in ("overrides", "patches")
                for row in self.array(raw, where, key, OverrideTable, f"rigs.{key}", "override")
            ]
            if table is not None:
                result.append(
                    RigRow(where=where, table=table, sleep=sleep, overrides=tuple(overrides))
                )
        return result

    def patches(self, document: Document) -> list[Row[PatchTable]]:
        """`[[patches.agent]]`."""
        raw = document.data.get("patches", {})
        where = document.where("[patches]", "patches")
        if not isinstance(raw, dict):
            self.problems.add(where.error("must be a table", "write [[patches.agent]]"))
            return []
        self.warn_of_unknown(raw, where, "patches", frozenset({"agent"}))
        return self.array(raw, where, "agent", PatchTable, "patches.agent", "patch")
