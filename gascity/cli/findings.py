"""What `gc doctor` finds, and how a check that cannot be made is itself a finding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

ERROR: Final = "error"  # something does not work
WARNING: Final = "warning"  # somebody should look


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing worth knowing: what it is, why it matters, what to do about it."""

    check: str
    severity: str
    what: str
    why: str = ""
    fix: str = ""

    def as_dict(self) -> dict[str, str]:
        """The same, for --json."""
        return asdict(self)


def attempt(name: str, check: Callable[[Path], Iterable[Finding]], city: Path) -> Iterator[Finding]:
    """The findings of one check; a file or program it cannot reach is reported, not raised."""
    try:
        yield from check(city)
    except OSError as error:
        yield Finding(
            check=name,
            severity=ERROR,
            what=f"cannot look: {error}",
            fix="see that the path exists and that you may read it",
        )
