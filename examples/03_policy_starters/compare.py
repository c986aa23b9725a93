"""Four policies side by side: who sleeps, after how long, and which line of the config says so.

Nothing runs here; each city is only read and explained, as `gc config explain AGENT` does it. The
page that helps to choose is docs/how-to/choose-a-keep-warm-policy.md.

    .venv/bin/python examples/03_policy_starters/compare.py
"""

from __future__ import annotations

import sys
from pathlib import Path

from gascity.config.explain import explain
from gascity.config.load import load_city
from gascity.model.city import City

HERE = Path(__file__).resolve().parent


def main() -> int:
    """Read and explain each city beside this file; 1 if one has a problem."""
    cities = sorted(one.parent for one in HERE.glob("*/city.toml"))
    return max([compared(city) for city in cities])


def compared(folder: Path) -> int:
    """Print one line an agent."""
    loaded = load_city(folder)
    print(f"{folder.name}:")
    for problem in loaded.problems:
        print(f"  {problem}")
    if loaded.city is None:
        return 1
    for identity in loaded.city.agents:
        print(f"  {explained(loaded.city, identity)}")
    return 1 if loaded.problems else 0


def explained(city: City, identity: str) -> str:
    """The agent, its class, its window, and the layer that won."""
    found = explain(city, identity)
    assert found is not None
    won = next(layer for layer in found.layers if layer.wins)
    line = f"{won.file}:{won.line}" if won.file else "nobody said anything"
    return f"{identity:<12} {found.session_class:<20} {found.requested:<5} {found.source} ({line})"


if __name__ == "__main__":
    sys.exit(main())
