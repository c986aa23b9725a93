"""Rules that need the whole city: promises a runtime cannot keep, windows that never come.

Each rule looks at one composed agent and yields at most one problem; nothing is ever run.

Source: DESIGN §W, §I (R7, R8, R40, R62)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from gascity.config.presets import PRESETS
from gascity.config.problems import Problem, Severity, at
from gascity.config.requested import INHERITED, requested
from gascity.model.city import Agent, City, NamedMode, Origin, SessionClass, Source, WakeMode
from gascity.model.duration import OFF, Duration

KEY: Final = "sleep_after_idle"
# Runtimes that are known, without asking them, to lack an attachment signal (R7) ...
_BLIND_TO_PEOPLE: Final = ("subprocess", "acp", "k8s", "exec:")
# ... and those that have an activity clock at most, and no safe boundary (R8).
_WITHOUT_BOUNDARY: Final = ("subprocess", "k8s", "exec:")


def check_city(city: City) -> Iterator[Problem]:
    """Every problem of the composed city, agent by agent."""
    for agent in city.agents.values():
        for rule in _RULES:
            problem = rule(city, agent)
            if problem is not None:
                yield problem
    yield from _named_always(city)
    yield from _folders_without_rig(city)


def _lost_contract(city: City, agent: Agent) -> Problem | None:
    """An explicit window of an interactive session on a runtime that sees no people (VAL-07)."""
    window, source = requested(city, agent)
    if window is OFF or source in INHERITED or not agent.attach:
        return None
    if not _is_one_of(agent.runtime, _BLIND_TO_PEOPLE):
        return None
    what = f"runtime {agent.runtime} cannot tell whether somebody is attached, so an interactive"
    remedy = 'write "off", or attach = false if nobody attaches, or session = "tmux"'
    return _say(city, agent, Severity.ERROR, f"{what} session never sleeps there", remedy)


def _fresh_sleeper(city: City, agent: Agent) -> Problem | None:
    """A window on an agent that starts anew each time (VAL-08)."""
    window, source = requested(city, agent)
    if window is OFF or source in INHERITED or agent.wake_mode is not WakeMode.FRESH:
        return None
    what = 'wake_mode = "fresh": each sleep ends the conversation for good'
    return _say(city, agent, Severity.WARNING, what, 'write "off" if that would lose context')


def _masked(city: City, agent: Agent) -> Problem | None:
    """Both idle knobs on one agent; names the one that acts first (VAL-12, COEX-04)."""
    window, source = requested(city, agent)
    limit = agent.idle_timeout
    if not isinstance(window, Duration) or limit is None:
        return None
    masks = limit <= window
    if source in INHERITED and not masks:
        return None
    if masks:
        what = f"idle_timeout {limit} restarts it before it has been idle for {window} to sleep"
        remedy = "drop idle_timeout, or make it longer than the sleep window"
    else:
        what = f"sleeps after {window}, before idle_timeout {limit} restarts it"
        remedy = "idle_timeout acts only while something keeps it from sleeping"
    return _say(city, agent, Severity.WARNING, what, remedy, key="idle_timeout")


def _zero_without_boundary(city: City, agent: Agent) -> Problem | None:
    """A zero window where only a clock guards the work (VAL-11, R8)."""
    window, _ = requested(city, agent)
    if agent.attach or not isinstance(window, Duration) or window.ns or agent.idle_probe:
        return None
    if not _is_one_of(agent.runtime, _WITHOUT_BOUNDARY):
        return None
    what = f"zero-window-without-boundary: runtime {agent.runtime} shows no safe moment to stop"
    remedy = 'a pause in its output would end it; write a window such as "30s"'
    return _say(city, agent, Severity.WARNING, what, remedy)


def _lost_conversation(city: City, agent: Agent) -> Problem | None:
    """A window on an agent whose conversation would surely, or may, not come back (R62)."""
    window, source = requested(city, agent)
    if window is OFF or agent.wake_mode is not WakeMode.RESUME or agent.resume.can_resume:
        return None
    if agent.runtime == "acp":
        return None  # the protocol loads it again
    if agent.preset_known:
        if source in INHERITED:
            return None
        preset = PRESETS.get(agent.preset)
        why = f": {preset.why_no_resume}" if preset and preset.why_no_resume else ""
        what = f"{agent.preset} cannot resume a conversation{why}; each wake starts a new one"
        remedy = 'write "off", or resume_command if you know how'
        return _say(city, agent, Severity.WARNING, what, remedy)
    if agent.session_class is SessionClass.INTERACTIVE_RESUME and agent.start_command:
        what = "it is not known how this command resumes, so a wake may start a new conversation"
        remedy = "write resume_flag or resume_command if it can"
        return _say(city, agent, Severity.WARNING, what, remedy, key="start_command")
    return None


def _named_always(city: City) -> Iterator[Problem]:
    """An `always` session that only inherits a window stays up (R4)."""
    for named in city.named_sessions:
        agent = city.agents[named.template]
        window, source = requested(city, agent)
        if named.mode is NamedMode.ALWAYS and window is not OFF and source in INHERITED:
            layer = "rig" if source is Source.RIG_DEFAULT else "workspace"
            what = f'named-always: "{named.identity}" stays up; the {layer} default is off for it'
            remedy = "set sleep_after_idle on its agent if it should go cold"
            origin = city.origin(named.identity, "named.mode") or _place(city, agent, "name")
            yield at(origin, Severity.WARNING, what, remedy, key="mode")


def _folders_without_rig(city: City) -> Iterator[Problem]:
    """A `dir` that looks like the name of a rig there is none of."""
    told: set[str] = set()
    for agent in city.agents.values():
        unknown = agent.rig and agent.rig not in city.rigs and "/" not in agent.rig
        if unknown and city.rigs and agent.rig not in told and not city.incomplete:
            told.add(agent.rig)
            what = f'there is no rig "{agent.rig}", so no rig default reaches its agents'
            origin = _place(city, agent, "dir")
            yield at(origin, Severity.WARNING, what, "add it, or correct dir", key="dir")


_RULES: Final[tuple[Callable[[City, Agent], Problem | None], ...]] = (
    _lost_contract,
    _fresh_sleeper,
    _masked,
    _zero_without_boundary,
    _lost_conversation,
)


def _is_one_of(runtime: str, kinds: tuple[str, ...]) -> bool:
    return any(runtime == kind or (kind[-1] == ":" and runtime.startswith(kind)) for kind in kinds)


def _say(
    city: City, agent: Agent, severity: Severity, what: str, remedy: str, *, key: str = KEY
) -> Problem:
    """A problem placed at the key of the agent, or at the default it inherits."""
    window, source = requested(city, agent)
    origin, value = _place(city, agent, key), ""
    if key == KEY:
        value = f'"{window}"'
        if source in INHERITED:
            what = f"{what} (agent {agent.identity}, source {source.value})"
            owner = agent.rig if source is Source.RIG_DEFAULT else ""
            key = agent.session_class.value
            origin = city.origin(owner, f"session_sleep.{key}") or origin
    elif key == "idle_timeout":
        value = f'"{agent.idle_timeout}"'
    return at(origin, severity, what, remedy, key=key, value=value)


def _place(city: City, agent: Agent, key: str) -> Origin:
    """Where a key of an agent was written, else where the agent stands."""
    return (
        city.origin(agent.identity, key)
        or city.origin(agent.identity, "name")
        or Origin("city.toml", f"[[agent]] {agent.identity}")
    )
