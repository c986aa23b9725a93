"""What holds on this machine only: names and places in `.gc/site.toml`, a lock, a map of packs.

Source: DESIGN §2 (R6a), §W (R70)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from gascity.config.documents import Document, Reading
from gascity.config.problems import Where
from gascity.config.schema_file import LockTable, MapTable, SiteFile, SiteRigTable
from gascity.config.tables import DocumentReader
from gascity.model.city import Origin

SITE_FILE: Final = ".gc/site.toml"
MAP_FILE: Final = ".gc/pack-map.toml"
LOCK_FILE: Final = "packs.lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The city on this machine: its name and its rigs' folders, "" and none if nothing is said."""

    name: str = ""
    name_at: Origin | None = None
    rigs: Mapping[str, tuple[str, Where]] = field(default_factory=dict)


def read_site(reading: Reading, read: DocumentReader) -> Site:
    """`.gc/site.toml`, if there is one."""
    document = reading.beside(reading.city / SITE_FILE)
    if document is None:
        return Site()
    where = document.where("")
    table = read.table(SiteFile, {k: v for k, v in document.data.items() if k != "rig"}, where,
                       "site")  # fmt: skip
    rows = read.array(document.data, where, "rig", SiteRigTable, kind="site rig")
    return Site(
        name=table.workspace_name.strip() if table else "",
        name_at=where.origin("workspace_name"),
        rigs={row.table.name: (row.table.path, row.where) for row in rows if row.table.path},
    )


def read_lock(reading: Reading, read: DocumentReader) -> dict[str, str]:
    """{source: commit} of `packs.lock`, which tells what another tool has fetched."""
    document = reading.beside(reading.city / LOCK_FILE)
    if document is None:
        return {}
    rows = read.named_tables(document.data, document.where(""), "packs", LockTable, "lock")
    return {source: row.table.commit for source, row in rows.items() if row.table.commit}


def read_map(
    reading: Reading, read: DocumentReader, path: Path | None
) -> dict[str, tuple[Path, Path]]:
    """{source: (the folder that stands for it, the folder of the map)}.

    Args:
        path: The map that was asked for; None for the one kept in `.gc/`, if there is one.
    """
    document: Document | None = reading.beside(path or reading.city / MAP_FILE)
    if document is None:
        return {}
    home = (path or reading.city / MAP_FILE).resolve().parent
    found: dict[str, tuple[Path, Path]] = {}
    for row in read.array(document.data, document.where(""), "map", MapTable):
        for source in row.table.sources:
            found[source] = (home / row.table.dir, home)
    return found
