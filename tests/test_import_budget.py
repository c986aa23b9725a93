"""Hot commands start in milliseconds because they load no framework (design: the control socket).

Which commands are hot is read from `gascity.cli.main.HOT`, so that a new one cannot be forgotten.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[1]
MAIN: Final = ROOT / "gascity" / "cli" / "main.py"
FRAMEWORKS: Final = {
    "pydantic", "structlog", "anyio", "fastapi", "starlette", "uvicorn", "mcp", "rich", "textual",
    "click",
}  # fmt: skip

# What comes after the command's name for it to get as far as asking the controller.
ARGUMENTS: Final[dict[str, list[str]]] = {
    "wake": ["mayor", "--no-wait"],
    "attach": ["mayor"],
    "sleep": ["mayor"],
    "pin": ["mayor"],
    "unpin": ["mayor"],
    "sling": ["mayor", "a title"],
    "bead": ["list"],
    "busy": ["--", "true"],
    "wait": ["list"],
    "completion": ["bash"],
    "agent-event": ["Stop"],
}

INSIDE_A_SESSION: Final = {"GC_SESSION_ID": "s-1", "GC_SESSION_NAME": "mayor"}

NOT_THERE: Final = "a module of ours that is not there yet"

RUN: Final = """
import json, sys
sys.argv = ["gc", *json.loads(sys.argv[1])]
try:
    from gascity.cli.main import main
    code = main()
except SystemExit as left:
    code = left.code
except ModuleNotFoundError as missing:
    if not missing.name.startswith("gascity."):
        raise
    code = NOT_THERE
with open(REPORT, "w") as report:
    json.dump([code, sorted(sys.modules)], report)
"""


def hot_commands() -> list[str]:
    """The hot commands the command line declares; none while it does not exist."""
    if not MAIN.is_file():
        return []
    from gascity.cli import main

    return sorted(main.HOT)


@pytest.fixture
def city() -> Iterator[Path]:
    """A city whose controller refuses all it is asked; its path is short enough to bind."""
    with tempfile.TemporaryDirectory(prefix="gc-") as folder, contextlib.ExitStack() as stack:
        path = Path(folder)
        (path / ".gc").mkdir(mode=0o700)
        (path / "city.toml").write_text('[workspace]\nname = "demo"\n', encoding="utf-8")
        lock = stack.enter_context((path / ".gc" / "controller.lock").open("w", encoding="utf-8"))
        fcntl.flock(lock, fcntl.LOCK_EX)
        server = stack.enter_context(socket.socket(socket.AF_UNIX))
        server.bind(str(path / ".gc" / "controller.sock"))
        server.listen()
        thread = threading.Thread(target=refuse_all, args=(server,), daemon=True)
        thread.start()
        yield path
        server.shutdown(socket.SHUT_RDWR)
        thread.join(timeout=5)


def refuse_all(server: socket.socket) -> None:
    """Answer one line a connection until the socket is shut."""
    refusal = (
        b'{"v": 1, "ok": false, "exit": 3, "what": "refused by a stand-in", "do": "nothing"}\n'
    )
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection, contextlib.suppress(OSError):
            connection.settimeout(5)
            connection.recv(65536)
            connection.sendall(refusal)


def loaded_by(arguments: list[str], report: Path, city: Path) -> tuple[object, set[str]]:
    """Exit code and the modules that are loaded when `gc ARGUMENTS` is through."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GC_")}
    subprocess.run(
        [
            sys.executable,
            "-c",
            RUN.replace("REPORT", repr(str(report))).replace("NOT_THERE", repr(NOT_THERE)),
            json.dumps(arguments),
        ],
        cwd=city,
        env=environment | INSIDE_A_SESSION | {"GC_CITY": str(city), "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=40,
        check=True,
    )
    code, modules = json.loads(report.read_text(encoding="utf-8"))
    return code, set(modules)


def frameworks_in(modules: set[str]) -> set[str]:
    """The frameworks among the loaded modules."""
    return {name.split(".")[0] for name in modules} & FRAMEWORKS


def test_the_package_itself_imports_nothing() -> None:
    """`import gascity` costs nothing but the interpreter."""
    script = (
        "import sys; had = set(sys.modules); import gascity; print(len(set(sys.modules) - had))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=True, text=True
    )
    assert int(done.stdout) == 1


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]], ids=" ".join)
def test_help_and_version_load_no_framework(
    arguments: list[str], city: Path, tmp_path: Path
) -> None:
    """`gc --help` loads none of the frameworks, and so none of them is needed to read it."""
    if not MAIN.is_file():
        return
    code, modules = loaded_by(arguments, tmp_path / "modules", city)
    assert code in {0, None, NOT_THERE}
    assert frameworks_in(modules) == set()


@pytest.mark.parametrize("command", hot_commands())
def test_a_hot_command_loads_no_framework(command: str, city: Path, tmp_path: Path) -> None:
    """A hot command, run against a controller that answers, loads none of the frameworks."""
    if command == "--help":
        return
    for arguments in ([command, "--help"], [command, *ARGUMENTS.get(command, [])]):
        _, modules = loaded_by(arguments, tmp_path / "modules", city)
        assert frameworks_in(modules) == set(), arguments
