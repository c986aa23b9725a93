"""What `gc doctor` reads without asking anybody: files, configuration, programs, other tools' work.

Source: DESIGN §11 (R46, R61, R70); surface "Files of a city"
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gascity.cli.findings import ERROR, WARNING, Finding
from gascity.cli.state import CONFIG, STATE
from gascity.config.load import load_city
from gascity.config.problems import Severity

OURS: Final = "gascity"
# Words a shell finds by itself: their absence from the path says nothing.
SHELL_WORDS: Final = frozenset({"exec", "cd", "export", "if", "while", "for", "set", "."})


def files(city: Path) -> Iterator[Finding]:
    """Owner and modes of the city's own files (R70)."""
    state = city / STATE
    wanted = ((city / CONFIG, 0o022), (state, 0o077), (state / "controller.sock", 0o077))
    for path, forbidden in wanted:
        try:
            found = path.lstat()
        except FileNotFoundError:
            continue
        if found.st_uid != os.geteuid():
            yield Finding(
                check="files",
                severity=ERROR,
                what=f"{path} belongs to uid {found.st_uid}, not to you",
                why="whoever owns it decides what runs in your sessions",
                fix="run gc as its owner",
            )
        loose = found.st_mode & forbidden
        if loose:
            yield Finding(
                check="files",
                severity=ERROR if loose & 0o002 else WARNING,
                what=f"{path} is open to others (mode {found.st_mode & 0o777:04o})",
                why="others could read or change what your sessions do",
                fix=f"chmod go-{'w' if forbidden == 0o022 else 'rwx'} {shlex.quote(str(path))}",
            )
    if not os.access(city, os.W_OK):
        yield Finding(
            check="files",
            severity=ERROR,
            what=f"{city} cannot be written",
            why="the store lives in its folder .gc",
            fix=f"chmod u+w {shlex.quote(str(city))}",
        )


def config(city: Path) -> Iterator[Finding]:
    """Every problem of the configuration."""
    for problem in load_city(city, check_owner=False).problems:
        yield Finding(
            check="config",
            severity=ERROR if problem.severity is Severity.ERROR else WARNING,
            what=str(problem).removesuffix(f"; {problem.remedy}"),
            fix=problem.remedy,
        )


def agents(city: Path) -> Iterator[Finding]:
    """Agents whose program or folder is not there."""
    loaded = load_city(city, check_owner=False).city
    if loaded is None:
        return
    for agent in loaded.agents.values():
        folder = city / agent.work_dir if agent.work_dir else city
        if not folder.is_dir():
            yield Finding(
                check="agents",
                severity=ERROR,
                what=f"{agent.identity}: its work_dir {folder} is not there",
                why="no session of it can start",
                fix="make the folder, or correct work_dir",
            )
        word = _program(agent.start_command)
        path = agent.env.get("PATH") or os.environ.get("PATH")
        if word and shutil.which(word, path=path) is None and not (folder / word).is_file():
            yield Finding(
                check="agents",
                severity=ERROR,
                what=f"{agent.identity}: {word} is not on the path",
                why=f"start_command begins with it: {agent.start_command[:80]}",
                fix=f"install {word}, or give its whole path in start_command",
            )


def _program(command: str) -> str:
    """The program a plain command starts; "" where only a shell could tell."""
    try:
        words = shlex.split(command)
    except ValueError:
        return ""
    while words and "=" in words[0]:
        words.pop(0)
    if not words or words[0] in SHELL_WORDS or not words[0].replace("/", "").isprintable():
        return ""
    word = words[0]
    return "" if any(sign in word for sign in "$`(){};|&<>*?~") else word


def foreign_beads(city: Path) -> Iterator[Finding]:
    """Work in a store that is not read here: nobody may sleep then (R61)."""
    loaded = load_city(city, check_owner=False).city
    provider = loaded.beads_provider if loaded is not None else ""
    if provider == OURS:
        return
    signs = [
        *(["the folder .beads"] if (city / ".beads").is_dir() else []),
        *(["GC_BEADS in the environment"] if os.environ.get("GC_BEADS") else []),
        *([f"[beads] provider = {provider!r}"] if provider else []),
    ]
    if signs:
        yield Finding(
            check="beads",
            severity=WARNING,
            what=f"work may be kept where this controller cannot read it: {', '.join(signs)}",
            why="demand that cannot be read keeps every session awake (demand_unknown)",
            fix='if the work is kept here, say so: [beads] provider = "gascity"; '
            "else give each agent a work_query",
        )
