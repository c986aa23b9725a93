"""How an agent's CLI is started: `provider` names followed through `base` to a preset we know.

Source: DESIGN §W (R62, R6c)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from gascity.config.presets import NO_RESUME, PRESETS, Preset
from gascity.config.problems import Problems, Where
from gascity.config.rows import Row
from gascity.config.schema import Table
from gascity.model.city import Origin, Resume

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
    acp_command: str = ""  # what speaks the Agent Client Protocol, "" for the command itself
    acp_args: tuple[str, ...] | None = None  # what makes it do so, None for the plain arguments
    resume: Resume = NO_RESUME
    places: Mapping[str, Origin] = field(default_factory=dict)

    def overlaid(self, said: Mapping[str, Any], where: Where | None = None) -> Cli:
        """The same with the settings that a table sets, and their places; environments merged."""
        changes: dict[str, Any] = {key: said[key] for key in _PLAIN if key in said}
        if not changes.get("command", "one"):
            del changes["command"]  # an empty command is one not said
        changes |= {key: tuple(said[key]) for key in _LISTS if key in said}
        if said.get("args_append"):
            changes["args"] = (*changes.get("args", self.args), *said["args_append"])
        if "env" in said or said.get("env_remove"):
            env = {**self.env, **said.get("env", {})}
            gone = frozenset(said.get("env_remove", ()))
            changes["env"] = {key: value for key, value in env.items() if key not in gone}
        resume = {RESUME_KEYS[key]: said[key] for key in RESUME_KEYS if key in said}
        if resume:
            resume["style"] = resume.get("style", self.resume.style) or "flag"
            changes["resume"] = replace(self.resume, **resume)
        if where is not None:
            changes["places"] = {**self.places, **{key: where.origin(key) for key in said}}
        return replace(self, **changes)

    def over_acp(self) -> Cli:
        """How it is started to be talked to over the protocol, which keeps its conversations."""
        return replace(
            self,
            is_known=False,
            command=self.acp_command or self.command,
            args=self.args if self.acp_args is None else self.acp_args,
            resume=NO_RESUME,
        )


_PLAIN: Final = ("command", "ready_prompt_prefix", "ready_delay_ms", "screens", "acp_command")
_LISTS: Final = ("args", "process_names", "acp_args")


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
        acp_command=preset.acp_command,
        acp_args=preset.acp_args,
        resume=preset.resume,
    )


def said_by(row: Row[Any]) -> dict[str, Any]:
    """{key: value} of the keys a row really sets."""
    table: Table = row.table
    return {key: getattr(table, key) for key in row.said()}


class Providers:
    """Looks up agent CLIs by name; what is wrong with a name is said once."""

    def __init__(
        self, rows: Mapping[str, Sequence[Row[Any]]], problems: Problems, *, may_miss: bool
    ) -> None:
        self._rows = rows  # {name: its table, then its patches}
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
        chain: list[Sequence[Row[Any]]] = []
        seen: list[str] = []
        while not name.startswith(BUILTIN) and name in self._rows:
            rows = self._rows[name]
            row = _with_base(rows)
            if name in seen:
                circle = " → ".join([*seen[seen.index(name) :], name])
                what = f"a circle of providers: {circle}"
                self._problems.add(row.where.error(what, 'base it on "builtin:NAME"', key="base"))
                return None
            seen.append(name)
            chain.append(rows)
            base = row.table.base if row.table.base is not None else f"{BUILTIN}{name}"
            name = f"{BUILTIN}{name}" if base == name else base
            if row.table.base == "":
                break
        root = self._root(name, _with_base(chain[-1]) if chain else None)
        if root is None and not chain:
            return None
        cli = root or Cli(preset=seen[0])
        for rows in reversed(chain):
            for row in rows:
                cli = cli.overlaid(said_by(row), row.where)
        return cli

    def _root(self, name: str, last: Row[Any] | None) -> Cli | None:
        """The preset at the end of the chain; a base that nobody knows is said."""
        base = last.table.base if last is not None else None
        preset = PRESETS.get(name.removeprefix(BUILTIN))
        if preset is not None and base != "":
            return cli_of(preset)
        if last is not None and base and not self._may_miss:
            remedy = self._problems.near_names(base.removeprefix(BUILTIN), self.names())
            what = "no such provider, so nothing is inherited"
            self._problems.add(last.where.warning(what, remedy, key="base", value=base))
        return None


def _with_base(rows: Sequence[Row[Any]]) -> Row[Any]:
    """The table that says what a provider builds on: the last that does, else its own."""
    return next((row for row in reversed(rows) if row.table.base is not None), rows[0])
