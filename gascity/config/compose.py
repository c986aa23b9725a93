"""From typed rows to one frozen `City`, stage by stage, in the order of the layers (R3).

1. rigs and what is shared   2. agents of the file and its packs (`placing` has placed them)
3. rig overrides             4. patches
5. agents built              6. named sessions, dependencies, session names

Rig and workspace defaults are never written into an agent: who reads the policy resolves them.

Source: DESIGN §2 (R3, R4, R6a, R6b)
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar

from gascity.config.agents import EXEC, RUNTIMES, TMUX, Workshop, inside, is_runtime
from gascity.config.applying import Applying
from gascity.config.drafts import Draft, RigRow
from gascity.config.names import check_session_names, named_sessions, resolve_dependencies
from gascity.config.placing import Roster
from gascity.config.problems import Problems, Severity, Where, at
from gascity.config.providers import Providers, said_by
from gascity.config.rows import Row, Values
from gascity.config.schema import RigPatchTable
from gascity.config.screens import screen_rules
from gascity.config.site import Site
from gascity.model.city import (
    Agent,
    City,
    DaemonSettings,
    EventSettings,
    Origin,
    Rig,
    SessionClass,
    SessionSettings,
)
from gascity.model.duration import KeepWarm

S = TypeVar("S", DaemonSettings, SessionSettings, EventSettings)

_UNIX_ROOT: Final = "city"


@dataclass(slots=True)
class Composition:
    """A city in the making."""

    draft: Draft
    roster: Roster
    site: Site
    path: Path
    problems: Problems
    is_incomplete: bool
    revision: str = ""
    origins: dict[tuple[str, str], Origin] = field(default_factory=dict)
    lost: int = 0

    def city(self) -> City:
        """Run the stages; every problem of every stage goes to `problems`."""
        name = self._city_name()
        applying = Applying(self.draft, self.roster, self.problems, self.is_incomplete)
        rigs = self._rigs(applying.rigs())
        applying.overrides()
        applying.patches()
        applying.named()
        self.lost += applying.lost
        agents = self._build(applying.providers(), rigs, name)
        named, lost = named_sessions(
            self.roster.named, agents, self.problems, may_miss=self.is_incomplete
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
            screens=MappingProxyType(screen_rules(self.draft.screens, self.problems)),
            daemon=self._settings("daemon", self.draft.daemon, DaemonSettings()),
            session=self._session(),
            events=self._settings("events", self.draft.events, EventSettings()),
            beads_provider=self._value(self.draft.beads, "beads", "provider", ""),
            suspended=self._suspended(),
            incomplete=self.is_incomplete,
            origins=MappingProxyType(self.origins),
            revision=self.revision,
        )

    # 1. rigs and what is shared

    def _city_name(self) -> str:
        """The name on this machine, else of the workspace, else of the folder."""
        if self.site.name and self.site.name_at is not None:
            self.origins["", "workspace.name"] = self.site.name_at
            return self.site.name
        name: str = self._value(self.draft.workspace, "workspace", "name", "")
        return name.strip() or self.path.name or _UNIX_ROOT

    def _suspended(self) -> bool:
        """Whether the whole city is held: by its file, or by the environment."""
        if os.environ.get("GC_SUSPENDED", "").strip() in ("1", "true"):
            self.origins["", "workspace.suspended"] = Origin("environment", "GC_SUSPENDED")
            return True
        held: bool = self._value(self.draft.workspace, "workspace", "suspended", default=False)
        return held

    def _rigs(self, patches: Mapping[str, list[Row[RigPatchTable]]]) -> dict[str, Rig]:
        """{name: rig}, in file order: its table, its patches, its place on this machine."""
        rigs: dict[str, Rig] = {}
        for row in self.draft.rigs:
            table, origin = row.table, row.where.origin("name")
            if table.name in rigs:
                what = f'rig "{table.name}" is also at {self.origins[table.name, "rig.name"]}'
                problem = row.where.error(what, "give one of them another name", key="name")
                self.problems.add(problem)
                continue
            self.origins[table.name, "rig.name"] = origin
            rigs[table.name] = self._rig(row, patches.get(table.name, []))
        for name, (_, where) in self.site.rigs.items():
            if name not in rigs:
                what = "a place for a rig that there is none of"
                remedy = self.problems.near_names(name, rigs)
                self.problems.add(where.warning(what, remedy, key="name", value=name))
        return rigs

    def _rig(self, row: RigRow, patches: list[Row[RigPatchTable]]) -> Rig:
        """One rig; where `suspended_on_start` holds it, nothing else was said about it."""
        table, name = row.table, row.table.name
        said: dict[str, tuple[Any, Where]] = {
            "path": (table.path, row.where),
            "suspended": (table.suspended or table.suspended_on_start, row.where),
        }
        for patch in patches:
            values = said_by(patch)
            said |= {k: (values[k], patch.where) for k in ("path", "suspended") if k in values}
        if name in self.site.rigs:
            said["path"] = self.site.rigs[name]
        for key, (_, where) in said.items():
            self.origins[name, f"rig.{key}"] = where.origin(key)
        if table.suspended_on_start and said["suspended"][1] is row.where:
            self.origins[name, "rig.suspended"] = row.where.origin("suspended_on_start")
        path: str = said["path"][0]
        return Rig(
            name=name,
            path=inside(self.path, path) if path else "",
            suspended=said["suspended"][0],
            sleep=self._sleep(name, row.sleep),
        )

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

    # 2. to 4. agents

    def _tell_lost(self) -> None:
        """One word for all that waits for packs."""
        if self.lost:
            what = f"{self.lost} overrides, patches or references wait for packs that are not here"
            origin = Origin("city.toml", "")
            self.problems.add(at(origin, Severity.WARNING, what, "they take effect with the packs"))

    # 5. agents built

    def _build(
        self, rows: Mapping[str, list[Row[Any]]], rigs: Mapping[str, Rig], name: str
    ) -> dict[str, Agent]:
        """{identity: composed agent}, in file order, with the place of each value noted."""
        providers = Providers(rows, self.problems, may_miss=self.is_incomplete)
        providers.check()
        runtime = self._value(self.draft.session, "session", "provider", "") or TMUX
        workshop = Workshop(
            city_name=name,
            city_path=self.path,
            workspace=self.draft.workspace,
            agent_defaults=self.draft.agent_defaults,
            runtime=runtime,
            runtime_at=self.origins.get(("", "session.provider")),
            remote_match=self._value(self.draft.session, "session", "remote_match", ""),
            rigs=rigs,
            providers=providers,
            problems=self.problems,
        )
        agents = {}
        for identity, stack in self.roster.stacks.items():
            agents[identity], places = workshop.build(stack)
            for key in ("name", "dir"):
                self.origins[identity, key] = stack.where.origin(key)
            for key, origin in places.items():
                self.origins[identity, key] = origin
            if stack.via and stack.rig:  # which rig it is in, says whoever imports its pack
                self.origins[identity, "dir"] = stack.via[0]
            for step, origin in enumerate(stack.via):
                self.origins[identity, f"pack.{step}"] = origin
        return agents
