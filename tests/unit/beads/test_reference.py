"""The reference pages on metadata and events say what the code says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from gascity.beads.keys import KEYS
from gascity.beads.manual import OWNERS, manual
from gascity.model.events import EventType

REFERENCE: Final = Path(__file__).resolve().parents[3] / "docs" / "reference"


def test_the_metadata_page_is_up_to_date() -> None:
    """Write it again with `python -m gascity.beads.manual docs/reference/metadata.md`."""
    assert (REFERENCE / "metadata.md").read_text(encoding="utf-8") == manual()


def test_every_owner_is_explained() -> None:
    """No key has an owner that the page does not explain."""
    assert {key.owner for key in KEYS} == set(OWNERS)


def test_the_events_page_names_every_type_once() -> None:
    """Each type has a heading, and no heading names a type that is not emitted (EVT-01..EVT-07)."""
    page = (REFERENCE / "events.md").read_text(encoding="utf-8")
    named = re.findall(r"^### `([a-z_.]+)`$", page, flags=re.MULTILINE)
    assert sorted(named) == sorted(kind.value for kind in EventType)
