"""What is checked before a parser runs, and what no file can talk the loader into."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from gascity.config.files import MOST_BYTES, distrust
from gascity.config.load import load_city
from gascity.config.outline import BeyondLimits, outline
from tests.unit.config.loading import Load

CITY = '[workspace]\nname = "c"\n'


@pytest.mark.parametrize(
    ("text", "what"),
    [
        pytest.param(".".join("a" * 30_000) + " = 1\n", "a key of more than 32", id="dotted key"),
        pytest.param(f"[{'.'.join('a' * 30_000)}]\n", "a key of more than 32", id="header"),
        pytest.param(f"x = {{{'.'.join('a' * 9_000)} = 1}}\n", "a key of more", id="inline key"),
        pytest.param("x = " + "[" * 100_000, "nested deeper", id="arrays"),
        pytest.param("x = " + "{a = " * 100_000, "nested deeper", id="inline tables"),
        pytest.param("x = " + "1" * 100_000, "digits", id="digits"),
        pytest.param("x = " + "1_" * 3_000 + "1", "digits", id="digits with bars"),
        pytest.param(
            "".join(f"{'.'.join(f'k{i}x{j}' for j in range(30))} = 1\n" for i in range(3000)),
            "too many dotted keys",
            id="many dotted keys",
        ),
        pytest.param("#" * (MOST_BYTES + 1), "more than 1024 KiB", id="size"),
    ],
)
def test_what_would_choke_a_parser_is_refused_before_it_runs(
    load: Load, text: str, what: str
) -> None:
    """Too large, too deep and too long are one error each and cost no memory (R6a)."""
    tracemalloc.start()
    result = load(CITY + text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result.city is None
    assert [what in problem.what for problem in result.problems] == [True]
    assert peak < 64 * 1024 * 1024


def test_a_number_a_parser_cannot_hold_is_a_problem_too(load: Load) -> None:
    """What a parser raises besides its own error is one problem as well (R6a)."""
    assert load(CITY + "x = 2020-13-45\n").city is None
    assert load(CITY + "x = " + "[" * 31 + "]" * 31 + "\n").city is not None


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + CITY,
        CITY.replace("\n", "\r\n"),
        "\ufeff" + CITY.replace("\n", "\r\n"),
        CITY + 'x = {\n  a = 1, # said\n  b = "two",\n}\n',
    ],
    ids=["byte order mark", "CRLF", "both", "inline table over lines"],
)
def test_real_files_are_read(load: Load, text: str) -> None:
    """A BOM, CRLF and TOML 1.1 are fine (R6a)."""
    result = load(text)
    assert result.city is not None
    assert result.city.name == "c"


@pytest.mark.parametrize(
    ("text", "line"),
    [('a = "x\n', 1), (CITY + "x = = 1\n", 3), (b'[workspace]\nname = "\xff"\n', 2)],
    ids=["open string", "two signs", "not UTF-8"],
)
def test_a_broken_file_is_one_problem_with_its_line(load: Load, text: str, line: int) -> None:
    """What is no TOML is said in one line that names the place (R5)."""
    [problem] = load(text).problems
    assert (problem.file, problem.line) == ("city.toml", line)


def test_the_outline_finds_lines_through_strings_comments_and_arrays() -> None:
    """Signs inside strings and comments do not lead the pass astray."""
    text = (
        'a = """\n[b]\nc = 1"""\n# [d]\ne = [\n  "]", # ]\n  {f = 1,\n   g.h = 2}]\n'
        '[[i]]\nj = \'x"\'\n[i."k.l"]\nm = 1\n[[i]]\nn = { o = 1,\n p = 2 }\n'
    )
    lines = outline(text)
    assert ("b",) not in lines
    assert ("d",) not in lines
    assert lines["e",] == 5
    assert lines["e", "g", "h"] == 8
    assert lines["i", 0, "j"] == 10
    assert lines["i", 0, "k.l", "m"] == 12
    assert lines["i", 1, "n", "p"] == 15


def test_a_limit_names_its_line() -> None:
    """The refusal says where."""
    with pytest.raises(BeyondLimits) as fault:
        outline("a = 1\nb = " + "[" * 40 + "\n")
    assert fault.value.line == 2


@pytest.mark.parametrize(
    ("mode", "loads", "words"),
    [(0o602, False, "everybody"), (0o620, True, "its group"), (0o600, True, ""), (0o644, True, "")],
)
def test_a_file_that_others_may_write_is_not_trusted(
    load: Load, tmp_path: Path, mode: int, loads: bool, words: str
) -> None:
    """World-writable is refused, group-writable is a warning (R70)."""
    load(CITY)
    (tmp_path / "city.toml").chmod(mode)
    result = load_city(tmp_path)
    assert (result.city is not None) is loads
    assert [words in problem.what for problem in result.problems] == ([True] if words else [])
    assert load_city(tmp_path, check_owner=False).city is not None


def test_a_folder_that_everybody_may_write_is_not_trusted(load: Load, tmp_path: Path) -> None:
    """Who may replace the file may write it (R70)."""
    load(CITY)
    tmp_path.chmod(0o777)
    assert load_city(tmp_path).city is None
    tmp_path.chmod(0o1777)
    assert load_city(tmp_path).city is not None
    tmp_path.chmod(0o700)


def status(path: Path, uid: int) -> os.stat_result:
    """The status of a path as if it belonged to somebody."""
    found = list(path.stat())
    found[4] = uid
    return os.stat_result(found)


@pytest.mark.parametrize(
    ("own", "file", "folder", "refused"),
    [
        (1000, 1000, 1000, False),
        (1000, 0, 0, False),
        (1000, 1001, 1000, True),
        (1000, 1000, 1001, True),
        (0, 0, 0, False),
        (0, 1000, 1000, True),
        (0, 0, 1000, True),
    ],
)
def test_another_users_city_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: int, file: int, folder: int, refused: bool
) -> None:
    """A config must be ours or root's, and root runs nobody else's city (R70)."""
    monkeypatch.setattr(os, "geteuid", lambda: own)
    tmp_path.chmod(0o700)
    what, _, is_refused = distrust(status(tmp_path, file), status(tmp_path, folder))
    assert bool(what) is is_refused is refused


def test_a_city_that_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    """A missing file, a folder and a pipe in its place are one line each, without waiting (R6a)."""
    [missing] = load_city(tmp_path).problems
    assert "gc init" in missing.remedy
    os.mkfifo(tmp_path / "city.toml")
    [pipe] = load_city(tmp_path).problems
    assert "no regular file" in pipe.what
    (tmp_path / "city.toml").unlink()
    (tmp_path / "city.toml").mkdir()
    [folder] = load_city(tmp_path).problems
    assert "a folder" in folder.what
    assert load_city(Path("a\0b")).city is None


def test_a_city_file_may_be_a_link(load: Load, tmp_path: Path) -> None:
    """Generated and shared files are linked into place."""
    load(CITY)
    (tmp_path / "city.toml").rename(tmp_path / "real.toml")
    (tmp_path / "city.toml").symlink_to("real.toml")
    assert load_city(tmp_path).city is not None
    assert load_city(tmp_path / "city.toml").city is not None


def test_fragments_add_and_replace(load: Load) -> None:
    """Arrays are joined, class windows merged per key, settings replaced as a whole (R6a)."""
    result = load(
        'include = ["a.toml", "sub/b.toml"]\n' + CITY + "[daemon]\nmax_restarts = 1\n"
        '[session_sleep]\ninteractive_resume = "60s"\nnoninteractive = "0s"\n'
        '[[agent]]\nname = "one"\n',
        {
            "a.toml": '[[agent]]\nname = "two"\n[session_sleep]\nnoninteractive = "30s"\n',
            "sub/b.toml": 'include = ["//c.toml"]\n[[agent]]\nname = "three"\n'
            "[daemon]\nmax_wakes_per_tick = 2\n",
            "c.toml": '[[agent]]\nname = "four"\n',
        },
    )
    city = result.city
    assert city is not None
    assert result.files[:4] == ("city.toml", "a.toml", "sub/b.toml", "c.toml")
    assert list(city.agents) == ["one", "two", "three", "four"]
    windows = {kind.value: str(window) for kind, window in city.session_sleep.items()}
    assert windows == {"interactive_resume": "60s", "noninteractive": "30s"}
    assert (city.daemon.max_restarts, city.daemon.max_wakes_per_tick) == (5, 2)
    told = [(problem.file, problem.what) for problem in result.warnings if "re" in problem.what]
    assert ("a.toml", "redefines the value of city.toml") in told
    assert ("sub/b.toml", "replaces the whole table of city.toml") in told


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("/etc/hosts", "an absolute path"),
        ("///etc/hosts", "an absolute path"),
        ("../outside.toml", "outside the city"),
        ("//../outside.toml", "outside the city"),
        ("sub/../../outside.toml", "outside the city"),
        ("link.toml", "outside the city"),
        ("linked/outside.toml", "outside the city"),
        ("sub", "a folder"),
        (".", "a folder"),
        ("", "no path"),
        ("pipe", "no regular file"),
        ("city.toml", "a circle of includes"),
        ("a.toml", "a circle of includes"),
        ("loop.toml", "a circle of links"),
    ],
)
def test_an_include_never_leaves_the_city_or_comes_round(
    load: Load, tmp_path: Path, name: str, what: str
) -> None:
    """Absolute paths, ways out, links out, pipes and circles are refused (R6a, R70)."""
    outside = tmp_path.parent / "outside.toml"
    outside.write_text("[workspace]\n", encoding="utf-8")
    (tmp_path / "sub").mkdir()
    (tmp_path / "link.toml").symlink_to(outside)
    (tmp_path / "linked").symlink_to(tmp_path.parent)
    (tmp_path / "loop.toml").symlink_to("loop.toml")
    os.mkfifo(tmp_path / "pipe")
    result = load(
        f'include = ["{name}"]\n' + CITY,
        {"a.toml": 'include = ["b.toml"]\n', "b.toml": 'include = ["a.toml"]\n'},
    )
    assert result.city is None
    assert any(what in problem.what for problem in result.errors), result.problems


def test_a_fragment_may_be_included_from_two_places_but_not_without_end(load: Load) -> None:
    """Sixty-four fragments are the limit, whatever includes them (R6a)."""
    files = {f"f{i}.toml": f'[[agent]]\nname = "a{i}"\n' for i in range(70)}
    some = ", ".join(f'"f{i}.toml"' for i in range(64))
    more = ", ".join(f'"f{i}.toml"' for i in range(65))
    good = load(f"include = [{some}]\n" + CITY, files).city
    assert good is not None
    assert len(good.agents) == 64
    bad = load(f"include = [{more}]\n" + CITY, files)
    assert "more than 64" in bad.errors[0].what


def test_a_fragment_that_others_may_write_is_refused(load: Load, tmp_path: Path) -> None:
    """Ownership holds for every file that is read (R70)."""
    (tmp_path / "a.toml").write_text('[[agent]]\nname = "a"\n', encoding="utf-8")
    (tmp_path / "a.toml").chmod(0o666)
    [problem] = load('include = ["a.toml"]\n' + CITY).errors
    assert (problem.file, "everybody" in problem.what) == ("a.toml", True)


def test_a_file_that_failed_is_still_watched(load: Load, tmp_path: Path) -> None:
    """Whoever waits for the corrected file knows which one it is (R6)."""
    (tmp_path / "sub").mkdir()
    os.mkfifo(tmp_path / "pipe")
    names = [
        "bad.toml",
        "sub/missing.toml",
        "//sub/other.toml",
        "/etc/hosts",
        "../x",
        "pipe",
        "sub",
    ]
    result = load(f"include = {names}\n" + CITY, {"bad.toml": "a = = 1\n"})
    assert result.files[:4] == ("city.toml", "bad.toml", "sub/missing.toml", "sub/other.toml")
    beside = (".gc/site.toml", "pack.toml", "packs.lock", ".gc/pack-map.toml")
    assert set(result.files[4:]) == set(beside)
    assert load(b"\xff").files == ("city.toml",)
