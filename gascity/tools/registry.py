"""The tools an agent may call, by name and in order; a sub-agent gets some of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gascity.tools.sleep import SleepTool
from gascity.tools.tool import Tool


class Registry:
    """Tools by name, in the order they were registered."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            self.register(tool)

    def register(self, tool: Tool) -> None:
        """Add a tool. Raises ValueError when its name is taken."""
        if tool.name in self._tools:
            raise ValueError(
                f"a tool named {tool.name!r} is registered already; rename one of them"
            )
        self._tools[tool.name] = tool

    def get(self, name: str) -> Tool | None:
        """The tool of that name, if there is one."""
        return self._tools.get(name)

    def names(self) -> tuple[str, ...]:
        """All names, in order."""
        return tuple(self._tools)

    def without(self, *names: str) -> Registry:
        """A registry of all tools but these; names that are not there change nothing."""
        return Registry(tool for tool in self if tool.name not in names)

    def only(self, *names: str) -> Registry:
        """A registry of these tools, in the order they have here.

        Raises ValueError on a name that is not there, for a misspelt one would take a tool away.
        """
        missing = [name for name in names if name not in self._tools]
        if missing:
            raise ValueError(f"no tool named {missing[0]!r}; there are: {', '.join(self._tools)}")
        return Registry(tool for tool in self if tool.name in names)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)


def create_default_tools() -> Registry:
    """The tools that every agent gets unless its registry is filtered: the stateless ones.

    Source: TOOL-25, TOOL-26, R57
    """
    return Registry([SleepTool()])
