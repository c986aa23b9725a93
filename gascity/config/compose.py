"""From typed rows to one frozen `City`, stage by stage, in the order of the layers (R3).

1. rigs and what is shared   2. agents of the file (agents of packs will join here)
3. rig overrides             4. patches
5. agents built              6. named sessions, dependencies, session names

Rig and workspace defaults are never written into an agent: who reads the policy resolves them.

Source: DESIGN §2 (R3, R4, R6a, R6b)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar

from gascity.config.agents import EXEC, RUNTIMES, TMUX, Workshop, inside, is_runtime
from gascity.config.layers import Stack, stack_of
from gascity.config.names import check_session_names, named_sessions, resolve_dependencies
from gascity.config.problems import Problems, Severity, at
from gascity.config.providers import Providers
from gascity.config.rows import Row, Values
from gascity.config.tables import Draft, RigRow
from gascity.model.city import (
    Agent,
    City,
    DaemonSettings,
    EventSettings,
    Origin,
    Rig,
    SessionClass,
    SessionSettings,
    Source,
)
from gascity.model.duration import KeepWarm

S = TypeVar("S", DaemonSettings, SessionSettings, EventSettings)

_UNIX_ROOT: Final = "city"


@dataclass(slots=True)
class Composition:
    """A city in the making."""

    draft: Draft
    path: Path
    problems: Problems
    is_incomplete: bool
    revision: str = ""
    origins: dict[tuple[str, str], Origin] = field(default_factory=dict)
    lost: int = 0

    def city(self) -> City:
        """Run the stages; every problem of every stage goes to `problems`."""
        name = self._city_name()
        rigs = self._rigs()
        stacks = self._agents()
        self._apply_overrides(stacks)
        self._apply_patches(stacks)
        agents = self._build(stacks, rigs, name)
        named, lost = named_sessions(
            self.draft.named, agents, self.problems, may_miss=self.is_incomplete
        )
        self.lost += lost
        agents, lost = resolve_dependencies(
            agents, self.origins, self.problems, may_miss=self.is_incomplete
        )
        self.lost += lost
        check_session_names(agents, named, self.origins, self.problems)
        for identity, (_, origin) in named.items():
            self.origins[identity, "named.mode"] = origin
        self._tell_lost()
        return City(
            name=name,
            path=str(self.path),
            agents=MappingProxyType(agents),
            named_sessions=tuple(one for one, _ in named.values()),
            rigs=MappingProxyType(rigs),
            session_sleep=self._sleep("", self.draft.session_sleep),
            daemon=self._settings("daemon", self.draft.daemon, DaemonSettings()),
            session=self._session(),
            events=self._settings("events", self.draft.events, EventSettings()),
            beads_provider=self._value(self.draft.beads, "beads", "provider", ""),
            suspended=self._value(self.draft.workspace, "workspace", "suspended", default=False),
            incomplete=self.is_incomplete,
            origins=MappingProxyType(self.origins),
            revision=self.revision,
        )

    # 1. rigs and what is shared

    def _city_name(self) -> str:
        """The name of the workspace, else of the folder."""
        name: str = self._value(self.draft.workspace, "workspace", "name", "")
        return name.strip() or self.path.name or _UNIX_ROOT

    def _rigs(self) -> dict[str, Rig]:
        """{name: rig}, in file order."""
        rigs: dict[str, Rig] = {}
        for row in self.draft.rigs:
            table, origin = row.table, row.where.origin("name")
            if table.name in rigs:
                what = f'rig "{table.name}" is also at {self.origins[table.name, "rig.name"]}'
                problem = row.where.error(what, "give one of them another name", key="name")
                self.problems.add(problem)
                continue
            self.origins[table.name, "rig.name"] = origin
            for key in ("path", "suspended"):
                self.origins[table.name, f"rig.{key}"] = row.where.origin(key)
            rigs[table.name] = Rig(
                name=table.name,
                path=inside(self.path, table.path) if table.path else "",
                suspended=table.suspended,
                sleep=self._sleep(table.name, row.sleep),
            )
        return rigs

    def _sleep(self, owner: str, values: Values) -> Mapping[SessionClass, KeepWarm]:
        """The class defaults that are really set; no other class is touched (POL-15, ROLL-03)."""
        sleep = {}
        for kind in SessionClass:
            if kind.value in values:
                sleep[kind], where = values[kind.value]
                self.origins[owner, f"session_sleep.{kind.value}"] = where.origin(kind.value)
        return MappingProxyType(sleep)

    def _session(self) -> SessionSettings:
        """`[session]`, with a word about a runtime that nobody knows (R6c)."""
        settings = self._settings("session", self.draft.session, SessionSettings())
        if settings.provider and not is_runtime(settings.provider):
            what = "an unknown runtime; its sessions load with idle sleep disabled"
            where = self.draft.session["provider"][1]
            remedy = self.problems.near_names(settings.provider, [*RUNTIMES, f"{EXEC}SCRIPT"])
            problem = where.warning(what, remedy, key="provider", value=settings.provider)
            self.problems.add(problem)
        return settings

    def _settings(self, table: str, values: Values, default: S) -> S:
        """A settings table over its defaults."""
        said = {key: value for key, (value, _) in values.items() if value is not None}
        for key in said:
            self.origins["", f"{table}.{key}"] = values[key][1].origin(key)
        return type(default)(**said)

    def _value(self, values: Values, table: str, key: str, default: Any) -> Any:
        """One value of a shared table, its place noted."""
        if key not in values:
            return default
        value, where = values[key]
        self.origins["", f"{table}.{key}"] = where.origin(key)
        return value

    # 2. agents of the file

    def _agents(self) -> dict[str, Stack]:
        """{identity: the agent's own table as first layer}, in file order."""
        stacks: dict[str, Stack] = {}
        for row in self.draft.agents:
            stack = stack_of(row, self.problems)
            first = stacks.get(stack.identity)
            if first is None:
                stacks[stack.identity] = stack
            else:
                what = f'agent "{stack.identity}" is also at {first.where.origin("name")}'
                problem = row.where.error(what, "give one of them another name", key="name")
                self.problems.add(problem)
        return stacks

    # 3. and 4. later layers

    def _apply_overrides(self, stacks: dict[str, Stack]) -> None:
        """`[[rigs.overrides]]`, then `[[rigs.patches]]`, each on the agents of its own rig."""
        rosters: dict[str, dict[str, None]] = {}
        for stack in stacks.values():
            rosters.setdefault(stack.rig, {})[stack.name] = None
        for rig in self.draft.rigs:
            for row in rig.overrides:
                self._apply_override(rig, row, stacks, rosters)

    def _apply_override(
        self,
        rig: RigRow,
        row: Row[Any],
        stacks: dict[str, Stack],
        rosters: Mapping[str, Mapping[str, None]],
    ) -> None:
        name = row.table.agent
        own = f"{rig.table.name}/"
        target = stacks.get(own + name) or stacks.get(name if name.startswith(own) else "")
        if target is not None:
            target.add(row, Source.RIG_OVERRIDE, self.problems)
            return
        what = f'rig "{rig.table.name}" has no agent of this name'
        names = rosters.get(rig.table.name, {})
        other = next((r for r, known in rosters.items() if name in known), None)
        remedy = self.problems.near_names(name, names) if names or other is None else ""
        if other is not None:
            place = f'rig "{other}"' if other else "no rig"
            remedy = f"one of that name is in {place}; {remedy or 'use [[patches.agent]]'}"
        self._unmatched(row, "agent", name, what, remedy)

    def _apply_patches(self, stacks: dict[str, Stack]) -> None:
        """`[[patches.agent]]`, last of all."""
        for row in self.draft.patches:
            rig = row.table.dir.rstrip("/")
            name = f"{rig}/{row.table.name}" if rig else row.table.name
            target = stacks.get(name) or stacks.get(row.table.name if not rig else "")
            if target is not None:
                target.add(row, Source.AGENT_PATCH, self.problems)
            else:
                what = "no agent has this identity"
                remedy = self.problems.near_names(name, stacks)
                self._unmatched(row, "name", name, what, remedy)

    def _unmatched(self, row: Row[Any], key: str, name: str, what: str, remedy: str) -> None:
        """An error, unless a missing pack may have held the target (R6a)."""
        if self.is_incomplete:
            self.lost += 1
        else:
            self.problems.add(row.where.error(what, remedy, key=key, value=name))

    def _tell_lost(self) -> None:
        """One word for all that waits for packs."""
        if self.lost:
            what = f"{self.lost} overrides, patches or references wait for packs not composed"
            origin = Origin("city.toml", "")
            self.problems.add(at(origin, Severity.WARNING, what, "they take effect with the packs"))

    # 5. agents built

    def _build(
        self, stacks: dict[str, Stack], rigs: Mapping[str, Rig], name: str
    ) -> dict[str, Agent]:
        """{identity: composed agent}, in file order, with the place of each value noted."""
        providers = Providers(self.draft.providers, self.problems, may_miss=self.is_incomplete)
        providers.check()
        runtime = self._value(self.draft.session, "session", "provider", "") or TMUX
        workshop = Workshop(
            city_name=name,
            city_path=self.path,
            workspace=self.draft.workspace,
            agent_defaults=self.draft.agent_defaults,
            runtime=runtime,
            rigs=rigs,
            providers=providers,
            problems=self.problems,
        )
        agents = {}
        for identity, stack in stacks.items():
            agents[identity] = workshop.build(stack)
            for key in ("name", "dir"):
                self.origins[identity, key] = stack.where.origin(key)
            for key, origin in stack.origins.items():
                self.origins[identity, key] = origin
        return agents
