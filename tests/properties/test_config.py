"""Whatever stands in a file: an answer, never a traceback; and what is written out comes back."""

from __future__ import annotations

import string
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gascity.config.load import load_city
from gascity.config.schema_file import json_schema
from gascity.config.write import effective_toml
from gascity.model.city import City

SETTINGS = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """One folder for all examples; each overwrites the file."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def load(folder: Path, text: str | bytes) -> Any:
    """The result for a text."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    (folder / "city.toml").write_bytes(data)
    return load_city(folder)


@SETTINGS
@given(data=st.binary(max_size=200))
def test_any_bytes_are_answered(folder: Path, data: bytes) -> None:
    """No bytes raise; every problem is one line that names its file (R5)."""
    for problem in load(folder, data).problems:
        assert "\n" not in str(problem)
        assert problem.file == "city.toml"


@SETTINGS
@given(text=st.text(alphabet="[]{}=\"'.,#\n \\abu019-_:T", max_size=200))
def test_anything_like_toml_is_answered(folder: Path, text: str) -> None:
    """Nor does a text of TOML's own signs (R5)."""
    result = load(folder, text)
    assert (result.city is None) is bool(result.errors)


# Values of every kind, many of them nearly right.
WORDS = st.sampled_from(
    ["", "a", "b", "r", "off", "0s", "60s", "-1s", "1d", "fresh", "always", "claude", "mine",
     "tmux", "exec:x", "subprocess", "r/a", "a.b", "../x", "{{.Rig}}", "{{.X}}",
     "http://x", "\0", "é"]
)  # fmt: skip
SCALARS = WORDS | st.integers(-2, 70_000) | st.booleans() | st.floats(allow_nan=False)
LEAVES = SCALARS | st.lists(WORDS, max_size=3) | st.dictionaries(WORDS, SCALARS, max_size=2)
DEFINITIONS = json_schema()["$defs"]


def table(name: str) -> st.SearchStrategy[dict[str, Any]]:
    """A table of the schema with some of its keys, one unknown, and values of any kind."""
    keys = [*DEFINITIONS[name]["properties"], "nobody_knows"]
    return st.dictionaries(st.sampled_from(keys), LEAVES, max_size=6)


def named(name: str, *keys: str) -> st.SearchStrategy[dict[str, Any]]:
    """A table that mostly has the keys it needs."""
    required = st.fixed_dictionaries(
        {key: st.sampled_from(["a", "b", "r", "mine"]) for key in keys}
    )
    return st.builds(lambda some, needed: {**some, **needed}, table(name), required)


RIG = st.builds(
    lambda rig, overrides, sleep: {**rig, "overrides": overrides, "session_sleep": sleep},
    named("RigTable", "name"),
    st.lists(named("OverrideTable", "agent"), max_size=2),
    table("SleepTable"),
)
FILE = st.fixed_dictionaries(
    {},
    optional={
        "workspace": table("WorkspaceTable"),
        "agent": st.lists(named("AgentTable", "name"), max_size=3),
        "named_session": st.lists(named("NamedSessionTable", "template"), max_size=2),
        "rigs": st.lists(RIG, max_size=2),
        "patches": st.fixed_dictionaries(
            {"agent": st.lists(named("PatchTable", "name"), max_size=2)}
        ),
        "agent_defaults": table("AgentDefaultsTable"),
        "agents": LEAVES,
        "providers": st.dictionaries(
            st.sampled_from(["mine", "claude", "a"]), table("ProviderTable"), max_size=2
        ),
        "session_sleep": table("SleepTable"),
        "daemon": table("DaemonTable"),
        "session": table("SessionTable"),
        "events": table("EventsTable"),
        "beads": LEAVES,
        "imports": LEAVES,
        "include": st.lists(WORDS, max_size=2),
    },
)  # fmt: skip


@SETTINGS
@given(document=FILE)
def test_any_document_of_our_tables_is_answered(folder: Path, document: dict[str, Any]) -> None:
    """Right, nearly right and wrong values in every table: a city or its errors (R5)."""
    result = load(folder, tomli_w.dumps(document))
    assert (result.city is None) is bool(result.errors)
    for problem in result.errors:
        assert problem.what


# Documents that do load, to write out again.
WINDOWS = st.sampled_from(["off", "0s", "500ms", "60s", "1m", "5m", "1h30m"])
CLASSES = ("interactive_resume", "interactive_fresh", "noninteractive")
SLEEP = st.fixed_dictionaries({}, optional=dict.fromkeys(CLASSES, WINDOWS))
TEXTS = st.text(alphabet=string.printable + "é❯→\u0007", max_size=12)
STAMP = {"sleep_after_idle": WINDOWS, "unset": st.just(["idle_timeout"])}
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "attach": st.booleans(),
    "wake_mode": st.sampled_from(["", "fresh", "resume"]),
    "sleep_after_idle": WINDOWS,
    "idle_timeout": st.sampled_from(["", "0s", "30s", "2h"]),
    "suspended": st.booleans(),
    "provider": st.sampled_from(["claude", "codex", "mine", "nobody"]),
    "start_command": st.sampled_from(["", "claude", "claude -c", "./run 'it' | cat", "codex --x"]),
    "args": st.lists(TEXTS, max_size=2),
    "env": st.dictionaries(st.sampled_from(["A", "B_TOKEN"]), TEXTS, max_size=2),
    "work_dir": st.sampled_from(["", "sub", "{{.RigRoot}}/x", "/abs"]),
    "ready_prompt_prefix": TEXTS,
    "ready_delay_ms": st.integers(0, 9000),
    "process_names": st.lists(st.sampled_from(["x", "y"]), max_size=2),
    "screens": st.sampled_from(["", "claude"]),
    "resume_flag": st.sampled_from(["", "--again"]),
    "resume_style": st.sampled_from(["", "flag", "subcommand"]),
    "resume_command": st.sampled_from(["", "x {{.SessionKey}}"]),
    "session_id_flag": st.sampled_from(["", "--id"]),
    "min_active_sessions": st.integers(0, 2),
    "max_active_sessions": st.sampled_from([-1, 2, 5]),
    "scale_check": st.sampled_from(["", "echo 1"]),
    "work_query": TEXTS,
    "description": TEXTS,
}


def agent(name: str, folder: str, needs: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    """An agent with some of its keys."""
    own = {"name": st.just(name), "dir": st.just(folder), "depends_on": st.just(needs)}
    return st.fixed_dictionaries(own, optional=VALUES)


GOOD = st.fixed_dictionaries(
    {
        "agent": st.tuples(
            agent("one", "", []), agent("two", "r.1", ["one"]), agent("three", "r.1", ["two"])
        ).map(list),
        "rigs": st.fixed_dictionaries(
            {
                "name": st.just("r.1"),
                "overrides": st.fixed_dictionaries(
                    {"agent": st.just("two")}, optional=STAMP
                ).map(lambda one: [one]),
                "session_sleep": SLEEP,
            },
            optional={"path": st.just("here"), "suspended": st.booleans()},
        ).map(lambda one: [one]),
        "patches": st.fixed_dictionaries(
            {"name": st.just("three"), "dir": st.just("r.1")}, optional=STAMP
        ).map(lambda one: {"agent": [one]}),
    },
    optional={
        "workspace": st.fixed_dictionaries(
            {}, optional={"name": st.just("c"), "suspended": st.booleans(), "env": VALUES["env"],
                          "provider": VALUES["provider"]},
        ),
        "providers": st.just({"mine": {"base": "claude", "command": "mine", "args": ["-x"]}}),
        "session_sleep": SLEEP,
        "daemon": st.just({"patrol_interval": "1s", "shutdown_timeout": "0s"}),
        "session": st.just({"provider": "hybrid", "socket": "s"}),
        "events": st.just({"keep": "3d"}),
        "beads": st.just({"provider": "gascity"}),
        "named_session": st.just([{"template": "two", "dir": "r.1", "mode": "always"},
                                  {"template": "r.1/two", "name": "x"}]),
    },
)  # fmt: skip


def essence(city: City) -> City:
    """A city without the places its values were written at."""
    return replace(city, origins={}, warnings=(), revision="")


@SETTINGS
@given(document=GOOD)
def test_an_effective_city_loads_to_itself(folder: Path, document: dict[str, Any]) -> None:
    """Compose, write out, load: the same city, sources of windows included (CFG-14, R3)."""
    result = load(folder, tomli_w.dumps(document))
    assert result.city is not None, result.errors
    again = load(folder, effective_toml(result.city))
    assert again.city is not None, again.errors
    assert essence(again.city) == essence(result.city)
