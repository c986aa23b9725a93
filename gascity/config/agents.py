"""From stacked values to a composed `Agent`: its command, folder, runtime, pool and policy.

Source: DESIGN §2 (R4, R62, R69, R72)
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from gascity.config.layers import Stack
from gascity.config.presets import preset_of
from gascity.config.problems import Problems, Severity, at, shown
from gascity.config.providers import Cli, Providers, cli_of
from gascity.config.rows import Values
from gascity.model.city import Agent, Origin, Pool, Rig, WakeMode

TMUX: Final = "tmux"
ACP: Final = "acp"
RUNTIMES: Final = ("tmux", "subprocess", "acp", "k8s", "auto", "hybrid")
EXEC: Final = "exec:"
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./:@%+=,-]*")
_VARIABLE: Final = re.compile(r"\{\{\s*\.?(\w*)\s*\}\}")


@dataclass(slots=True)
class Workshop:
    """What building any agent needs to know of its city."""

    city_name: str
    city_path: Path
    workspace: Values
    agent_defaults: Values
    runtime: str
    runtime_at: Origin | None
    remote_match: str
    rigs: Mapping[str, Rig]
    providers: Providers
    problems: Problems
    _told: set[str] = field(default_factory=set)

    def build(self, stack: Stack) -> tuple[Agent, dict[str, Origin]]:
        """The composed agent, and the place of each value it has; what is wrong is said."""
        values = stack.values
        cli = self._cli(stack)
        workspace_env = self.workspace["env"][0] if "env" in self.workspace else {}
        agent = Agent(
            identity=stack.identity,
            name=stack.name,
            rig=stack.rig,
            attach=values.get("attach", True),
            wake_mode=WakeMode(values.get("wake_mode") or "resume"),
            sleep_after_idle=values.get("sleep_after_idle"),
            sleep_source=stack.sleep_source,
            sleep_layers=tuple(stack.sleep_layers),
            idle_timeout=values.get("idle_timeout"),
            suspended=values.get("suspended", False),
            preset=cli.preset,
            preset_known=cli.is_known,
            start_command=cli.command,
            args=cli.args,
            env=MappingProxyType({**workspace_env, **cli.env}),
            work_dir=self._work_dir(stack),
            ready_prompt_prefix=cli.ready_prompt_prefix,
            ready_delay_ms=cli.ready_delay_ms,
            process_names=cli.process_names,
            screens=cli.screens,
            resume=cli.resume,
            runtime=self._runtime(stack),
            remote_match=self.remote_match,
            pool=self._pool(stack),
            depends_on=tuple(dict.fromkeys(values.get("depends_on", ()))),
            work_query=self._question(stack, "work_query"),
            idle_probe=tuple(values.get("idle_probe", ())),
            description=values.get("description", ""),
        )
        return agent, {**self._inherited(cli), **stack.origins}

    def _inherited(self, cli: Cli) -> dict[str, Origin]:
        """The places of what an agent has from its CLI and from the city."""
        found = {"session": self.runtime_at} if self.runtime_at else {}
        if "env" in self.workspace:
            found["env"] = self.workspace["env"][1].origin("env")
        skip = ("base", "name", "replace", "env_remove", "args_append")
        found |= {key: origin for key, origin in cli.places.items() if key not in skip}
        if "command" in found:
            found["start_command"] = found.pop("command")
        return found

    def _cli(self, stack: Stack) -> Cli:
        """How the agent is started: its own words first, then its provider's, then the city's."""
        values, command = stack.values, stack.values.get("start_command", "")
        name, origin = values.get("provider", ""), stack.origin("provider")
        places: dict[str, Origin] = {}
        if not name and not command:
            name, origin = self._default_provider(origin)
            places = {"provider": origin} if name else {}
        if not name and not command and "start_command" in self.workspace:
            command, where = self.workspace["start_command"]
            places["command"] = where.origin("start_command")
        found = self.providers.find(name) if name else None
        if name and found is None:
            found = Cli(preset=name)
            if not command:
                self._unknown_provider(name, origin)
        if found is None:
            preset = preset_of(command)
            found = cli_of(preset) if preset else Cli()
        own = {key: value for key, value in values.items() if key in Cli.__slots__}
        own |= {key: value for key, value in values.items() if key.startswith("resume_")}
        own |= {key: values[key] for key in ("session_id_flag", "transcript") if key in values}
        if command:
            own["command"] = command
            own.setdefault("args", ())
        kept = {key: at_ for key, at_ in found.places.items() if not (command and key in own)}
        cli = replace(found.overlaid(own), places={**kept, **places})
        runtime = values.get("session") or self.runtime
        if runtime == ACP:
            cli = (replace(cli, acp_command="", acp_args=None) if command else cli).over_acp()
        hosted = runtime.startswith(EXEC)
        if not (cli.command or hosted or name in self._told):
            what = "has no command, so it cannot be started"
            remedy = 'write start_command = "…" or provider = "claude"'
            self.problems.add(at(stack.origin("name"), Severity.WARNING, what, remedy))
        return cli

    def _default_provider(self, origin: Origin) -> tuple[str, Origin]:
        """The provider of `[agent_defaults]`, else of `[workspace]`, with its place."""
        for values in (self.agent_defaults, self.workspace):
            if "provider" in values and values["provider"][0]:
                name, where = values["provider"]
                return name, where.origin("provider")
        return "", origin

    def _unknown_provider(self, name: str, origin: Origin) -> None:
        """Say once that a provider is not known; its agents load and cannot be started (R6c)."""
        if name not in self._told:
            self._told.add(name)
            what = "an unknown provider; its agents load with idle sleep disabled"
            near = self.problems.near_names(name, self.providers.names())
            remedy = f"add [providers.{name}] with a command; {near}"
            self._warn(origin, what, remedy, key="provider", value=name)

    def _runtime(self, stack: Stack) -> str:
        """What hosts its sessions (R72); an unknown word loads and is warned about (R6c)."""
        runtime: str = stack.values.get("session") or self.runtime
        if stack.values.get("session") and not is_runtime(runtime):
            what = "an unknown runtime; its sessions load with idle sleep disabled"
            remedy = self.problems.near_names(runtime, [*RUNTIMES, f"{EXEC}SCRIPT"])
            self._warn(stack.origin("session"), what, remedy, key="session", value=runtime)
        return runtime

    def _pool(self, stack: Stack) -> Pool | None:
        """The pool the agent is, or None for one session of its own (R4)."""
        values = stack.values
        check = self._question(stack, "scale_check")
        least, most = values.get("min_active_sessions"), values.get("max_active_sessions")
        if "pool" not in values and not check and least is None and most in (None, 1):
            return None
        most = None if most in (None, -1) else most
        if most is not None and (least or 0) > most:
            what = f"min_active_sessions {least} is more than max_active_sessions {most}"
            origin = stack.origin("min_active_sessions")
            problem = at(
                origin, Severity.ERROR, what, "make max the larger", key="min_active_sessions"
            )
            self.problems.add(problem)
            most = least
        return Pool(min=least or 0, max=most, check=check)

    def _root(self, stack: Stack) -> str:
        """The folder of its rig, else the city's."""
        rig = self.rigs.get(stack.rig)
        root = rig.path if rig and rig.path else ""
        return root or (stack.rig if stack.rig.startswith("/") else str(self.city_path))

    def _words(self, stack: Stack) -> dict[str, str]:
        """What `{{.NAME}}` stands for in a folder or a command of this agent."""
        return {
            "Agent": stack.identity,
            "AgentBase": stack.name,
            "Rig": stack.rig,
            "RigRoot": self._root(stack),
            "CityRoot": str(self.city_path),
            "CityName": self.city_name,
        }

    def _work_dir(self, stack: Stack) -> str:
        """The absolute folder its sessions start in: its own, else its rig's, else the city's."""
        text = stack.values.get("work_dir", "")
        root, words = self._root(stack), self._words(stack)
        if not text:
            return root
        for name in _VARIABLE.findall(text):
            if name not in words:
                what = f"{{{{.{name}}}}} is no variable of a work_dir"
                remedy = "there are " + ", ".join(f"{{{{.{word}}}}}" for word in words)
                origin = stack.origin("work_dir")
                problem = at(
                    origin, Severity.ERROR, what, remedy, key="work_dir", value=shown(text)
                )
                self.problems.add(problem)
                return root
        return inside(self.city_path, _VARIABLE.sub(lambda match: words[match[1]], text))

    def _question(self, stack: Stack, key: str) -> str:
        """A command that is asked for work or slots, with its variables filled in.

        Without that it would ask for the work of `{{.Agent}}`, of which there never is any.
        """
        text: str = stack.values.get(key, "")
        if "{{" not in text:
            return text
        words = self._words(stack)
        words |= {"QualifiedName": stack.identity, "Name": stack.name, "City": self.city_name}
        unknown = [name for name in _VARIABLE.findall(text) if name not in words]
        if unknown:
            what = f"nobody fills in {{{{.{unknown[0]}}}}}, so the command is given as it stands"
            remedy = "there are " + ", ".join(f"{{{{.{word}}}}}" for word in words)
            self._warn(stack.origin(key), what, remedy, key=key, value=text)
        return _VARIABLE.sub(
            lambda match: _quoted(words[match[1]]) if match[1] in words else match[0], text
        )

    def _warn(self, origin: Origin, what: str, remedy: str, *, key: str, value: Any) -> None:
        problem = at(origin, Severity.WARNING, what, remedy, key=key, value=shown(value))
        self.problems.add(problem)


def _quoted(word: str) -> str:
    """A word for a shell: as it is where nothing in it means anything to one."""
    return word if _PLAIN.fullmatch(word) else shlex.quote(word)


def is_runtime(word: str) -> bool:
    """Whether a word of R72 names a runtime that exists."""
    return word in RUNTIMES or (word.startswith(EXEC) and len(word) > len(EXEC))


def inside(city: Path, text: str) -> str:
    """An absolute, normalised path: `~` is the home folder, a relative one is the city's."""
    if text == "~" or text.startswith("~/"):
        text = os.path.expanduser(text)  # noqa: PTH111 - Path.expanduser raises without a home
    return os.path.normpath(os.path.join(city, text))  # noqa: PTH118 - texts in, a text out
