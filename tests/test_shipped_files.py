"""What ships beside the code: lock files, cities to start from, service units, documents."""

from __future__ import annotations

import plistlib
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import tomli

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ["requirements.lock", "requirements-dev.lock"]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


def pinned(lock: str) -> dict[str, str]:
    """{name: version} of a lock file."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", text, flags=re.MULTILINE))


def wanted(requirements: list[str]) -> set[str]:
    """Names of the distributions that are asked for."""
    return {re.split(r"[^A-Za-z0-9-]", one, maxsplit=1)[0] for one in requirements}


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_holds_hashes_and_no_address(lock: str) -> None:
    """Plain pip installs from whatever index the reader has set, and checks what it got."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert "://" not in text
    entries = text.replace("\\\n", "").splitlines()
    assert all("--hash=sha256:" in entry for entry in entries)


def test_the_locks_cover_what_is_asked_for_and_agree() -> None:
    """Users get the very versions that the tests ran with."""
    project = tomli.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    runtime, everything = map(pinned, LOCKS)
    assert wanted(project["project"]["dependencies"]) <= runtime.keys()
    assert wanted(project["dependency-groups"]["dev"]) <= everything.keys()
    assert runtime.items() <= everything.items()


def test_few_packages_are_asked_for() -> None:
    """At most ten by name, each with its reason to be there."""
    project = tomli.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert len(project["dependencies"]) <= 10


def test_the_version_is_said_once_and_kept_in_step() -> None:
    """`gc --version` says what is packaged; the sleep tool came with a patch level (TOOL-45)."""
    from gascity import __version__

    project = tomli.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == __version__
    assert tuple(int(part) for part in project["version"].split(".")) >= (0, 1, 1)


@pytest.mark.slow
def test_the_package_builds_and_holds_every_module(tmp_path: Path) -> None:
    """A wheel comes out of the sources as they are, with all of `gascity` in it (TOOL-44)."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "gascity").rglob("*.py")}
    assert modules <= held


def test_checks_fail_on_warnings_and_on_stray_blanks() -> None:
    """Lint, types and tests stop at a warning, and blanks at line ends are one (TOOL-44)."""
    tools = tomli.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    assert "W" in tools["ruff"]["lint"]["select"]
    assert tools["mypy"]["strict"] is True
    assert tools["pytest"]["ini_options"]["filterwarnings"] == ["error"]
    ours = [*PAGES, ROOT / "Makefile", ROOT / "pyproject.toml", *(ROOT / "config").rglob("*.toml")]
    stray = [path.name for path in ours if re.search(r"[ \t]+$", path.read_text(), re.MULTILINE)]
    assert stray == []


@pytest.mark.parametrize(
    ("city", "window"), [("starter", "0s"), ("conservative", "30s")], ids=["full", "timed-only"]
)
def test_the_cities_to_start_from_hold_the_starter_blocks(city: str, window: str) -> None:
    """The two policy blocks are the ones the design names (CFG-19, CFG-20, ROLL-06)."""
    shipped = tomli.loads((ROOT / "config" / f"{city}.toml").read_text(encoding="utf-8"))
    assert shipped["session_sleep"] == {
        "interactive_resume": "60s",
        "interactive_fresh": "off",
        "noninteractive": window,
    }


def test_stopping_the_service_stops_the_controller_only() -> None:
    """Neither systemd nor launchd takes the sessions down with the controller (R37)."""
    unit = (ROOT / "config" / "systemd" / "gascity@.service").read_text(encoding="utf-8")
    assert {"Type=notify", "KillMode=process"} <= set(unit.splitlines())
    with (ROOT / "config" / "launchd" / "org.gascity.controller.plist").open("rb") as plist:
        assert plistlib.load(plist)["AbandonProcessGroup"] is True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link of a document names a file or folder that exists."""
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
