"""Writes the JSON schema of `city.toml`: `python -m gascity.config.export FILE`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from gascity.config.schema_file import json_schema


def schema_text() -> str:
    """The schema as it is kept in `config/gascity.schema.json`."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(schema_text(), encoding="utf-8")
