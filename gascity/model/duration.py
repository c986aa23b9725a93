"""A span of time as operators write it: exact nanoseconds beside the words that were written.

Source: DESIGN §1 (R1)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from functools import total_ordering
from typing import Final, TypeAlias

NS_PER_S: Final = 1_000_000_000


@total_ordering
@dataclass(frozen=True, slots=True)
class Duration:
    """`ns` nanoseconds; `text` is what the operator wrote. Equality and order use `ns` alone."""

    ns: int
    text: str = field(compare=False)

    def __lt__(self, other: Duration) -> bool:
        return self.ns < other.ns

    def __str__(self) -> str:
        """The written text; a window of sixty seconds always prints as `60s` (STAT-09)."""
        return "60s" if self.ns == 60 * NS_PER_S else self.text

    @property
    def delta(self) -> timedelta:
        """The same span as a timedelta, rounded down to microseconds."""
        return timedelta(microseconds=self.ns // 1000)

    @property
    def seconds(self) -> float:
        """The same span in seconds."""
        return self.ns / NS_PER_S


class Off(Enum):
    """The explicit answer "never sleep when idle"; not the same as saying nothing."""

    OFF = "off"

    def __str__(self) -> str:
        return "off"


OFF: Final = Off.OFF

KeepWarm: TypeAlias = Duration | Off
"""How long idle is tolerated; `OFF` means for ever. `None` beside it means "not said"."""


def seconds(count: int) -> Duration:
    """A whole number of seconds, written `<count>s`."""
    return Duration(count * NS_PER_S, f"{count}s")
