"""What works without a controller, on a real store: reads and durable facts under the lock."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gascity.beads.record import new_session, session_of, to_update
from gascity.beads.sqlite import SqliteBeads
from gascity.beads.store import Batch, Query
from gascity.model.city import Agent
from gascity.model.roster import Place
from gascity.model.session import Session

Gc = Callable[..., Any]
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SLEEPER = {
    "state": "asleep",
    "sleep_reason": "idle",
    "effective_sleep_after_idle": "0s",
    "requested_sleep_after_idle": "0s",
    "sleep_policy_source": "rig_override",
    "config_wake_suppressed": "true",
}


def recorded(city: Path, name: str, **metadata: str) -> str:
    """Put a session on record as a controller would have; its id."""
    from gascity.beads.store import Update

    place = Place(name=name, template=name, agent=Agent(identity=name, name=name))
    beads = SqliteBeads(city / ".gc" / "gascity.db")
    try:
        applied = beads.apply(Batch(creates=(new_session(place, now=NOW),)), now=NOW)
        [bead_id] = applied.created
        beads.apply(Batch(updates=(Update(id=bead_id, metadata=metadata),)), now=NOW)
    finally:
        beads.close()
    return bead_id


def on_record(city: Path, name: str) -> Session:
    """The session as the store keeps it."""
    beads = SqliteBeads(city / ".gc" / "gascity.db")
    try:
        found = [session_of(bead) for bead in beads.query(Query(type="session"))]
    finally:
        beads.close()
    return next(one for one in found if one.name == name)


def test_status_reads_the_store(city: Path, gc: Gc) -> None:
    """The recorded words give the design's line; stderr says that nobody runs (STAT-06, R71)."""
    recorded(city, "worker-1", **SLEEPER)
    ran = gc("status")
    assert ran.code == 0
    assert (
        ran.out == "worker-1  asleep   reason=idle sleep=0s(source=rig_override suppressed=yes)\n"
    )
    assert "no controller" in ran.err
    whole = gc("status", "--json").json
    assert whole["controller"]["running"] is False
    assert whole["city"]["name"] == "demo"


def test_status_of_a_city_never_started_is_empty(city: Path, gc: Gc) -> None:
    """Nothing on record is no error, and looking creates no store (R44)."""
    assert gc("status").code == 0
    assert not (city / ".gc" / "gascity.db").exists()


def test_an_unknown_session_is_a_usage_error(city: Path, gc: Gc) -> None:
    """A slip in the name ends with exit 2 and says where the names are (R6b)."""
    recorded(city, "mayor")
    ran = gc("status", "mayr")
    assert ran.code == 2
    assert "'mayr'" in ran.err


def test_a_pin_is_durable(city: Path, gc: Gc) -> None:
    """Pin, list and unpin work on the store (R18, R71)."""
    recorded(city, "mayor")
    assert gc("pin", "mayor", "--for", "2h", "--reason", "demo").code == 0
    [pin] = on_record(city, "mayor").pins
    assert (pin.owner, pin.reason) == ("operator", "demo")
    assert (pin.expires_at - pin.at).total_seconds() == 7200
    assert [one["session"] for one in gc("pin", "--list", "--json").json] == ["mayor"]
    assert gc("unpin", "mayor").code == 0
    assert on_record(city, "mayor").pins == ()


def test_suspend_and_resume_are_durable(city: Path, gc: Gc) -> None:
    """A hold is written and lifted without a controller (R26, R71)."""
    recorded(city, "mayor")
    recorded(city, "api")
    assert gc("suspend", "mayor").out == "mayor: suspended\n"
    assert on_record(city, "mayor").suspended_by == "operator"
    assert gc("status", "mayor").out.split()[1] == "suspended"
    gc("suspend", "--all")
    assert on_record(city, "api").suspended_at is not None
    gc("resume", "--all")
    assert on_record(city, "mayor").suspended_at is None


def test_work_goes_from_sling_to_close(city: Path, gc: Gc, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sling, list, hook, claim and close, each under the lock (R19, R71)."""
    session = recorded(city, "mayor")
    bead = gc("sling", "mayor", "tidy", "up").out.strip()
    assert [one["id"] for one in gc("bead", "list", "--type", "task", "--json").json] == [bead]
    monkeypatch.setenv("GC_SESSION_ID", session)
    assert gc("hook").out.split()[0] == bead
    assert gc("hook", "--claim").code == 0
    assert gc("bead", "show", bead, "--json").json["status"] == "in_progress"
    assert gc("bead", "close", bead, "--reason", "done").code == 0
    assert gc("hook").code == 1


def test_blocked_work_is_not_handed_out(
    city: Path, gc: Gc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work behind another open bead is nobody's next bead (R19)."""
    monkeypatch.setenv("GC_SESSION_ID", recorded(city, "mayor"))
    first = gc("sling", "mayor", "first").out.strip()
    second = gc("sling", "mayor", "second", "--priority", "0").out.strip()
    gc("bead", "update", second, "--blocked-by", first)
    assert gc("hook").out.split()[0] == first
    gc("bead", "close", first)
    assert gc("hook").out.split()[0] == second


def test_events_are_read_from_the_store(city: Path, gc: Gc) -> None:
    """What was written without a controller is in the log and in its mirror (EVT-08, R74)."""
    recorded(city, "mayor")
    bead = gc("sling", "mayor", "tidy").out.strip()
    events = [json.loads(line) for line in gc("events", "--json").out.splitlines()]
    assert [(one["type"], one["subject"]) for one in events] == [("bead.created", bead)]
    mirror = (city / ".gc" / "events.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in mirror] == events
    assert gc("events", "--after", str(events[-1]["seq"])).out == ""


def test_another_command_is_waited_for_and_named(
    city: Path, gc: Gc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that holds the city too long is named, and is no controller (R71)."""
    recorded(city, "mayor")
    with (city / ".gc" / "controller.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(f"{os.getpid()} command\n")
        lock.flush()
        ran = gc("pin", "mayor")
    assert ran.code == 1
    assert f"pid {os.getpid()}" in ran.err


def test_a_city_anybody_may_write_is_refused(city: Path, gc: Gc) -> None:
    """World-writable files decide nothing here (R70)."""
    recorded(city, "mayor")
    (city / "city.toml").chmod(0o666)
    ran = gc("pin", "mayor")
    assert ran.code == 3
    assert "chmod o-w" in ran.err


def test_attach_to_a_sleeper_needs_a_controller(city: Path, gc: Gc) -> None:
    """Without a controller only what runs can be attached to; nothing is written (R55, R65)."""
    recorded(city, "mayor", **SLEEPER)
    before = on_record(city, "mayor")
    ran = gc("attach", "mayor")
    assert ran.code == 5
    assert "gc start" in ran.err
    assert on_record(city, "mayor") == before


def test_a_broken_store_is_one_line(city: Path, gc: Gc) -> None:
    """A file that is no store ends as a failure with a remedy, not as a traceback (R75)."""
    (city / ".gc" / "gascity.db").write_bytes(b"not a database" * 1000)
    ran = gc("status")
    assert ran.code == 1
    assert "gc doctor" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_records_are_written_as_differences(city: Path) -> None:
    """The builder above writes what a controller would read back."""
    recorded(city, "mayor", **SLEEPER)
    session = on_record(city, "mayor")
    assert session.is_cold
    assert to_update(session, session).metadata == {}
