"""A city from a text, in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from gascity.config.load import load_city
from gascity.config.problems import LoadResult
from gascity.model.city import City
from tests.unit.config.loading import Compose, Load


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Write `city.toml` (and further files by path) and load it."""

    def write_and_load(text: str | bytes, files: dict[str, str] | None = None) -> LoadResult:
        for name, content in {"city.toml": text, **(files or {})}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            path.chmod(0o600)
        return load_city(tmp_path)

    return write_and_load


@pytest.fixture
def compose(load: Load) -> Compose:
    """The city of a text that must load."""

    def composed(text: str) -> City:
        result = load(text)
        assert result.city is not None, "\n".join(map(str, result.problems))
        return result.city

    return composed
