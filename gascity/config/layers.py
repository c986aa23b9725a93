"""One agent on its way through the layers: its own table, rig overrides, patches (R3).

A layer that sets a key wins over the layers before it and stamps its place; one that lists a key in
`unset` takes back whatever they said. What was lost on the way is kept for `explain`.

Source: DESIGN §2
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from gascity.config.problems import Problems, Where
from gascity.config.providers import said_by
from gascity.config.rows import Row
from gascity.config.schema import AgentFields, AgentTable, PoolTable, StampFields
from gascity.model.city import Origin, SleepLayer, Source

SETTABLE: Final = tuple(AgentFields.model_fields)
_NOT_VALUES: Final = frozenset({"name", "dir", "agent", "scope", "fallback", "unset", "env_remove"})
_OF_POOL: Final = {
    "min": "min_active_sessions",
    "max": "max_active_sessions",
    "check": "scale_check",
}


@dataclass(slots=True)
class Stack:
    """An agent under composition: the values that win so far and where each was written.

    `binding` is the name under which its pack is imported, "" for an agent of the city and of a
    pack that is included; `pack` is the folder of its pack, and `via` how the pack came here.
    """

    where: Where
    name: str
    rig: str
    binding: str = ""
    scope: str = ""
    is_fallback: bool = False
    pack: Path | None = None
    via: tuple[Origin, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, Origin] = field(default_factory=dict)
    sleep_source: Source = Source.AGENT
    sleep_layers: list[SleepLayer] = field(default_factory=list)

    @property
    def bound_name(self) -> str:
        """`[binding.]name`."""
        return f"{self.binding}.{self.name}" if self.binding else self.name

    @property
    def identity(self) -> str:
        """`[rig/][binding.]name` (R6b)."""
        return f"{self.rig}/{self.bound_name}" if self.rig else self.bound_name

    def placed(self, rig: str, binding: str, via: Origin | None = None) -> Stack:
        """A copy of its own in a rig, under a binding; the original is left as it is."""
        return replace(
            self,
            rig=rig,
            binding=binding,
            via=(via, *self.via) if via else self.via,
            values=dict(self.values),
            origins=dict(self.origins),
            sleep_layers=list(self.sleep_layers),
        )

    def origin(self, key: str) -> Origin:
        """Where a key was written, or the agent itself if it was not."""
        return self.origins.get(key) or self.where.origin("name")

    def add(self, row: Row[Any], source: Source, problems: Problems) -> None:
        """Lay one table over the values so far."""
        said = said_by(row)
        for key, value in said.items():
            if key in _NOT_VALUES:
                continue
            if key == "pool":
                self._add_pool(value, row.where)
            elif key == "env":
                self.values["env"] = {**self.values.get("env", {}), **value}
                self.origins["env"] = row.where.origin("env")
            else:
                self.values[key] = value
                self.origins[key] = row.where.origin(key)
        if isinstance(row.table, StampFields):
            self._take_back(row.table, row.where, said.keys() - _NOT_VALUES, problems)
        if "sleep_after_idle" in said:
            self._stamp(source, said["sleep_after_idle"], row.where.origin("sleep_after_idle"))
        elif "sleep_after_idle" in said.get("unset", ()):
            self._stamp(source, None, row.where.origin("unset"))

    def _stamp(self, source: Source, value: Any, origin: Origin) -> None:
        """Note what a layer said of sleep; the stamp stays with the layer that spoke last."""
        self.sleep_layers.append(SleepLayer(source, value, origin))
        self.sleep_source = source if value is not None else Source.AGENT

    def _add_pool(self, pool: PoolTable, where: Where) -> None:
        """The older table fills what the newer keys of the same layer do not say."""
        place = where.below(where.table, "pool")
        self.values["pool"] = True
        self.origins["pool"] = where.origin("pool")
        for old, new in _OF_POOL.items():
            value = getattr(pool, old)
            newer = self.origins.get(new)
            if value is not None and not (newer and newer.table == where.table):
                self.values[new] = value
                self.origins[new] = place.origin(old)

    def _take_back(
        self, table: StampFields, where: Where, said: set[str], problems: Problems
    ) -> None:
        """Drop what earlier layers said of the keys listed in `unset` (R2)."""
        for key in table.unset:
            if key not in SETTABLE:
                remedy = problems.near_names(key, SETTABLE)
                what = "unset lists no key of an agent"
                problems.add(where.error(what, remedy, key="unset", value=key))
            elif key in said:
                what = f"sets {key} and unsets it"
                problems.add(where.error(what, "keep one of the two", key=key))
            else:
                for name in (key, *(_OF_POOL.values() if key == "pool" else ())):
                    self.values.pop(name, None)
                    self.origins.pop(name, None)
        if table.env_remove:
            env = {k: v for k, v in self.values.get("env", {}).items() if k not in table.env_remove}
            self.values["env"] = env


def stack_of(row: Row[AgentTable], problems: Problems) -> Stack:
    """An agent's own table as the first layer."""
    rig = row.table.dir.rstrip("/")
    table = row.table
    stack = Stack(row.where, table.name, rig, scope=table.scope, is_fallback=table.fallback)
    stack.add(row, Source.AGENT, problems)
    return stack
