"""Files: what is read of a city and whose, and how private all that is written is (E6, E7, E9)."""

from __future__ import annotations

import logging
import os
import shutil
import stat
import tracemalloc
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Final

import pytest

from gascity.beads.mirror import EventMirror
from gascity.beads.sqlite import SqliteBeads
from gascity.beads.store import StoreUnavailable
from gascity.cli.state import make_state
from gascity.config.load import load_city
from gascity.model.city import City
from gascity.report import log
from tests.integration.city import RealCity, agent, city_toml, real_city, standin
from tests.security.other_user import NOBODY, needs_root

INTRUDER: Final = '[[agent]]\nname = "intruder"\nstart_command = "true"\n'


# --- E6: nothing outside the city is read

_UP: Final = (
    "..",
    "../.",
    "./..",
    "../../x/..",
    "parts/../..",
    "parts/./../..",
    "deep/er/../../..",
)
_TARGETS: Final = (
    "secret.toml",
    "./secret.toml",
    "sub/../secret.toml",
    "sub/more.toml",
    ".//secret.toml",
)
_HEADS: Final = ("", "//", "./")
TRAVERSALS: Final = [f"{head}{up}/{target}" for head, up, target in product(_HEADS, _UP, _TARGETS)]
LINKED: Final = (
    "link.toml", "//link.toml", "linkdir/secret.toml", "parts/link.toml", "parts/chain.toml",
    "linkdir/sub/more.toml", "//parts/../linkdir/secret.toml", "proc/cwd/secret.toml",
    "parts/loop.toml",
    "linkdir/../outside/secret.toml", "linkdir", "parts", ".", "..", "//", "///", "/", "",
    "pipe.toml", "//pipe.toml", "socket.toml", "null.toml", "zero.toml",
)  # fmt: skip
ODD: Final = (
    "~/secret.toml", "$HOME/secret.toml", "%2e%2e/secret.toml", "..%2fsecret.toml",
    "..\\secret.toml",
    "a\0b", "../secret.toml\0", "\n", " ../secret.toml", "file:../secret.toml",
    "file:///etc/passwd",
    "http://127.0.0.1:1/x.toml", "git@host:x", "x" * 300,
    "x/" * 3000 + "y", "../" * 2000 + "etc/passwd",
    "parts/‮secret.toml", "‥/secret.toml", "．．/secret.toml", "parts/.../secret.toml",
    "*", "parts/*.toml",
)  # fmt: skip
ABSOLUTE: Final = (
    "{outside}/secret.toml",
    "///{outside}/secret.toml",
    "//{outside}/secret.toml",
    "/etc/passwd",
)
CASES: Final = list(dict.fromkeys([*TRAVERSALS, *LINKED, *ODD, *ABSOLUTE]))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A city beside a folder that is none of its business, with links of every kind."""
    root = tmp_path_factory.mktemp("world").resolve()
    city, outside = root / "city", root / "outside"
    for folder in (city / "parts", city / "deep" / "er", outside / "sub", root / "sub"):
        folder.mkdir(parents=True, mode=0o755)
    for place in (outside, root):
        (place / "secret.toml").write_text(INTRUDER)
        (place / "sub" / "more.toml").write_text(INTRUDER)
    links = {
        "link.toml": outside / "secret.toml",
        "linkdir": outside,
        "parts/link.toml": Path("../../outside/secret.toml"),
        "parts/chain.toml": Path("link.toml"),
        "parts/loop.toml": Path("loop.toml"),
        "proc": Path("/proc/self"),
        "null.toml": Path("/dev/null"),
        "zero.toml": Path("/dev/zero"),
    }
    for name, target in links.items():
        (city / name).symlink_to(target)
    os.mkfifo(city / "pipe.toml")
    yield root
    shutil.rmtree(root)


def load(city: Path, *includes: str) -> City | None:
    """The city with these includes; its problems are checked for being told at all."""
    quoted = ", ".join(_toml(one) for one in includes)
    own = '[workspace]\nname = "t"\n[[agent]]\nname = "own"\nstart_command = "true"\n'
    (city / "city.toml").write_text(f"include = [{quoted}]\n{own}", encoding="utf-8")
    result = load_city(city)
    assert result.problems, "an include that leads nowhere is told"
    return result.city


def _toml(text: str) -> str:
    escaped = "".join(c if c.isprintable() and c not in '"\\' else f"\\u{ord(c):04x}" for c in text)
    return f'"{escaped}"'


def test_there_are_enough_cases() -> None:
    """At least a hundred ways out, each another text (E6)."""
    assert len(CASES) >= 140


@pytest.mark.parametrize("case", range(len(CASES)))
def test_no_include_leads_out_of_the_city(world: Path, case: int) -> None:
    """Absolute paths, parents, links, devices, pipes, other schemes: none is read (E6)."""
    city = load(world / "city", CASES[case].replace("{outside}", str(world / "outside")))
    assert city is None or "intruder" not in city.agents


def test_what_stays_inside_is_read(world: Path) -> None:
    """The other way round: a link and a parent inside the city are fine (E6)."""
    city = world / "city"
    (city / "parts" / "good.toml").write_text(INTRUDER.replace("intruder", "guest"))
    (city / "inner.toml").symlink_to("parts/good.toml")
    for name in ("parts/../parts/good.toml", "inner.toml", "//parts/good.toml"):
        (city / "city.toml").write_text(f'include = ["{name}"]\n[workspace]\nname = "t"\n')
        found = load_city(city).city
        assert found is not None
        assert "guest" in found.agents


@pytest.mark.parametrize("content", ["[", "x" * 900_000], ids=["bad", "big"])
def test_one_bad_file_is_not_read_a_thousand_times(tmp_path: Path, content: str) -> None:
    """At most 64 files are tried, whatever becomes of them (E6)."""
    (tmp_path / "bad.toml").write_text(content)
    names = ", ".join(['"bad.toml"'] * 20_000)
    (tmp_path / "city.toml").write_text(f'include = [{names}]\n[workspace]\nname = "t"\n')
    tracemalloc.start()
    result = load_city(tmp_path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result.city is None
    assert sum("bad.toml" in problem.file for problem in result.problems) <= 64
    assert any("more than 64" in problem.what for problem in result.problems)
    assert most < 64 * 1024 * 1024


# --- E7: whose config is believed


def plain_city(folder: Path) -> Path:
    """A city that loads."""
    folder.mkdir(mode=0o755, exist_ok=True)
    own = '[workspace]\nname = "t"\n[[agent]]\nname = "own"\nstart_command = "true"\n'
    (folder / "city.toml").write_text(own)
    (folder / "city.toml").chmod(0o644)
    (folder / "more.toml").write_text("")
    (folder / "more.toml").chmod(0o644)
    return folder


@pytest.mark.parametrize("what", ["city.toml", "more.toml", "."])
def test_a_config_that_anybody_may_write_is_refused(tmp_path: Path, what: str) -> None:
    """File, fragment or folder: commands of it would run as us (E7, R70)."""
    city = plain_city(tmp_path / "city")
    text = (city / "city.toml").read_text()
    (city / "city.toml").write_text(f'include = ["more.toml"]\n{text}')
    assert load_city(city).city is not None
    (city / what).chmod((city / what).stat().st_mode | 0o002)
    result = load_city(city)
    assert result.city is None
    assert any("everybody" in problem.what for problem in result.errors)


@needs_root
@pytest.mark.parametrize("what", ["city.toml", "more.toml", "."])
def test_a_config_of_another_user_is_refused(tmp_path: Path, what: str) -> None:
    """Root does not run another's commands either (E7, R70)."""
    city = plain_city(tmp_path / "city")
    text = (city / "city.toml").read_text()
    (city / "city.toml").write_text(f'include = ["more.toml"]\n{text}')
    os.chown(city / what, NOBODY, NOBODY)
    assert load_city(city).city is None


def test_group_writable_is_a_warning(tmp_path: Path) -> None:
    """Groups are trusted by default, and it is said (R70)."""
    city = plain_city(tmp_path / "city")
    (city / "city.toml").chmod(0o664)
    result = load_city(city)
    assert result.city is not None
    assert any("group" in warning.what for warning in result.warnings)


# --- E9: what is written is ours alone


def test_links_are_not_written_through(tmp_path: Path) -> None:
    """A link that came with a checkout leads no write of ours into another file (E9)."""
    target = tmp_path / "precious"
    target.write_text("mine")
    target.chmod(0o644)
    state = tmp_path / "city" / ".gc"
    make_state(_made(tmp_path / "city"))
    for name in ("gascity.db", "gascity.db-wal", "events.jsonl", "controller.log"):
        (state / name).symlink_to(target)
    with pytest.raises(StoreUnavailable, match="is a link"):
        SqliteBeads(state / "gascity.db")
    mirror = EventMirror(state / "events.jsonl")
    mirror.follow([], 0, lambda _: [])
    assert "events.jsonl" in mirror.failure
    with pytest.raises(OSError, match="symbolic link"):
        log.PrivateFile(state / "controller.log")
    assert target.read_text() == "mine"
    assert stat.S_IMODE(target.stat().st_mode) == 0o644


def test_a_state_folder_that_is_a_link_is_not_made_at_home_in(tmp_path: Path) -> None:
    """Not even the note for git is written there (E9)."""
    elsewhere, city = _made(tmp_path / "elsewhere"), _made(tmp_path / "city")
    (city / ".gc").symlink_to(elsewhere)
    with pytest.raises(OSError, match=r"(?i)symbolic link|not a directory"):
        make_state(city)
    assert list(elsewhere.iterdir()) == []


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_the_log_stays_private_when_it_is_rotated(tmp_path: Path) -> None:
    """Every generation of it is 0600, whatever the mask is and what was there before (E9)."""
    before = os.umask(0)
    try:
        (tmp_path / "x.log").touch(mode=0o666)
        handler = log.PrivateFile(tmp_path / "x.log", maxBytes=50, backupCount=2)
        for number in range(9):
            handler.emit(logging.makeLogRecord({"msg": f"line {number} {'x' * 30}"}))
        handler.close()
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"x.log": 0o600, "x.log.1": 0o600, "x.log.2": 0o600}


TOML: Final = city_toml(
    agent("mayor", sleep_after_idle="1s"),
    f'[[agent]]\nname = "pool"\nstart_command = {_toml(standin("--work"))}\n'
    '[agent.pool]\nmin = 0\nmax = 1\ncheck = "echo 0"\n',
    '[[agent]]\nname = "broken"\nstart_command = "exit 3"\n',
)


@pytest.fixture
def lived() -> Iterator[RealCity]:
    """A city that was used: started, worked, slept, woke, was killed and started again."""
    before = os.umask(0)
    try:
        with real_city(TOML) as city:
            (city.path / "city.toml").chmod(0o644)
            city.start()
            city.wait_up("mayor")
            city.gc("sling", "mayor", "a title")
            city.gc("session", "nudge", "mayor", "hello")
            city.gc("pin", "mayor", "--for", "1s")
            city.gc("suspend", "mayor")
            city.gc("resume", "mayor")
            city.gc("wake", "mayor")
            city.restart()
            city.patrol(2)
            city.gc("stop", "--controller-only")
            city.gc("bead", "list")
            city.start()
            yield city
    finally:
        os.umask(before)


@pytest.mark.slow
@pytest.mark.tmux
@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
def test_everything_a_city_writes_is_ours_alone(lived: RealCity) -> None:
    """Under a mask of 0: files 0600, folders 0700, 0 exceptions (E9)."""
    exceptions = {}
    roots = [lived.path / ".gc", lived.socket.parent]
    for path in [*roots, *(one for root in roots for one in root.rglob("*"))]:
        facts = path.lstat()
        wanted = 0o700 if stat.S_ISDIR(facts.st_mode) else 0o600
        extra = stat.S_IMODE(facts.st_mode) & ~wanted
        # tmux marks its socket with the x bit of the owner while somebody is attached.
        if (
            extra & ~0o100 if stat.S_ISSOCK(facts.st_mode) else extra
        ) or facts.st_uid != os.geteuid():
            exceptions[str(path)] = oct(facts.st_mode)
    assert exceptions == {}
