"""Every effective value of an agent with the file and line it was written in.

For `gc config explain AGENT --values`; `explain` has the chain of the sleep window alone.

Source: DESIGN §2 (CFG-15)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gascity.config.providers import RESUME_KEYS
from gascity.model.city import Agent, City

_ELSEWHERE: Final = {"provider": "preset", "session": "runtime", "dir": "rig"}
_OF_POOL: Final = {
    "min_active_sessions": "min",
    "max_active_sessions": "max",
    "scale_check": "check",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One effective value of an agent and where it was written; a name alone for secrets."""

    key: str
    value: str
    file: str
    table: str
    line: int

    def row(self) -> list[str]:
        """Key, value and place, for a table."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        return [self.key, self.value, " ".join(part for part in (place, self.table) if part)]


def effective_settings(city: City, identity: str) -> list[Setting]:
    """Every value of an agent that some file set, its CLI's and the city's included (CFG-15)."""
    agent = city.agents[identity]
    found = []
    for (owner, key), origin in city.origins.items():
        value = _value_of(agent, key) if owner == identity else None
        if value is not None:
            found.append(
                Setting(key=key, value=value, file=origin.file, table=origin.table,
                        line=origin.line)
            )  # fmt: skip
    return sorted(found, key=lambda one: one.key)


def _value_of(agent: Agent, key: str) -> str | None:
    """A value as text; None for what is no value of an agent, or is not set after all."""
    found: object = None
    if key == "env":
        return " ".join(agent.env) or None
    if key in _OF_POOL:
        found = getattr(agent.pool, _OF_POOL[key], None)
    elif key in RESUME_KEYS:
        found = getattr(agent.resume, RESUME_KEYS[key])
    else:
        found = getattr(agent, _ELSEWHERE.get(key, key), None)
    if isinstance(found, tuple):
        found = " ".join(map(str, found))
    return None if found is None or found == "" else str(found)
