"""Pools, named sessions, names that collide, and dependencies."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gascity.model.city import NamedMode, NamedSession, Pool
from gascity.model.roster import fixed_places
from tests.unit.config.loading import Compose, Load

WINDOWS = '[session_sleep]\ninteractive_resume = "60s"\n'


@pytest.mark.parametrize(
    ("keys", "pool"),
    [
        ("", None),
        ("max_active_sessions = 1", None),
        ("max_active_sessions = 3", Pool(max=3)),
        ("max_active_sessions = 0", Pool(max=0)),
        ("max_active_sessions = -1", Pool()),
        ("min_active_sessions = 0", Pool()),
        ("min_active_sessions = 2", Pool(min=2)),
        ("min_active_sessions = 0\nmax_active_sessions = 1", Pool(max=1)),
        ('scale_check = "echo 1"', Pool(check="echo 1")),
        ('scale_check = ""', None),
        ('max_active_sessions = 1\nscale_check = "x"', Pool(max=1, check="x")),
        ('pool = { min = 1, max = 4, check = "n" }', Pool(min=1, max=4, check="n")),
        ("pool = { max = -1, on_boot = 'x' }", Pool()),
        ("pool = {}", Pool()),
        ("pool = { max = 4 }\nmax_active_sessions = 2", Pool(max=2)),
    ],
)
def test_which_agents_are_pools(compose: Compose, keys: str, pool: Pool | None) -> None:
    """`[agent.pool]`, a minimum, a check or a maximum other than one makes a pool (R4, R6a)."""
    assert compose(f'[[agent]]\nname = "a"\n{keys}\n').agents["a"].pool == pool


def test_an_override_can_make_a_pool_larger(compose: Compose) -> None:
    """Later layers set single keys of a pool (CFG-12, R4)."""
    city = compose(
        '[[rigs]]\nname = "r"\n[[rigs.overrides]]\nagent = "a"\nmax_active_sessions = 9\n'
        '[[rigs.overrides]]\nagent = "a"\npool = { min = 2 }\n'
        '[[agent]]\nname = "a"\ndir = "r"\nscale_check = "n"\n'
    )
    assert city.agents["r/a"].pool == Pool(min=2, max=9, check="n")


def test_a_minimum_above_the_maximum_is_an_error(load: Load) -> None:
    """Contradictory settings are refused at load (R5)."""
    [problem] = load(
        '[[agent]]\nname = "a"\nmin_active_sessions = 3\nmax_active_sessions = 2\n'
    ).errors
    assert "more than max_active_sessions" in problem.what


def test_named_sessions_stand_for_their_agent(compose: Compose) -> None:
    """An agent with named sessions has those and no other, unless it is a pool (R4)."""
    city = compose(
        '[[rigs]]\nname = "r"\n[[agent]]\nname = "m"\n[[agent]]\nname = "w"\ndir = "r"\n'
        '[[named_session]]\ntemplate = "m"\nmode = "always"\n'
        '[[named_session]]\ntemplate = "m"\nname = "night"\n'
        '[[named_session]]\ntemplate = "w"\ndir = "r"\nmode = ""\n'
        '[[named_session]]\ntemplate = "r/w"\nname = "two"\n'
    )
    assert city.named_sessions == (
        NamedSession(identity="m", template="m", mode=NamedMode.ALWAYS),
        NamedSession(identity="night", template="m", mode=NamedMode.ON_DEMAND),
        NamedSession(identity="r/w", template="r/w", mode=NamedMode.ON_DEMAND),
        NamedSession(identity="r/two", template="r/w", mode=NamedMode.ON_DEMAND),
    )
    assert list(fixed_places(city)) == ["m", "night", "r--w", "r--two"]


def test_an_always_session_that_inherits_a_window_is_a_warning(load: Load) -> None:
    """Inherited sleep is off for it, never a load error; its agent's own is honoured (R4)."""
    named = '[[named_session]]\ntemplate = "m"\nmode = "always"\n'
    agent = '[[agent]]\nname = "m"\nprovider = "claude"\n'
    [problem] = load(WINDOWS + agent + named).problems
    assert "named-always" in problem.what
    assert load(WINDOWS + agent + 'sleep_after_idle = "30s"\n' + named).problems == ()
    assert load(WINDOWS + agent + named.replace("always", "on_demand")).problems == ()
    assert load(agent + named).problems == ()


def test_a_named_session_needs_an_agent(load: Load) -> None:
    """A template that nobody defines is an error with near names (R4)."""
    [problem] = load('[[agent]]\nname = "mayor"\n[[named_session]]\ntemplate = "major"\n').errors
    assert (problem.key, problem.remedy) == ("template", 'did you mean "mayor"?')


@pytest.mark.parametrize(
    ("text", "both"),
    [
        pytest.param(
            '[[agent]]\nname = "worker-1"\n[[agent]]\nname = "worker"\nmax_active_sessions = 3\n',
            ('agent "worker-1"', 'a slot of the pool "worker"'),
            id="fixed beside slot",
        ),
        pytest.param(
            '[[agent]]\nname = "m"\n[[agent]]\nname = "worker"\nmin_active_sessions = 0\n'
            '[[named_session]]\ntemplate = "m"\nname = "worker-20"\n',
            ('named session "worker-20"', 'a slot of the pool "worker"'),
            id="named beside slot of an unlimited pool",
        ),
        pytest.param(
            '[[agent]]\nname = "b"\ndir = "a"\n[[agent]]\nname = "a--b"\n',
            ('agent "a/b"', 'agent "a--b"'),
            id="two fixed",
        ),
        pytest.param(
            '[[agent]]\nname = "a.b"\n[[agent]]\nname = "a__b"\n',
            ('agent "a.b"', 'agent "a__b"'),
            id="dots",
        ),
        pytest.param(
            '[[agent]]\nname = "m"\n[[agent]]\nname = "n"\n'
            '[[named_session]]\ntemplate = "m"\nname = "n"\n',
            ('agent "n"', 'named session "n"'),
            id="named beside fixed",
        ),
        pytest.param(
            '[[agent]]\nname = "b"\ndir = "a"\nmin_active_sessions = 1\n'
            '[[agent]]\nname = "a--b"\nmin_active_sessions = 1\n',
            ('pool "a/b"', 'pool "a--b"'),
            id="two pools",
        ),
    ],
)
def test_two_sessions_of_one_name_are_an_error_that_names_both(
    load: Load, text: str, both: tuple[str, str]
) -> None:
    """No two sessions ever share a runtime name, slots included (R6b)."""
    [problem] = load(text).errors
    assert all(name in problem.what for name in both)
    assert "city.toml:" in problem.what


@pytest.mark.parametrize(
    "text",
    [
        '[[agent]]\nname = "worker-4"\n[[agent]]\nname = "worker"\nmax_active_sessions = 3\n',
        '[[agent]]\nname = "worker-01"\n[[agent]]\nname = "worker"\nmax_active_sessions = 3\n',
        '[[agent]]\nname = "worker-0"\n[[agent]]\nname = "worker"\nmax_active_sessions = 3\n',
    ],
)
def test_names_beyond_the_last_slot_are_free(load: Load, text: str) -> None:
    """Only a slot that may exist is in the way (R6b)."""
    assert load(text).city is not None


@pytest.mark.parametrize("table", ["agent", "rigs"])
def test_a_name_given_twice_is_an_error_that_names_the_first(load: Load, table: str) -> None:
    """Agents and rigs are told apart by name (R6b)."""
    [problem] = load(f'[[{table}]]\nname = "a"\n[[{table}]]\nname = "a"\n').errors
    assert "is also at city.toml:2" in problem.what


@pytest.mark.parametrize("name", ["", "a b", "a/b", "-a", "ü", "a:b"])
def test_a_name_that_tmux_would_change_is_refused(load: Load, name: str) -> None:
    """Only letters, digits, `_`, `-` and the dots that become `__` (R6b)."""
    assert load(f'[[agent]]\nname = "{name}"\n').errors


def test_overrides_and_patches_need_a_target(load: Load) -> None:
    """One that matches no agent is an error listing near names (R3)."""
    result = load(
        '[[rigs]]\nname = "r"\n[[rigs.overrides]]\nagent = "wroker"\n'
        '[[rigs.patches]]\nagent = "mayor"\n[[agent]]\nname = "worker"\ndir = "r"\n'
        '[[agent]]\nname = "mayor"\n[[patches.agent]]\nname = "worker"\n'
        '[[patches.agent]]\nname = "mayro"\n'
    )
    remedies = [problem.remedy for problem in result.errors]
    assert len(remedies) == 4
    assert remedies[0] == 'did you mean "worker"?'
    assert "in no rig" in remedies[1]
    assert '"r/worker"' in remedies[2]
    assert remedies[3] == 'did you mean "mayor"?'


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('unset = ["sleep_after_idel"]', "unset lists no key of an agent"),
        (
            'unset = ["sleep_after_idle"]\nsleep_after_idle = "1s"',
            "sets sleep_after_idle and unsets",
        ),
        ('unset = "sleep_after_idle"', "must be an array"),
    ],
)
def test_unset_is_checked(load: Load, line: str, what: str) -> None:
    """A slip in `unset` would silently keep what it should take back (R2)."""
    problems = load(f'[[agent]]\nname = "a"\n[[patches.agent]]\nname = "a"\n{line}\n').errors
    assert [what in problem.what for problem in problems] == [True]


def test_dependencies_are_found_beside_the_agent_first(compose: Compose) -> None:
    """A bare name is looked for in the agent's own rig, then in the city (R6b)."""
    city = compose(
        '[[rigs]]\nname = "r"\n[[agent]]\nname = "db"\n[[agent]]\nname = "db"\ndir = "r"\n'
        '[[agent]]\nname = "log"\n'
        '[[agent]]\nname = "api"\ndir = "r"\ndepends_on = ["db", "log", "db"]\n'
    )
    assert city.agents["r/api"].depends_on == ("r/db", "log")


@pytest.mark.parametrize(
    ("wanted", "what"),
    [
        ({"a": ["a"]}, "depends on itself"),
        ({"a": ["zz"]}, "no agent has this name"),
        ({"a": ["b"], "b": ["a"]}, "a circle of dependencies: "),
        ({"a": ["b"], "b": ["c"], "c": ["a"]}, "a circle of dependencies: "),
    ],
)
def test_dependencies_that_cannot_be_are_errors(
    load: Load, wanted: dict[str, list[str]], what: str
) -> None:
    """Unknown, self and circles, with the circle printed in the order of need (R5)."""
    text = "".join(
        f'[[agent]]\nname = "{name}"\ndepends_on = {wanted.get(name, [])}\n' for name in "abc"
    )
    [problem] = load(text).errors
    assert problem.what.startswith(what)
    assert problem.key == "depends_on"
    if "circle" in what:
        circle = problem.what.removeprefix(what).split(" → ")
        assert circle[0] == circle[-1]
        assert all(after in wanted[before] for before, after in pairwise(circle))


def test_every_circle_is_reported(load: Load) -> None:
    """Two circles are two errors (R5)."""
    pairs = [("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")]
    result = load("".join(f'[[agent]]\nname = "{x}"\ndepends_on = ["{y}"]\n' for x, y in pairs))
    assert len(result.errors) == 2


def test_a_folder_that_is_no_rig_is_pointed_out(load: Load) -> None:
    """A slip in `dir` would leave the rig's windows without effect."""
    result = load(
        '[[rigs]]\nname = "app"\n[[agent]]\nname = "a"\ndir = "ap"\nprovider = "claude"\n'
    )
    assert [problem.key for problem in result.warnings] == ["dir"]
