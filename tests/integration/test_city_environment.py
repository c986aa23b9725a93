"""What a session of a real city finds in its environment, and what nobody else can read of it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.integration.city import RealCity, agent, city_toml, marked, needs_tmux, running_city

pytestmark = [*needs_tmux, pytest.mark.slow]

SECRET: Final = "canary-4711-not-for-others"
TOML: Final = city_toml(
    agent("mayor") + f'env = {{API_TOKEN = "{SECRET}", GREETING = "hello $PERSON"}}\n',
    agent("worker-1", dir="app", attach=False) + '\n[[rigs]]\nname = "app"\npath = "app"\n',
)
SOMEBODY_ELSES: Final = {
    "TMUX": "/nowhere/of/another,1,0",
    "TMUX_PANE": "%99",
    "CLAUDECODE": "1",
    "CLAUDE_CODE_ENTRYPOINT": "cli",
    "CLAUDE_CODE_CHILD_SESSION": "1",
    "NOTIFY_SOCKET": "/nowhere/notify",
    "LISTEN_FDS": "1",
    "GC_SESSION_NAME": "another",
    "GC_SESSION_ID": "gc-another",
    "GC_TEMPLATE": "another",
    "GC_INSTANCE_TOKEN": "another",
    "GC_RUNTIME_EPOCH": "7",
    "PERSON": "Ada",
}


@pytest.fixture(scope="module")
def seen_lines() -> list[str]:
    """Every command line that showed the secret while the city started and ran."""
    return []


@pytest.fixture(scope="module")
def city(seen_lines: list[str]) -> Iterator[RealCity]:
    """A running city, its command lines watched from the first moment."""
    over = threading.Event()

    def watch() -> None:
        while not over.is_set():
            for folder in Path("/proc").iterdir():
                with contextlib.suppress(OSError):
                    line = (folder / "cmdline").read_bytes() if folder.name.isdigit() else b""
                    if SECRET.encode() in line:
                        seen_lines.append(line.decode(errors="replace"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with running_city(TOML, **SOMEBODY_ELSES) as one:
            one.wait_up("mayor")
            one.wait_up("app--worker-1")
            one.gc("session", "kill", "mayor")
            one.wait_up("mayor")
            over.set()
            watcher.join()
            yield one
    finally:
        over.set()
        watcher.join()


def environment_of(city: RealCity, name: str) -> dict[str, str]:
    """The environment of a session's agent, which the shell that runs its command shares."""
    first, *others = [env for env in marked(city.path).values() if env["GC_SESSION_NAME"] == name]
    assert all(env["GC_INSTANCE_TOKEN"] == first["GC_INSTANCE_TOKEN"] for env in others)
    return first


def test_a_session_knows_where_it_is(city: RealCity) -> None:
    """Its marks are its own, whatever the controller was started with (R37, R69)."""
    env = environment_of(city, "app--worker-1")
    entry = city.session("app--worker-1")
    assert env["GC_CITY"] == str(city.path)
    assert env["GC_SESSION_ID"] == entry["id"]
    assert env["GC_TEMPLATE"] == env["GC_AGENT"] == "app/worker-1"
    assert env["GC_RIG"] == "app"
    assert Path(env["GC_BIN"]).exists()
    assert env["GC_RUNTIME_EPOCH"] == "1"
    assert env["GC_INSTANCE_TOKEN"] not in ("", "another")


def test_what_belongs_to_somebody_else_is_left_out(city: RealCity) -> None:
    """Another tmux, another agent's marks, the service manager's socket (R69)."""
    env = environment_of(city, "mayor")
    for key, value in SOMEBODY_ELSES.items():
        if key != "PERSON":
            assert env.get(key) != value, key
    assert not [key for key in env if key.startswith(("CLAUDE", "NOTIFY", "LISTEN"))]
    assert str(city.socket) in env.get("TMUX", str(city.socket))


def test_the_agents_own_variables_arrive(city: RealCity) -> None:
    """`env` of the agent is there, `$VAR` filled in from the controller's environment (R69)."""
    env = environment_of(city, "mayor")
    assert env["API_TOKEN"] == SECRET
    assert env["GREETING"] == "hello Ada"
    assert "API_TOKEN" not in environment_of(city, "app--worker-1")
    assert env["GC_RUNTIME_EPOCH"] == "2"


def test_no_secret_is_on_a_command_line_or_in_a_file(city: RealCity, seen_lines: list[str]) -> None:
    """No `/proc/*/cmdline` ever showed it; no file of the city but its config holds it (E8)."""
    assert seen_lines == []
    holders = [
        str(path.relative_to(city.path))
        for path in city.path.rglob("*")
        if path.is_file() and SECRET.encode() in path.read_bytes()
    ]
    assert holders == ["city.toml"]
    assert SECRET not in city.tmux("show-environment", "-g")
    assert SECRET not in city.tmux("show-environment", "-t", "=mayor:")
