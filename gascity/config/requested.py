"""Who says how long a session stays warm: every layer in order, the losing ones included.

`decide.policy` decides by the same order; a test holds the two together. This reader exists because
checks, `gc config explain` and a reload need the whole chain and have no runtime to ask.

Source: DESIGN §2 (POL-01..18)
"""

from __future__ import annotations

from gascity.model.city import Agent, City, Origin, SleepLayer, Source
from gascity.model.duration import OFF, KeepWarm


def sleep_chain(city: City, agent: Agent) -> list[SleepLayer]:
    """Every layer that could speak, most specific first; a value of None is a layer that is silent.

    The first that says a value wins; the last, `legacy_off`, always says `off`. An `unset` shows as
    a silent layer of its own and takes the layers below it in the agent's own stack with it.
    """
    kind = agent.session_class
    chain = list(reversed(agent.sleep_layers))
    rig = city.rigs.get(agent.rig)
    key = f"session_sleep.{kind.value}"
    if rig is not None:
        origin = city.origin(rig.name, key) or Origin("", f"[rigs.session_sleep] {rig.name}")
        chain.append(SleepLayer(Source.RIG_DEFAULT, rig.sleep.get(kind), origin))
    origin = city.origin("", key) or Origin("", "[session_sleep]")
    chain.append(SleepLayer(Source.WORKSPACE_DEFAULT, city.session_sleep.get(kind), origin))
    chain.append(SleepLayer(Source.LEGACY_OFF, OFF, Origin("", "nothing configured")))
    return chain


def requested(city: City, agent: Agent) -> tuple[KeepWarm, Source]:
    """The keep-warm window the configuration asks for, and the layer that says so."""
    if agent.sleep_after_idle is not None:
        return agent.sleep_after_idle, agent.sleep_source
    rig, kind = city.rigs.get(agent.rig), agent.session_class
    inherited = rig.sleep.get(kind) if rig else None
    if inherited is not None:
        return inherited, Source.RIG_DEFAULT
    default = city.session_sleep.get(kind)
    if default is not None:
        return default, Source.WORKSPACE_DEFAULT
    return OFF, Source.LEGACY_OFF


INHERITED = frozenset({Source.RIG_DEFAULT, Source.WORKSPACE_DEFAULT})
"""Sources that only offer a policy; an agent's own layers ask for one."""
