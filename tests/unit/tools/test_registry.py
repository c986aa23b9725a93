"""Which tools an agent has."""

from __future__ import annotations

import pytest

import gascity.tools
from gascity.tools import Registry, SleepTool, create_default_tools


def test_the_default_tools_begin_with_sleep() -> None:
    """It stands among the stateless ones; the calculator before it is not ours (TOOL-25, R57)."""
    tools = create_default_tools()
    assert tools.names()[0] == "sleep"
    assert isinstance(tools.get("sleep"), SleepTool)


def test_the_tool_is_exported() -> None:
    """The package's own face has it (TOOL-24)."""
    assert gascity.tools.SleepTool is SleepTool
    assert "SleepTool" in gascity.tools.__all__


def test_a_constrained_registry_has_it_unless_it_says_otherwise() -> None:
    """Filtered by name, and only by name (TOOL-26)."""
    tools = create_default_tools()
    assert "sleep" in tools.only("sleep").names()
    assert "sleep" in tools.without("something-else").names()
    assert "sleep" not in tools.without("sleep").names()
    assert "sleep" in tools.names(), "filtering makes another registry"


def test_a_name_is_taken_once() -> None:
    """Two tools of one name would hide one."""
    with pytest.raises(ValueError, match="'sleep' is registered already"):
        Registry([SleepTool(), SleepTool()])


def test_a_misspelt_name_is_an_error_and_not_a_missing_tool() -> None:
    """Asking for a tool that is not there names those that are."""
    with pytest.raises(ValueError, match="no tool named 'slep'; there are: sleep"):
        create_default_tools().only("slep")
