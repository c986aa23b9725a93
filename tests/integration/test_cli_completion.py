"""Completion as a real bash does it: the generated script, a typed line, what it offers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.control_stand_in import StandIn, a_city, controlled, hung

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")

# Sources the generated script, plays one press of TAB at the end of $LINE, prints the offers.
PRESS_TAB: Final = """
set -eu
eval "$("$GC" completion bash)"
read -r -a COMP_WORDS <<< "$LINE"
case "$LINE" in *' ') COMP_WORDS+=("") ;; esac
COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
COMP_LINE=$LINE COMP_POINT=${#LINE} COMP_TYPE=9
set +u
_python_argcomplete gc "${COMP_WORDS[COMP_CWORD]}" ""
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def city() -> Iterator[Path]:
    """A city without a controller."""
    with a_city() as path:
        yield path


@pytest.fixture
def controller(city: Path) -> Iterator[StandIn]:
    """A controller that knows two sessions."""
    with controlled(city) as stand_in:
        stand_in.gives("sessions", {"names": ["mayor", "worker-1", "worker-2"]})
        yield stand_in


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """A folder with `gc`, as an installation has it."""
    script = tmp_path / "gc"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m gascity "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return tmp_path


def bash(script: str, city: Path, bin_folder: Path, **variables: str) -> str:
    """What a bash prints that runs the script with `gc` on its path; nothing may reach stderr."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GC_")}
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        env=environment
        | {
            "GC": str(bin_folder / "gc"),
            "GC_CITY": str(city),
            "PATH": f"{bin_folder}:{environment['PATH']}",
            "PYTHONPATH": str(root),
        }
        | variables,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


def offers(line: str, city: Path, bin_folder: Path) -> list[str]:
    """What TAB offers at the end of the line."""
    return [
        word.strip() for word in bash(PRESS_TAB, city, bin_folder, LINE=line).split("\n") if word
    ]


def test_the_script_registers_both_names(city: Path, bin_folder: Path) -> None:
    """After loading, bash completes `gc` and `gascity`."""
    script = 'eval "$("$GC" completion bash)"; complete -p gc gascity'
    assert bash(script, city, bin_folder).count("_python_argcomplete") == 2


def test_commands_are_offered(city: Path, bin_folder: Path) -> None:
    """The first word completes to commands."""
    assert set(offers("gc s", city, bin_folder)) == {
        "session",
        "sleep",
        "sling",
        "start",
        "status",
        "stop",
        "suspend",
    }


def test_options_of_the_typed_command_are_offered(city: Path, bin_folder: Path) -> None:
    """Options come from the command's own parser."""
    assert "--confirm-fresh" in offers("gc attach --c", city, bin_folder)


def test_session_names_come_from_the_controller(
    controller: StandIn, city: Path, bin_folder: Path
) -> None:
    """A SESSION completes to the names the controller knows, subcommands included."""
    assert offers("gc wake wor", city, bin_folder) == ["worker-1", "worker-2"]
    assert offers("gc session peek m", city, bin_folder) == ["mayor"]
    assert offers(f"gc --city {city} why m", city, bin_folder) == ["mayor"]


def test_without_a_controller_nothing_is_said(city: Path, bin_folder: Path) -> None:
    """No controller: no names, no noise, no waiting."""
    assert offers("gc wake wor", city, bin_folder) == []


def test_outside_a_city_nothing_is_said(tmp_path: Path, bin_folder: Path) -> None:
    """A city that is not there is silence too."""
    assert offers("gc wake wor", tmp_path / "nowhere", bin_folder) == []


def test_a_controller_that_hangs_is_not_waited_for(city: Path, bin_folder: Path) -> None:
    """A controller that accepts and says nothing costs a blink, not the client's whole patience."""
    with hung(city):
        began = time.monotonic()
        assert offers("gc wake wor", city, bin_folder) == []
        assert time.monotonic() - began < 8


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_a_script(shell: str, city: Path, bin_folder: Path) -> None:
    """zsh and fish scripts name the command."""
    assert "gc" in bash(f'"$GC" completion {shell}', city, bin_folder)
