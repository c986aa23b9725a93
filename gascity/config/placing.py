"""Where agents end up: the city's own, those of its packs, those of the packs of each rig.

An agent of a pack says by `scope` whether it is one for the city, one for each rig, or both. A pack
imported by the city reaches every rig that imports none under the same name. What a rig brings
along for the city is taken in once.

Source: DESIGN §2 (R3, R6a, R6b)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from gascity.config.drafts import Draft, Imports, RigRow
from gascity.config.layers import Stack, stack_of
from gascity.config.packfiles import PackDraft
from gascity.config.packs import NamedRow, Pack, Packs
from gascity.config.problems import Problems, Where
from gascity.config.rows import Row
from gascity.config.schema import ImportTable, ProviderTable

MOST_AGENTS: Final = 5000
CITY: Final = "city"
RIG: Final = "rig"


@dataclass(slots=True)
class Roster:
    """Every agent and named session in its place, before overrides and patches.

    `templates` are agents of the city that say they belong to rigs without naming one: {name: their
    copies}, which there are only where a named session asks for them.
    """

    stacks: dict[str, Stack] = field(default_factory=dict)
    templates: dict[str, list[Stack]] = field(default_factory=dict)
    named: list[NamedRow] = field(default_factory=list)
    providers: dict[str, Row[ProviderTable]] = field(default_factory=dict)


def join_root_pack(draft: Draft, pack: PackDraft) -> None:
    """Lay the city over the `pack.toml` beside it: what both say is the city's."""
    own = {row.table.name for row in draft.agents}
    draft.agents += [row for row in pack.agents if row.table.name not in own]
    draft.named = [*pack.named, *draft.named]
    draft.providers = {**pack.providers, **draft.providers}
    draft.imports = {**pack.imports, **draft.imports}
    draft.includes = [*pack.includes, *draft.includes]
    for name in ("agents", "rigs", "providers", "named"):
        rows = [*getattr(pack.patches, name), *getattr(draft.patches, name)]
        setattr(draft.patches, name, rows)
    if pack.default_provider is not None:
        draft.agent_defaults.setdefault("provider", pack.default_provider)


@dataclass(slots=True)
class Placing:
    """Fills a roster from a draft and its packs."""

    draft: Draft
    packs: Packs
    problems: Problems
    roster: Roster = field(default_factory=Roster)
    _is_full: bool = False
    _sessions: set[tuple[str, str, str, Path | None]] = field(default_factory=set)

    def run(self) -> Roster:
        """The city's own, those of its packs, each rig's, and what reaches rigs from above."""
        templates = self._own()
        city = list(self._city_packs())
        for pack, binding, where in city:
            self._place_in_city(pack, binding, where)
        for rig in self.draft.rigs:
            for pack, binding, where in self._rig_packs(rig):
                self._place_in_rig(pack, binding, where, rig.table.name)
        for pack, binding, where in city:
            for rig in self.draft.rigs:
                if binding is None or binding not in rig.imports:
                    self._place_in_rig(pack, binding, where, rig.table.name, is_from_city=True)
        self._own_sessions(templates)
        self.roster.providers = {**self.roster.providers, **self.draft.providers}
        return self.roster

    def _own(self) -> dict[str, Stack]:
        """Place the city's own agents; {name: those for rigs that name none}."""
        templates = {}
        for row in self.draft.agents:
            stack = stack_of(row, self.problems)
            if stack.scope == RIG and not stack.rig:
                templates[stack.name] = stack
                self.roster.templates[stack.name] = []
            else:
                self._place(stack)
        return templates

    def _city_packs(self) -> Iterator[tuple[Pack, str | None, Where]]:
        """(pack, binding or None, place) of every pack the city names."""
        for pack, where in self.packs.included(self.draft.includes):
            yield pack, None, where
        for binding, pack, where in self.packs.imported(self.draft.imports):
            yield pack, binding, where

    def _rig_packs(self, rig: RigRow) -> Iterator[tuple[Pack, str | None, Where]]:
        """The same for a rig; an array of imports means packs that the city imports."""
        for pack, where in self.packs.included(rig.includes):
            yield pack, None, where
        imports: Imports = {}
        for binding, row in rig.imports.items():
            known = self.draft.imports.get(row.table.source) if row.where is rig.where else None
            table: ImportTable = known.table if known else row.table
            imports[binding] = Row(row.where, table)
        for binding, pack, where in self.packs.imported(imports):
            yield pack, binding, where

    def _place_in_city(self, pack: Pack, binding: str | None, where: Where) -> None:
        """Those of a pack that are the city's, or everybody's."""
        self._take_providers(pack)
        via = where.origin("source")
        for one in pack.agents:
            if one.scope != RIG or one.rig:
                self._place(one.placed(one.rig, _bound(binding, one.binding), via))
        for session in pack.named:
            table = session.row.table
            if table.scope != RIG or table.dir:
                self._seat(session, _bound(binding, session.binding), table.dir.rstrip("/"))

    def _place_in_rig(
        self, pack: Pack, binding: str | None, where: Where, rig: str, *, is_from_city: bool = False
    ) -> None:
        """Those of a pack that are a rig's, or everybody's; the city's are taken in once."""
        self._take_providers(pack)
        if self._is_full:
            return
        via = where.origin("source")
        for one in pack.agents:
            name = _bound(binding, one.binding)
            if one.rig or one.scope == CITY:
                if not is_from_city:
                    self._place(one.placed(one.rig, name, via), yields=True)
            else:
                self._place(one.placed(rig, name, via), yields=is_from_city)
        for session in pack.named:
            name, table = _bound(binding, session.binding), session.row.table
            if table.dir or table.scope == CITY:
                if not is_from_city:
                    self._seat(session, name, table.dir.rstrip("/"))
            else:
                self._seat(session, name, rig)

    def _take_providers(self, pack: Pack) -> None:
        """Providers of packs add to the city's; the first of a name is kept."""
        self.roster.providers = {**pack.providers, **self.roster.providers}

    def _place(self, stack: Stack, *, yields: bool = False) -> None:
        """Give an agent its place, unless somebody has it."""
        stacks = self.roster.stacks
        first = stacks.get(stack.identity)
        if first is None:
            if len(stacks) < MOST_AGENTS:
                stacks[stack.identity] = stack
            elif not self._is_full:
                self._is_full = True
                what = f"more than {MOST_AGENTS} agents in all rigs together"
                self.problems.add(stack.where.error(what, "import fewer packs", key="name"))
        elif stack.pack is not None and stack.pack == first.pack:
            return
        elif first.is_fallback and not stack.is_fallback:
            stacks[stack.identity] = stack
        elif not (yields or stack.is_fallback):
            what = f'agent "{stack.identity}" is also at {first.where.origin("name")}'
            remedy = "give one of them another name"
            self.problems.add(stack.where.error(what, remedy, key="name"))

    def _seat(self, session: NamedRow, binding: str, rig: str) -> None:
        """Give a named session of a pack its place, once for each pack."""
        table = session.row.table
        name = f"{binding}.{table.name or table.template}"
        key = (rig, name, table.template, session.pack)
        if key not in self._sessions and len(self._sessions) < MOST_AGENTS:
            self._sessions.add(key)
            self.roster.named.append(
                NamedRow(row=session.row, rig=rig, binding=binding, pack=session.pack)
            )

    def _own_sessions(self, templates: dict[str, Stack]) -> None:
        """The city's own named sessions; one for rigs that names none is one for each of them."""
        for row in self.draft.named:
            table = row.table
            if table.scope != RIG or table.dir:
                self.roster.named.append(NamedRow(row=row, rig=table.dir.rstrip("/")))
                continue
            template = templates.get(table.template)
            for rig in self.draft.rigs:
                name = rig.table.name
                if template is not None and f"{name}/{template.name}" not in self.roster.stacks:
                    copy = template.placed(name, "", row.where.origin("template"))
                    self.roster.templates[template.name].append(copy)
                    self._place(copy)
                self.roster.named.append(NamedRow(row=row, rig=name, may_miss=True))
        for name, copies in self.roster.templates.items():
            if not copies:
                what = 'scope = "rig" without dir: it is in no rig, so nothing runs it'
                remedy = f'write dir = "…", or a [[named_session]] of {name} with scope = "rig"'
                self.problems.add(templates[name].where.warning(what, remedy, key="scope"))


def _bound(binding: str | None, inner: str) -> str:
    """The binding that shows: the outermost import's, or that of a nested one."""
    return inner if binding is None else binding
