"""Where packs are found: by path, by map, in what other tools fetched; never by fetching."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from gascity.config.load import load_city
from gascity.config.problems import LoadResult
from gascity.config.sources import Remote, head_of, remote
from tests.unit.config.loading import Load

CLONE = "https://github.com/org/kit.git"
TREE = "https://github.com/org/kit/tree/main/packs/crew"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
OTHER = COMMIT[::-1]
AGENT = '[pack]\nname = "crew"\nschema = 2\n[[agent]]\nname = "a"\nprovider = "claude"\n'


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the other tools that is nobody's."""
    found = tmp_path.parent / f"{tmp_path.name}-home"
    monkeypatch.setenv("GC_HOME", str(found))
    return found


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("packs/crew", None),
        ("../x", None),
        ("//packs/crew", None),
        ("/srv/packs/crew", None),
        (TREE, Remote(CLONE, "packs/crew", "main")),
        ("https://github.com/org/kit/tree/main", Remote(CLONE, "", "main")),
        (f"{CLONE}//packs/crew", Remote(CLONE, "packs/crew", "")),
        (f"{CLONE}//packs/crew#v1", Remote(CLONE, "packs/crew", "v1")),
        (f"{CLONE}#v1", Remote(CLONE, "", "v1")),
        ("git@github.com:org/kit.git//p", Remote("git@github.com:org/kit.git", "p", "")),
        ("github.com/org/kit.git//p", Remote("github.com/org/kit.git", "p", "")),
        ("file:///srv/kit.git//p", Remote("file:///srv/kit.git", "p", "")),
    ],
)
def test_a_source_is_a_path_or_taken_apart(source: str, parts: Remote | None) -> None:
    """What is cloned, the folder in it, and the revision (R6a)."""
    assert remote(source) == parts


def checkout(folder: Path, inner: str, *, head: str = COMMIT) -> None:
    """What another tool leaves behind after it fetched a pack."""
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text(f"{head}\n", encoding="utf-8")
    (folder / inner).mkdir(parents=True, exist_ok=True)
    (folder / inner / "pack.toml").write_text(AGENT, encoding="utf-8")


def in_home(home: Path, commit: str = COMMIT, clone: str = CLONE) -> Path:
    """Where the other tools keep a checkout."""
    return home / "cache" / "repos" / hashlib.sha256(f"{clone}{commit}".encode()).hexdigest()


def imported(version: str = f"sha:{COMMIT}", source: str = TREE) -> str:
    """A city that imports one remote pack."""
    return f'[imports.kit]\nsource = "{source}"\nversion = "{version}"\n'


def agents(result: LoadResult) -> list[str]:
    """Who the city has; it must load."""
    assert result.city is not None, result.problems
    return list(result.city.agents)


def test_a_pinned_pack_is_found_in_the_cache(load: Load, home: Path) -> None:
    """By the commit the import itself pins, in the place of the ecosystem (R6a)."""
    checkout(in_home(home), "packs/crew")
    result = load(imported())
    assert agents(result) == ["kit.a"]
    assert result.problems == ()
    assert any(name.endswith("packs/crew/pack.toml") for name in result.files)


def test_the_lock_says_what_was_fetched(load: Load, home: Path) -> None:
    """`packs.lock` pins what the city leaves open, under either spelling (R6a)."""
    checkout(in_home(home), "packs/crew")
    for key in (TREE, CLONE):
        lock = f'schema = 1\n[packs."{key}"]\nversion = "1.2"\ncommit = "{COMMIT}"\n'
        assert agents(load(imported("^1.2"), {"packs.lock": lock})) == ["kit.a"]


def test_named_packs_have_a_cache_in_the_city(load: Load, tmp_path: Path) -> None:
    """`[packs.NAME]` with a commit as its ref, and includes by the older cache (R6a)."""
    text = (
        f'[packs.kit]\nsource = "{CLONE}"\nref = "{COMMIT}"\npath = "packs/crew"\n'
        '[workspace]\nincludes = ["kit"]\n'
    )
    assert load(text).city is not None
    checkout(tmp_path / ".gc/cache/packs/kit", "packs/crew")
    assert agents(load(text)) == ["a"]
    digest = hashlib.sha256(CLONE.encode()).hexdigest()[:12]
    checkout(tmp_path / f".gc/cache/includes/kit-{digest}", "packs/crew")
    assert agents(load(f'[workspace]\nincludes = ["{CLONE}//packs/crew#{COMMIT}"]\n')) == ["a"]


@pytest.mark.parametrize(
    ("version", "head", "inner", "words"),
    [
        ("^1.2", COMMIT, "packs/crew", "not pinned by a commit"),
        ("", COMMIT, "packs/crew", "not pinned by a commit"),
        ("main", COMMIT, "packs/crew", "not pinned by a commit"),
        (f"sha:{COMMIT}", OTHER, "packs/crew", "not in the cache"),
        (f"sha:{COMMIT}", "ref: refs/heads/none", "packs/crew", "not in the cache"),
        (f"sha:{OTHER}", OTHER, "packs/crew", "not in the cache"),
        (f"sha:{COMMIT}", COMMIT, "elsewhere", "cached without this folder"),
    ],
)
def test_what_is_not_surely_the_pack_is_not_used(
    load: Load, home: Path, version: str, head: str, inner: str, words: str
) -> None:
    """Not pinned, at another commit or without the folder: named, and the city incomplete (E6)."""
    checkout(in_home(home), inner, head=head)
    result = load(imported(version))
    assert agents(result) == []
    assert result.city is not None
    assert result.city.incomplete
    assert [words in problem.what for problem in result.problems] == [True]
    assert "--pack-map" in result.problems[0].remedy or words == "cached without this folder"


def test_a_remote_pack_stays_in_its_repository(load: Load, home: Path) -> None:
    """The folder in a source may not climb out of the checkout, nor be a link out of it (E6)."""
    root = in_home(home)
    checkout(root, "packs/crew")
    checkout(root.parent / "neighbour", "packs/crew")
    source = f"{CLONE}//../neighbour/packs/crew"
    assert "outside its repository" in str(load(imported(source=source)).errors[0])
    (root / "link").symlink_to(root.parent / "neighbour/packs/crew")
    assert "outside its repository" in str(load(imported(source=f"{CLONE}//link")).errors[0])


def test_the_head_of_a_branch_is_followed(tmp_path: Path) -> None:
    """A checkout may stand on a branch; a pipe or nonsense in its place is no commit."""
    checkout(tmp_path / "kit", "x", head="ref: refs/heads/main")
    assert head_of(tmp_path / "kit") == ""
    (tmp_path / "kit/.git/refs/heads").mkdir(parents=True)
    (tmp_path / "kit/.git/refs/heads/main").write_text(COMMIT.upper(), encoding="utf-8")
    assert head_of(tmp_path / "kit") == COMMIT
    (tmp_path / "kit/.git/HEAD").write_text("ref: refs/../../../x\n", encoding="utf-8")
    assert head_of(tmp_path / "kit") == ""


MAP = f'[[map]]\nsources = ["{TREE}", "{CLONE}"]\ndir = "stand-in"\n'


def test_a_map_stands_for_what_is_remote(load: Load, tmp_path: Path) -> None:
    """Kept in `.gc/` it always holds; asked for, it is the only one; nothing is pinned by it."""
    files = {".gc/pack-map.toml": MAP, ".gc/stand-in/pack.toml": AGENT}
    assert agents(load(imported("^1"), files)) == ["kit.a"]
    other = tmp_path / "maps"
    (other / "stand-in/packs/crew").mkdir(parents=True)
    (other / "map.toml").write_text(MAP, encoding="utf-8")
    named = (
        f'[packs.kit]\nsource = "{CLONE}"\npath = "packs/crew"\n[workspace]\nincludes = ["kit"]\n'
    )
    load(named)
    result = load_city(tmp_path, pack_map=other / "map.toml")
    assert "mapped to a folder without pack.toml" in result.problems[0].what
    (other / "stand-in/packs/crew/pack.toml").write_text(AGENT, encoding="utf-8")
    assert agents(load_city(tmp_path, pack_map=other / "map.toml")) == ["a"]


def test_a_map_is_checked_as_any_file_is(load: Load, tmp_path: Path) -> None:
    """A map decides whose commands run: broken, or writable by everybody, it is an error (R70)."""
    [problem] = load(imported(), {".gc/pack-map.toml": "[[map]]\ndir = 3\n"}).errors[:1]
    assert problem.file == ".gc/pack-map.toml"
    load(imported(), {".gc/pack-map.toml": MAP})
    (tmp_path / ".gc/pack-map.toml").chmod(0o666)
    [problem] = load_city(tmp_path).errors
    assert "everybody" in problem.what
