"""Who is needed by whom: the upstream closure over `depends_on`, live and template-scoped.

Source: DESIGN §5 (DEP-01..10, R22)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

from gascity.model.city import Agent


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Why a template must have one session awake.

    `dependents` are the templates right below it that need it; `roots` are the sessions whose own
    hard wake started the propagation, as `<session>:<cause>`.
    """

    dependents: tuple[str, ...]
    roots: tuple[str, ...]


def needed_templates(
    roots: Mapping[str, Collection[str]], depends_on: Mapping[str, Sequence[str]]
) -> dict[str, Need]:
    """{template: need} for every transitive dependency of a root.

    Args:
        roots: {template with a hard-wake root: root labels}.
        depends_on: {template: templates it depends on}, acyclic; unknown names are skipped.

    Guarantees:
        A root is not needed by itself; it appears only when another root stands on it.
    """
    carried: dict[str, dict[str, None]] = {}
    dependents: dict[str, dict[str, None]] = {}
    for template in dependents_first(depends_on):
        below = dict.fromkeys(sorted(roots.get(template, ())))
        below.update(carried.get(template, {}))
        if not below:
            continue
        for dependency in depends_on[template]:
            if dependency in depends_on:
                carried.setdefault(dependency, {}).update(below)
                dependents.setdefault(dependency, {})[template] = None
    return {
        template: Need(
            dependents=tuple(sorted(dependents[template])), roots=tuple(sorted(carried[template]))
        )
        for template in carried
    }


def upstream_edges(
    roots: Collection[str], agents: Mapping[str, Agent]
) -> dict[str, tuple[str, ...]]:
    """{template: what it depends on} for the roots and all that is upstream of them.

    Costs the closure, not the city (R27).
    """
    found: dict[str, tuple[str, ...]] = {}
    queue = [name for name in roots if name in agents]
    while queue:
        name = queue.pop()
        if name not in found:
            found[name] = agents[name].depends_on
            queue.extend(needed for needed in found[name] if needed in agents)
    return found


def dependents_first(depends_on: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Every template, each one before the templates it depends on."""
    return tuple(reversed(dependencies_first(depends_on)))


def dependencies_first(depends_on: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Every template, each one after the templates it depends on (DEP-08)."""
    sorter = TopologicalSorter(
        {
            template: [name for name in needs if name in depends_on]
            for template, needs in depends_on.items()
        }
    )
    return tuple(sorter.static_order())


def related_templates(template: str, depends_on: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """The template with every template that depends on it at any level (R27).

    This is the whole neighbourhood whose hard wakes can keep a session of `template` awake.
    """
    below: dict[str, list[str]] = {}
    for name, needs in depends_on.items():
        for dependency in needs:
            below.setdefault(dependency, []).append(name)
    found: set[str] = set()
    queue = [template]
    while queue:
        name = queue.pop()
        if name not in found:
            found.add(name)
            queue.extend(below.get(name, ()))
    return frozenset(found)
