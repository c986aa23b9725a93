"""A city from a path: read, type, compose, check; every problem at once, never an exception.

Source: DESIGN §1 (R5, R6a)
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from gascity.config.checks import check_city
from gascity.config.compose import Composition
from gascity.config.documents import Document, Reading, is_folder
from gascity.config.known import MARKS_OF_A_CITY
from gascity.config.packfiles import PackFiles
from gascity.config.packs import Packs
from gascity.config.placing import Placing, join_root_pack
from gascity.config.problems import LoadResult, Problem, Problems, Severity
from gascity.config.site import read_lock, read_map, read_site
from gascity.config.sources import PACK_FILE, Sources
from gascity.config.tables import DocumentReader, draft

CITY_FILE: Final = "city.toml"


def load_city(path: Path, *, check_owner: bool = True, pack_map: Path | None = None) -> LoadResult:
    """The composed city with every problem found; no city if one of them is an error.

    Args:
        path: The city folder, or its file.
        check_owner: Refuse a file that others may write or that belongs to somebody else (R70).
        pack_map: A file that maps sources of packs to folders, instead of the one in `.gc/`.

    Guarantees:
        Runs nothing that the file names, and raises for no content whatever.

    Source: DESIGN §1, §2, §W
    """
    problems = Problems()
    file = path / CITY_FILE if is_folder(path) else path
    try:
        folder = file.parent.resolve()
    except (OSError, RuntimeError, ValueError) as fault:
        return _refused(file.name, f"cannot be found: {fault}")
    reading = Reading(city=folder, problems=problems, check_owner=check_owner)
    try:
        reading.read(folder / file.name)
    except ValueError:  # a NUL or a lone surrogate in the path itself
        return _refused(file.name, "is no path")
    if not reading.documents:
        return LoadResult(city=None, problems=tuple(problems), files=tuple(reading.files))
    if not _is_city(reading.documents[0]):
        what = "not a city: none of the tables of a city.toml is here"
        if not reading.documents[0].data:
            # An editor that truncates before it writes must not empty a running city.
            what = "not a city: there is nothing in it"
        return _refused(file.name, what, "name a folder made by gc init, or add [workspace]")
    composition = _composition(reading, folder, problems, pack_map)
    city = composition.city()
    for problem in check_city(city):
        problems.add(problem)
    found = tuple(problems)
    warnings = tuple(str(problem) for problem in found)
    return LoadResult(
        city=None if problems.has_errors else replace(city, warnings=warnings),
        problems=found,
        files=tuple(reading.files),
        passed_over=problems.passed_over,
    )


def _composition(
    reading: Reading, folder: Path, problems: Problems, pack_map: Path | None
) -> Composition:
    """Everything the city is made of, read and placed."""
    what = draft(reading.documents, problems)
    read = DocumentReader(problems)
    site = read_site(reading, read)
    files = PackFiles(reading, problems, read)
    root = reading.documents[0].where("")
    if reading.has(PACK_FILE):
        own = files.read(folder)
        if own is not None:
            join_root_pack(what, own)
    elif is_folder(folder / "agents"):
        told = "agents/ is read only beside a pack.toml, so nothing in it is an agent"
        problems.add(root.warning(told, 'add a pack.toml with [pack] and name = "…", schema = 2'))
    sources = Sources(
        city=folder,
        named={name: row.table for name, row in what.packs.items()},
        locked=read_lock(reading, read),
        mapped=read_map(reading, read, pack_map),
    )
    packs = Packs(files, sources, problems)
    roster = Placing(what, packs, problems).run()
    return Composition(
        draft=what,
        roster=roster,
        site=site,
        path=folder,
        problems=problems,
        is_incomplete=reading.is_incomplete or packs.is_incomplete,
        revision=reading.revision,
        lost=packs.lost,
    )


def _is_city(document: Document) -> bool:
    """Whether a file is meant for us: it has a table that only a city has."""
    data = document.data
    return isinstance(data.get("agents"), dict) or bool(MARKS_OF_A_CITY & data.keys())


def _refused(file: str, what: str, remedy: str = "") -> LoadResult:
    """A refusal in one line."""
    problem = Problem(severity=Severity.ERROR, file=file, what=what, remedy=remedy)
    return LoadResult(city=None, problems=(problem,))
