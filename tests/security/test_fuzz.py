"""The short form of the fuzzing that `make fuzz` runs for longer, and the inputs that found faults.

R13 of the campaigns: no reader of strangers' words raises beside its documented error, and none
takes long. The first thousand inputs of each target are the same in every run.
"""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from gascity.api import client
from gascity.api.client import ControlError
from gascity.beads.sqlite import SqliteBeads
from gascity.beads.store import StoreUnavailable
from gascity.observe.checks import says_work
from gascity.runtimes.screens import DETECTORS, judge, read_screen, steady_text
from gascity.runtimes.tmux.format import MOST_SIGNS, MOST_SIGNS_A_LINE, read_captures, read_host
from gascity.runtimes.tmux.server import ServerId
from tests.integration.city import RealCity, agent, city_toml, needs_tmux, running_city
from tests.security import fuzz

INPUTS: Final = {"toml": 150, "packs": 60, "rows": 60, "screens": 150}
NAMES: Final = (
    "toml",
    "packs",
    "frames",
    "hosts",
    "scripts",
    "screens",
    "processes",
    "records",
    "rows",
    "answers",
)


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, fuzz.Run]:
    """Every target."""
    before = os.umask(0o077)
    found = fuzz.targets(tmp_path_factory.mktemp("fuzz").resolve())
    os.umask(before)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_no_input_of_the_first_ones_is_a_fault(targets: dict[str, fuzz.Run], name: str) -> None:
    """The same inputs in every run; `make fuzz` goes on from other seeds (R13)."""
    assert set(targets) == set(NAMES)
    before = os.umask(0o077)
    try:
        outcome = fuzz.campaign(
            name, targets[name], first=1, until=time.monotonic() + 40, most=INPUTS.get(name, 1000)
        )
    finally:
        os.umask(before)
    assert outcome.faults == []
    assert outcome.inputs > 20


# --- inputs that were faults once

WIDE: Final = MOST_SIGNS_A_LINE
SLOW: Final = {
    "spaces before an option": (" " * (WIDE - 1) + "x\n") * 20,
    "a rule that is none": ("─" * (WIDE - 1) + "a\n") * 20,
    "addresses": ("a@" * (WIDE // 2) + "\n") * 20,
    "blank lines": "\n" * 5000 + "x",
    "keys": ("ctrl+b " * (WIDE // 7) + "\n") * 20,
    "unfinished modes": ("Bypass Permissions mode " * (WIDE // 24) + "\n") * 20,
}


@pytest.mark.parametrize("kind", SLOW)
def test_no_screen_holds_the_controller_up(kind: str) -> None:
    """An agent that shows the worst screen costs a moment, not the city (R15, L7)."""
    screen = read_screen(SLOW[kind][:MOST_SIGNS])
    began = time.process_time()
    for name in DETECTORS:
        judge(screen, detector=name)
        steady_text(screen, name)
    assert time.process_time() - began < 2.0


@pytest.mark.parametrize("text", ["x\n" * MOST_SIGNS, "x" * (MOST_SIGNS_A_LINE + 1)])
def test_a_window_larger_than_any_terminal_is_a_doubt(text: str) -> None:
    """A program may resize its own window; no picture of it is judged (R9, R15)."""
    assert read_captures("w", f"w|%1|1|0|0|0|1767225600|t\n{text}") == {}
    assert "%1" in read_captures("w", "w|%1|1|0|0|0|1767225600|t\nx\n")


def test_digits_that_are_none_are_no_numbers() -> None:
    """Superscripts, other scripts and thousands of digits (R10)."""
    for digits in ("²", "٣", "9" * 5000):
        assert ServerId.parse(f"/s {digits} x") is None
        assert read_captures("w", f"w|%1|1|{digits}|0|0|1767225600|t\nx") == {}
        assert read_captures("w", f"w|%1|1|0|0|0|{digits}|t\nx") == {}


def test_a_name_with_other_line_ends_spoils_no_answer() -> None:
    """Only tmux's own line ends part its lines; a session may be named for any other (R10, R37)."""
    line = "P|1|$1|%1|2|0|||1767225600|1767225600|%1|m|t|a\u2028b\x85c"
    assert list(read_host(f"{line}\nE|1\n").sessions) == ["a\u2028b\x85c"]


def test_an_answer_of_blanks_is_read_in_no_time() -> None:
    """A work query that prints up to its cap costs its length, not its square (R9)."""
    began = time.process_time()
    assert says_work(" " * 500_000 + "x")
    assert says_work("[" + " " * 500_000)
    assert not says_work(" \n[ ]\n")
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize(("column", "value"), [("metadata", "{"), ("created_at", "x")])
def test_a_row_that_cannot_be_read_is_a_store_that_cannot_be(
    tmp_path: Path, column: str, value: str
) -> None:
    """It is told by its name, and fails closed as any other fault of the file (R75)."""
    SqliteBeads(tmp_path / "g.db").close()
    db = sqlite3.connect(tmp_path / "g.db")
    row = "1, 'gc-1', 'task', 'open', 't', '[]', '', 2, '[]', '{}', '2026-01-01T00:00:00Z', "
    db.execute(f"INSERT INTO beads VALUES ({row} '2026-01-01T00:00:00Z', '', 1)")
    db.execute(f"UPDATE beads SET {column} = ?", (value,))
    db.commit()
    db.close()
    with pytest.raises(StoreUnavailable, match="gc-1 is not readable"):
        SqliteBeads(tmp_path / "g.db")


# --- the real server


@pytest.fixture(scope="module")
def city() -> Iterator[RealCity]:
    """A running city."""
    with running_city(city_toml(agent("mayor"))) as one:
        one.wait_up("mayor")
        yield one


@pytest.mark.slow
class TestServer:
    """Lines to the real controller: it answers each, stays up, and logs no fault of its own."""

    pytestmark = needs_tmux

    def test_no_line_brings_the_controller_down(self, city: RealCity) -> None:
        """Two thousand mutated requests, none that ends it by its own right (E3, R13)."""
        frames = fuzz.Frames()
        pid = city.pid()
        for seed in range(2000):
            line = fuzz.mutated(random.Random(seed), frames.corpus)
            if any(word in line for word in ("stop", "follow", "watch", "wake", "attach")):
                continue
            exchange(city, line.replace("\n", " "))
        assert city.pid() == pid
        assert client.word(str(city.path), "ping") == str(pid)
        log = (city.path / ".gc" / "controller.log").read_text(encoding="utf-8")
        assert "request failed" not in log
        city.patrol()

    @pytest.mark.parametrize(
        ("op", "fields"),
        [
            ("wait_add", {"session": "mayor", "until": "0001-01-01T00:00:00+23:59"}),
            ("wait_add", {"session": "mayor", "until": "9999-12-31T23:59:59-23:59"}),
            ("wait_add", {"session": "mayor", "for_s": 366 * 86400, "expires_s": 1e-300}),
            ("events", {"since": "0001-01-01T00:00:00+23:59"}),
            ("events", {"after": 2**53}),
            ("peek", {"session": "mayor", "lines": 2**53}),
            ("pin", {"session": "mayor", "for_s": 1e-300}),
            ("bead_update", {"id": "gc-none", "priority": 2**53}),
            ("beads", {"type": "x" * 4096}),
        ],
    )
    def test_extreme_values_are_answered(
        self, city: RealCity, op: str, fields: dict[str, object]
    ) -> None:
        """Each is done or refused in words; none is a fault of the controller (E3)."""
        try:
            city.ask(op, **fields)
        except ControlError as refusal:
            told = str(refusal)
        else:
            told = "done"
        assert "fault of the controller" not in told


def exchange(city: RealCity, line: str) -> None:
    """Send one line and read what comes, without asking what."""
    import socket

    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(20)
        connection.connect(str(city.path / ".gc" / "controller.sock"))
        try:
            connection.sendall(line.encode("utf-8", "replace") + b"\n")
            while connection.recv(65536):
                pass
        except ConnectionError:
            return
