"""A fake city whose commands, work and workers a test moves by hand, in virtual time.

It is the product's controller over `gascity.testing`; what is added here is only what a test of
demand says often: route work to a pool, claim it, say what a pool's check or a work query prints.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from anyio.abc import TaskGroup

from gascity.beads.bead import IN_PROGRESS
from gascity.beads.store import Batch, Update
from gascity.beads.work import new_task
from gascity.model.city import City, DaemonSettings
from gascity.model.duration import Duration, seconds
from gascity.model.plan import Decision, Plan, PoolState
from gascity.model.reading import Known, Reading, Unclear
from gascity.report.status import status
from gascity.testing.city import FakeCity
from gascity.testing.records import a_city, headless, pooled

UNREAD = Unclear("no answer within 10s")


@dataclass(slots=True)
class Said:
    """What pool checks and work queries said last: {agent: reading}; a missing one has failed."""

    counts: dict[str, Reading[int]] = field(default_factory=dict)
    work: dict[str, Reading[bool]] = field(default_factory=dict)

    def ask(self, city: City, group: TaskGroup, sessions: object = None) -> None:
        """The answers are there already."""

    def desired(self, identity: str) -> Reading[int]:
        """The count a pool's check printed."""
        return self.counts.get(identity, UNREAD)

    def has_work(self, identity: str) -> Reading[bool]:
        """Whether a work query found work."""
        return self.work.get(identity, UNREAD)


class DemandCity(FakeCity):
    """A fake city with pools: `said` is what its commands answer, `foreign` why work is unread."""

    def __init__(self, config: City, *, foreign: str = "") -> None:
        self.said = Said()
        self.foreign = foreign
        super().__init__(config)

    def restart(self) -> None:
        """A fresh controller; commands go on saying what they said."""
        super().restart()
        self.ports.answers = self.said
        self.ports.foreign_demand = self.foreign
        self.controller._checks = self.said  # type: ignore[assignment]

    # -- deeds

    def sling(self, target: str, **over: Any) -> str:
        """Ready work for a pool or an agent; its id."""
        return self._write(new_task("job", routed_to=target, **over))

    def claim(self, bead_id: str, name: str) -> None:
        """The session takes it up."""
        self._apply(Batch(updates=(Update(id=bead_id, status=IN_PROGRESS, assignee=name),)))

    def count(self, pool: str, said: int | Unclear) -> None:
        """What the pool's check says from now on."""
        self.said.counts[pool] = Known(said) if isinstance(said, int) else said

    def finds(self, agent: str, *, work: bool) -> None:
        """What the agent's work query says from now on."""
        self.said.work[agent] = Known(work)

    def settle(self, ticks: int = 8) -> None:
        """Enough patrols, a second apart, for everything under way to end."""
        for _ in range(ticks):
            self.tick()
            self.clock.advance(1)

    # -- looks

    @property
    def plan(self) -> Plan:
        """The last plan."""
        found = self.controller.snapshot().plan
        assert found is not None
        return found

    def decision(self, name: str) -> Decision:
        """What the last patrol decided of a session."""
        return self.plan.decisions[self.session(name).id]

    def pool(self, template: str = "worker") -> PoolState:
        """The counts of a pool."""
        return next(one for one in self.plan.pools if one.template == template)

    def status(self) -> dict[str, Any]:
        """The object of `gc status --json`."""
        seen = self.controller.snapshot()
        return status(
            city=seen.city,
            sessions=seen.sessions,
            plan=seen.plan,
            controller={"pid": 1},
            warnings=seen.problems,
        )

    def names(self) -> list[str]:
        """Every session there is a record of."""
        found = (bead.metadata["session_name"] for bead in self.records().beads
                 if bead.type == "session" and bead.status != "closed")  # fmt: skip
        return sorted(found)

    def up(self) -> list[str]:
        """Every session that runs."""
        return sorted(self.host.running())

    def starts(self) -> int:
        """Runs begun so far, of all sessions."""
        return sum(one.starts for one in self.host.sessions.values())

    def told(self, *types: str) -> list[str]:
        """[session name] of each event of these types, oldest first."""
        return [event.subject for event in self.events(*types)]


def city_of(*agents: Any, daemon: DaemonSettings | None = None, **over: Any) -> City:
    """A city of these agents with the starter policy, one patrol a second."""
    settings = daemon or DaemonSettings(patrol_interval=seconds(1))
    return a_city(*agents, daemon=settings, **over)


def workers(*, min: int = 0, max: int | None = 3, check: str = "", **over: Any) -> City:
    """One pool, `worker`, whose slots sleep as soon as they are idle."""
    return city_of(pooled("worker", min=min, max=max, check=check, **over))


def chain(**over: Any) -> City:
    """c stands on b, b stands on a; each sleeps as soon as it is idle."""
    return city_of(
        headless("a"),
        headless("b", depends_on=("a",)),
        headless("c", depends_on=("b",)),
        **over,
    )


def daemon(**over: Any) -> DaemonSettings:
    """Settings with one patrol a second."""
    return DaemonSettings(**({"patrol_interval": seconds(1)} | over))


def with_pool(city: City, template: str = "worker", **over: Any) -> City:
    """The city with that pool's numbers changed."""
    agent = city.agents[template]
    assert agent.pool is not None
    changed = replace(agent, pool=replace(agent.pool, **over))
    return replace(city, agents={**city.agents, template: changed})


def hours(count: float) -> Duration:
    """A length of so many hours."""
    return seconds(count * 3600)
