"""The store on a disk that fails at any operation, and after a power cut at any moment.

What is written are the batches of a real controller: a session created, woken, drained to sleep,
woken again; then notes and a prune. After every fault the file is opened again by the product and
held against a store that keeps everything in memory.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias
from unittest import mock

import pytest

from gascity.beads import sqlite_schema
from gascity.beads.memory import MemoryStore
from gascity.beads.sqlite import SqliteBeads
from gascity.beads.store import Batch, EventQuery, Query, StoreBroken, StoreUnavailable
from gascity.testing.city import FakeCity
from gascity.testing.people import at_once
from gascity.testing.records import a_city, agent, span
from tests.faults.disk import Disk, Op, images, on_disk

State: TypeAlias = tuple[Any, ...]
MOST_IMAGES: Final = int(os.environ.get("POWER_IMAGES", "1500"))
LIVES: Final = int(os.environ.get("POWER_LIVES", "1"))
# A minute on two busy cores: `make faults` runs it, `make test` does not.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600 * LIVES)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One write of the store: a batch, a note, or a prune."""

    batch: Batch | None = None
    now: datetime
    note: str = ""

    def on(self, store: SqliteBeads) -> None:
        """Do it."""
        if self.batch is not None:
            store.apply(self.batch, now=self.now)
        elif self.note:
            store.set_note("resumed_at", self.note)
        else:
            store.prune_events(before=self.now, max_bytes=0)

    def remembered(self, memory: MemoryStore) -> None:
        """Do it where nothing fails."""
        if self.batch is not None:
            at_once(memory.apply(self.batch, now=self.now))
        elif self.note:
            at_once(memory.set_note("resumed_at", self.note))
        else:
            at_once(memory.prune_events(before=self.now, max_bytes=0))


@cache
def life(times: int = 1) -> tuple[Step, ...]:
    """What a controller writes while a session is made, slept and woken so many times."""
    steps: list[Step] = []
    with FakeCity(a_city(agent("mayor", sleep_after_idle=span("60s")))) as city:
        before = city.store.witness
        assert before is not None

        def saw(batch: Batch, applied: Any, were: Any) -> None:
            steps.append(Step(batch=batch, now=city.clock.now()))
            before(batch, applied, were)

        city.store.witness = saw
        for _ in range(times):
            city.live(100)
            assert city.session("mayor").is_cold
            bead = city.give("mayor")
            city.live(40)
            city.finish(bead)
            city.live(100)
        assert len(city.events("session.stopped")) > times
        now = city.clock.now()
    steps.append(Step(now=now, note=now.isoformat()))
    steps.append(Step(now=now - timedelta(seconds=60)))
    return tuple(steps)


@cache
def expected(times: int = 1) -> tuple[State, ...]:
    """What the store holds after each number of steps."""
    memory = MemoryStore()
    found = [remembered(memory)]
    for step in life(times):
        step.remembered(memory)
        found.append(remembered(memory))
    return tuple(found)


def remembered(memory: MemoryStore) -> State:
    beads = at_once(memory.query(Query(include_closed=True)))
    return (
        tuple(beads),
        tuple(at_once(memory.events(EventQuery()))),
        at_once(memory.last_seq()),
        memory.demand_revision,
        at_once(memory.get_note("resumed_at")),
    )


def held(store: SqliteBeads) -> State:
    """The same of a store on disk."""
    beads = store.query(Query(include_closed=True))
    events = store.events(EventQuery())
    return (
        tuple(beads),
        tuple(events),
        store.last_seq,
        store.demand_revision,
        store.get_note("resumed_at"),
    )


def reopened(path: Path) -> State:
    """What the product finds on disk with nothing in the way; the file must be sound."""
    store = SqliteBeads(path)
    try:
        assert store._db is not None
        assert store._db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return held(store)
    finally:
        store.close()


@pytest.fixture(autouse=True)
def folded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is folded in after each few commits, so that faults meet that too."""
    monkeypatch.setattr("gascity.beads.sqlite._LOG_BYTES", 40_000)


def run(path: Path, disk: Disk, times: int = 1) -> tuple[int, str]:
    """Live on this disk until something breaks; steps acknowledged, and how it ended."""
    done = 0
    with on_disk(disk):
        try:
            store = SqliteBeads(path)
        except StoreUnavailable as problem:
            return 0, f"open: {type(problem).__name__}"
        disk.ops.append(Op("ack", at=0))
        try:
            for step in life(times):
                outcome = attempt(store, step, disk, expected(times)[done])
                if outcome:
                    return done, outcome
                done += 1
                disk.ops.append(Op("ack", at=done))
        finally:
            store.close()
    return done, "done"


def attempt(store: SqliteBeads, step: Step, disk: Disk, before: State) -> str:
    """One step; refused, it is tried once more when there is room again. "" when it is done."""
    try:
        step.on(store)
    except StoreBroken:
        return "broken"
    except StoreUnavailable:
        disk.at = -1
        assert held(store) == before, "what was refused shows nowhere"
        step.on(store)
    return ""


def judge(path: Path, done: int, ended: str, what: str) -> None:
    """Nothing acknowledged is lost, nothing is half there."""
    found = reopened(path)
    allowed = [expected()[done]]
    if ended == "broken":
        allowed.append(expected()[done + 1])  # nobody was told, and it is whole
    assert found in allowed, f"{what}: {done} acknowledged, ended {ended}"


@cache
def operations() -> tuple[str, ...]:
    """Every operation of a life without faults, by kind."""
    with tempfile.TemporaryDirectory() as folder:
        disk = Disk()
        done, ended = run(Path(folder) / ".gc" / "gascity.db", disk)
    assert (done, ended) == (len(life()), "done")
    return tuple(disk.seen)


@pytest.mark.parametrize(
    ("fault", "stays"),
    [("EIO", False), ("ENOSPC", False), ("ENOSPC", True), ("short write", False), ("fsync", False)],
)
def test_a_fault_at_every_operation_loses_nothing(
    tmp_path: Path, fault: str, stays: bool, record_property: Callable[[str, object], None]
) -> None:
    """Each operation fails once, or from then on until there is room (D1..D4, R6, R75)."""
    ends: Counter[str] = Counter()
    for number in range(len(operations())):
        disk = Disk(fault=fault, at=number, stays=stays)
        path = tmp_path / str(number) / ".gc" / "gascity.db"
        done, ended = run(path, disk)
        if not disk.struck:
            continue
        ends[ended] += 1
        judge(path, done, ended, f"{fault} at {number} ({disk.seen[number]})")
    record_property("ends", dict(ends))
    print(f"\n{fault}{' that stays' if stays else ''}: {sum(ends.values())} cases, {dict(ends)}")
    assert sum(ends.values()) > 10
    if fault == "fsync":
        assert set(ends) <= {"broken", "open: StoreBroken", "done"}, "no handle is used again (D3)"


def broken_images(path: Path, disk: Disk, times: int) -> tuple[int, list[str]]:
    """(images tried, what was wrong) of every power cut in a life."""
    seen: set[bytes] = set()
    wrong: list[str] = []
    states = expected(times)
    for acked, what, files in images(disk.ops):
        digest = hashlib.sha256(repr((acked, sorted(files.items()))).encode()).digest()
        if digest in seen:
            continue
        seen.add(digest)
        folder = path.parent / "image" / ".gc"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for old in folder.iterdir():
            old.unlink()
        for name, data in files.items():
            (folder / name).write_bytes(data)
        try:
            found = reopened(folder / "gascity.db")
        except (StoreUnavailable, AssertionError, sqlite3.Error) as problem:
            wrong.append(f"{what}: {problem}")
            continue
        if found not in states[acked : acked + 2]:
            wrong.append(f"{what}: {acked} acknowledged")
        if len(seen) >= MOST_IMAGES * times:
            break
    return len(seen), wrong


def test_a_power_cut_at_any_moment_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """Every prefix, every lost and every torn write: whole batches, all acknowledged (D1, R6)."""
    disk = Disk()
    assert run(tmp_path / ".gc" / "gascity.db", disk, LIVES)[1] == "done"
    tried, wrong = broken_images(tmp_path, disk, LIVES)
    print(f"\npower cuts: {tried} images, {len(wrong)} wrong")
    assert wrong == []
    assert tried >= min(MOST_IMAGES, 300)


def test_the_power_cuts_would_find_a_store_that_syncs_too_seldom(tmp_path: Path) -> None:
    """With `synchronous=NORMAL` acknowledged batches are lost: the images can tell (D1)."""
    real = sqlite_schema.open_file

    def lax(path: Path) -> sqlite3.Connection:
        db = real(path)
        db.execute("PRAGMA synchronous=NORMAL")
        return db

    disk = Disk()
    with mock.patch("gascity.beads.sqlite.open_file", lax):
        assert run(tmp_path / ".gc" / "gascity.db", disk)[1] == "done"
    _, wrong = broken_images(tmp_path, disk, 1)
    assert wrong
