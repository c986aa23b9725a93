"""One pack as files: its `pack.toml` and its agents by folder, typed, nothing composed.

An agent by folder is `agents/NAME/agent.toml`, or a folder that holds a prompt and nothing else.
Folders whose name begins with `.` or `_` are put aside.

Source: DESIGN §2 (R6a)
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gascity.config.documents import Document, Reading
from gascity.config.drafts import Imports, Includes, Patches
from gascity.config.problems import Problems, Where
from gascity.config.rows import Row
from gascity.config.schema import AgentTable, NamedSessionTable, ProviderTable
from gascity.config.schema_file import PackFile, PackTable
from gascity.config.sources import PACK_FILE
from gascity.config.tables import DocumentReader
from gascity.model.city import Origin

MOST_FOLDERS: Final = 1000
_NEWEST_SCHEMA: Final = 2
_AGENTS: Final = "agents"
_PROMPTS: Final = ("prompt.template.md", "prompt.md.tmpl", "prompt.md")


@dataclass(slots=True)
class PackDraft:
    """One `pack.toml` and its agents by folder, typed, nothing composed."""

    document: Document
    name: str
    agents: list[Row[AgentTable]] = field(default_factory=list)
    named: list[Row[NamedSessionTable]] = field(default_factory=list)
    providers: dict[str, Row[ProviderTable]] = field(default_factory=dict)
    patches: Patches = field(default_factory=Patches)
    imports: Imports = field(default_factory=dict)
    includes: Includes = field(default_factory=list)
    default_provider: tuple[str, Where] | None = None

    @property
    def origin(self) -> Origin:
        """The pack as a step of how an agent came here."""
        where = self.document.where(f"[pack] {self.name}", "pack")
        return where.origin("name")


@dataclass(slots=True)
class PackFiles:
    """Reads packs for one city, within limits that hold for all of them together."""

    reading: Reading
    problems: Problems
    reader: DocumentReader
    _folders: int = 0

    def read(self, pack: Path) -> PackDraft | None:
        """One pack file with its agents by folder, typed; None if it is no good, which is said."""
        document = self.reading.of_pack(pack, PACK_FILE)
        if document is None:
            return None
        read, data, place = self.reader, document.data, document.where("")
        read.warn_of_unknown(data, place, "pack file", frozenset(PackFile.model_fields))
        head, at_head = data.get("pack", {}), document.where("[pack]", "pack")
        if isinstance(head, dict):
            self._check_schema(head.get("schema"), at_head)
            head = {key: value for key, value in head.items() if key != "schema"}
        meta = read.table(PackTable, head, at_head, "pack")
        draft = PackDraft(document, meta.name if meta and meta.name else pack.name)
        draft.includes = [(one, at_head) for one in (meta.includes if meta else ())]
        draft.imports = read.imports(data, place)
        draft.agents = read.array(data, place, "agent", AgentTable)
        draft.agents += self._by_folder(pack, place, {row.table.name for row in draft.agents})
        draft.named = read.array(data, place, "named_session", NamedSessionTable)
        draft.providers = read.providers(document, {})
        read.patches(document, draft.patches)
        defaults = read.agent_defaults([document])
        draft.default_provider = defaults.get("provider")
        return draft

    def _check_schema(self, schema: Any, where: Where) -> None:
        if isinstance(schema, int) and schema > _NEWEST_SCHEMA:
            what = f"a pack of a newer form; {_NEWEST_SCHEMA} is the newest known here"
            self.problems.add(where.error(what, "update gascity", key="schema", value=schema))
        elif schema is not None and not isinstance(schema, int):
            problem = where.error("must be a whole number", key="schema", value=schema)
            self.problems.add(problem)

    def _by_folder(self, pack: Path, where: Where, taken: set[str]) -> list[Row[AgentTable]]:
        """The agents that are folders: with an `agent.toml`, or with no more than a prompt."""
        rows: list[Row[AgentTable]] = []
        for name in self.reading.folders_of_pack(pack, _AGENTS):
            if name.startswith((".", "_")) or name in taken:
                continue
            self._folders += 1
            if self._folders > MOST_FOLDERS:
                what = f"more than {MOST_FOLDERS} agents by folder in all packs"
                self.problems.add(where.error(what, "name fewer packs", key=_AGENTS))
                break
            row = self._from_folder(pack, name, where)
            if row is not None:
                rows.append(row)
        return rows

    def _from_folder(self, pack: Path, name: str, where: Where) -> Row[AgentTable] | None:
        path = f"{_AGENTS}/{name}/agent.toml"
        document = self.reading.of_pack(pack, path)
        if document is None:
            if os.path.lexists(pack / path):
                return None
            prompt = next((p for p in _PROMPTS if _is_file(pack / _AGENTS / name / p)), "")
            if not prompt:
                what = f"{_AGENTS}/{name} has neither agent.toml nor a prompt, so it is no agent"
                self.problems.add(where.warning(what, f"add {path}, or call it _{name}"))
                return None
            label = self.reading.watch(pack / _AGENTS / name / prompt)
            document = Document(name=label, data={}, lines={})
        place = document.where(f"agent {name}")
        table = self.reader.table(AgentTable, {**document.data, "name": name}, place, "agent")
        return Row(place, table) if table is not None else None


def _is_file(path: Path) -> bool:
    """Whether there is a file; no error whatever the path."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
