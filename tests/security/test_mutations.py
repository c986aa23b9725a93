"""A city changed in one place is a city or its errors, which name file and key; never a crash."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from gascity.config.load import load_city
from gascity.config.write import effective_toml
from tests.security import made_up, mutate


def test_the_made_up_city_loads(tmp_path: Path) -> None:
    """It is the start of every change below, and uses every way to compose (R6a)."""
    result = load_city(made_up.make(tmp_path))
    assert result.city is not None, result.errors
    assert result.city.incomplete
    assert len(result.city.agents) == 20
    assert {problem.key for problem in result.warnings} >= {"source", "includes", "imports"}


@pytest.mark.parametrize("first", [0, 50, 100])
def test_one_change_is_answered(tmp_path: Path, first: int) -> None:
    """Dropped, doubled, retyped, moved or cut off: an answer with file and key (R5, R6a)."""
    before = os.umask(0o077)
    city = made_up.make(tmp_path)
    os.umask(before)
    files = mutate.toml_files(city)
    for seed in range(first, first + 50):
        chance = random.Random(seed)
        file = chance.choice(files)
        text = file.read_text(encoding="utf-8")
        done, changed = mutate.mutated(text, chance)
        file.write_text(changed, encoding="utf-8")
        result = load_city(city)
        mutate.judge(result, city, f"{seed}: {file.relative_to(city)}: {done}")
        if result.city is not None:
            effective_toml(result.city)
        file.write_text(text, encoding="utf-8")
