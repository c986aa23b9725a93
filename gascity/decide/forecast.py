"""What a configuration would do to each session, before anything of it runs.

The same rules as a patrol's, over what is known without asking: the layers of the policy, what kind
of runtime hosts the agent, whether its conversation comes back, whether its work can be read.

Source: DESIGN §2, §7 (POL-01..30, R4, R7, R8, R40, R61, R62)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gascity.decide.capability import CLASS
from gascity.decide.policy import cannot_resume, effective_policy, masked_by, requested_policy
from gascity.model.city import Agent, City, WakeMode
from gascity.model.duration import OFF, Duration
from gascity.model.plan import Capability, CapabilityClass, Policy
from gascity.model.roster import Place, fixed_places, is_suspended, session_name, slot_place


class Verdict(StrEnum):
    """What becomes of a session once nobody needs it."""

    SLEEPS = "sleeps"  # after its window
    NEVER = "never"  # it stays warm
    HELD = "held"  # it does not run at all


NO_SLOTS: Final = "no-slots"
DEMAND: Final = "demand"
RESUME: Final = "resume"
RUNTIME: Final = "runtime"
IDLE_TIMEOUT: Final = "idle_timeout"

# (activity clock, idle boundary, pending signal, attachment signal) by the word of R72. What a
# script or a pod can tell is learned from its answers; until then the least is assumed.
_SIGNALS: Final[Mapping[str, tuple[bool, bool, bool, bool]]] = {
    "tmux": (True, True, True, True),
    "acp": (True, True, True, False),
    "subprocess": (True, False, False, False),
    "k8s": (True, False, False, False),
    "exec": (True, False, False, False),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """One session, or all slots of a pool (`<base>-*`), and what would become of it.

    `rule` is the layer or adjustment that decides, or what holds it; `blocks` are (kind, why) of
    what stands in the way today, whatever the policy says.
    """

    session: str
    agent: Agent
    verdict: Verdict
    rule: str
    policy: Policy
    capability: CapabilityClass
    blocks: tuple[tuple[str, str], ...] = ()

    @property
    def after(self) -> Duration | None:
        """The window after which it sleeps; None if it does not."""
        window = self.policy.effective
        return window if self.verdict is Verdict.SLEEPS and isinstance(window, Duration) else None


def forecast(
    city: City, *, foreign: str = "", measured: Mapping[str, CapabilityClass] | None = None
) -> tuple[Outlook, ...]:
    """The outlook of every session the configuration names, in file order.

    Args:
        foreign: Why the city's work cannot be read, or "" (R61).
        measured: {agent: what its runtime was seen to allow}, where it was ever seen.
    """
    seen = measured or {}
    return tuple(
        _outlook(city, name, place, foreign, seen.get(place.template))
        for name, place in _places(city)
    )


def _places(city: City) -> Iterator[tuple[str, Place]]:
    for place in fixed_places(city).values():
        yield place.name, place
    for agent in city.agents.values():
        if agent.pool is not None:
            yield f"{session_name(agent.identity)}-*", slot_place(agent, 1)


def _outlook(
    city: City, name: str, place: Place, foreign: str, measured: CapabilityClass | None
) -> Outlook:
    agent = place.agent
    capability = expected_capability(place.runtime, measured, probed=bool(agent.idle_probe))
    policy = effective_policy(requested_policy(agent, city), place, capability)
    held = is_suspended(city, agent)
    if held:
        verdict, rule = Verdict.HELD, held
    elif place.slot is not None and agent.pool is not None and agent.pool.max == 0:
        verdict, rule = Verdict.HELD, NO_SLOTS
    elif policy.effective is not OFF:
        verdict, rule = Verdict.SLEEPS, policy.source.value
    else:
        verdict, rule = Verdict.NEVER, policy.adjustment or policy.source.value
    blocks = () if verdict is Verdict.HELD else tuple(_blocks(place, policy, capability, foreign))
    return Outlook(
        session=name,
        agent=agent,
        verdict=verdict,
        rule=rule,
        policy=policy,
        capability=capability.kind,
        blocks=blocks,
    )


def expected_capability(
    runtime: str, measured: CapabilityClass | None = None, *, probed: bool = False
) -> Capability:
    """What a kind of runtime lets be known; an unknown kind allows nothing (R6c).

    `probed`: the agent's own `idle_probe` gives a boundary besides.
    """
    clock, boundary, pending, attached = _SIGNALS.get(runtime.partition(":")[0], (False,) * 4)
    boundary = boundary or probed
    if measured is not None:
        clock = measured is not CapabilityClass.DISABLED
        boundary = measured is CapabilityClass.FULL
    return Capability(
        kind=CLASS[clock, boundary],
        has_activity_clock=clock,
        has_idle_boundary=boundary,
        has_pending_signal=pending,
        has_attachment_signal=attached,
    )


def _blocks(
    place: Place, policy: Policy, capability: Capability, foreign: str
) -> Iterator[tuple[str, str]]:
    """What stands in the way of sleeping, or of sleeping well."""
    agent = place.agent
    if foreign and not agent.work_query:
        yield DEMAND, foreign
    if cannot_resume(agent):
        yield RESUME, f"{agent.preset} does not get a conversation back"
    elif _may_forget(agent):
        yield RESUME, "it is not known how its command gets a conversation back"
    if capability.kind is CapabilityClass.DISABLED:
        yield RUNTIME, f"{place.runtime} has no clock of activity"
    elif agent.attach and not capability.has_attachment_signal:
        yield RUNTIME, f"{place.runtime} cannot tell whether somebody is attached"
    elif capability.kind is CapabilityClass.TIMED_ONLY:
        yield RUNTIME, f"{place.runtime} shows no safe moment: only a clock guards the work"
    mask = masked_by(agent, policy)
    if mask:
        yield IDLE_TIMEOUT, f"{mask} restarts it first"


def _may_forget(agent: Agent) -> bool:
    """Whether people attach to a command of which nobody knows how it resumes."""
    wants = agent.attach and agent.wake_mode is WakeMode.RESUME and agent.runtime != "acp"
    return wants and not agent.preset_known and not agent.resume.can_resume
