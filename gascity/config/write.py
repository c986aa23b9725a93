"""A composed city as TOML again: what is in force after every layer, for `gc config show`.

Loading the text gives the same city, and each sleep window comes out of the table that stamped it.

Source: DESIGN §2 (CFG-14)
"""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any, Final

import tomli_w

from gascity.config.providers import RESUME_KEYS
from gascity.model.city import Agent, City, NamedSession, Resume, Rig, Source
from gascity.model.screens import ScreenRules

HIDDEN: Final = "(hidden)"
_SECRET: Final = re.compile(
    r"TOKEN|SECRET|PASSW|CREDENTIAL|(^|_)(KEY|PAT|AUTH)($|_)", re.IGNORECASE
)


def effective_toml(city: City, *, hide_secrets: bool = False) -> str:
    """The city in force as TOML.

    Args:
        hide_secrets: Replace values of `env` whose names look like secrets; the text then no
            longer loads to the same city.
    """
    document: dict[str, Any] = {"workspace": {"name": city.name}}
    if city.suspended:
        document["workspace"]["suspended"] = True
    if city.session_sleep:
        document["session_sleep"] = _sleep(city.session_sleep)
    if city.screens:
        document["screens"] = {name: _screens(one) for name, one in city.screens.items()}
    document["daemon"] = _settings(city.daemon)
    document["session"] = _settings(city.session)
    document["events"] = _settings(city.events)
    if city.beads_provider:
        document["beads"] = {"provider": city.beads_provider}
    document["rigs"] = [_rig(rig, city) for rig in city.rigs.values()]
    document["agent"] = [_agent(agent, hide_secrets) for agent in city.agents.values()]
    document["named_session"] = [_named(named) for named in city.named_sessions]
    patches = [
        {
            "dir": agent.rig,
            "name": _bound(agent),
            "sleep_after_idle": _window(agent.sleep_after_idle),
        }
        for agent in city.agents.values()
        if _is_stamped(agent, Source.AGENT_PATCH)
    ]
    if patches:
        document["patches"] = {"agent": patches}
    text = tomli_w.dumps({key: value for key, value in document.items() if value})
    return f"# incomplete: packs are missing\n{text}" if city.incomplete else text


def _screens(own: ScreenRules) -> dict[str, Any]:
    """Rules about screens, each rule with what it sets."""
    rules = [
        {key: str(value) for key, value in asdict(rule).items() if value} for rule in own.rules
    ]
    lists = {"placeholders": list(own.placeholders), "ticking": list(own.ticking)}
    table = {"base": own.base, **lists, "rules": rules}
    return {key: value for key, value in table.items() if value}


def _sleep(windows: Any) -> dict[str, str]:
    """Class defaults, as written."""
    return {kind.value: _window(window) for kind, window in windows.items()}


def _window(window: Any) -> str:
    """A window as it was written; `str` would turn `1m` into `60s`."""
    return getattr(window, "text", "off")


def _settings(settings: Any) -> dict[str, Any]:
    """A settings table, empty texts left out."""
    found = {}
    for key in settings.__slots__:
        value = getattr(settings, key)
        value = getattr(value, "text", value)
        if value != "":
            found[key] = value
    return found


def _rig(rig: Rig, city: City) -> dict[str, Any]:
    """A rig, with the windows its overrides stamped."""
    table: dict[str, Any] = {"name": rig.name}
    if rig.path:
        table["path"] = rig.path
    if rig.suspended:
        table["suspended"] = True
    if rig.sleep:
        table["session_sleep"] = _sleep(rig.sleep)
    stamped = [
        {"agent": _bound(agent), "sleep_after_idle": _window(agent.sleep_after_idle)}
        for agent in city.agents.values()
        if agent.rig == rig.name and _is_stamped(agent, Source.RIG_OVERRIDE)
    ]
    if stamped:
        table["overrides"] = stamped
    return table


def _is_stamped(agent: Agent, source: Source) -> bool:
    """Whether this layer set the agent's window."""
    return agent.sleep_after_idle is not None and agent.sleep_source is source


def _bound(agent: Agent) -> str:
    """The name within its rig, under the binding of its pack."""
    return agent.identity.rpartition("/")[2]


def _agent(agent: Agent, hide_secrets: bool) -> dict[str, Any]:
    """An agent with everything it inherits from its CLI written out."""
    table: dict[str, Any] = {"name": _bound(agent)}
    if agent.rig:
        table["dir"] = agent.rig
    table |= {"attach": agent.attach, "wake_mode": agent.wake_mode.value}
    if _is_stamped(agent, Source.AGENT):
        table["sleep_after_idle"] = _window(agent.sleep_after_idle)
    if agent.idle_timeout is not None:
        table["idle_timeout"] = agent.idle_timeout.text
    if agent.suspended:
        table["suspended"] = True
    if agent.preset:
        table["provider"] = agent.preset
    cli: dict[str, Any] = {
        "start_command": agent.start_command,
        "args": list(agent.args),
        "ready_prompt_prefix": agent.ready_prompt_prefix,
        "ready_delay_ms": agent.ready_delay_ms,
        "process_names": list(agent.process_names),
        "screens": agent.screens,
    }
    resume = {key: getattr(agent.resume, name) for key, name in RESUME_KEYS.items()}
    if agent.preset_known or agent.resume != Resume():
        cli |= resume
    # What a preset brings along has to be said even where it is empty here.
    table |= {key: value for key, value in cli.items() if value or agent.preset_known}
    table |= {"work_dir": agent.work_dir, "session": agent.runtime}
    if agent.pool is not None:
        most = agent.pool.max
        table["min_active_sessions"] = agent.pool.min
        table["max_active_sessions"] = -1 if most is None else most
        if agent.pool.check:
            table["scale_check"] = agent.pool.check
    if agent.depends_on:
        table["depends_on"] = list(agent.depends_on)
    if agent.idle_probe:
        table["idle_probe"] = list(agent.idle_probe)
    texts = {"work_query": agent.work_query, "description": agent.description}
    table |= {key: value for key, value in texts.items() if value}
    if agent.env:
        table["env"] = {
            key: HIDDEN if hide_secrets and _SECRET.search(key) else value
            for key, value in agent.env.items()
        }
    return table


def _named(named: NamedSession) -> dict[str, Any]:
    """A named session with its template's identity in full."""
    rig, _, name = named.identity.rpartition("/")
    table = {"template": named.template, "name": name, "mode": named.mode.value}
    return {**table, "dir": rig} if rig else table
