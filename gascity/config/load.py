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
from gascity.config.packs import name_missing_packs
from gascity.config.problems import LoadResult, Problem, Problems, Severity
from gascity.config.tables import draft

CITY_FILE: Final = "city.toml"


def load_city(path: Path, *, check_owner: bool = True) -> LoadResult:
    """The composed city with every problem found; no city if one of them is an error.

    Args:
        path: The city folder, or its file.
        check_owner: Refuse a file that others may write or that belongs to somebody else (R70).

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
    packs = name_missing_packs(reading.documents, folder, problems)
    composition = Composition(
        draft=draft(reading.documents, problems),
        path=folder,
        problems=problems,
        is_incomplete=reading.is_incomplete or packs,
        revision=reading.revision,
    )
    city = composition.city()
    for problem in check_city(city):
        problems.add(problem)
    found = tuple(problems)
    files = tuple(reading.files)
    if problems.has_errors:
        return LoadResult(city=None, problems=found, files=files)
    warnings = tuple(str(problem) for problem in found)
    return LoadResult(city=replace(city, warnings=warnings), problems=found, files=files)


def _is_city(document: Document) -> bool:
    """Whether a file is meant for us: it has a table that only a city has."""
    data = document.data
    return isinstance(data.get("agents"), dict) or bool(MARKS_OF_A_CITY & data.keys())


def _refused(file: str, what: str, remedy: str = "") -> LoadResult:
    """A refusal in one line."""
    problem = Problem(severity=Severity.ERROR, file=file, what=what, remedy=remedy)
    return LoadResult(city=None, problems=(problem,))
