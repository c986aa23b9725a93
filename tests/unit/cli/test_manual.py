"""`docs/reference/cli.md` says what the parsers say; the exit codes page has every code."""

from __future__ import annotations

import re
from pathlib import Path

from gascity.api import protocol
from gascity.cli import failure
from gascity.cli.main import COMMANDS
from gascity.cli.manual import manual

REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "reference"


def test_the_reference_is_up_to_date() -> None:
    """Write it again with `python -m gascity.cli.manual docs/reference/cli.md` when this fails."""
    assert (REFERENCE / "cli.md").read_text(encoding="utf-8") == manual()


def test_every_command_has_a_section() -> None:
    """No command is left out, and no line is a traceback of what argparse would say."""
    assert re.findall(r"^## gc (\S+)$", manual(), flags=re.MULTILINE) == list(COMMANDS)


def test_exit_codes_are_the_documented_ones() -> None:
    """The page names each code the command line and the control socket use."""
    page = (REFERENCE / "exit-codes.md").read_text(encoding="utf-8")
    documented = set(map(int, re.findall(r"^\| (\d+) \|", page, flags=re.MULTILINE)))
    names = ("DONE", "FAILED", "USAGE", "REFUSED", "TIMED_OUT", "NO_CONTROLLER", "INTERRUPTED")
    assert documented == {getattr(failure, name) for name in names}
    assert documented == {getattr(protocol, f"EXIT_{name}") for name in names}
