"""Four policies side by side: who sleeps, after how long, and which line of the config says so.

Nothing runs here; each city is only checked and explained. The page that helps to choose is
docs/how-to/choose-a-keep-warm-policy.md.

    .venv/bin/python examples/03_policy_starters/compare.py
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def main() -> int:
    """Check and explain each city beside this file."""
    for city in sorted(one.parent for one in HERE.glob("*/city.toml")):
        print(gc(city, "config", "validate").strip())
        for agent in json.loads(gc(city, "config", "show", "--json"))["agent"]:
            rig = f"{agent['dir']}/" if agent.get("dir") else ""
            print("  " + explained(city, rig + agent["name"]))
    return 0


def explained(city: Path, agent: str) -> str:
    """One line: the agent, its class, its window, and the layer that won."""
    found: dict[str, Any] = json.loads(gc(city, "config", "explain", agent, "--json"))
    won = next(layer for layer in found["layers"] if layer["wins"])
    line = f"{won['file']}:{won['line']}" if won["file"] else "nobody said anything"
    return (
        f"{agent:<12} {found['session_class']:<20} {found['requested']:<5} "
        f"{found['source']} ({line})"
    )


def gc(city: Path, *words: str) -> str:
    """What `gc WORDS` prints for this city."""
    return subprocess.run(
        [sys.executable, "-m", "gascity", "--city", str(city), *words],
        capture_output=True,
        text=True,
        check=True,
    ).stdout


if __name__ == "__main__":
    sys.exit(main())
