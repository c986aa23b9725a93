"""The tutorial stays true: its city loads, its agent is a shell script, its commands parse."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gascity.cli.main import COMMANDS, parser_of

PAGE = Path(__file__).resolve().parents[3] / "docs" / "tutorial.md"
TEXT = PAGE.read_text(encoding="utf-8")


def block(language: str) -> str:
    """The one fenced block of this language."""
    [found] = re.findall(rf"^```{language}\n(.*?)^```", TEXT, flags=re.MULTILINE | re.DOTALL)
    return str(found)


def test_its_city_is_valid(city: Path, gc: Callable[..., Any]) -> None:
    """The shown `city.toml` loads without a word: it says how its script resumes (R62)."""
    (city / "city.toml").write_text(block("toml"), encoding="utf-8")
    ran = gc("config", "validate")
    assert ran.code == 0
    assert "no problems" in ran.out
    assert ran.err == ""
    assert "sleep=10s (source=workspace_default)" in gc("config", "explain", "mayor").out


def test_its_agent_answers(tmp_path: Path) -> None:
    """The stand-in agent prompts, answers a line, and prompts again."""
    script = tmp_path / "agent.sh"
    script.write_text(block("sh"), encoding="utf-8")
    done = subprocess.run(
        ["sh", str(script)],
        input="hello\n",
        capture_output=True,
        text=True,
        timeout=10,
        check=False,
    )
    assert done.stdout == "> you said: hello\n> "


def test_its_commands_parse() -> None:
    """Every `gc` line is one the parsers take."""
    lines = re.findall(r"^    gc (.+)$", TEXT, flags=re.MULTILINE)
    assert len(lines) > 12
    for line in lines:
        name, *words = shlex.split(line)
        assert name in COMMANDS
        _, parser = parser_of(name)
        parser.parse_args(words)
