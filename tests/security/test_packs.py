"""Packs may not lead out, go round, grow without end or belong to somebody else (E6, E7)."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from gascity.config import placing
from gascity.config.load import load_city
from gascity.config.packs import MOST_PACKS
from gascity.config.problems import LoadResult

AGENT = 'provider = "claude"\n'


def pack(name: str, *more: str) -> str:
    """A pack file."""
    return f'[pack]\nname = "{name}"\nschema = 2\n' + "".join(more)


@pytest.fixture
def city(tmp_path: Path) -> Path:
    """A city one folder down, that includes the pack `p`, with something beside it."""
    write(tmp_path / "outside/pack.toml", pack("outside"))
    write(tmp_path / "city/city.toml", '[imports.p]\nsource = "p"\n')
    write(tmp_path / "city/p/pack.toml", pack("p"))
    write(tmp_path / "city/p/agents/a/agent.toml", AGENT)
    return tmp_path / "city"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def refused(result: LoadResult, words: str) -> bool:
    """Whether the city is refused, with these words."""
    return result.city is None and any(words in str(problem) for problem in result.errors)


@pytest.mark.parametrize(
    "source",
    [
        "../../outside",
        "//../outside",
        "x/../../../outside",
        "link",
        "../../outside/.",
        "linked/outside",
    ],
)
@pytest.mark.parametrize("how", ["imports", "includes"])
def test_a_pack_names_nothing_outside(city: Path, source: str, how: str) -> None:
    """Neither by path nor by link; only the city's own file may name any folder (E6)."""
    (city / "p/link").symlink_to(city.parent / "outside")
    (city / "p/linked").symlink_to(city.parent)
    more = {
        "imports": f'[imports.x]\nsource = "{source}"\n',
        "includes": f'includes = ["{source}"]\n',
    }
    write(city / "p/pack.toml", pack("p", more[how]))
    assert refused(load_city(city), "outside what its pack may name")
    write(city / "city.toml", '[imports.x]\nsource = "../outside"\n')
    assert load_city(city).city is not None


def test_a_pack_names_no_absolute_path(city: Path) -> None:
    """A pack works wherever it lies, or not at all (E6)."""
    write(city / "p/pack.toml", pack("p", f'[imports.x]\nsource = "{city}/p"\n'))
    assert refused(load_city(city), "an absolute path in a pack")


def test_files_of_a_pack_are_inside_it(city: Path) -> None:
    """An agent's file or folder that is a link out of the pack is not read (E6)."""
    write(city.parent / "outside/agent.toml", AGENT)
    (city / "p/agents/b").mkdir()
    (city / "p/agents/b/agent.toml").symlink_to(city.parent / "outside/agent.toml")
    assert refused(load_city(city), "outside the pack")
    (city / "p/agents/b/agent.toml").unlink()
    (city / "p/agents/b").rmdir()
    (city / "p/agents/b").symlink_to(city.parent / "outside")
    assert refused(load_city(city), "outside the pack")
    (city / "p/agents/b").unlink()
    (city / "p/agents").rename(city / "agents-elsewhere")
    (city / "p/agents").symlink_to(city / "agents-elsewhere")
    assert refused(load_city(city), "leads outside the pack")
    (city / "p/agents").unlink()
    (city / "p/agents").symlink_to("agents")
    assert refused(load_city(city), "agents")


@pytest.mark.parametrize(
    "name", ["pack.toml", ".gc/site.toml", "p/agents/a/agent.toml", "p/agents"]
)
def test_a_link_that_leads_nowhere_hides_nothing(city: Path, name: str) -> None:
    """What it meant is not known, so the city is refused and not loaded without it (R6a)."""
    write(city / "pack.toml", pack("root"))
    assert load_city(city).city is not None
    path = city / name
    path.parent.mkdir(exist_ok=True)
    if path.is_dir():
        path.rename(city / "kept")
    else:
        path.unlink(missing_ok=True)
    path.symlink_to("nowhere")
    assert refused(load_city(city), "leads nowhere")


@pytest.mark.parametrize("name", ["pack.toml", "agents/a/agent.toml"])
def test_a_pipe_in_a_pack_is_no_file(city: Path, name: str) -> None:
    """Nobody waits for its other end (E6)."""
    (city / "p" / name).unlink()
    os.mkfifo(city / "p" / name)
    result = load_city(city)
    assert result.city is None or result.city.incomplete


def test_packs_that_go_round_are_refused(city: Path) -> None:
    """The circle is printed (E6)."""
    write(city / "p/pack.toml", pack("p", '[imports.q]\nsource = "../q"\n'))
    write(city / "q/pack.toml", pack("q", '[imports.p]\nsource = "../p"\n'))
    assert refused(load_city(city), "a circle of packs: p → q → p")


def test_the_number_of_packs_is_limited(city: Path) -> None:
    """Each counts once however often it is named (E6)."""
    for index in range(MOST_PACKS + 1):
        write(city / f"p{index}/pack.toml", pack(f"p{index}"))
    some = [f"p{index}" for index in range(MOST_PACKS)]
    write(city / "city.toml", f"[workspace]\nincludes = {some * 20}\n")
    assert load_city(city).city is not None
    write(city / "city.toml", f"[workspace]\nincludes = {[*some, f'p{MOST_PACKS}']}\n")
    assert refused(load_city(city), f"more than {MOST_PACKS} packs")


def test_packs_inside_packs_do_not_double_at_each_step(city: Path) -> None:
    """Thirty packs that each name the next one twice are thirty packs."""
    for index in range(30):
        inner = f'includes = ["../d{index + 1}", "../d{index + 1}"]\n' if index < 29 else ""
        write(city / f"d{index}/pack.toml", pack("d", inner, f'[[agent]]\nname = "a{index}"\n'))
    write(city / "city.toml", '[workspace]\nincludes = ["d0"]\n')
    found = load_city(city).city
    assert found is not None
    assert len(found.agents) == 30


def test_rigs_times_agents_are_limited(city: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file cannot ask for a large city by accident (E6)."""
    assert placing.MOST_AGENTS <= 5000
    monkeypatch.setattr(placing, "MOST_AGENTS", 300)
    agents = "".join(f'[[agent]]\nname = "a{index}"\nscope = "rig"\n' for index in range(100))
    rigs = "".join(f'[[rigs]]\nname = "r{index}"\n' for index in range(4))
    write(city / "p/pack.toml", pack("p", agents))
    write(city / "city.toml", '[imports.p]\nsource = "p"\n' + rigs)
    assert refused(load_city(city), "more than 300 agents")


def test_a_file_of_a_pack_has_limits_of_its_own(city: Path) -> None:
    """Size and depth hold for each file of a pack (E6)."""
    write(city / "p/agents/a/agent.toml", "#" * (1024 * 1024 + 1))
    assert refused(load_city(city), "more than 1024 KiB")
    write(city / "p/agents/a/agent.toml", ".".join("a" * 40) + " = 1\n")
    assert refused(load_city(city), "a key of more than 32")


@pytest.mark.parametrize(
    "name", ["p/pack.toml", "p", "p/agents", "p/agents/a", "p/agents/a/agent.toml"]
)
def test_a_pack_that_others_may_write_is_not_trusted(city: Path, name: str) -> None:
    """Its commands would run as us: each file and folder of it is checked (E7, R70)."""
    path = city / name
    mode = path.stat().st_mode
    path.chmod(mode | 0o002)
    assert refused(load_city(city), "writable by everybody")
    path.chmod(mode)
    assert load_city(city).city is not None


def test_a_group_that_may_write_a_pack_is_spoken_of_once(city: Path) -> None:
    """A warning for the pack, not one for each of its files (E7, R70)."""
    for name in "bcd":
        write(city / f"p/agents/{name}/agent.toml", AGENT)
    for path in (city / "p").rglob("*"):
        path.chmod(path.stat().st_mode | 0o020)
    result = load_city(city)
    assert result.city is not None
    assert ["by its group" in problem.what for problem in result.warnings] == [True]


@pytest.mark.parametrize(
    "name", [b"\xff", b"a\nb", b"\x1b[31m", b"a b", "ü".encode(), b"-a", b"x" * 200]
)
def test_a_folder_of_any_name_is_answered(city: Path, name: bytes) -> None:
    """A name that no session may have is an error on one line, whatever its bytes (E11, R5)."""
    write(city / "p/agents" / os.fsdecode(name) / "agent.toml", AGENT)
    result = pickle.loads(pickle.dumps(load_city(city)))  # as it comes to the controller
    assert result.city is None
    assert [str(problem).isprintable() for problem in result.errors] == [True]
