"""One answer to one question put to a runtime, the store or a demand command.

"No answer" is a value: every question ends as known, unsupported or unclear, and doubt is told
apart from a clear no everywhere (R9, R10).

Source: DESIGN §8
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Known(Generic[T_co]):
    """A certain answer."""

    value: T_co


@dataclass(frozen=True, slots=True)
class Unsupported:
    """The one asked can never answer this question."""


@dataclass(frozen=True, slots=True)
class Unclear:
    """No certain answer this time; `why` is shown to people."""

    why: str


Reading: TypeAlias = Known[T] | Unsupported | Unclear


def known_or(reading: Reading[T] | None, default: T) -> T:
    """The known value, or `default` for every other kind of answer."""
    return reading.value if isinstance(reading, Known) else default
