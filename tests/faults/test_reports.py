"""Every test that docs/reliability.md promises is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
TEXT: Final = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
REFERENCES: Final = sorted(set(re.findall(r"`(tests/[a-z0-9_/]+\.py)::(test_[a-z0-9_]+)`", TEXT)))
# Reports about what exists.
REPORTS: Final = re.findall(
    r"F\d\d",
    "F01 F02 F03 F04 F05 F06 F07 F09 F10 F12 F14 F15 F16 F17 F19 F20 F21 F23 F24 F26 F28 F30 F31 "
    "F32 F35 F37 F40 F43 F45 F48 F49 F51 F53 F55 F56 F58",
)


@pytest.mark.parametrize(("file", "name"), REFERENCES)
def test_a_promised_test_exists(file: str, name: str) -> None:
    """A renamed or removed test takes its line in the table with it (R14)."""
    assert re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text(), re.MULTILINE)


@pytest.mark.parametrize("report", REPORTS)
def test_a_report_has_its_test_or_its_reason(report: str) -> None:
    """No report about what exists is left out (R14)."""
    assert re.search(rf"^(\| )?{report} ", TEXT, re.MULTILINE)
