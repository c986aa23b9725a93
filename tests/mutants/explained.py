"""The mutants that may live: docs/TESTING.md names each of them and says why."""

from __future__ import annotations

import re
from typing import Final

from tests.mutants.draw import ROOT

PAGE: Final = ROOT / "docs" / "TESTING.md"
ROW: Final = re.compile(r"^\| `` (?P<name>(?:decide|act)\.\S+ .+?) `` \| (?P<why>.+) \|$", re.M)


def explained() -> dict[str, str]:
    """{name of a mutant: why no test notices it}."""
    text = PAGE.read_text(encoding="utf-8")
    return {row["name"].replace("\\|", "|"): row["why"] for row in ROW.finditer(text)}


def row(name: str, why: str) -> str:
    """The line of the page for one mutant."""
    return f"| `` {name.replace('|', chr(92) + '|')} `` | {why} |"
