"""What a city names that is not composed here yet: packs, imports, a `pack.toml` beside it.

Each source is named once. The rest of the city loads and is marked incomplete, so that nobody takes
an agent that is merely not seen for one that was removed.

Source: DESIGN §2 (R6a)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gascity.config.documents import Document, is_folder
from gascity.config.problems import Problems, Where

_REMOTE = ("://", "git@", "github.com/")


def name_missing_packs(documents: list[Document], city: Path, problems: Problems) -> bool:
    """Warn once about each pack that is not composed; True if there is any."""
    seen: set[str] = set()
    root = documents[0].where("")
    if (city / "pack.toml").is_file():
        seen.add("pack.toml")
        what = "pack.toml beside the city is not composed yet; the city is incomplete"
        problems.add(root.warning(what, "write its agents into the city's own file for now"))
    for document in documents:
        for source, where, key in _sources(document):
            if source in seen:
                continue
            seen.add(source)
            state = _state(source, city)
            what = f"the pack is {state}, so the city is incomplete"
            remedy = "write the agents you need into the city's own file for now"
            problems.add(where.warning(what, remedy, key=key, value=source))
    return bool(seen)


def _state(source: str, city: Path) -> str:
    """What is known of a pack without reading it."""
    if any(mark in source for mark in _REMOTE):
        return "remote"
    try:
        return "not composed yet" if is_folder(city / source) else "not found"
    except (OSError, ValueError):
        return "not found"


def _sources(document: Document) -> Iterator[tuple[str, Where, str]]:
    """Every pack a document names: (source or name, the table that names it, the key)."""
    data = document.data
    packs = _table(data.get("packs"))
    yield from _imports(data, document.where("[imports]"), packs)
    workspace = _table(data.get("workspace"))
    place = document.where("[workspace]", "workspace")
    for key in ("includes", "default_rig_includes"):
        yield from ((_source(one, packs), place, key) for one in _texts(workspace.get(key)))
    defaults = _table(_table(data.get("defaults")).get("rig"))
    yield from _imports(defaults, document.where("[defaults.rig]", "defaults", "rig"), packs)
    rigs = data.get("rigs")
    for index, rig in enumerate(rigs if isinstance(rigs, list) else []):
        if isinstance(rig, dict):
            place = document.where(f"[[rigs]] {rig.get('name', '?')}", "rigs", index)
            yield from _imports(rig, place, packs)
            for one in _texts(rig.get("includes")):
                yield _source(one, packs), place, "includes"


def _imports(
    table: dict[str, Any], where: Where, packs: dict[str, Any]
) -> Iterator[tuple[str, Where, str]]:
    """`imports` as a table of tables, or as an array of names."""
    found = table.get("imports")
    for name, inner in _table(found).items():
        source = _table(inner).get("source", name)
        yield _source(str(source), packs), where, f"imports.{name}"
    for one in _texts(found):
        yield _source(one, packs), where, "imports"


def _source(name: str, packs: dict[str, Any]) -> str:
    """Where a pack comes from; a name may stand for an entry of `[packs]`."""
    return str(_table(packs.get(name)).get("source", name))


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
