"""What the fixtures of these tests give."""

from __future__ import annotations

from collections.abc import Callable

from gascity.config.problems import LoadResult
from gascity.model.city import City

Load = Callable[..., LoadResult]
"""Writes a city's files and loads it."""

Compose = Callable[[str], City]
"""The city of a text that must load."""
