"""The fast closure says what the slow, obvious definition says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from gascity.decide.dependencies import (
    dependencies_first,
    needed_templates,
    related_templates,
    upstream_edges,
)
from gascity.testing.builders import agent

NAMES = "abcdefg"


@st.composite
def dags(draw: st.DrawFn) -> dict[str, tuple[str, ...]]:
    """Acyclic `depends_on`: each name may depend on those before it, in any written order."""
    edges = {
        name: tuple(one for one in NAMES[:position] if draw(st.booleans()))
        for position, name in enumerate(NAMES)
    }
    return {name: edges[name] for name in draw(st.permutations(NAMES))}


def reaches(edges: dict[str, tuple[str, ...]], start: str, goal: str) -> bool:
    """Whether `goal` is a direct or transitive dependency of `start`: the definition itself."""
    return any(one == goal or reaches(edges, one, goal) for one in edges[start])


quick = hypothesis_settings(max_examples=60, deadline=None)


@quick
@given(dags(), st.sets(st.sampled_from(NAMES)))
def test_needed_is_what_some_root_reaches(
    edges: dict[str, tuple[str, ...]], roots: set[str]
) -> None:
    """Exactly the transitive dependencies of the roots, with the roots that reach them (DEP-01)."""
    needs = needed_templates({name: [f"{name}:work"] for name in roots}, edges)
    slow = {goal for goal in NAMES if any(reaches(edges, root, goal) for root in roots)}
    assert set(needs) == slow
    for goal, need in needs.items():
        assert set(need.roots) == {f"{root}:work" for root in roots if reaches(edges, root, goal)}
        below = {one for one in NAMES if goal in edges[one]}
        assert set(need.dependents) == below & (slow | roots)


@quick
@given(dags(), st.sets(st.sampled_from(NAMES)))
def test_reading_only_what_is_upstream_gives_the_same(
    edges: dict[str, tuple[str, ...]], roots: set[str]
) -> None:
    """The closure over the roots' own upstream is the closure over the city (R27)."""
    agents = {name: agent(name, depends_on=needs) for name, needs in edges.items()}
    labels = {name: [f"{name}:pin"] for name in roots}
    fast = needed_templates(labels, upstream_edges(labels, agents))
    whole = needed_templates(labels, edges)
    assert {name: set(need.roots) for name, need in fast.items()} == {
        name: set(need.roots) for name, need in whole.items()
    }


@quick
@given(dags(), st.sampled_from(NAMES))
def test_a_relook_needs_exactly_its_dependents(
    edges: dict[str, tuple[str, ...]], name: str
) -> None:
    """Nobody outside the neighbourhood can keep it awake (R27)."""
    slow = {one for one in NAMES if one == name or reaches(edges, one, name)}
    assert related_templates(name, edges) == slow


@quick
@given(dags())
def test_the_order_never_puts_a_dependent_first(edges: dict[str, tuple[str, ...]]) -> None:
    """Each template comes after all it depends on (DEP-08)."""
    order = dependencies_first(edges)
    assert sorted(order) == sorted(NAMES)
    for name, needs in edges.items():
        assert all(order.index(one) < order.index(name) for one in needs)
