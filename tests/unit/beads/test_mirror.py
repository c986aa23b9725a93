"""The event file beside the log: complete again after every accident, never in the way."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest

from gascity.beads.mirror import EventMirror, event_line
from gascity.model.events import Event, EventType

NOW: Final = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)


class Log:
    """A log that grows; `kept_after` gives three events at a time."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, count: int, message: str = "") -> list[Event]:
        first = len(self.events) + 1
        event = Event(type=EventType.WOKE, ts=NOW, subject="mayor", message=message)
        new = [replace(event, seq=seq) for seq in range(first, first + count)]
        self.events += new
        return new

    def kept_after(self, seq: int) -> Iterable[Event]:
        return self.events[seq : seq + 3]

    def into(self, mirror: EventMirror, new: Iterable[Event] = ()) -> None:
        mirror.follow(list(new), len(self.events), self.kept_after)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


@pytest.fixture
def log() -> Log:
    return Log()


def seqs(path: Path) -> list[int]:
    return [json.loads(line)["seq"] for line in path.read_text().splitlines()]


def test_one_event_is_one_line_of_json() -> None:
    """The keys that `gc events` shows, in this order, and valid UTF-8 whatever a screen said."""
    event = Event(type="x", ts=NOW, message="a\nb\udcffé", payload={"k": ["\udcff"]}, seq=3)
    line = event_line(event)
    assert list(json.loads(line)) == [
        "seq", "type", "ts", "actor", "subject", "message", "payload",
    ]  # fmt: skip
    assert json.loads(line)["ts"] == "2026-01-02T03:04:05.000006Z"
    assert "\n" not in line
    assert "é" in line.encode().decode()


def test_new_events_are_appended_once(path: Path, log: Log) -> None:
    """At hand or from the log, each number is in the file once and in order (R74)."""
    mirror = EventMirror(path)
    log.into(mirror, log.add(2))
    log.into(mirror)
    log.into(mirror, log.add(1))
    assert seqs(path) == [1, 2, 3]
    assert path.stat().st_mode & 0o777 == 0o600
    mirror.close()


@pytest.mark.parametrize("torn", [b"", b'{"seq":9,"ty', b"\xff\xfe", b"not json\n", b"[1]\n"])
def test_a_file_that_fell_behind_is_refilled(path: Path, log: Log, torn: bytes) -> None:
    """After a crash a torn last line goes and what is missing comes from the log (R74)."""
    mirror = EventMirror(path)
    log.into(mirror, log.add(2))
    mirror.close()
    with path.open("ab") as file:
        file.write(torn)
    log.add(8)
    mirror = EventMirror(path)
    log.into(mirror)
    lines = [line for line in path.read_bytes().splitlines() if line.startswith(b'{"seq"')]
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, 11))
    mirror.close()


def test_rotation_keeps_two_old_files_and_loses_no_number(path: Path, log: Log) -> None:
    """Beyond the size a new file begins; the oldest goes; a restart in between repeats none."""
    for _ in range(12):
        mirror = EventMirror(path, max_bytes=1500)
        log.into(mirror, log.add(3, "x" * 100))
        mirror.close()
    names = sorted(each.name for each in path.parent.iterdir())
    assert names == ["events.jsonl", "events.jsonl.1", "events.jsonl.2"]
    found = seqs(path.with_name("events.jsonl.2")) + seqs(path.with_name("events.jsonl.1"))
    found += seqs(path)
    assert found == list(range(found[0], 37))


def test_a_crash_right_after_the_rotation_repeats_nothing(path: Path, log: Log) -> None:
    """With only the rotated file there, numbering goes on from its last line."""
    mirror = EventMirror(path)
    log.into(mirror, log.add(2))
    mirror.close()
    path.rename(path.with_name("events.jsonl.1"))
    mirror = EventMirror(path)
    log.into(mirror, log.add(1))
    assert seqs(path) == [3]
    mirror.close()


def test_a_log_restored_from_an_older_copy_starts_a_new_file(path: Path, log: Log) -> None:
    """Numbers that would come twice in one file go to a new one."""
    mirror = EventMirror(path)
    log.into(mirror, log.add(5))
    older = Log()
    older.into(mirror, older.add(2))
    assert seqs(path) == [1, 2]
    assert seqs(path.with_name("events.jsonl.1")) == [1, 2, 3, 4, 5]
    older.into(mirror, older.add(1))
    assert seqs(path) == [1, 2, 3]
    mirror.close()


def test_a_failure_is_noted_and_made_good_later(path: Path, log: Log) -> None:
    """A file that cannot be written stops nobody; once it can, nothing is missing (R74)."""
    path.mkdir()
    mirror = EventMirror(path)
    log.into(mirror, log.add(2))
    assert "events.jsonl" in mirror.failure
    path.rmdir()
    log.into(mirror, log.add(2))
    assert mirror.failure == ""
    assert seqs(path) == [1, 2, 3, 4]
    mirror.close()


def test_a_line_cut_by_a_full_disk_is_mended(
    path: Path, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a line that was written before the disk was full does not stay in the file (D4)."""
    mirror = EventMirror(path)
    log.into(mirror, log.add(1))
    real = os.write

    def half(handle: int, data: bytes) -> int:
        if len(data) < 60:
            raise OSError(28, "No space left on device")
        return real(handle, data[: len(data) - 50])

    monkeypatch.setattr("gascity.beads.mirror.os.write", half)
    log.into(mirror, log.add(1))
    assert "No space" in mirror.failure
    monkeypatch.undo()
    log.into(mirror, log.add(1))
    assert seqs(path) == [1, 2, 3]
    mirror.close()
