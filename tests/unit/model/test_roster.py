"""Which sessions a city asks for, and what they are called."""

from __future__ import annotations

import pytest

from gascity.model.city import Agent, NamedMode, NamedSession, Rig
from gascity.model.roster import Place, fixed_places, is_suspended, session_name, slot_place
from gascity.testing.builders import a_city, agent, pooled


def test_names_hold_only_what_a_runtime_keeps() -> None:
    """`/` and `.` are written out, a slot adds its number (R6b, R45)."""
    assert session_name("rig/pack.name", 2) == "rig--pack__name-2"
    assert session_name("mayor") == "mayor"


def test_an_agent_with_named_sessions_has_those_and_no_other() -> None:
    """Named sessions replace the agent's own one; a pool keeps its slots apart (R4)."""
    named = (
        NamedSession(identity="boss", template="mayor", mode=NamedMode.ALWAYS),
        NamedSession(identity="aide", template="worker"),
        NamedSession(identity="lost", template="nobody"),
    )
    city = a_city(agent(), agent("clerk"), pooled(), named_sessions=named)
    places = fixed_places(city)
    assert set(places) == {"clerk", "boss", "aide"}
    assert places["boss"].named is NamedMode.ALWAYS
    assert slot_place(city.agents["worker"], 3).name == "worker-3"


def test_whoever_suspends_it_is_named() -> None:
    """City before rig before agent (R26)."""
    from dataclasses import replace

    rigs = {"r": Rig(name="r", suspended=True)}
    city = a_city(agent("r/a", suspended=True), agent("b", suspended=True), agent("c"), rigs=rigs)
    found = [is_suspended(city, one) for one in city.agents.values()]
    assert found == ["rig r", "agent", ""]
    assert is_suspended(replace(city, suspended=True), city.agents["c"]) == "workspace"


@pytest.mark.parametrize(
    ("runtime", "match", "name", "routed"),
    [
        ("tmux", "pod", "pod-1", "tmux"),
        ("auto", "", "mayor", "tmux"),
        ("hybrid", "pod", "town--pod-1", "k8s"),
        ("hybrid", "pod", "mayor", "tmux"),
        ("hybrid", "", "mayor", "tmux"),
        ("acp", "", "mayor", "acp"),
        ("exec:./x", "", "mayor", "exec:./x"),
    ],
)
def test_every_session_has_a_route_of_its_own(
    runtime: str, match: str, name: str, routed: str
) -> None:
    """`auto` and `hybrid` are choices made per session, never runtimes (CAP-08, CAP-23, R72)."""
    one = Agent(identity="a", name="a", runtime=runtime, remote_match=match)
    assert Place(name=name, template="a", agent=one).runtime == routed
