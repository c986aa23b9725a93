"""What the embedded store promises besides the contract: its file, its crashes, its full disk."""

from __future__ import annotations

import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from gascity.beads import sqlite_schema
from gascity.beads.mirror import EventMirror
from gascity.beads.sqlite import SqliteBeads
from gascity.beads.store import (
    Batch,
    EventQuery,
    NewBead,
    Query,
    StoreBroken,
    StoreUnavailable,
    Update,
)
from gascity.model.events import Event

NOW: Final = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
CHILD: Final = Path(__file__).with_name("store_child.py")
ROUNDS: Final = 25


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".gc" / "gascity.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteBeads]:
    opened = SqliteBeads(path)
    yield opened
    opened.close()


def create(store: SqliteBeads, *new: NewBead) -> tuple[str, ...]:
    return store.apply(Batch(creates=new), now=NOW).created


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_files_are_the_owners_alone(tmp_path: Path) -> None:
    """Folder 0700, every file in it 0600, whatever the umask and whatever it was before (R70)."""
    folder = tmp_path / "wide" / ".gc"
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    before = os.umask(0)
    try:
        store = SqliteBeads(folder / "gascity.db", mirror=EventMirror(folder / "events.jsonl"))
        create(store, NewBead(type="task"))
        modes = {each.name: mode(each) for each in folder.iterdir()}
        store.close()
    finally:
        os.umask(before)
    assert mode(folder) == 0o700
    assert set(modes) == {"gascity.db", "gascity.db-wal", "events.jsonl"}
    assert set(modes.values()) == {0o600}


def test_a_second_opener_is_refused_by_name(store: SqliteBeads, path: Path) -> None:
    """Neither this process nor another can open the file beside us; ours goes on (R36)."""
    with pytest.raises(StoreUnavailable, match="open in another process"):
        SqliteBeads(path)
    child = subprocess.run(
        [sys.executable, CHILD, path, "1"], capture_output=True, text=True, timeout=30, check=False
    )
    assert "open in another process" in child.stderr
    assert create(store, NewBead(type="task")) == ("gc-1",)


@pytest.mark.slow
def test_every_acknowledged_commit_survives_kill_9(path: Path) -> None:
    """Killed at any moment, again and again: nothing acknowledged is lost or torn (D1, R43)."""
    store = SqliteBeads(path)
    create(store, NewBead(type="task", id="counter"))
    store.close()
    acknowledged = 0
    for round_number in range(ROUNDS):
        child = subprocess.Popen(
            [sys.executable, CHILD, path, str(acknowledged + 1)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        for _ in range(3 + round_number * 7 % 40):
            acknowledged = int(child.stdout.readline())
        child.send_signal(signal.SIGKILL)
        for line in child.stdout.read().splitlines():
            acknowledged = int(line)
        child.wait()
        child.stdout.close()

        store = SqliteBeads(path)
        counter = store.get("counter")
        assert counter is not None
        reached = int(counter.metadata["number"])
        assert reached in {acknowledged, acknowledged + 1}
        acknowledged = reached
        assert len(store.query(Query())) == reached + 1
        assert [event.seq for event in store.events(EventQuery())] == list(range(1, reached + 1))
        assert store.last_seq == store.demand_revision - 1 == reached
        store.close()
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
    seqs = mirrored(path.with_name("events.jsonl"))
    assert seqs == list(range(seqs[0], seqs[-1] + 1))
    assert path.with_name("events.jsonl.1").exists()


def mirrored(mirror: Path) -> list[int]:
    """The numbers in the mirror and its older files, in file order."""
    files = [mirror.with_name(f"{mirror.name}.{number}") for number in (2, 1)] + [mirror]
    return [
        json.loads(line)["seq"]
        for file in files
        if file.exists()
        for line in file.read_text().splitlines()
    ]


def cap_pages(store: SqliteBeads, spare: int) -> None:
    """Make the disk full after a few more pages."""
    db = store._db
    assert db is not None
    (used,) = db.execute("PRAGMA page_count").fetchone()
    db.execute(f"PRAGMA max_page_count = {used + spare}")


def test_a_full_disk_applies_nothing_and_recovers(path: Path, store: SqliteBeads) -> None:
    """Refused as unavailable, memory and file unchanged; with space again it just goes on (D4)."""
    (made,) = create(store, NewBead(type="task"))
    before = store.get(made)
    cap_pages(store, 2)
    big = Batch(
        creates=(NewBead(type="task", title="x" * 50_000),),
        updates=(Update(id=made, metadata={"a": "1"}),),
        events=(Event(type="t", ts=NOW),),
    )
    for _ in range(3):
        with pytest.raises(StoreUnavailable, match="no space") as failure:
            store.apply(big, now=NOW)
        assert not isinstance(failure.value, StoreBroken)
    assert store.get(made) == before
    assert store.query(Query()) == [before]
    assert (store.last_seq, store.demand_revision) == (0, 1)
    cap_pages(store, 10_000)
    assert store.apply(big, now=NOW).created == ("gc-2",)
    store.close()
    again = SqliteBeads(path)
    assert (len(again.query(Query())), again.last_seq) == (2, 1)
    again.close()


_FULL_CHILD: Final = """
import resource, sys
from datetime import datetime, UTC
from pathlib import Path
from gascity.beads.sqlite import SqliteBeads
from gascity.beads.store import *
store = SqliteBeads(Path(sys.argv[1]))
now = datetime.now(UTC)
limit = 300_000
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
done = 0
try:
    for _ in range(1000):
        store.apply(Batch(creates=(NewBead(type="task", title="x" * 3000),)), now=now)
        done += 1
except StoreUnavailable as failure:
    print(type(failure).__name__, failure)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
store.apply(Batch(creates=(NewBead(type="task", id="last"),)), now=now)
print(done + 1, len(store.query(Query())))
store.close()
"""


def test_a_quota_counts_as_a_full_disk(path: Path) -> None:
    """The kernel's refusal of a longer file is no broken disk: space again, and it goes on (D4)."""
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    child = subprocess.run(
        [sys.executable, "-c", _FULL_CHILD, path], capture_output=True, text=True, timeout=30,
        check=False,
    )  # fmt: skip
    said = child.stdout.splitlines()
    assert said, child.stderr
    assert said[0].startswith("StoreUnavailable"), said
    done, held = map(int, said[1].split())
    assert done == held > 10
    store = SqliteBeads(path)
    assert len(store.query(Query())) == held
    store.close()


@pytest.mark.parametrize(
    "code", [sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_IOERR_WRITE]
)
def test_an_io_error_ends_the_use_of_the_file(
    store: SqliteBeads, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """After an fsync or integrity error every later call is refused as broken (R75, D3)."""
    (made,) = create(store, NewBead(type="task"))

    def failing(*_: object) -> None:
        failure = sqlite3.OperationalError("disk I/O error")
        failure.sqlite_errorcode = code
        raise failure

    monkeypatch.setattr("gascity.beads.sqlite_rows.write", failing)
    with pytest.raises(StoreBroken):
        store.apply(Batch(updates=(Update(id=made, title="x"),)), now=NOW)
    monkeypatch.undo()
    for call in (
        lambda: store.apply(Batch(updates=(Update(id=made, title="x"),)), now=NOW),
        lambda: store.query(Query()),
        lambda: store.get(made),
        lambda: store.events(EventQuery()),
        lambda: store.set_note("a", "b"),
    ):
        with pytest.raises(StoreBroken):
            call()


def test_a_failed_checkpoint_keeps_what_was_acknowledged(
    store: SqliteBeads, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit before it stands; the broken disk is reported by the next call (R75)."""
    monkeypatch.setattr("gascity.beads.sqlite._LOG_BYTES", -1)
    real = store._db
    assert real is not None

    class BadDisk:
        in_transaction = False

        def execute(self, statement: str, *values: object) -> sqlite3.Cursor:
            if "checkpoint" in statement:
                failure = sqlite3.OperationalError("disk I/O error")
                failure.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
                raise failure
            return real.execute(statement, *values)

        def executemany(self, *values: object) -> sqlite3.Cursor:
            return real.executemany(*values)  # type: ignore[arg-type]

        def close(self) -> None:
            real.close()

    store._db = BadDisk()  # type: ignore[assignment]
    assert create(store, NewBead(type="task")) == ("gc-1",)
    with pytest.raises(StoreBroken):
        create(store, NewBead(type="task"))
    store.close()
    again = SqliteBeads(path)
    assert [bead.id for bead in again.query(Query())] == ["gc-1"]
    again.close()


def test_the_write_ahead_log_is_folded_in(path: Path, store: SqliteBeads) -> None:
    """A long run leaves no log that grows without end (R74)."""
    for _ in range(12):
        create(store, *[NewBead(type="task", title="x" * 4000) for _ in range(200)])
    assert path.with_name("gascity.db-wal").stat().st_size < 6 * 1024 * 1024
    assert path.stat().st_size > 5 * 1024 * 1024


def write_version_1(path: Path) -> None:
    """A file as schema version 1 left it, with one open record, one closed one and an event."""
    path.parent.mkdir(mode=0o700)
    db = sqlite3.connect(path)
    for statement in sqlite_schema.MIGRATIONS[0]:
        db.execute(statement)
    row = '\'\', \'["l"]\', \'\', 2, \'[]\', \'{"k":"v","n":3,"t":true,"z":null}\''
    stamp = "'2026-01-02T03:04:05.000000Z'"
    db.executescript(
        f"INSERT INTO beads VALUES (1, 'gc-1', 'session', 'open', {row}, {stamp}, {stamp}, '', 4);"
        f"INSERT INTO beads VALUES (2, 'gc-2', 'task', 'closed', {row}, {stamp}, {stamp}, {stamp},"
        " 2);"
        f"INSERT INTO events VALUES (7, {stamp}, 'session.woke', 'gc', 's', 'm', '{{\"a\":1}}');"
        "UPDATE counters SET value = 7 WHERE name = 'seq';"
        "UPDATE counters SET value = 2 WHERE name = 'ordinal';"
        "PRAGMA user_version = 1;"
    )
    db.commit()
    db.close()


def test_an_older_file_is_carried_forward_after_a_copy(path: Path) -> None:
    """Version 1 becomes current with everything in it, and stays beside it as it was (R73)."""
    write_version_1(path)
    store = SqliteBeads(path)
    (session,) = store.query(Query())
    assert (session.id, session.version) == ("gc-1", 4)
    assert session.metadata == {"k": "v", "n": "3", "t": "true"}
    (event,) = store.events(EventQuery())
    assert (event.seq, event.payload) == (7, {"a": 1})
    assert create(store, NewBead(type="task")) == ("gc-3",)
    assert store.prune_events(before=NOW - timedelta(days=1), max_bytes=50) == 1, "sizes are known"
    store.close()

    copy = path.with_name("gascity.db.v1.bak")
    assert mode(copy) == 0o600
    db = sqlite3.connect(copy)
    assert db.execute("PRAGMA user_version").fetchone() == (1,)
    assert db.execute("SELECT count(*) FROM beads").fetchone() == (2,)
    db.close()
    SqliteBeads(path).close()
    assert sorted(each.name for each in path.parent.iterdir()) == [
        "gascity.db", "gascity.db.v1.bak",
    ]  # fmt: skip


def test_a_migration_that_fails_leaves_the_old_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step is one transaction: after a failure version and tables are the old ones (R73)."""
    write_version_1(path)
    broken = (sqlite_schema.MIGRATIONS[0], (sqlite_schema.MIGRATIONS[1][0], "SELECT nonsense"))
    monkeypatch.setattr(sqlite_schema, "MIGRATIONS", broken)
    with pytest.raises(StoreUnavailable):
        SqliteBeads(path)
    monkeypatch.undo()
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA user_version").fetchone() == (1,)
    db.close()
    store = SqliteBeads(path)
    assert len(store.query(Query(include_closed=True))) == 2
    store.close()


def test_a_newer_file_is_refused_by_name_and_left_alone(path: Path) -> None:
    """A file of a later version names both versions and is not touched (R73)."""
    SqliteBeads(path).close()
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreUnavailable, match=r"gascity\.db has schema 99.*knows 2"):
        SqliteBeads(path)
    assert path.read_bytes() == before


def test_a_file_of_another_program_is_refused(path: Path) -> None:
    """Neither somebody's database nor plain text is overwritten."""
    path.parent.mkdir()
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE mine (x)")
    db.close()
    with pytest.raises(StoreUnavailable, match="another program"):
        SqliteBeads(path)
    path.write_text("not a database, but long enough to look like one\n" * 50)
    with pytest.raises(StoreBroken):
        SqliteBeads(path)


def test_a_folder_that_cannot_be_made_is_unavailable(tmp_path: Path) -> None:
    """The path is named, the reason too."""
    (tmp_path / ".gc").write_text("")
    with pytest.raises(StoreUnavailable, match=r"gascity\.db"):
        SqliteBeads(tmp_path / ".gc" / "gascity.db")


def test_a_settled_store_writes_no_byte(path: Path, store: SqliteBeads) -> None:
    """Batches and notes that change nothing leave the log as it is (R42, F24)."""
    (made,) = create(store, NewBead(type="task", metadata={"a": "1"}))
    store.set_note("k", "v")
    log = path.with_name("gascity.db-wal")
    before = log.stat().st_size
    for _ in range(50):
        store.apply(Batch(), now=NOW)
        store.apply(Batch(updates=(Update(id=made, metadata={"a": "1"}),)), now=NOW)
        store.set_note("k", "v")
        store.query(Query())
    assert log.stat().st_size == before


def test_the_core_loads_no_framework() -> None:
    """The command line may open the store without anyio or pydantic (R71)."""
    code = (
        "import sys; import gascity.beads.sqlite, gascity.beads.record, gascity.beads.work; "
        "print(sorted({'anyio', 'asyncio', 'pydantic', 'structlog'} & set(sys.modules)))"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert said.stdout.strip() == "[]"
