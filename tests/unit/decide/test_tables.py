"""The printed tables say what the code does."""

from __future__ import annotations

from gascity.decide.recovery import RECOVERY
from gascity.testing.tables import PAGE, meanings, page


def test_the_page_is_not_stale() -> None:
    """`docs/TABLES.md` is what the tables print (REC-10, DRAIN-01, CAP-15)."""
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m gascity.testing.tables"


def test_every_label_is_told() -> None:
    """Each row of the recovery table has its meaning on the page (REC-10)."""
    told = [line.split()[1].strip("*") for line in meanings()]
    assert told == sorted({row.label for row in RECOVERY})
