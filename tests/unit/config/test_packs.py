"""Packs: what they bring, where it ends up, and what may change it afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from gascity.config.explain import explain
from gascity.config.load import load_city
from gascity.config.requested import requested
from gascity.config.write import effective_toml
from gascity.model.city import City, NamedMode, Source
from tests.unit.config.loading import Load

CREW = {
    "packs/crew/pack.toml": """
        [pack]
        name = "crew"
        schema = 2
        [[named_session]]
        template = "chief"
        scope = "city"
        mode = "always"
        [[named_session]]
        template = "guard"
        scope = "rig"
        """,
    "packs/crew/agents/chief/agent.toml": 'scope = "city"\nprovider = "claude"\n',
    "packs/crew/agents/guard/agent.toml": (
        'scope = "rig"\nprovider = "claude"\nsleep_after_idle = "5m"\n'
    ),
    "packs/crew/agents/hand/agent.toml": 'provider = "claude"\nmax_active_sessions = 3\n',
    "packs/crew/agents/_later/agent.toml": 'provider = "claude"\n',
}
IMPORT = '[imports.crew]\nsource = "packs/crew"\n'
RIGS = '[[rigs]]\nname = "app"\n[[rigs]]\nname = "web"\n'


def city_of(load: Load, text: str, files: dict[str, str] | None = None) -> City:
    """The city of these files, which must load."""
    result = load(text, files)
    assert result.city is not None, "\n".join(map(str, result.problems))
    return result.city


def test_scope_decides_whether_city_or_rigs_get_an_agent(load: Load) -> None:
    """City, rig or both; a pack of the city reaches every rig (R6b)."""
    city = city_of(load, IMPORT + RIGS, CREW)
    assert set(city.agents) == {
        "crew.chief", "crew.hand",
        "app/crew.guard", "app/crew.hand", "web/crew.guard", "web/crew.hand",
    }  # fmt: skip
    assert {one.identity: one.mode for one in city.named_sessions} == {
        "crew.chief": NamedMode.ALWAYS,
        "app/crew.guard": NamedMode.ON_DEMAND,
        "web/crew.guard": NamedMode.ON_DEMAND,
    }
    assert not city.incomplete


def test_a_rig_that_imports_it_itself_has_it_once(load: Load) -> None:
    """The same binding in a rig replaces what would reach it from the city (R6b)."""
    own = '[[rigs]]\nname = "app"\n[rigs.imports.crew]\nsource = "packs/crew"\n'
    mine = '[[rigs]]\nname = "app"\n[rigs.imports.mine]\nsource = "packs/crew"\n'
    assert set(city_of(load, IMPORT + own, CREW).agents) == {
        "crew.chief", "crew.hand", "app/crew.guard", "app/crew.hand"
    }  # fmt: skip
    both = set(city_of(load, IMPORT + mine, CREW).agents)
    assert {"app/mine.guard", "app/crew.guard"} <= both
    other = {"packs/other/pack.toml": '[pack]\nname = "o"\n[[agent]]\nname = "one"\n'}
    its_own = own.replace("packs/crew", "packs/other")
    agents = city_of(load, IMPORT + its_own, {**CREW, **other}).agents
    assert [one for one in agents if "/" in one] == ["app/crew.one"]


def test_what_a_rig_brings_for_the_city_is_taken_in_once(load: Load) -> None:
    """An agent for the city in a pack that only rigs import is not lost, nor doubled (R6b)."""
    rigs = "".join(
        f'[[rigs]]\nname = "{name}"\n[rigs.imports.crew]\nsource = "packs/crew"\n'
        for name in ("app", "web")
    )
    assert [one for one in city_of(load, rigs, CREW).agents if "/" not in one] == ["crew.chief"]


def test_the_older_includes_give_bare_names(load: Load) -> None:
    """`includes` of workspace and rig compose without a binding, each agent once (R6b)."""
    text = (
        '[workspace]\nincludes = ["packs/crew"]\n'
        '[[rigs]]\nname = "app"\nincludes = ["packs/crew"]\n'
    )
    city = city_of(load, text, CREW)
    assert set(city.agents) == {"chief", "hand", "app/guard", "app/hand"}
    assert {one.identity for one in city.named_sessions} == {"chief", "app/guard"}


def test_an_array_of_imports_means_the_citys_own(load: Load) -> None:
    """A rig that lists names is understood, and told that other tools refuse it (R6a)."""
    result = load(IMPORT + '[[rigs]]\nname = "app"\nimports = ["crew"]\n', CREW)
    assert result.city is not None
    assert "app/crew.guard" in result.city.agents
    assert ["other tools refuse" in problem.what for problem in result.warnings] == [True]


ROOT_PACK = '[pack]\nname = "c"\nschema = 2\n'


def test_a_pack_beside_the_city_is_its_base(load: Load) -> None:
    """Its agents, by table and by folder, providers and imports; the city's own win (R6a)."""
    files = {
        **CREW,
        "pack.toml": ROOT_PACK
        + '[[agent]]\nname = "a"\nprovider = "codex"\n[[agent]]\nname = "b"\nprovider = "codex"\n'
        + '[providers.mine]\nbase = "claude"\nargs = ["--one"]\n'
        + '[imports.crew]\nsource = "packs/nowhere"\n[[named_session]]\ntemplate = "p"\n'
        + '[[patches.agent]]\nname = "p"\nidle_timeout = "1h"\n'
        + '[agent_defaults]\nprovider = "mine"\n',
        "agents/p/prompt.md": "work\n",
        "agents/b/agent.toml": 'provider = "gemini"\n',
        "agents/notes/readme.txt": "",
    }
    result = load(IMPORT + '[[agent]]\nname = "a"\nprovider = "gemini"\n', files)
    city = result.city
    assert city is not None
    assert not city.incomplete
    presets = {name: city.agents[name].preset for name in ("a", "b", "p")}
    assert presets == {"a": "gemini", "b": "codex", "p": "claude"}
    assert city.agents["p"].args == ("--one",)
    assert str(city.agents["p"].idle_timeout) == "1h"
    assert [one.identity for one in city.named_sessions][-1] == "p"
    assert "crew.chief" in city.agents
    assert ["no agent" in problem.what for problem in result.warnings] == [True]


def test_agents_by_folder_need_a_pack(load: Load) -> None:
    """Without a `pack.toml` the folders are no agents, and that is said (R6a)."""
    result = load("[workspace]\n", {"agents/a/agent.toml": 'provider = "claude"\n'})
    assert result.city is not None
    assert not result.city.agents
    assert "beside a pack.toml" in result.warnings[0].what


def test_an_agent_of_the_city_for_rigs_runs_where_a_named_session_asks(load: Load) -> None:
    """`scope = "rig"` without `dir` is a template; a named session of rigs places it (R4)."""
    files = {
        "pack.toml": ROOT_PACK,
        "agents/lead/agent.toml": 'scope = "rig"\nprovider = "claude"\n',
        "agents/idle/agent.toml": 'scope = "rig"\nprovider = "claude"\n',
    }
    text = (
        RIGS + '[[named_session]]\ntemplate = "lead"\nscope = "rig"\n'
        '[[patches.agent]]\nname = "lead"\nidle_timeout = "1h"\n'
    )
    result = load(text, files)
    assert result.city is not None
    assert {name: str(one.idle_timeout) for name, one in result.city.agents.items()} == {
        "app/lead": "1h",
        "web/lead": "1h",
    }
    assert [problem.file for problem in result.warnings] == ["agents/idle/agent.toml"]


def test_a_named_session_for_rigs_is_in_those_that_have_its_agent(load: Load) -> None:
    """Rigs without the template are passed over; if none has it, that is an error (R4)."""
    rigs = '[[rigs]]\nname = "app"\n[rigs.imports.crew]\nsource = "packs/crew"\n'
    rigs += '[[rigs]]\nname = "web"\n'
    named = '[[named_session]]\ntemplate = "crew.hand"\nname = "chief"\nscope = "rig"\n'
    own = '[[agent]]\nname = "crew.hand"\nprovider = "claude"\n'
    city = city_of(load, rigs + named + own, CREW)
    assert "app/chief" in {one.identity for one in city.named_sessions}
    assert not [one for one in city.named_sessions if "web" in one.identity]
    [problem] = load(rigs + named.replace("hand", "nobody"), CREW).errors
    assert (problem.key, problem.value) == ("template", '"crew.nobody"')


def test_what_is_wrong_in_a_pack_is_said_once(load: Load) -> None:
    """However many rigs have the agent; both idle knobs name which acts first (R40)."""
    guard = "packs/crew/agents/guard/agent.toml"
    files = {**CREW, guard: CREW[guard] + 'idle_timeout = "1h"\n'}
    [problem] = load(IMPORT + RIGS, files).problems
    assert (problem.file, problem.key) == (guard, "idle_timeout")
    assert "sleeps after 5m, before idle_timeout 1h" in problem.what


def test_nested_packs_come_with_the_outer_name(load: Load) -> None:
    """The city's binding is what shows; `transitive` and `agents_exclude` take away (R6b)."""
    files = {
        **CREW,
        "packs/outer/pack.toml": '[pack]\nname = "outer"\nschema = 2\n'
        '[imports.inner]\nsource = "../crew"\n'
        '[[patches.agent]]\nname = "hand"\nmax_active_sessions = 9\n',
        "packs/outer/agents/own/agent.toml": 'provider = "claude"\n',
    }
    outer = '[imports.out]\nsource = "packs/outer"\n'
    city = city_of(load, outer, files)
    assert set(city.agents) == {"out.chief", "out.hand", "out.own"}
    pool = city.agents["out.hand"].pool
    assert pool is not None
    assert pool.max == 9
    assert set(city_of(load, outer + "transitive = false\n", files).agents) == {"out.own"}
    less = city_of(load, outer + 'agents_exclude = ["chief"]\n', files)
    assert set(less.agents) == {"out.hand", "out.own"}
    assert less.named_sessions == ()
    included = '[workspace]\nincludes = ["packs/outer"]\n'
    assert set(city_of(load, included, files).agents) == {"inner.chief", "inner.hand", "own"}


def test_a_fallback_gives_way(load: Load) -> None:
    """`fallback = true` stands back for another agent of its name; two others are an error."""
    files = {
        "one/pack.toml": '[pack]\nname = "one"\n[[agent]]\nname = "dog"\nfallback = true\n'
        'idle_timeout = "1h"\nprovider = "claude"\n',
        "two/pack.toml": '[pack]\nname = "two"\n[[agent]]\nname = "dog"\nidle_timeout = "2h"\n'
        'provider = "claude"\n',
        "three/pack.toml": '[pack]\nname = "three"\n[[agent]]\nname = "dog"\nprovider = "claude"\n',
    }
    for order in ('["one", "two"]', '["two", "one"]'):
        city = city_of(load, f"[workspace]\nincludes = {order}\n", files)
        assert str(city.agents["dog"].idle_timeout) == "2h"
    [problem] = load('[workspace]\nincludes = ["two", "three"]\n', files).errors
    assert problem.file == "three/pack.toml"
    assert "two/pack.toml" in problem.what


def test_later_layers_reach_agents_of_packs(load: Load) -> None:
    """Pack, then rig override, then patch, by bare name or with the binding (R3, POL-02)."""
    text = (
        IMPORT
        + '[[rigs]]\nname = "app"\n[[rigs.overrides]]\nagent = "guard"\nsleep_after_idle = "1m"\n'
        + '[[rigs.patches]]\nagent = "crew.guard"\nidle_timeout = "3h"\n'
        + '[[rigs]]\nname = "web"\n'
        + '[[patches.agent]]\ndir = "app"\nname = "guard"\nattach = false\n'
        + '[[patches.agent]]\ndir = "web"\nname = "crew.guard"\nsleep_after_idle = "off"\n'
        + '[[patches.agent]]\nname = "chief"\nsuspended = true\n'
    )
    city = city_of(load, text, CREW)
    guards = ("app/crew.guard", "web/crew.guard")
    found = {name: requested(city, city.agents[name]) for name in guards}
    asked = {name: (str(window), source) for name, (window, source) in found.items()}
    assert asked == {
        "app/crew.guard": ("60s", Source.RIG_OVERRIDE),
        "web/crew.guard": ("off", Source.AGENT_PATCH),
    }
    assert str(city.agents["app/crew.guard"].idle_timeout) == "3h"
    assert not city.agents["app/crew.guard"].attach
    assert city.agents["crew.chief"].suspended
    assert not city.agents["web/crew.hand"].suspended


def test_a_bare_name_of_two_packs_means_the_first_and_says_so(load: Load) -> None:
    """As other tools take it, with a warning that names both (R6b)."""
    text = (
        '[[rigs]]\nname = "app"\n[rigs.imports.a]\nsource = "packs/crew"\n'
        '[rigs.imports.b]\nsource = "packs/crew"\n'
        '[[rigs.overrides]]\nagent = "guard"\nsuspended = true\n'
    )
    result = load(text, CREW)
    assert result.city is not None
    assert result.city.agents["app/a.guard"].suspended
    assert not result.city.agents["app/b.guard"].suspended
    assert "a.guard and b.guard" in result.warnings[0].what


def test_patches_of_rigs_providers_and_named_sessions(load: Load) -> None:
    """The other three lists of `[patches]` find their targets or are errors (R3)."""
    text = (
        IMPORT + '[[rigs]]\nname = "app"\npath = "one"\n'
        '[providers.mine]\ncommand = "x"\nargs = ["1"]\nenv = { A = "1", B = "2" }\n'
        '[[agent]]\nname = "a"\nprovider = "mine"\n[[agent]]\nname = "b"\nprovider = "codex"\n'
        '[[patches.rigs]]\nname = "app"\nsuspended = true\npath = "two"\n'
        '[[patches.providers]]\nname = "mine"\nargs = ["2"]\nenv = { C = "3" }\n'
        'env_remove = ["A"]\n'
        '[[patches.providers]]\nname = "codex"\n_replace = true\ncommand = "y"\nbase = ""\n'
        '[[patches.named_session]]\ndir = "app"\ntemplate = "crew.guard"\nmode = "always"\n'
    )
    city = city_of(load, text, CREW)
    assert city.rigs["app"].suspended
    assert city.rigs["app"].path.endswith("/two")
    mine = city.agents["a"]
    assert (mine.start_command, mine.args, dict(mine.env)) == ("x", ("2",), {"B": "2", "C": "3"})
    assert city.agents["b"].start_command == "y"
    modes = {one.identity: one.mode for one in city.named_sessions}
    assert modes["app/crew.guard"] is NamedMode.ALWAYS
    wrong = (
        '[workspace]\n[[patches.rigs]]\nname = "ap"\n'
        '[[patches.named_session]]\ntemplate = "x"\nmode = "always"\n'
    )
    assert [problem.key for problem in load(wrong).errors] == ["name", "template"]


def test_this_machine_may_name_the_city_and_place_its_rigs(load: Load) -> None:
    """`.gc/site.toml` wins over the file; a rig it does not know is a warning (R6a)."""
    site = (
        'workspace_name = "here"\n[[rig]]\nname = "app"\npath = "/srv/app"\n[[rig]]\nname = "x"\n'
    )
    site += 'path = "/srv/x"\n'
    result = load('[workspace]\nname = "c"\n' + RIGS, {".gc/site.toml": site})
    city = result.city
    assert city is not None
    assert (city.name, city.rigs["app"].path) == ("here", "/srv/app")
    assert str(city.origin("app", "rig.path")) == ".gc/site.toml:4 [[rig]] app"
    assert [problem.value for problem in result.warnings] == ['"x"']


LET_GO = '[[patches.rigs]]\nname = "r"\nsuspended = false\n'


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("[workspace]\nsuspended = true\n", "city"),
        ('[workspace]\n[[rigs]]\nname = "r"\nsuspended = true\n', "rig"),
        ('[workspace]\n[[rigs]]\nname = "r"\nsuspended_on_start = true\n', "rig"),
        (
            '[workspace]\n[[rigs]]\nname = "r"\n[[patches.rigs]]\nname = "r"\nsuspended = true\n',
            "rig",
        ),
        ('[[rigs]]\nname = "r"\n[[agent]]\nname = "a"\ndir = "r"\nsuspended = true\n', "agent"),
        (f'[[rigs]]\nname = "r"\nsuspended = true\n{LET_GO}', ""),
    ],
)
def test_every_way_to_hold_is_understood(load: Load, text: str, held: str) -> None:
    """City, rig and agent, each by its own key, by a patch, or at start (R26)."""
    city = city_of(load, text)
    found = {
        "city": city.suspended,
        "rig": any(rig.suspended for rig in city.rigs.values()),
        "agent": any(agent.suspended for agent in city.agents.values()),
    }
    assert [name for name, holds in found.items() if holds] == ([held] if held else [])


def test_the_environment_may_hold_the_city(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    """`GC_SUSPENDED=1` counts as `suspended = true`, and is named as the reason (R26)."""
    monkeypatch.setenv("GC_SUSPENDED", "1")
    city = city_of(load, "[workspace]\n")
    assert city.suspended
    assert "GC_SUSPENDED" in str(city.origin("", "workspace.suspended"))


def test_a_fragment_does_not_hold_the_city_or_import(load: Load) -> None:
    """What other tools do not take from an included file has no effect, and is said (R6a)."""
    fragment = '[workspace]\nsuspended = true\nincludes = ["packs/crew"]\n' + IMPORT
    result = load('include = ["f.toml"]\n[workspace]\n', {**CREW, "f.toml": fragment})
    assert result.city is not None
    assert not result.city.suspended
    assert set(result.city.agents) == {"chief", "hand"}
    assert sorted(problem.key for problem in result.warnings) == ["imports", "suspended"]


def test_a_pack_adds_providers_and_a_default_one(load: Load) -> None:
    """The city's own provider of a name wins; the first of two packs is kept (R62)."""
    files = {
        "one/pack.toml": '[pack]\nname = "one"\n[providers.p]\ncommand = "one"\n'
        '[agent_defaults]\nprovider = "p"\n[[agent]]\nname = "a"\n',
        "two/pack.toml": '[pack]\nname = "two"\n[providers.p]\ncommand = "two"\n'
        '[[agent]]\nname = "b"\nprovider = "p"\n',
    }
    text = '[imports.one]\nsource = "one"\n[imports.two]\nsource = "two"\n'
    city = city_of(load, text, files)
    assert {name: one.start_command for name, one in city.agents.items()} == {
        "one.a": "one",
        "two.b": "one",
    }
    city = city_of(load, text + '[providers.p]\ncommand = "own"\n', files)
    assert city.agents["two.b"].start_command == "own"


def test_dependencies_inside_a_pack_stay_inside_it(load: Load) -> None:
    """A bare name is looked for beside the agent, under the same binding, first (R6b)."""
    files = {
        "p/pack.toml": '[pack]\nname = "p"\n[[agent]]\nname = "db"\nprovider = "claude"\n'
        '[[agent]]\nname = "api"\nprovider = "claude"\ndepends_on = ["db"]\n',
    }
    text = '[imports.p]\nsource = "p"\n[[agent]]\nname = "db"\nprovider = "claude"\n'
    city = city_of(load, text + '[[rigs]]\nname = "r"\n', files)
    assert city.agents["p.api"].depends_on == ("p.db",)
    assert city.agents["r/p.api"].depends_on == ("r/p.db",)


def test_an_agent_of_a_pack_can_tell_where_it_is_from(load: Load) -> None:
    """File and line of every layer, and the way from the import to the pack (CFG-15, POL-02)."""
    text = IMPORT + '[[rigs]]\nname = "app"\n[rigs.session_sleep]\ninteractive_resume = "9m"\n'
    found = explain(city_of(load, text, CREW), "app/crew.guard")
    assert found is not None
    assert found.via == (
        "city.toml:2 [imports.crew]",
        "packs/crew/pack.toml:3 [pack] crew",
    )
    [winner] = [layer for layer in found.layers if layer.wins]
    assert (winner.file, winner.line) == ("packs/crew/agents/guard/agent.toml", 3)
    assert "from city.toml:2 [imports.crew] > packs/crew/pack.toml:3" in found.lines()[1]


def test_every_effective_value_has_a_file_and_a_line(load: Load) -> None:
    """Each key that a pack, override or patch sets is noted where it stands (CFG-15)."""
    text = IMPORT + (
        '[[rigs]]\nname = "app"\n[[rigs.overrides]]\nagent = "hand"\nmin_active_sessions = 1\n'
    )
    city = city_of(load, text, CREW)
    keys = ("provider", "max_active_sessions", "min_active_sessions")
    assert [str(city.origin("app/crew.hand", key)) for key in keys] == [
        "packs/crew/agents/hand/agent.toml:1 agent hand",
        "packs/crew/agents/hand/agent.toml:2 agent hand",
        "city.toml:7 [[rigs.overrides]] hand",
    ]


def test_a_composed_city_written_out_loads_to_the_same(load: Load, tmp_path: Path) -> None:
    """`gc config show` of a city with packs is a city of one file (CFG-14)."""
    city = city_of(load, IMPORT + RIGS, CREW)
    (tmp_path / "city.toml").write_text(effective_toml(city), encoding="utf-8")
    again = load_city(tmp_path).city
    assert again is not None
    assert list(again.agents) == list(city.agents)
    assert again.named_sessions == city.named_sessions


def test_an_absolute_folder_makes_no_name_like_an_option(load: Load) -> None:
    """An agent may stand in a folder by path; its sessions do not begin with a dash (R45)."""
    text = '[[agent]]\nname = "a"\ndir = "/srv/x"\nprovider = "claude"\n'
    city = city_of(load, text + '[[patches.agent]]\ndir = "/srv/x"\nname = "a"\nsuspended = true\n')
    assert city.agents["/srv/x/a"].suspended


def test_what_is_kept_for_other_tools_is_counted(load: Load) -> None:
    """Keys of theirs are no problem, and nobody has to guess which are not read (R5)."""
    files = {
        "pack.toml": ROOT_PACK + '[global]\nsession_live = ["x"]\n',
        "agents/a/agent.toml": 'provider = "claude"\nnudge = "go"\npre_start = ["x"]\n',
        "agents/b/agent.toml": 'provider = "claude"\nnudge = "go"\n',
    }
    result = load("[workspace]\n", files)
    assert result.problems == ()
    assert result.passed_over == (
        ("agent", "nudge", 2),
        ("agent", "pre_start", 1),
        ("pack file", "global", 1),
    )


def test_limits_of_other_tools_that_would_change_what_runs_are_told(load: Load) -> None:
    """A cap that is not kept is said once, however many rigs have it (R5)."""
    text = "[workspace]\nmax_active_sessions = 4\n" + RIGS.replace(
        '"\n', '"\nmax_active_sessions = 2\n'
    )
    result = load(text)
    assert result.city is not None
    assert [problem.key for problem in result.warnings] == ["max_active_sessions"]


def test_arguments_may_be_added_to_those_of_the_base(load: Load) -> None:
    """`args_append` comes after what the base and the table itself say."""
    text = (
        '[providers.a]\ncommand = "x"\nargs = ["1"]\nargs_append = ["2"]\n'
        '[providers.b]\nbase = "a"\nargs_append = ["3"]\n'
        '[[agent]]\nname = "a"\nprovider = "b"\n'
        '[[patches.providers]]\nname = "a"\nargs_append = ["4"]\n'
    )
    assert city_of(load, text).agents["a"].args == ("1", "2", "4", "3")
