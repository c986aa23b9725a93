"""A picture without what must not leave the machine, about which everything is decided alike.

Values of environments, commands, tokens and conversation ids are replaced by keyed hashes: equal
values stay equal within one recording, and nobody can guess a value from its hash. So are hashes
that values went into: what a runtime was started with, the revision of the config. Drift shows
exactly where it showed. Words from screens and of people are left out.

Source: DESIGN §10 (R32), §13 (R78); REC-09
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from gascity.model.city import Agent, City
from gascity.model.drift import start_hash
from gascity.model.reading import Known
from gascity.model.session import Diagnostics, Session
from gascity.model.signals import Heard
from gascity.model.world import Memory, Pending, Probe, Sighting, World

_MARK: Final = "hash:"


@dataclass(slots=True)
class Mask:
    """Masks worlds under one secret key. Keeps the last city, which rarely changes."""

    key: bytes
    _of: City | None = None
    _city: City | None = None
    _starts: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def world(self, world: World) -> World:
        """The same picture, masked throughout."""
        city = self.city(world.city)
        return replace(
            world,
            city=city,
            sessions={key: self.session(one) for key, one in world.sessions.items()},
            sightings={key: self.sighting(one) for key, one in world.sightings.items()},
            memory=self.memory(world.memory),
        )

    def city(self, city: City) -> City:
        """The city without values, commands and the places where things were written."""
        if self._of is not city or self._city is None:
            agents = {key: self._agent(one) for key, one in city.agents.items()}
            revision = self.text(city.revision)
            masked = replace(city, agents=agents, origins={}, warnings=(), revision=revision)
            self._starts = {
                key: (start_hash(one, city), start_hash(agents[key], masked))
                for key, one in city.agents.items()
            }
            self._of, self._city = city, masked
        return self._city

    def session(self, session: Session) -> Session:
        """A record of the city that was masked last."""
        before, after = self._starts.get(session.template, ("", ""))
        drifted = session.started_hash != before
        return replace(
            session,
            instance_token=self.text(session.instance_token),
            open_turn=self.text(session.open_turn),
            heard_from=self.text(session.heard_from),
            session_key=self.text(session.session_key),
            started_hash=self.text(session.started_hash) if drifted else after,
            pins=tuple(replace(pin, reason="") for pin in session.pins),
            last_error=self.text(session.last_error),
            diagnostics=_without_words(session.diagnostics),
        )

    def sighting(self, seen: Sighting) -> Sighting:
        """What is seen, without what is written there."""
        pending = seen.pending
        if isinstance(pending, Known) and isinstance(pending.value, Pending):
            pending = Known(replace(pending.value, question=""))
        return replace(seen, token=self.text(seen.token), detail="", pending=pending)

    def memory(self, memory: Memory) -> Memory:
        """What the controller remembers, without tokens and words."""
        turns = {
            key: tuple(replace(one, token=self.text(one.token), what="", owner="") for one in turns)
            for key, turns in memory.turns.items()
        }
        probes = {key: _probe(one) for key, one in memory.probes.items()}
        heard = {key: self.heard(one) for key, one in memory.heard.items()}
        return replace(memory, turns=turns, probes=probes, heard=heard)

    def heard(self, heard: Heard) -> Heard:
        """What hooks said, without tokens and words."""
        work = tuple("" for _ in heard.work) if heard.work is not None else None
        bare = replace(heard, question="", source="", conversation="", work=work)
        return replace(bare, token=self.text(heard.token))

    def text(self, text: str) -> str:
        """A keyed hash in place of a text; nothing stays nothing."""
        if not text:
            return ""
        return _MARK + hmac.digest(self.key, text.encode("utf-8", "replace"), "sha256").hex()[:16]

    def _agent(self, agent: Agent) -> Agent:
        hidden: Callable[[str], str] = self.text
        pool = agent.pool
        return replace(
            agent,
            start_command=hidden(agent.start_command),
            args=tuple(map(hidden, agent.args)),
            env={key: hidden(value) for key, value in agent.env.items()},
            work_query=hidden(agent.work_query),
            idle_probe=tuple(hidden(word) for word in agent.idle_probe),
            description=hidden(agent.description),
            pool=replace(pool, check=hidden(pool.check)) if pool is not None else None,
            resume=replace(agent.resume, command=hidden(agent.resume.command)),
        )


def _without_words(told: Diagnostics) -> Diagnostics:
    return replace(told, snapshot="") if told.snapshot else told


def _probe(probe: Probe) -> Probe:
    return replace(probe, detail="")
