"""What ships beside the code: lock files, cities to start from, service units, documents."""

from __future__ import annotations

import plistlib
import re
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
