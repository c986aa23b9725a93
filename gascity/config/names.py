"""Names that must be told apart or found: sessions, named sessions' templates, dependencies.

Source: DESIGN §5, §9 (R4, R6b)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from typing import Final

from gascity.config.problems import Problems, Severity, at, shown
from gascity.config.rows import Row
from gascity.config.schema import NamedSessionTable
from gascity.model.city import Agent, NamedMode, NamedSession, Origin
from gascity.model.roster import session_name

Origins = Mapping[tuple[str, str], Origin]

_MOST_CIRCLES: Final = 20
_SLOT: Final = re.compile(r"(.+)-([1-9][0-9]{0,8})")
_SESSION: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")


def find_template(name: str, near: str, identities: Iterable[str]) -> str:
    """The identity a template name means, looked for beside `near` first; "" if there is none."""
    known = identities if isinstance(identities, Mapping) else set(identities)
    for candidate in (f"{near}/{name}" if near else name, name):
        if candidate in known:
            return candidate
    return ""


def named_sessions(
    rows: Iterable[Row[NamedSessionTable]],
    agents: Mapping[str, Agent],
    problems: Problems,
    *,
    may_miss: bool,
) -> tuple[dict[str, tuple[NamedSession, Origin]], int]:
    """({identity: named session and its place}, how many lost their template to a missing pack)."""
    found: dict[str, tuple[NamedSession, Origin]] = {}
    lost = 0
    for row in rows:
        table, rig = row.table, row.table.dir.rstrip("/")
        template = find_template(table.template, rig, agents)
        if not template:
            lost += may_miss
            if not may_miss:
                remedy = problems.near_names(table.template, agents)
                what = "no agent has this name"
                problem = row.where.error(what, remedy, key="template", value=table.template)
                problems.add(problem)
            continue
        # A template written in full brings its rig along; a name never holds one.
        rig = rig or template.rpartition("/")[0]
        base = table.name or table.template.rpartition("/")[2]
        identity = f"{rig}/{base}" if rig else base
        origin = row.where.origin("template")
        if identity in found:
            first = found[identity][1]
            what = f'named session "{identity}" is also at {first}'
            problems.add(row.where.error(what, "give one of them another name", key="name"))
            continue
        mode = NamedMode(table.mode or "on_demand")
        found[identity] = (NamedSession(identity=identity, template=template, mode=mode), origin)
    return found, lost


def check_session_names(
    agents: Mapping[str, Agent],
    named: Mapping[str, tuple[NamedSession, Origin]],
    origins: Origins,
    problems: Problems,
) -> None:
    """Refuse two sessions that would come out under one name, pool slots included (surface)."""
    templates = {one.template for one, _ in named.values()}
    taken: dict[str, tuple[str, Origin]] = {}
    bases: dict[str, tuple[Agent, Origin]] = {}
    for identity, agent in agents.items():
        origin = origins[identity, "name"]
        name = session_name(identity)
        if not _SESSION.fullmatch(name):
            what = f'a session may not be called "{name[:80]}"'
            remedy = 'use letters, digits, "_" and "-" in its name and dir, not "-" first'
            problems.add(at(origin, Severity.ERROR, what, remedy, key="name"))
        elif agent.pool is not None:
            if name in bases:
                _collision(name + "-1", bases[name], (f'pool "{identity}"', origin), problems)
            bases.setdefault(name, (agent, origin))
        elif identity not in templates:
            _claim(name, f'agent "{identity}"', origin, taken, problems)
    for identity, (_, origin) in named.items():
        _claim(session_name(identity), f'named session "{identity}"', origin, taken, problems)
    for name, holder in taken.items():
        match = _SLOT.fullmatch(name)
        if match and match[1] in bases:
            pool, _ = bases[match[1]]
            most = pool.pool.max if pool.pool else 0
            if most is None or int(match[2]) <= most:
                _collision(name, bases[match[1]], holder, problems)


def _claim(
    name: str, holder: str, origin: Origin, taken: dict[str, tuple[str, Origin]], problems: Problems
) -> None:
    """Give a session name to its holder, unless somebody has it."""
    if name in taken:
        _collision(name, taken[name], (holder, origin), problems)
    else:
        taken[name] = (holder, origin)


def _collision(
    name: str,
    first: tuple[str | Agent, Origin],
    second: tuple[str, Origin],
    problems: Problems,
) -> None:
    """One error that names both."""
    holder = first[0]
    if isinstance(holder, Agent):
        holder = f'a slot of the pool "{holder.identity}"'
    what = f'{second[0]} and {holder} (at {first[1]}) would both be session "{name}"'
    problems.add(at(second[1], Severity.ERROR, what, "rename one of them", key="name"))


def resolve_dependencies(
    agents: dict[str, Agent], origins: Origins, problems: Problems, *, may_miss: bool
) -> tuple[dict[str, Agent], int]:
    """(the agents with `depends_on` as identities, how many names a missing pack took along)."""
    resolved: dict[str, Agent] = {}
    lost = 0
    for identity, agent in agents.items():
        wanted = []
        for name in agent.depends_on:
            origin = origins.get((identity, "depends_on"), origins[identity, "name"])
            target = find_template(name, agent.rig, agents)
            what, remedy = "", ""
            if target == identity:
                what, remedy = "depends on itself", "drop it"
            elif not target and may_miss:
                lost += 1
            elif not target:
                what, remedy = "no agent has this name", problems.near_names(name, agents)
            else:
                wanted.append(target)
            if what:
                value = shown(name)
                problem = at(origin, Severity.ERROR, what, remedy, key="depends_on", value=value)
                problems.add(problem)
        resolved[identity] = replace(agent, depends_on=tuple(dict.fromkeys(wanted)))
    _refuse_circles(resolved, origins, problems)
    return resolved, lost


def _refuse_circles(agents: Mapping[str, Agent], origins: Origins, problems: Problems) -> None:
    """One error for each circle of dependencies, with the circle printed."""
    edges = {identity: set(agent.depends_on) for identity, agent in agents.items()}
    for _ in range(_MOST_CIRCLES):
        try:
            TopologicalSorter(edges).prepare()
        except CycleError as fault:
            # graphlib lists each one before the one that needs it.
            circle: list[str] = list(reversed(fault.args[1]))
            origin = origins.get((circle[0], "depends_on"), origins[circle[0], "name"])
            what = f"a circle of dependencies: {' → '.join(circle)}"
            problems.add(at(origin, Severity.ERROR, what, "drop one of them", key="depends_on"))
            edges[circle[0]].discard(circle[1])
        else:
            return
