"""The `sleep` tool: holds the current call for a number of whole seconds, and nothing more.

It keeps no state, writes nothing and starts no task: one timer of the event loop is all there is,
and it goes when the call is cancelled. A wait that must outlive this process is not its business.

Source: TOOL-01..TOOL-34, R47, R48, R58
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import anyio

from gascity.tools.tool import Tool, ToolResult

MAX_SLEEP_SECONDS: Final = 86_400
NOT_A_COUNT: Final = "seconds must be a non-negative integer"
TOO_LONG: Final = f"seconds must not exceed {MAX_SLEEP_SECONDS} (24 hours)"

_PARAMETERS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "type": "object",
        "properties": {
            "seconds": {
                "type": "integer",
                "minimum": 0,
                "maximum": MAX_SLEEP_SECONDS,
                "description": "Number of whole seconds to wait, up to 24 hours.",
            }
        },
        "required": ["seconds"],
    }
)


def parse_seconds(arguments: object) -> int:
    """The whole seconds that the arguments ask for, 0 to 86400; other fields are ignored.

    Raises ValueError with the message for the model. The message never holds the value: a number
    may be too long to be written out (TOOL-18).
    """
    seconds = arguments.get("seconds") if isinstance(arguments, Mapping) else None
    # The type itself, for `True` is an int to `isinstance`; and a float is never turned into one.
    if type(seconds) is not int or seconds < 0:
        raise ValueError(NOT_A_COUNT)
    if seconds > MAX_SLEEP_SECONDS:
        raise ValueError(TOO_LONG)
    return seconds


class SleepTool(Tool):
    """Waits. One instance serves any number of calls at a time."""

    @property
    def name(self) -> str:
        """`sleep`."""
        return "sleep"

    @property
    def description(self) -> str:
        """What the model is told."""
        return "Pause the current agent execution for a specified number of whole seconds."

    @property
    def parameters(self) -> Mapping[str, Any]:
        """One field, `seconds`. The schema alone would admit 2.0; `parse_seconds` does not."""
        return _PARAMETERS

    async def execute(self, arguments: object) -> ToolResult:
        """Return when the seconds have passed, or at once with an error. Cancellation ends it."""
        try:
            seconds = parse_seconds(arguments)
        except ValueError as problem:
            return ToolResult.failed(str(problem))
        await anyio.sleep(seconds)
        return ToolResult.succeeded(f"Slept for {seconds} second(s).")

    def seconds_meant(self, arguments: object) -> float | None:
        """What was asked for; 0 where that is refused."""
        try:
            return parse_seconds(arguments)
        except ValueError:
            return 0
