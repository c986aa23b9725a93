"""Where the real cities lie: `$GASCITY_CITIES`, or `shared/cities` beside this checkout.

They belong to the people who wrote them and are not part of the project; without them these tests
are skipped, and say so. Their shapes, written anew, are in `tests/unit/config/test_packs.py`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

import pytest

_BESIDE: Final = Path(__file__).resolve().parents[3] / "shared" / "cities"
HOME: Final = Path(os.environ.get("GASCITY_CITIES") or _BESIDE)
GIVEN: Final = HOME / "given"
MAP: Final = GIVEN / "_remote-packs" / "SOURCES.toml"
NAMES: Final = sorted(
    path.name for path in (GIVEN.iterdir() if GIVEN.is_dir() else ()) if path.name[0] != "_"
)
needed = pytest.mark.skipif(not NAMES, reason="no cities in $GASCITY_CITIES")
VIEWS: Final = {"as_is": None, "with_remote_packs": MAP}


def expected() -> dict[str, Any]:
    """{city: what somebody else computed of it}."""
    found: dict[str, Any] = json.loads((HOME / "expected.json").read_text(encoding="utf-8"))
    return found["cities"]


def entry(name: str) -> Path:
    """The city file of a given city; one of them lies deeper."""
    return min((GIVEN / name).rglob("city.toml"), key=lambda path: len(path.parts))
