"""Names that must be told apart or found: sessions, named sessions' templates, dependencies.

Source: DESIGN §5, §9 (R4, R6b)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from typing import Final

from gascity.config.packs import NamedRow
from gascity.config.problems import Problems, Severity, at, shown
from gascity.config.rows import Row
from gascity.config.schema import NamedSessionTable
from gascity.model.city import Agent, NamedMode, NamedSession, Origin
from gascity.model.roster import session_name

Origins = Mapping[tuple[str, str], Origin]

_MOST_CIRCLES: Final = 20
_SLOT: Final = re.compile(r"(.+)-([1-9][0-9]{0,8})")
_SESSION: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")


def find_template(name: str, near: str, identities: Iterable[str], binding: str = "") -> str:
    """The identity a template name means, looked for beside `near` first; "" if there is none."""
    known = identities if isinstance(identities, Mapping) else set(identities)
    bound = f"{binding}.{name}" if binding else name
    for candidate in (f"{near}/{bound}", f"{near}/{name}", bound, name):
        if candidate in known and (near or candidate[0] != "/"):
            return candidate
    return ""


def named_sessions(
    rows: Iterable[NamedRow],
    agents: Mapping[str, Agent],
    problems: Problems,
    *,
    may_miss: bool,
) -> tuple[dict[str, tuple[NamedSession, Origin]], int]:
    """({identity: named session and its place}, how many lost their template to a missing pack)."""
    found: dict[str, tuple[NamedSession, Origin]] = {}
    lost = 0
    served: dict[int, bool] = {}
    for one in rows:
        template = find_template(one.row.table.template, one.rig, agents, one.binding)
        if one.may_miss:  # for every rig that has the template: no word unless none has
            template = template if template.startswith(f"{one.rig}/") else ""
            served[id(one.row)] = served.get(id(one.row), False) or bool(template)
        if template:
            _seat(one, template, found, problems)
        elif not one.may_miss:
            lost += _no_template(one.row, agents, problems, may_miss=may_miss)
    by_id = {id(one.row): one.row for one in rows}
    for key, is_served in served.items():
        if not is_served:
            lost += _no_template(by_id[key], agents, problems, may_miss=may_miss)
    return found, lost


def _no_template(
    row: Row[NamedSessionTable], agents: Mapping[str, Agent], problems: Problems, *, may_miss: bool
) -> int:
    """An error; if a missing pack may hold the template, 1 for one that is lost."""
    if not may_miss:
        remedy = problems.near_names(row.table.template, agents)
        what, value = "no agent has this name", row.table.template
        problems.add(row.where.error(what, remedy, key="template", value=value))
    return int(may_miss)


def _seat(
    one: NamedRow,
    template: str,
    found: dict[str, tuple[NamedSession, Origin]],
    problems: Problems,
) -> None:
    """Give a named session its identity, unless somebody has it."""
    table = one.row.table
    # A template written in full brings its rig along; a name never holds one.
    rig = one.rig or template.rpartition("/")[0]
    base = table.name or table.template.rpartition("/")[2]
    if one.binding and not base.startswith(f"{one.binding}."):
        base = f"{one.binding}.{base}"
    identity = f"{rig}/{base}" if rig else base
    origin, mode = one.row.where.origin("template"), table.mode
    for patch in one.patches:
        if patch.table.mode is not None:
            origin, mode = patch.where.origin("mode"), patch.table.mode
    if identity in found:
        first = found[identity][1]
        what = f'named session "{identity}" is also at {first}'
        problems.add(one.row.where.error(what, "give one of them another name", key="name"))
        return
    session = NamedSession(
        identity=identity, template=template, mode=NamedMode(mode or "on_demand")
    )
    found[identity] = (session, origin)


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
            bound = identity.rpartition("/")[2]
            binding = bound.removesuffix(f".{agent.name}") if bound != agent.name else ""
            target = find_template(name, agent.rig, agents, binding)
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
