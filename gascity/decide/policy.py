"""Which keep-warm window a session asks for, who said so, and what its runtime lets it have.

Source: DESIGN §2, §7 (POL-01..30, CAP-27..33, R4, R7, R8, R62)
"""

from __future__ import annotations

from typing import Final

from gascity.model.city import Agent, City, NamedMode, SessionClass, Source, WakeMode
from gascity.model.duration import OFF, KeepWarm
from gascity.model.plan import Capability, CapabilityClass, Policy
from gascity.model.roster import Place

FRESH_DEFAULT: Final = "fresh-agent-default"
NAMED_ALWAYS: Final = "named-always"
NO_RESUME: Final = "no-resume"
DISABLED: Final = "capability-disabled"
CONTRACT: Final = "interactive-contract"
TIMED_ONLY_INHERITED: Final = "timed-only-inherited"
ZERO_WINDOW: Final = "zero-window-without-boundary"

INHERITED: Final = frozenset({Source.RIG_DEFAULT, Source.WORKSPACE_DEFAULT})


def requested_policy(agent: Agent, city: City) -> Policy:
    """The first layer that says anything, most specific first; nothing filtered yet.

    Source: DESIGN §2 (POL-01..18)
    """
    kind = agent.session_class
    rig = city.rigs.get(agent.rig)
    layers: tuple[tuple[Source, KeepWarm | None], ...] = (
        (agent.sleep_source, agent.sleep_after_idle),
        (Source.RIG_DEFAULT, rig.sleep.get(kind) if rig else None),
        (Source.WORKSPACE_DEFAULT, city.session_sleep.get(kind)),
        (Source.LEGACY_OFF, OFF),
    )
    for source, said in layers:
        if said is not None:
            return Policy(requested=said, effective=said, source=source, session_class=kind)
    raise AssertionError("the last layer always speaks")


def effective_policy(policy: Policy, place: Place, capability: Capability) -> Policy:
    """What the runtime and the safety contract leave of the request (POL-19..24).

    A downgrade changes only `effective` and adds an adjustment; request and source stay visible.
    """
    adjustment = _adjustment(policy, place, capability)
    off = adjustment and policy.requested is not OFF
    return Policy(
        requested=policy.requested,
        effective=OFF if off else policy.requested,
        source=policy.source,
        session_class=policy.session_class,
        adjustment=adjustment,
        warning="" if off else _warning(policy, capability),
    )


def _adjustment(policy: Policy, place: Place, capability: Capability) -> str:
    """The one word that says why the effective window is off, or ""."""
    inherited = policy.source in INHERITED
    if policy.requested is OFF:
        fresh = policy.session_class is SessionClass.INTERACTIVE_FRESH
        return FRESH_DEFAULT if fresh and inherited else ""
    if inherited and place.named is NamedMode.ALWAYS:
        return NAMED_ALWAYS
    if inherited and cannot_resume(place.agent):
        return NO_RESUME
    if capability.kind is CapabilityClass.DISABLED:
        return DISABLED
    if policy.session_class is SessionClass.NONINTERACTIVE:
        return ""
    if not meets_interactive_contract(capability):
        return CONTRACT
    if inherited and capability.kind is CapabilityClass.TIMED_ONLY:
        return TIMED_ONLY_INHERITED
    return ""


def _warning(policy: Policy, capability: Capability) -> str:
    """The risk that is allowed but must be visible (POL-21, VAL-11, R8)."""
    timed = capability.kind is CapabilityClass.TIMED_ONLY
    zero = policy.requested is not OFF and policy.requested.ns == 0
    return ZERO_WINDOW if timed and zero else ""


def meets_interactive_contract(capability: Capability) -> bool:
    """Attachment for sure, and a safe boundary or a structured question (CAP-27, CAP-28)."""
    safe = capability.has_idle_boundary or capability.has_pending_signal
    return capability.has_attachment_signal and safe


def cannot_resume(agent: Agent) -> bool:
    """Whether a stop would surely lose the conversation this agent is meant to keep (R62)."""
    wants = agent.wake_mode is WakeMode.RESUME
    return wants and agent.preset_known and not agent.resume.can_resume


def masked_by(agent: Agent, policy: Policy) -> str:
    """`idle_timeout:<duration>` when restart-on-idle acts first, else "" (COEX-05, R40)."""
    if agent.idle_timeout is None or policy.effective is OFF:
        return ""
    if agent.idle_timeout > policy.effective:
        return ""
    return f"idle_timeout:{agent.idle_timeout}"
