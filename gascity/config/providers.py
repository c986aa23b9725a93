"""How an agent's CLI is started: `provider` names followed through `base` to a preset we know.

Source: DESIGN §W (R62, R6c)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from gascity.config.presets import NO_RESUME, PRESETS, Preset
from gascity.config.problems import Problems
from gascity.config.rows import Row
from gascity.config.schema import ProviderTable, Table
from gascity.model.city import Resume

BUILTIN: Final = "builtin:"
RESUME_KEYS: Final = {
    "resume_flag": "flag",
    "resume_style": "style",
    "resume_command": "command",
    "session_id_flag": "session_id_flag",
    "transcript": "transcript",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cli:
    """An agent CLI with all its settings; `preset` is "" for a plain command."""

    preset: str = ""
    is_known: bool = False
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    ready_prompt_prefix: str = ""
    ready_delay_ms: int = 0
    process_names: tuple[str, ...] = ()
    screens: str = ""
    resume: Resume = NO_RESUME

    def overlaid(self, said: Mapping[str, Any]) -> Cli:
        """The same with the settings that a table sets; environments are merged."""
        changes = {key: said[key] for key in _PLAIN if key in said}
        if not changes.get("command", "one"):
            del changes["command"]  # an empty command is one not said
        changes |= {key: tuple(said[key]) for key in ("args", "process_names") if key in said}
        if "env" in said:
            changes["env"] = {**self.env, **said["env"]}
        resume = {RESUME_KEYS[key]: said[key] for key in RESUME_KEYS if key in said}
        if resume:
            resume["style"] = resume.get("style", self.resume.style) or "flag"
            changes["resume"] = replace(self.resume, **resume)
        return replace(self, **changes)


_PLAIN: Final = ("command", "ready_prompt_prefix", "ready_delay_ms", "screens")


def cli_of(preset: Preset) -> Cli:
    """A preset as it comes."""
    return Cli(
        preset=preset.name,
        is_known=True,
        command=preset.command,
        ready_prompt_prefix=preset.ready_prompt_prefix,
        ready_delay_ms=preset.ready_delay_ms,
        process_names=preset.process_names,
        screens=preset.screens,
        resume=preset.resume,
    )


def said_by(row: Row[Any]) -> dict[str, Any]:
    """{key: value} of the keys a row really sets."""
    table: Table = row.table
    return {key: getattr(table, key) for key in row.said()}


class Providers:
    """Looks up agent CLIs by name; what is wrong with a name is said once."""

    def __init__(
        self, rows: Mapping[str, Row[ProviderTable]], problems: Problems, *, may_miss: bool
    ) -> None:
        self._rows = rows
        self._may_miss = may_miss  # a missing pack may hold the bases
        self._problems = problems
        self._found: dict[str, Cli | None] = {}

    def names(self) -> list[str]:
        """Every name that may be used."""
        return [*self._rows, *(name for name in PRESETS if name not in self._rows)]

    def check(self) -> None:
        """Follow every provider of the file, used or not, so that no mistake waits for its user."""
        for name in self._rows:
            self.find(name)

    def find(self, name: str) -> Cli | None:
        """The CLI of that name with everything it inherits, or None if nobody knows it."""
        if name not in self._found:
            self._found[name] = self._follow(name)
        return self._found[name]

    def _follow(self, name: str) -> Cli | None:
        chain: list[Row[ProviderTable]] = []
        seen: list[str] = []
        while not name.startswith(BUILTIN) and name in self._rows:
            row = self._rows[name]
            if name in seen:
                circle = " → ".join([*seen[seen.index(name) :], name])
                what = f"a circle of providers: {circle}"
                self._problems.add(row.where.error(what, 'base it on "builtin:NAME"', key="base"))
                return None
            seen.append(name)
            chain.append(row)
            base = row.table.base if row.table.base is not None else f"{BUILTIN}{name}"
            name = f"{BUILTIN}{name}" if base == name else base
            if row.table.base == "":
                break
        root = self._root(name, chain)
        if root is None and not chain:
            return None
        cli = root or Cli(preset=seen[0])
        for row in reversed(chain):
            cli = cli.overlaid(said_by(row))
        return cli

    def _root(self, name: str, chain: list[Row[ProviderTable]]) -> Cli | None:
        """The preset at the end of the chain; a base that nobody knows is said."""
        preset = PRESETS.get(name.removeprefix(BUILTIN))
        if preset is not None and not (chain and chain[-1].table.base == ""):
            return cli_of(preset)
        if chain and chain[-1].table.base and not self._may_miss:
            row, base = chain[-1], chain[-1].table.base
            remedy = self._problems.near_names(base.removeprefix(BUILTIN), self.names())
            what = "no such provider, so nothing is inherited"
            self._problems.add(row.where.warning(what, remedy, key="base", value=base))
        return None
