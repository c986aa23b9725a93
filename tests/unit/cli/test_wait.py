"""`gc wait`, `gc pin` inside a session, `gc session nudge`: words to requests and back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gascity.cli.failure import Failure
from gascity.cli.instants import instant_of
from tests.unit.cli.test_offline import recorded

Gc = Callable[..., Any]
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
WAIT = {
    "id": "gc-9",
    "session": "mayor",
    "state": "pending",
    "kind": "time",
    "beads": [],
    "mode": "all",
    "due_at": "2026-03-01T12:00:00.000000Z",
    "expires_at": "",
    "note": "",
    "elapsed": False,
    "delivery": "",
    "created_at": "2026-03-01T11:00:00.000000Z",
}


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Local time is an hour or two ahead of UTC."""
    import time

    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-03-01T18:30", "2026-03-01T17:30:00+00:00"),
        ("2026-07-01T18:30", "2026-07-01T16:30:00+00:00"),
        ("2026-03-01T18:30Z", "2026-03-01T18:30:00+00:00"),
        ("2026-03-01T18:30-05:00", "2026-03-01T23:30:00+00:00"),
        ("2026-03-02", "2026-03-01T23:00:00+00:00"),
        ("18:30", "2026-03-01T17:30:00+00:00"),
        ("08:00", "2026-03-02T07:00:00+00:00"),
        ("13:00", "2026-03-02T12:00:00+00:00"),
    ],
)
@pytest.mark.usefixtures("berlin")
def test_a_time_without_a_zone_is_local(text: str, utc: str) -> None:
    """R76: summer and winter; a time of day is the next one."""
    assert instant_of(text, "--until", now=NOON).astimezone(UTC).isoformat() == utc


@pytest.mark.parametrize(
    "text", ["", "soon", "25:00", "2026-13-01", "1h", "9999-12-31T23:59-12:00"]
)
def test_a_time_that_is_none_is_a_usage_error(text: str) -> None:
    """Names the option and what to write."""
    with pytest.raises(Failure) as caught:
        instant_of(text, "--until", now=NOON)
    assert (caught.value.exit, caught.value.what.startswith("--until")) == (2, True)


@pytest.mark.usefixtures("berlin")
def test_the_end_of_a_wait_is_echoed_in_local_time(controller: Any, gc: Gc) -> None:
    """R76: asked in UTC, shown with the offset."""
    controller.gives("wait_add", {"wait": WAIT})
    ran = gc("wait", "add", "mayor", "--until", "2026-03-01T13:00", "--note", "look")
    assert controller.asked[0]["until"] == "2026-03-01T12:00:00+00:00"
    assert ran.out == "gc-9: mayor waits until 2026-03-01 13:00:00+01:00\n"


def test_inside_a_session_a_wait_is_its_own(
    controller: Any, gc: Gc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GC_SESSION_NAME names it; outside somebody has to be named."""
    assert gc("wait", "add", "--for", "90s").code == 2
    monkeypatch.setenv("GC_SESSION_NAME", "mayor")
    controller.gives("wait_add", {"wait": WAIT})
    assert gc("wait", "add", "--for", "90s", "--expires", "2h", "--elapsed").code == 0
    asked = controller.asked[0]
    assert (asked["session"], asked["for_s"], asked["expires_s"]) == ("mayor", 90.0, 7200.0)
    assert asked["elapsed"] is True


@pytest.mark.parametrize(
    "words",
    [
        ("mayor",),
        ("mayor", "--for", "90s", "--until", "18:30"),
        ("mayor", "--for", "90s", "--any"),
        ("mayor", "--for", "0s"),
        ("mayor", "--for", "90"),
    ],
)
def test_a_wait_has_exactly_one_condition(controller: Any, gc: Gc, words: tuple[str, ...]) -> None:
    """Usage errors ask nothing."""
    assert gc("wait", "add", *words).code == 2
    assert controller.asked == []


def test_waits_work_without_a_controller(city: Path, gc: Gc) -> None:
    """R71: added, listed, declared ready and canceled under the lock."""
    recorded(city, "mayor")
    job = gc("sling", "mayor", "build").out.strip()
    timed = gc("wait", "add", "mayor", "--for", "1h", "--note", "look", "--json").json
    both = gc("wait", "add", "mayor", "--on-beads", job, "--any", "--json").json
    assert (timed["state"], both["state"], both["beads"]) == ("pending", "pending", [job])
    assert gc("wait", "ready", timed["id"]).out == f"{timed['id']}: ready\n"
    gc("bead", "close", job)
    assert {one["id"]: one["state"] for one in gc("wait", "list", "--json").json} == {
        timed["id"]: "ready",
        both["id"]: "ready",
    }
    assert gc("wait", "cancel", both["id"]).code == 0
    assert [one["id"] for one in gc("wait", "list", "--session", "mayor", "--json").json] == [
        timed["id"]
    ]
    assert gc("wait", "cancel", both["id"]).code == 3
    log = gc("events", "--type", "bead.created").out.splitlines()
    assert len(log) == 3


def test_a_nudge_to_nobody_s_controller_is_refused(city: Path, gc: Gc) -> None:
    """R71: only a controller types."""
    recorded(city, "mayor")
    assert gc("session", "nudge", "mayor", "hello", "--queue").code == 5


@pytest.mark.parametrize(
    ("flags", "mode"), [((), "send"), (("--wake",), "wake"), (("--queue",), "queue")]
)
def test_a_nudge_says_what_becomes_of_it(
    controller: Any, gc: Gc, flags: tuple[str, ...], mode: str
) -> None:
    """F26: the request carries the mode; the answer's words are printed."""
    controller.gives("nudge", {"outcome": "queued", "text": "stored; this wakes nobody"})
    ran = gc("session", "nudge", "mayor", "go", "on", *flags)
    asked = controller.asked[0]
    assert (asked["mode"], asked["text"]) == (mode, "go on")
    assert ran.out == "mayor: stored; this wakes nobody\n"


def test_an_agent_pins_by_its_identity(
    controller: Any, gc: Gc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R18: its own session, its own name, and an end; it takes off its own pin only."""
    monkeypatch.setenv("GC_SESSION_NAME", "rig--mayor")
    monkeypatch.setenv("GC_AGENT", "rig/mayor")
    controller.gives("pin", {"pin": {"expires_at": "2026-03-01T20:00:00.000000Z"}})
    controller.gives("unpin", {"removed": 1})
    assert gc("pin", "--for", "2h").code == 0
    assert gc("unpin").code == 0
    first, second = controller.asked
    assert (first["session"], first["owner"], first["for_s"], first["agent"]) == (
        "rig--mayor",
        "rig/mayor",
        7200.0,
        True,
    )
    assert second["owner"] == "rig/mayor"
