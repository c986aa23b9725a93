"""One session judged by itself: capability, policy, fingerprint, window, blockers.

The tick and every re-look come through here, so they cannot disagree.

Source: DESIGN §X stage 1 and 5
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gascity.decide.capability import resolve_capability
from gascity.decide.fingerprint import Fingerprint, fingerprint
from gascity.decide.idle import Window, keep_warm_window, probe_blockers, solid_blockers
from gascity.decide.policy import effective_policy, masked_by, requested_policy
from gascity.decide.wake import config_wakes, latch_holds
from gascity.model.city import Agent, City
from gascity.model.duration import OFF
from gascity.model.plan import Blocker, Capability, HardWake, Policy
from gascity.model.reading import Reading, Unclear
from gascity.model.roster import Place, session_name, slot_place
from gascity.model.session import Session
from gascity.model.world import Support, Truth, World

_UNASKED: Final[Reading[Support]] = Unclear("not asked")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Everything one look says about one session, before any action is chosen."""

    place: Place
    capability: Capability
    policy: Policy
    fingerprint: Fingerprint
    window: Window
    latched: bool
    config: bool  # config presence is a reason to be awake now
    wakes: tuple[HardWake, ...]
    solid: tuple[Blocker, ...]  # what holds without a probe
    probed: tuple[Blocker, ...]  # what the latest probe adds
    masked_by: str

    @property
    def blockers(self) -> tuple[Blocker, ...]:
        """Every blocker, a word that both sides give only once."""
        names = {blocker.name for blocker in self.solid}
        return (*self.solid, *(b for b in self.probed if b.name not in names))

    @property
    def wake_names(self) -> frozenset[str]:
        """The words of the hard wakes that apply."""
        return frozenset(str(wake.cause) for wake in self.wakes)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it should be awake: hard wakes, then config."""
        hard = tuple(dict.fromkeys(str(wake.cause) for wake in self.wakes))
        return (*hard, "config") if self.config else hard


def place_of(session: Session, city: City) -> Place | None:
    """Where the config asks for this session now; None when it does not."""
    agent = city.agents.get(session.template)
    if agent is None:
        return None
    if session.slot is not None:
        return slot_place(agent, session.slot) if agent.pool is not None else None
    return fixed_place(session.name, agent, city)


def fixed_place(name: str, agent: Agent, city: City) -> Place | None:
    """The place of that name among the fixed and named sessions of one agent.

    Costs the named sessions, not the city (R27).
    """
    named = [one for one in city.named_sessions if one.template == agent.identity]
    for one in named:
        if session_name(one.identity) == name:
            return Place(name=name, template=agent.identity, agent=agent, named=one.mode)
    if named or agent.pool is not None or session_name(agent.identity) != name:
        return None
    return Place(name=name, template=agent.identity, agent=agent)


def judge(
    session: Session, world: World, wakes: Sequence[HardWake], place: Place | None = None
) -> Judged | None:
    """The judgement of one session, or None when the config no longer asks for it."""
    place = place or place_of(session, world.city)
    if place is None:
        return None
    seen = world.sighting(session.id)
    capability = resolve_capability(
        session,
        support=world.support.get(session.id, _UNASKED),
        sighting=seen,
        probe=world.memory.probes.get(session.id),
        runtime=place.runtime,
    )
    policy = effective_policy(requested_policy(place.agent, world.city), place, capability)
    print_ = fingerprint(place, policy, capability.kind)
    window = keep_warm_window(
        session, seen, policy, now=world.now, resumed_at=world.memory.resumed_at
    )
    latched = latch_holds(session, place, print_)
    probe = world.memory.probes.get(session.id)
    probed: list[Blocker] = []
    if policy.effective is not OFF and seen.truth is Truth.RUNNING and not window.is_open:
        probed = probe_blockers(seen, capability, probe, window.reference_at)
    return Judged(
        place=place,
        capability=capability,
        policy=policy,
        fingerprint=print_,
        window=window,
        latched=latched,
        config=config_wakes(session, seen, place, policy, latched=latched, open=window.is_open),
        wakes=tuple(wakes),
        solid=solid_blockers(
            session, world, wakes=wakes, policy=policy, capability=capability, window=window
        ),
        probed=tuple(probed),
        masked_by=masked_by(place.agent, policy),
    )
