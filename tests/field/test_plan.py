"""`gc config plan` on every city at hand: five things said, and what it proposes comes true."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gascity.cli.config_plan import as_lines, plan
from gascity.config.load import load_city
from gascity.decide.forecast import Verdict
from tests.field.cities import GIVEN, MAP, NAMES, entry, needed

pytestmark = [needed, pytest.mark.slow]

NOT_CITIES = ("12-", "23-", "26-", "30-")
CITIES = [name for name in NAMES if not name.startswith(NOT_CITIES)]


@pytest.mark.parametrize("name", CITIES)
def test_what_is_proposed_for_a_real_city_comes_true(name: str, tmp_path: Path) -> None:
    """Each verdict has its rule; the lines, written, change exactly who was named (R7, R62)."""
    root = tmp_path / "city"
    shutil.copytree(GIVEN / name, root, copy_function=shutil.copyfile)
    for path in (root, *root.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    file = root / entry(name).relative_to(GIVEN / name)
    city = load_city(file.parent, pack_map=MAP).city
    assert city is not None
    looks, found = plan(city)
    assert all(look.rule and (look.after is not None) is (look.verdict is Verdict.SLEEPS)
               for look in looks)  # fmt: skip
    text = "\n".join(as_lines(city, looks, found))
    for title, verdict in (("would sleep", Verdict.SLEEPS), ("never", Verdict.NEVER)):
        assert (f"\n{title}\n" in text) is any(look.verdict is verdict for look in looks)
    assert ("\nin the way today\n" in text) is any(look.blocks for look in looks)
    may = [look for look in looks if look.rule in ("legacy_off", "named-always")
           and look.verdict is Verdict.NEVER]  # fmt: skip
    chosen = [one for one in found if one.changes and not one.lines.startswith("[beads]")]
    assert bool(chosen) is bool(may)
    for one in chosen:
        with file.open("a", encoding="utf-8") as stream:
            stream.write(f"\n{one.lines}")
        result = load_city(file.parent, pack_map=MAP)
        assert result.city is not None, (one.lines, result.errors)
        after = {
            (look.agent.identity, str(look.after))
            for look in plan(result.city)[0]
            if look.after is not None
        }
        before = {
            (look.agent.identity, str(look.after)) for look in looks if look.after is not None
        }
        assert after - before == {(who, window) for who, _, window in one.changes}
