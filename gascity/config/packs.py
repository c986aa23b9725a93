"""Packs: what a `pack.toml` and the folders beside it add up to, with the packs it names itself.

A pack is read once however often it is named. Nested packs come first, then its own agents, then
its own patches on all of them. Where an agent ends up, in the city or in rigs, `placing` decides.

Source: DESIGN §2 (R3, R6a, R6b)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from gascity.config.drafts import Imports, Includes
from gascity.config.files import Unreadable
from gascity.config.layers import Stack, stack_of
from gascity.config.packfiles import PackDraft, PackFiles
from gascity.config.problems import Problems, Where
from gascity.config.rows import Row
from gascity.config.schema import NamedPatchTable, NamedSessionTable, ProviderTable
from gascity.config.sources import Absent, Place, Sources
from gascity.model.city import Origin, Source

MOST_PACKS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRow:
    """A named session on its way to its place."""

    row: Row[NamedSessionTable]
    rig: str = ""
    binding: str = ""
    pack: Path | None = None
    may_miss: bool = False  # it stands for every rig that has its template, not for each
    patches: list[Row[NamedPatchTable]] = field(default_factory=list)


@dataclass(slots=True)
class Pack:
    """A pack with everything that it brings along, not placed anywhere."""

    folder: Path
    origin: Origin
    agents: list[Stack] = field(default_factory=list)
    named: list[NamedRow] = field(default_factory=list)
    providers: dict[str, Row[ProviderTable]] = field(default_factory=dict)

    def only_own(self) -> Pack:
        """Without what its own packs bring along."""
        return replace(
            self,
            agents=[one for one in self.agents if one.pack == self.folder],
            named=[one for one in self.named if one.pack == self.folder],
        )

    def without(self, names: Iterable[str]) -> Pack:
        """Without the agents of these names and their sessions."""
        names = frozenset(names)
        return replace(
            self,
            agents=[one for one in self.agents if one.name not in names],
            named=[
                one for one in self.named if one.row.table.template.rpartition(".")[2] not in names
            ],
        )


@dataclass(slots=True)
class Packs:
    """Loads packs for one city; `is_incomplete` once one of them is not here."""

    files: PackFiles
    sources: Sources
    problems: Problems
    is_incomplete: bool = False
    lost: int = 0
    _done: dict[Path, Pack | None] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)

    def included(
        self, includes: Includes, beside: Place | None = None, trail: tuple[Path, ...] = ()
    ) -> Iterator[tuple[Pack, Where]]:
        """The packs of an older `includes` list that are here."""
        for source, where in includes:
            pack = self._load(source, "", where, "includes", beside, trail)
            if pack is not None:
                yield pack, where

    def imported(
        self, imports: Imports, beside: Place | None = None, trail: tuple[Path, ...] = ()
    ) -> Iterator[tuple[str, Pack, Where]]:
        """(binding, pack, place) of each import that is here, filtered as it asks."""
        for binding, row in imports.items():
            table = row.table
            pack = self._load(table.source, table.version, row.where, "source", beside, trail)
            if pack is None:
                continue
            pack = pack if table.transitive else pack.only_own()
            yield binding, pack.without(table.agents_exclude), row.where

    def _load(
        self, source: str, version: str, where: Where, key: str, beside: Place | None,
        trail: tuple[Path, ...],
    ) -> Pack | None:  # fmt: skip
        """The pack of a source, composed of all it names; None if it is not here or no good."""
        try:
            place = self.sources.find(source, version=version, beside=beside)
        except (OSError, ValueError, RuntimeError) as fault:
            refused = isinstance(fault, Unreadable)
            what = fault.what if isinstance(fault, Unreadable) else f"cannot be found: {fault}"
            remedy = fault.remedy if isinstance(fault, Unreadable) and refused else ""
            self.problems.add(where.error(what, remedy, key=key, value=source))
            return None
        if isinstance(place, Absent):
            self._absent(source, place, where, key)
            return None
        if place.folder in trail:
            names = [path.name for path in (*trail[trail.index(place.folder) :], place.folder)]
            what = f"a circle of packs: {' → '.join(names)}"
            self.problems.add(where.error(what, "drop one of them", key=key, value=source))
            return None
        if place.folder not in self._done:
            if len(self._done) >= MOST_PACKS:
                what = f"more than {MOST_PACKS} packs"
                self.problems.add(where.error(what, "join some of them", key=key, value=source))
                return None
            self._done[place.folder] = None
            self._done[place.folder] = self._compose(place, (*trail, place.folder))
        return self._done[place.folder]

    def _absent(self, source: str, absent: Absent, where: Where, key: str) -> None:
        """Name a pack that is not here, once (R6a)."""
        self.is_incomplete = True
        source = absent.source or source
        if source not in self._told:
            self._told.add(source)
            what = f"the pack is {absent.state}, so the city is incomplete"
            self.problems.add(where.warning(what, absent.remedy, key=key, value=source))

    def _compose(self, place: Place, trail: tuple[Path, ...]) -> Pack | None:
        """A pack with its nested ones: those first, its own agents, then its patches on all."""
        draft = self.files.read(place.folder)
        if draft is None:
            return None
        pack = Pack(place.folder, draft.origin)
        for inner, at in self.included(draft.includes, place, trail):
            self._take_in(pack, inner, None, at)
        for binding, inner, at in self.imported(draft.imports, place, trail):
            row = draft.imports[binding]
            self._take_in(pack, inner, binding, at, export=row.table.export)
        for agent in draft.agents:
            stack = stack_of(agent, self.problems)
            pack.agents.append(replace(stack, pack=place.folder, via=(draft.origin,)))
        pack.named += [NamedRow(row=row, pack=place.folder) for row in draft.named]
        pack.providers |= draft.providers
        self._default_provider(pack, draft)
        self._patch(pack, draft)
        return pack

    def _take_in(
        self, pack: Pack, inner: Pack, binding: str | None, where: Where, *, export: bool = False
    ) -> None:
        """Bring along what a nested pack has, each once, under the innermost binding."""
        seen = {(one.pack, one.bound_name) for one in pack.agents}
        via = where.origin("source")
        for one in inner.agents:
            name = binding if binding is not None and (export or not one.binding) else one.binding
            copy = one.placed(one.rig, name, via)
            if (copy.pack, copy.bound_name) not in seen:
                pack.agents.append(copy)
        known = {(id(one.row), one.binding) for one in pack.named}
        for session in inner.named:
            name = session.binding
            if binding is not None and (export or not name):
                name = binding
            if (id(session.row), name) not in known:
                pack.named.append(replace(session, binding=name))
        pack.providers = {**inner.providers, **pack.providers}

    def _default_provider(self, pack: Pack, draft: PackDraft) -> None:
        """`[agent_defaults] provider` of a pack: for its own agents and those it includes."""
        if draft.default_provider is None:
            return
        name, where = draft.default_provider
        for stack in pack.agents:
            if not stack.binding and not {"provider", "start_command"} & stack.values.keys():
                stack.values["provider"] = name
                stack.origins["provider"] = where.origin("provider")

    def _patch(self, pack: Pack, draft: PackDraft) -> None:
        """The pack's own patches: a layer of its agents, found by their own names (R3)."""
        for row in draft.patches.agents:
            rig, name = row.table.dir.rstrip("/"), row.table.name
            hit = next(
                (
                    one
                    for one in pack.agents
                    if name in (one.name, one.bound_name) and rig in ("", one.rig)
                ),
                None,
            )
            if hit is not None:
                hit.add(row, Source.AGENT, self.problems)
            elif self.is_incomplete:
                self.lost += 1
            else:
                remedy = self.problems.near_names(name, [one.name for one in pack.agents])
                what = "no agent of this pack has this name"
                self.problems.add(row.where.error(what, remedy, key="name", value=name))
