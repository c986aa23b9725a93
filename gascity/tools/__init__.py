"""Tools that a model can call: what one is, those we have, and how a turn runs them.

Nothing here knows of cities, sessions or the controller; what is around a tool reaches it through
`tools.surroundings`. Serving the tools to agents is `tools.mcp`, which alone loads a framework.
"""

from gascity.tools.surroundings import (
    Nowhere,
    Surroundings,
    WaitRecorded,
    WaitRefused,
    WaitRequest,
)
from gascity.tools.tool import Tool, ToolResult

__all__ = [
    "Nowhere",
    "Surroundings",
    "Tool",
    "ToolResult",
    "WaitRecorded",
    "WaitRefused",
    "WaitRequest",
]
