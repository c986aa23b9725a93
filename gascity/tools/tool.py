"""What a tool is: a name, what the model reads about it, and an awaitable deed with a result."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """How a call ended. A success has an output and no error, a failure an error and no output.

    Source: TOOL-08, TOOL-09
    """

    success: bool
    output: str = ""
    error: str | None = None

    @classmethod
    def succeeded(cls, output: str) -> ToolResult:
        """The call did what it was asked to."""
        return cls(success=True, output=output)

    @classmethod
    def failed(cls, error: str) -> ToolResult:
        """The call did not; `error` is what the model reads."""
        return cls(success=False, error=error)


class Tool(Protocol):
    """One tool. Those of ours inherit from this class for the defaults of its last four members."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What the model calls it by."""
        raise NotImplementedError

    @property
    @abstractmethod
    def description(self) -> str:
        """What the model is told it does."""
        raise NotImplementedError

    @property
    @abstractmethod
    def parameters(self) -> Mapping[str, Any]:
        """JSON Schema of the arguments, an object."""
        raise NotImplementedError

    @abstractmethod
    async def execute(self, arguments: object) -> ToolResult:
        """Do it. `arguments` is whatever the model wrote, so a failed result refuses what is wrong.

        Cancellation passes through; no other exception does (TOOL-09, TOOL-30).
        """
        raise NotImplementedError

    @property
    def read_only(self) -> bool:
        """True when a call changes nothing."""
        return False

    @property
    def exclusive(self) -> bool:
        """True when a call must have the turn to itself."""
        return False

    @property
    def concurrency_safe(self) -> bool:
        """True when calls may run beside each other (TOOL-27)."""
        return self.read_only and not self.exclusive

    def seconds_meant(self, arguments: object) -> float | None:
        """How long a call with these arguments means to take, in seconds.

        0 when it answers at once, None when it cannot say.
        """
        return None
