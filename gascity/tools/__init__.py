"""Tools that a model can call: what one is, those we have, and how a turn runs them.

Nothing here knows of cities, sessions or the controller; what is around a tool reaches it through
`tools.surroundings`. Serving the tools to agents is `tools.mcp`, which alone loads a framework.
"""

from gascity.tools.registry import Registry, create_default_tools
from gascity.tools.sleep import MAX_SLEEP_SECONDS, SleepTool, parse_seconds
from gascity.tools.surroundings import (
    Nowhere,
    Surroundings,
    WaitRecorded,
    WaitRefused,
    WaitRequest,
)
from gascity.tools.tool import Tool, ToolResult
from gascity.tools.turn import Snapshot, ToolBlock, ToolCall, ToolStatus, Turn
from gascity.tools.wait_until import WaitUntilTool, parse_wait

__all__ = [
    "MAX_SLEEP_SECONDS",
    "Nowhere",
    "Registry",
    "SleepTool",
    "Snapshot",
    "Surroundings",
    "Tool",
    "ToolBlock",
    "ToolCall",
    "ToolResult",
    "ToolStatus",
    "Turn",
    "WaitRecorded",
    "WaitRefused",
    "WaitRequest",
    "WaitUntilTool",
    "create_default_tools",
    "parse_seconds",
    "parse_wait",
]
