"""Cities whose packs are elsewhere, and files that are no city."""

from __future__ import annotations

import pytest

from tests.unit.config.loading import Load

PATCHES = """
[[agent]]
name = "a"
provider = "claude"
depends_on = ["from-the-pack"]
[[patches.agent]]
name = "lost"
sleep_after_idle = "60s"
[[patches.agent]]
name = "a"
sleep_after_idle = "60s"
[[named_session]]
template = "lost"
[[rigs]]
name = "r"
[[rigs.overrides]]
agent = "lost"
suspended = true
"""


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ('[workspace]\nincludes = ["packs/nowhere"]\n', "not found"),
        ('[workspace]\nincludes = ["packs"]\n', "a folder without pack.toml"),
        ('[imports.x]\nsource = "packs/nowhere"\n', "not found"),
        ('[imports.x]\nsource = "https://example.org/x.git//p"\n', "remote"),
        ('[imports.x]\nsource = "git@example.org:x"\n', "remote"),
        ('[packs.x]\nsource = "https://example.org/x"\n[workspace]\nincludes = ["x"]\n', "remote"),
        ('[[rigs]]\nname = "q"\nincludes = ["packs/nowhere"]\n', "not found"),
        ('[[rigs]]\nname = "q"\n[rigs.imports.x]\nsource = "packs/nowhere"\n', "not found"),
        ('[imports.x]\nsource = "packs/y"\n', "not found"),
    ],
)
def test_a_pack_that_is_not_here_is_named_once(load: Load, text: str, state: str) -> None:
    """The rest loads, is marked incomplete, and what waits for the pack is one line (R6a)."""
    inner = '[pack]\nname = "y"\nschema = 2\n[imports.z]\nsource = "../nowhere"\n'
    result = load(text + PATCHES, {"packs/y/pack.toml": inner})
    city = result.city
    assert city is not None
    assert city.incomplete
    assert str(city.agents["a"].sleep_after_idle) == "60s"
    assert city.agents["a"].depends_on == ()
    told = [problem.what for problem in result.problems if "pack" in problem.what]
    assert len(told) == 2
    assert state in told[0]
    assert told[1].startswith("4 overrides, patches or references")


def test_a_pack_named_five_times_is_one_warning(load: Load) -> None:
    """Each source is named once (R6a)."""
    rigs = "".join(f'[[rigs]]\nname = "r{i}"\nincludes = ["p"]\n' for i in range(5))
    assert len(load(rigs).problems) == 1


@pytest.mark.parametrize(
    "text",
    [
        '[workspace]\ndefault_rig_includes = ["packs/nowhere"]\n',
        '[workspace]\n[defaults.rig.imports.x]\nsource = "https://example.org/x"\n',
    ],
)
def test_what_new_rigs_would_get_is_not_missed(load: Load, text: str) -> None:
    """Defaults are for rigs that another tool adds later; no rig that is there has them (R5)."""
    result = load(text + '[[rigs]]\nname = "q"\n')
    assert result.city is not None
    assert not result.city.incomplete
    assert result.problems == ()


@pytest.mark.parametrize("name", ["missing.toml", "https://example.org/a.toml"])
def test_a_fragment_that_is_not_here_makes_a_city_incomplete(load: Load, name: str) -> None:
    """A missing include proves nothing about the agents in it (R6a)."""
    result = load(f'include = ["{name}"]\n' + PATCHES)
    assert result.city is not None
    assert result.city.incomplete
    assert not result.errors


def test_a_complete_city_is_not_marked(load: Load) -> None:
    """Only what is missing marks a city."""
    city = load('[[agent]]\nname = "a"\nprovider = "claude"\n').city
    assert city is not None
    assert not city.incomplete


@pytest.mark.parametrize(
    "text",
    [
        '[city]\nname = "x"\n[[agents]]\nid = "mayor"\n[network]\nurl = "x"\n',
        'default_agent = "x"\n',
        "[city]\nschema_version = 1\n",
        "x = 1\n",
        "",
        "# nothing yet\n",
    ],
)
def test_a_file_that_is_no_city_is_refused_in_one_line(load: Load, text: str) -> None:
    """Some other tool's `city.toml`, or one just being written, is refused (R6, R6a)."""
    [problem] = load(text).problems
    assert problem.what.startswith("not a city")
    assert "\n" not in str(problem)


@pytest.mark.parametrize("text", ["[workspace]\n", "[session_sleep]\n", "[agents]\nmodel = 'x'\n"])
def test_a_small_city_is_a_city(load: Load, text: str) -> None:
    """A file that holds one of our tables is meant for us."""
    assert load(text).city is not None


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("agent = 3\n", "must be an array of tables"),
        ("[agent]\nname = 'a'\n", "must be an array of tables"),
        ("agent = [1]\n", "must be a table"),
        ("workspace = 3\n", "must be a table"),
        ("[[workspace]]\n", "must be a table"),
        ("providers = []\n", "must be a table"),
        ("patches = []\n", "must be a table"),
        ("[workspace]\n[patches]\nagent = {}\n", "must be an array of tables"),
        ("[[rigs]]\nname = 'r'\nsession_sleep = 3\n", "must be a table"),
        ("[[rigs]]\nname = 'r'\noverrides = 3\n", "must be an array of tables"),
        ("[[rigs]]\n", "is missing"),
        ("[[agent]]\nprovider = 'x'\n", "is missing"),
        ("[[named_session]]\n", "is missing"),
        ("include = 3\n", "include is no array of texts"),
        ("[workspace]\ninclude = []\n[providers]\nx = 3\n", "must be a table"),
    ],
)
def test_a_table_of_the_wrong_shape_is_one_error(load: Load, text: str, what: str) -> None:
    """Whatever stands where a table belongs is said in words (R5)."""
    assert what in {problem.what for problem in load(text).errors}
