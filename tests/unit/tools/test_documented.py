"""What is written about the tools for others, held against the tools."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import pytest
import tomli

from gascity.tools import SleepTool
from gascity.tools.calls import MOST_OPEN
from gascity.tools.mcp import INSTRUCTIONS
from gascity.tools.sleep import NOT_A_COUNT, TOO_LONG

DOCS = Path(__file__).resolve().parents[3] / "docs"
REFERENCE = (DOCS / "reference" / "tools.md").read_text(encoding="utf-8")
HOW_TO = (DOCS / "how-to" / "give-agents-the-sleep-tool.md").read_text(encoding="utf-8")

VARIABLES = {"GC_CITY", "GC_SESSION_ID", "GC_SESSION_NAME", "GC_INSTANCE_TOKEN"}


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of that language."""
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def test_the_reference_shows_the_very_schema() -> None:
    """Word for word what a client is sent (TOOL-01..TOOL-05, TOOL-45)."""
    [shown] = blocks(REFERENCE, "json")
    tool = SleepTool()
    assert json.loads(shown) == {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": json.loads(json.dumps(dict(tool.parameters))),
    }


@pytest.mark.parametrize("said", [NOT_A_COUNT, TOO_LONG, "Slept for 0 second(s)."])
def test_the_reference_shows_the_very_messages(said: str) -> None:
    """An agent that searches for its error finds it (TOOL-45)."""
    assert f"`{said}`" in REFERENCE


def test_long_waits_are_pointed_elsewhere() -> None:
    """By the reference, the how-to, and to the agent itself (TOOL-33, R49)."""
    for text in (REFERENCE, HOW_TO, INSTRUCTIONS):
        assert "wait_until" in text
        assert "gc wait" in text


def test_what_is_left_out_is_left_out() -> None:
    """Nothing configures it, and the page says what it does not do (TOOL-05, TOOL-34)."""
    assert not inspect.signature(SleepTool).parameters
    assert "cannot be changed" in REFERENCE
    for left_out in ("no command for people", "no sleep that survives", "no message"):
        assert left_out in " ".join(REFERENCE.split())
    assert f"up to {MOST_OPEN}" in REFERENCE


def test_the_settings_for_clients_can_be_pasted() -> None:
    """Each block parses, starts `gc mcp`, and gives a long call the time it needs (R49)."""
    json_blocks = [json.loads(one) for one in blocks(HOW_TO, "json")]
    claude, gemini, other = (one["mcpServers"]["gascity"] for one in json_blocks)
    [codex_block] = blocks(HOW_TO, "toml")
    codex = tomli.loads(codex_block)["mcp_servers"]["gascity"]
    for server in (claude, gemini, other, codex):
        assert (server["command"], server["args"]) == ("gc", ["mcp"])
    assert claude["timeout"] == gemini["timeout"] == codex["tool_timeout_sec"] * 1000
    assert set(codex["env_vars"]) == VARIABLES
    assert gemini["env"] == {name: f"${name}" for name in VARIABLES}
