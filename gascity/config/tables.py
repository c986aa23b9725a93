"""All documents of a city to one draft of typed rows, not yet composed.

Source: DESIGN §1 (R6a)
"""

from __future__ import annotations

from typing import Any, Final

from gascity.config.documents import Document, tables
from gascity.config.drafts import Draft, Imports, Patches, RigRow
from gascity.config.problems import Problems, Where
from gascity.config.rows import Row, T, TableReader, Values
from gascity.config.schema import (
    AgentDefaultsTable,
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
    SleepTable,
    Table,
    WorkspaceTable,
)
from gascity.config.schema_file import (
    BeadsTable,
    CityFile,
    DaemonTable,
    EventsTable,
    ScreensTable,
    SessionTable,
)

_ELSEWHERE: Final = frozenset({"session_sleep", "overrides", "patches", "imports"})
_ONLY_IN_THE_CITY: Final = frozenset({"suspended"})


def draft(documents: list[Document], problems: Problems) -> Draft:
    """Type every table of every document."""
    read = DocumentReader(problems)
    result = Draft(
        workspace=read.shared(documents, "workspace", WorkspaceTable),
        agent_defaults=read.agent_defaults(documents),
        session_sleep=read.shared(documents, "session_sleep", SleepTable),
        daemon=read.last(documents, "daemon", DaemonTable),
        session=read.last(documents, "session", SessionTable),
        events=read.last(documents, "events", EventsTable),
        beads=read.last(documents, "beads", BeadsTable),
    )
    result.includes = result.workspace.pop("includes", ([], None))[0]
    for document in documents:
        where = document.where("")
        read.warn_of_unknown(document.data, where, "", frozenset(CityFile.model_fields))
        result.providers |= read.providers(document, result.providers)
        result.screens |= read.named_tables(
            document.data, where, "screens", ScreensTable, "screens"
        )
        result.agents += read.array(document.data, where, "agent", AgentTable)
        result.named += read.array(document.data, where, "named_session", NamedSessionTable)
        result.rigs += read.rigs(document)
        read.patches(document, result.patches)
        packs = read.named_tables(document.data, where, "packs", PackRefTable, "pack ref")
        result.packs = {**packs, **result.packs}
        if document is documents[0]:
            result.imports = read.imports(document.data, where)
        elif "imports" in document.data:
            what = "imports have no effect in an included file"
            problem = where.warning(what, "move them into city.toml or pack.toml", key="imports")
            problems.add(problem)
    return result


class DocumentReader(TableReader):
    """Reads the tables of several documents into one draft."""

    def shared(self, documents: list[Document], key: str, model: type[Table]) -> Values:
        """A table that files may share: per key, the last file wins and says so.

        Included packs are joined instead, each with its own place.
        """
        values: Values = {}
        for row in self._each(documents, key, model):
            for name in row.said():
                value = getattr(row.table, name)
                where = row.where
                if name == "includes":
                    before = values[name][0] if name in values else []
                    values[name] = ([*before, *((one, where) for one in value)], where)
                    continue
                if name in _ONLY_IN_THE_CITY and where.file != documents[0].name:
                    what = "has no effect in an included file"
                    problem = where.warning(what, f"move it into {documents[0].name}", key=name)
                    self.problems.add(problem)
                    continue
                if name in values and values[name][1].file != where.file:
                    what = f"redefines the value of {values[name][1].file}"
                    self.problems.add(where.warning(what, "keep one of them", key=name))
                values[name] = (value, where)
        return values

    def last(self, documents: list[Document], key: str, model: type[Table]) -> Values:
        """A table that belongs to one file: the last one replaces the others as a whole."""
        values: Values = {}
        before: Where | None = None
        for row in self._each(documents, key, model):
            if before is not None:
                what = f"replaces the whole table of {before.file}"
                self.problems.add(row.where.warning(what, "keep one of them"))
            values = {name: (getattr(row.table, name), row.where) for name in row.said()}
            before = row.where
        return values

    def agent_defaults(self, documents: list[Document]) -> Values:
        """`[agent_defaults]`, or `[agents]` where that is a table; never sleep policy (CFG-06)."""
        values: Values = {}
        for key in ("agents", "agent_defaults"):
            for document, raw in tables(documents, key):
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

    def _each(self, documents: list[Document], key: str, model: type[T]) -> list[Row[T]]:
        rows = []
        for document, raw in tables(documents, key):
            where = document.where(f"[{key}]", key)
            table = self.table(model, raw, where, key)
            if table is not None:
                rows.append(Row(where, table))
        return rows

    def named_tables(
        self, raw: dict[str, Any], where: Where, key: str, model: type[T], kind: str,
        title: str = "",
    ) -> dict[str, Row[T]]:  # fmt: skip
        """A table of tables, typed: `[key.NAME]`."""
        found = raw.get(key, {})
        if not isinstance(found, dict):
            problem = where.error("must be a table", f"write [{title or key}.NAME]", key=key)
            self.problems.add(problem)
            return {}
        rows = {}
        for name, inner in found.items():
            place = where.below(f"[{title or key}.{name[:80]}]", key, name)
            table = self.table(model, inner, place, kind)
            if table is not None:
                rows[name] = Row(place, table)
        return rows

    def providers(
        self, document: Document, before: dict[str, Row[ProviderTable]]
    ) -> dict[str, Row[ProviderTable]]:
        """`[providers.NAME]` of one document."""
        rows = self.named_tables(
            document.data, document.where(""), "providers", ProviderTable, "provider"
        )
        for name, row in rows.items():
            if name in before:
                what = f"replaces the whole table of {before[name].where.file}"
                self.problems.add(row.where.warning(what, "keep one of them"))
        return rows

    def imports(self, raw: dict[str, Any], where: Where, title: str = "imports") -> Imports:
        """`[imports.NAME]`; an array of names stands for packs that have them elsewhere."""
        found = raw.get("imports")
        if not isinstance(found, list):
            return self.named_tables(raw, where, "imports", ImportTable, "import", title)
        what = "an array of imports, which other tools refuse"
        remedy = f'write [{title}.NAME] with source = "…"'
        self.problems.add(where.warning(what, remedy, key="imports"))
        rows = {}
        for one in found:
            if isinstance(one, str) and one.strip("/"):
                name = one.rstrip("/").rpartition("/")[2]
                rows[name] = Row(where, ImportTable(source=one))
            else:
                self.problems.add(where.error("no name of a pack", key="imports", value=one))
        return rows

    def rigs(self, document: Document) -> list[RigRow]:
        """`[[rigs]]` with all that stands inside them."""
        result = []
        for raw, where in self.elements(document.data, document.where(""), "rigs", "rigs"):
            own = {k: v for k, v in raw.items() if k not in _ELSEWHERE}
            table = self.table(RigTable, own, where, "rigs")
            name = str(raw.get("name", "?"))[:80]
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
            imports = self.imports(raw, where, "rigs.imports")
            if table is not None:
                row = RigRow(where=where, table=table, sleep=sleep, imports=imports,
                             overrides=tuple(overrides))  # fmt: skip
                result.append(row)
        return result

    def patches(self, document: Document, into: Patches) -> None:
        """The four lists of `[patches]`."""
        raw = document.data.get("patches", {})
        where = document.where("[patches]", "patches")
        if not isinstance(raw, dict):
            self.problems.add(
                where.error("must be a table", "write [[patches.agent]]", key="patches")
            )
            return
        lists = frozenset({"agent", "rigs", "providers", "named_session"})
        self.warn_of_unknown(raw, where, "patches", lists)
        into.agents += self.array(raw, where, "agent", PatchTable, "patches.agent", "patch")
        into.rigs += self.array(raw, where, "rigs", RigPatchTable, "patches.rigs", "rig patch")
        into.named += self.array(
            raw, where, "named_session", NamedPatchTable, "patches.named_session", "named patch"
        )
        found = raw.get("providers")
        if isinstance(found, list):
            raw = {**raw, "providers": [_without_bar(one) for one in found]}
        into.providers += self.array(
            raw, where, "providers", ProviderPatchTable, "patches.providers", "provider patch"
        )


def _without_bar(raw: Any) -> Any:
    """`_replace` under the name of its field, which may not begin with a bar."""
    if not isinstance(raw, dict):
        return raw
    return {("replace" if key == "_replace" else key): value for key, value in raw.items()}
