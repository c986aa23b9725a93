"""Each city at hand, changed in one place: an answer that names file and key, never a crash."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import Final

import pytest

from gascity.config.load import load_city
from tests.field.cities import GIVEN, MAP, NAMES, entry, needed
from tests.security import mutate

pytestmark = [needed, pytest.mark.slow]

CHANGES: Final = int(os.environ.get("GASCITY_CHANGES", "60"))


@pytest.mark.parametrize("name", NAMES)
def test_a_real_city_changed_in_one_place_is_answered(name: str, tmp_path: Path) -> None:
    """Dropped, doubled, retyped, moved or cut off, in any of its files (R5, R6a)."""
    root = tmp_path / "city"
    shutil.copytree(GIVEN / name, root, copy_function=shutil.copyfile)
    for path in (root, *root.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    file_of_city = root / entry(name).relative_to(GIVEN / name)
    city, files = file_of_city.parent, mutate.toml_files(root)
    for seed in range(CHANGES):
        chance = random.Random(f"{name} {seed}")
        file = file_of_city if chance.random() < 0.4 else chance.choice(files)
        text = file.read_text(encoding="utf-8")
        done, changed = mutate.mutated(text, chance)
        file.write_text(changed, encoding="utf-8")
        result = load_city(city, pack_map=MAP if chance.random() < 0.5 else None)
        mutate.judge(result, city, f"{name} {seed}: {file.relative_to(root)}: {done}")
        file.write_text(text, encoding="utf-8")
