"""What a newly read city would change, before anything is changed.

Source: DESIGN §R (R6, R6a, R80)
"""

from __future__ import annotations

from dataclasses import dataclass

from gascity.config.requested import INHERITED, requested
from gascity.model.city import Agent, City, NamedMode, SessionClass, Source
from gascity.model.duration import OFF, KeepWarm
from gascity.model.roster import fixed_places, session_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the configuration asks of one session."""

    session_class: SessionClass
    window: KeepWarm
    source: Source

    def __str__(self) -> str:
        return f"{self.session_class.value} {self.window} ({self.source.value})"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChange:
    """A session whose class or requested window changes; `<base>-*` stands for a pool's slots."""

    session: str
    template: str
    before: Asked
    after: Asked

    @property
    def changes_window(self) -> bool:
        """Whether class or window differ; the source alone re-arms nobody."""
        return (self.before.session_class, self.before.window) != (
            self.after.session_class,
            self.after.window,
        )

    def __str__(self) -> str:
        return f"{self.session}: {self.before} -> {self.after}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reload:
    """The difference between two readings of a city.

    `refused` says why the new one may not be taken, "" if it may. `unseen` agents are missing from
    an incomplete reading, which proves nothing: they stay as they are (R6a).
    """

    refused: str = ""
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    changed: tuple[PolicyChange, ...] = ()


def compare(old: City, new: City) -> Reload:
    """What taking `new` for `old` would change."""
    if old.name != new.name:
        what = f'the workspace is called "{new.name}" now and "{old.name}" in the running city'
        return Reload(refused=f"{what}; restart the controller to rename it")
    gone = tuple(identity for identity in old.agents if identity not in new.agents)
    before, after = _asked(old), _asked(new)
    changed = [
        PolicyChange(session=name, template=after[name][0], before=before[name][1], after=asked)
        for name, (_, asked) in after.items()
        if name in before and before[name][1] != asked
    ]
    return Reload(
        added=tuple(identity for identity in new.agents if identity not in old.agents),
        removed=() if new.incomplete else gone,
        unseen=gone if new.incomplete else (),
        changed=tuple(changed),
    )


def _asked(city: City) -> dict[str, tuple[str, Asked]]:
    """{session name, or `<base>-*` of a pool: (template, what is asked of it)}."""
    result: dict[str, tuple[str, Asked]] = {}
    for place in fixed_places(city).values():
        asked = _of(city, place.agent, is_always=place.named is NamedMode.ALWAYS)
        result[place.name] = (place.template, asked)
    for agent in city.agents.values():
        if agent.pool is not None:
            name = f"{session_name(agent.identity)}-*"
            result[name] = (agent.identity, _of(city, agent, is_always=False))
    return result


def _of(city: City, agent: Agent, *, is_always: bool) -> Asked:
    """What is asked of a session; an inherited window is none for an `always` session (R4)."""
    window, source = requested(city, agent)
    if is_always and source in INHERITED:
        window = OFF
    return Asked(session_class=agent.session_class, window=window, source=source)
