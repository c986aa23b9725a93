"""What changes an agent after its own table: rig overrides, then patches, each finding its target.

A target is found by its identity first, then by its bare name in the rig that is meant. What finds
none is an error with near names, unless a pack that is not here may hold it.

Source: DESIGN §2 (R3, R6a, R6b)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gascity.config.drafts import Draft, RigRow
from gascity.config.layers import Stack
from gascity.config.packs import NamedRow
from gascity.config.placing import Roster
from gascity.config.problems import Problems
from gascity.config.rows import Row
from gascity.config.schema import NamedPatchTable, ProviderPatchTable, RigPatchTable
from gascity.model.city import Source


@dataclass(slots=True)
class Applying:
    """Lays overrides and patches on a roster; `lost` counts what waits for packs."""

    draft: Draft
    roster: Roster
    problems: Problems
    is_incomplete: bool
    lost: int = 0
    _by_rig: dict[str, dict[str, list[Stack]]] = field(default_factory=dict)

    def overrides(self) -> None:
        """`[[rigs.overrides]]`, then `[[rigs.patches]]`, each on the agents of its own rig."""
        for stack in self.roster.stacks.values():
            names = self._by_rig.setdefault(stack.rig, {})
            for name in {stack.name, stack.bound_name}:
                names.setdefault(name, []).append(stack)
        for rig in self.draft.rigs:
            for row in rig.overrides:
                self._override(rig, row)

    def _override(self, rig: RigRow, row: Row[Any]) -> None:
        name, own = row.table.agent, rig.table.name
        here = self._by_rig.get(own, {})
        hits = here.get(name) or here.get(name.removeprefix(f"{own}/"), [])
        if hits:
            self._one(hits, row, "agent", name).add(row, Source.RIG_OVERRIDE, self.problems)
            return
        other = next((r for r, known in self._by_rig.items() if name in known), None)
        remedy = self.problems.near_names(name, here) if here or other is None else ""
        if other is not None:
            place = f'rig "{other}"' if other else "no rig"
            remedy = f"one of that name is in {place}; {remedy or 'use [[patches.agent]]'}"
        self._unmatched(row, "agent", name, f'rig "{own}" has no agent of this name', remedy)

    def patches(self) -> None:
        """`[[patches.agent]]`, last of all; one on a template reaches its copies in rigs."""
        stacks = self.roster.stacks
        for row in self.draft.patches.agents:
            rig, name = row.table.dir.rstrip("/"), row.table.name
            full = f"{rig}/{name}" if rig else name
            target = stacks.get(full) or (stacks.get(name) if not rig else None)
            if target is None:
                hits = self._by_rig.get(rig, {}).get(name, [])
                target = self._one(hits, row, "name", full) if hits else None
            if target is not None:
                target.add(row, Source.AGENT_PATCH, self.problems)
            elif not rig and name in self.roster.templates:
                for copy in self.roster.templates[name]:
                    copy.add(row, Source.AGENT_PATCH, self.problems)
            else:
                remedy = self.problems.near_names(full, stacks)
                self._unmatched(row, "name", full, "no agent has this identity", remedy)

    def _one(self, hits: list[Stack], row: Row[Any], key: str, name: str) -> Stack:
        """The first agent of a bare name, as other tools take it; a word if there are more."""
        if len(hits) > 1:
            also = " and ".join(one.bound_name for one in hits)
            what = f"means {also}; it is applied to {hits[0].bound_name} only"
            remedy = "name each with its binding"
            self.problems.add(row.where.warning(what, remedy, key=key, value=name))
        return hits[0]

    def _unmatched(self, row: Row[Any], key: str, name: str, what: str, remedy: str) -> None:
        """An error, unless a missing pack may have held the target (R6a)."""
        if self.is_incomplete:
            self.lost += 1
        else:
            self.problems.add(row.where.error(what, remedy, key=key, value=name))

    def rigs(self) -> dict[str, list[Row[RigPatchTable]]]:
        """{name of a rig: its patches, in the order written}."""
        known = {rig.table.name: None for rig in self.draft.rigs}
        found: dict[str, list[Row[RigPatchTable]]] = {}
        for row in self.draft.patches.rigs:
            name = row.table.name
            found.setdefault(name, []).append(row)
            if name not in known:
                remedy = self.problems.near_names(name, known)
                self.problems.add(row.where.error("no such rig", remedy, key="name", value=name))
        return found

    def providers(self) -> dict[str, list[Row[Any]]]:
        """{name: its table, then its patches}."""
        chains: dict[str, list[Row[Any]]] = {
            name: [row] for name, row in self.roster.providers.items()
        }
        for row in self.draft.patches.providers:
            table: ProviderPatchTable = row.table
            chain = chains.setdefault(table.name, [])
            if table.replace:
                chain.clear()
            chain.append(row)
        return chains

    def named(self) -> None:
        """`[[patches.named_session]]` on sessions found by template or name."""
        for row in self.draft.patches.named:
            table: NamedPatchTable = row.table
            rig = table.dir.rstrip("/")
            hits = [one for one in self.roster.named if one.rig == rig and _is_meant(one, table)]
            for hit in hits:
                hit.patches.append(row)
            if not hits:
                names = [one.row.table.name or one.row.table.template for one in self.roster.named]
                remedy = self.problems.near_names(table.template, names)
                what = "no named session has this template here"
                self._unmatched(row, "template", table.template, what, remedy)


def _is_meant(one: NamedRow, patch: NamedPatchTable) -> bool:
    """Whether a patch speaks of this session: its template, with or without binding, and name."""
    table = one.row.table
    prefix = f"{one.binding}." if one.binding else ""
    if patch.name and patch.name not in (table.name, f"{prefix}{table.name or table.template}"):
        return False
    return patch.template in (table.template, f"{prefix}{table.template}")
