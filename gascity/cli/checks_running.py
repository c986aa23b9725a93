"""What `gc doctor` asks of what runs: tmux, the controller, its sessions. Changes nothing (R44).

Source: DESIGN §11 (R36, R37, R46, R67, R71)
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from gascity.api import client
from gascity.api.holder import CONTROLLER, holder_of
from gascity.cli.findings import ERROR, WARNING, Finding
from gascity.cli.state import STATE
from gascity.cli.unattended import look
from gascity.config.load import load_city
from gascity.report.status import NOTHING_WAKES

OLDEST: Final = (3, 2)
PATIENCE_S: Final = 5.0
ROUTED: Final = "gc.routed_to"


def tmux(city: Path) -> Iterator[Finding]:
    """Whether there is a tmux that is new enough (R67)."""
    fix = "install tmux 3.2 or newer"
    if shutil.which("tmux") is None:
        yield Finding(
            check="tmux",
            severity=ERROR,
            what="tmux is not on the path",
            why="sessions run in tmux unless an agent says otherwise",
            fix=fix,
        )
        return
    try:
        done = subprocess.run(
            ["tmux", "-V"], capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        said = done.stdout.strip()
    except subprocess.TimeoutExpired:
        said = "nothing"
    numbers = re.search(r"(\d+)\.(\d+)", said)
    if numbers is None and "master" in said:
        return
    if numbers is None or (int(numbers[1]), int(numbers[2])) < OLDEST:
        yield Finding(
            check="tmux",
            severity=ERROR,
            what=f"tmux is too old, or does not say what it is: {said!r}",
            why="older ones miss what the exact targets need",
            fix=fix,
        )


def controller(city: Path) -> Iterator[Finding]:
    """Whether the controller that holds the lock also answers (R36, R71)."""
    holder = holder_of(str(city))
    if holder is None:
        if (city / STATE / "controller.sock").exists():
            yield Finding(
                check="controller",
                severity=WARNING,
                what="a control socket is there, but no controller is",
                why="the last controller was killed; its sessions go on, none of them sleeps",
                fix="gc start",
            )
        return
    pid, role = holder
    if role != CONTROLLER:
        return
    try:
        status = client.call(str(city), "status")["status"]
    except client.ControlError as error:
        yield Finding(
            check="controller",
            severity=ERROR,
            what=f"the controller (pid {pid}) holds the lock and does not answer: {error.what}",
            why="nobody sleeps or wakes while it hangs",
            fix=f"read {city / STATE / 'controller.log'}; `kill {pid}` ends it, "
            "its sessions go on, then gc start",
        )
        return
    told = {str(problem) for problem in load_city(city, check_owner=False).problems}
    for warning in status.get("warnings") or ():
        if warning in told or warning.endswith(NOTHING_WAKES):
            continue  # other checks say that
        yield Finding(check="controller", severity=WARNING, what=str(warning), fix="see gc why")
    for doubt in _doubts(status):
        yield Finding(
            check="runtime",
            severity=ERROR,
            what=f"the controller cannot tell what runs: {doubt}",
            why="what cannot be seen is neither put to sleep nor started again",
            fix="follow what it says; it goes on by itself once there is an answer",
        )


def _doubts(status: dict[str, Any]) -> list[str]:
    """Why sessions are `runtime_unknown`, each reason once (R10)."""
    told = (note for one in status["sessions"] for note in one.get("blocker_details") or ())
    details = [str(note["detail"]) for note in told if note["name"] == "runtime_unknown"]
    return list(dict.fromkeys(details))


def foreign_sessions(city: Path) -> Iterator[Finding]:
    """Sessions on the city's tmux server that are not the city's (R37)."""
    seen = look(city, ())
    if seen is None:
        return
    if isinstance(seen, str):
        yield Finding(
            check="foreign sessions",
            severity=WARNING,
            what=f"the tmux server gives no certain answer: {seen}",
            why="sessions that cannot be seen are never put to sleep",
            fix="follow what it says, or end that server",
        )
        return
    for name in seen.foreign:
        yield Finding(
            check="foreign sessions",
            severity=WARNING,
            what=f"tmux session {name!r} on the city's server is not the city's",
            why="it is never adopted, stopped or typed into",
            fix="move it to another tmux server, or leave it",
        )


def sleepers(city: Path) -> Iterator[Finding]:
    """Sleeping sessions that nobody attaches to and that nothing is known to wake (R46, R78)."""
    try:
        status: dict[str, Any] = client.call(str(city), "status")["status"]
        cold = [one for one in status["sessions"] if _is_forgotten(one)]
        tasks = [
            bead
            for state in ("", "closed")
            for bead in client.call(str(city), "beads", type="task", status=state)["beads"]
            if cold
        ]
    except client.ControlError:
        return
    wanted = {bead["assignee"] or bead["metadata"].get(ROUTED, "") for bead in tasks}
    for one in cold:
        if wanted.isdisjoint({one["name"], one["id"], one["template"]}):
            yield Finding(
                check="sleepers",
                severity=WARNING,
                what=f"{one['name']} {NOTHING_WAKES}",
                why="no wait, no dependent, no route and no work ever named it",
                fix=f"gc sling {one['template']} TITLE, gc wake {one['name']}, "
                'or sleep_after_idle = "off"',
            )


def _is_forgotten(entry: dict[str, Any]) -> bool:
    """Whether only work or an operator could wake it."""
    sources = set(entry["wake_sources"])
    return entry["state"] == "asleep" and sources <= {"none", "operator", "work"}
