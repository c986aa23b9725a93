"""What each command asks the controller and how it shows the answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Gc = Callable[..., Any]

MAYOR = {
    "name": "mayor",
    "id": "gc-1",
    "template": "mayor",
    "runtime": "tmux",
    "state": "awake",
    "since": "2026-03-01T12:00:00.000000Z",
    "policy": {"effective": "60s", "source": "workspace_default", "adjustment": ""},
    "capability": {"class": "full", "adjustment": ""},
    "blockers": ["attached"],
}
STATUS = {
    "schema": 1,
    "sessions": [MAYOR],
    "pools": [
        {
            "template": "worker",
            "desired": 2,
            "effective_desired": 2,
            "realized": 2,
            "awake": 0,
            "asleep": 2,
        }
    ],
    "warnings": ["odd"],
}
LINE = "mayor     awake    sleep=60s(source=workspace_default capability=full blockers=attached)"
BEAD = {
    "id": "gc-7",
    "type": "task",
    "status": "open",
    "title": "tidy up",
    "assignee": "",
    "metadata": {"gc.routed_to": "worker"},
    "created_at": "2026-03-01T12:00:00.000000Z",
}


def test_status_prints_one_line_a_session(controller: Any, gc: Gc) -> None:
    """The line of the design; pools below, warnings on stderr (STAT-05)."""
    controller.gives("status", {"status": STATUS})
    ran = gc("status")
    assert ran.code == 0
    assert ran.out.splitlines()[0] == LINE
    assert "worker    pool     desired=2" in ran.out
    assert "warning: odd" in ran.err


def test_status_json_is_the_object(controller: Any, gc: Gc) -> None:
    """`--json` passes the object on as it is, and only the wanted sessions are asked for."""
    controller.gives("status", {"status": STATUS})
    assert gc("status", "mayor", "--json").json == STATUS
    assert controller.asked[0]["sessions"] == ["mayor"]


def test_watch_prints_every_change(controller: Any, gc: Gc) -> None:
    """`--watch --json` is one object a line until the stream ends."""
    controller.gives("watch", {"status": STATUS}, {"status": STATUS})
    lines = gc("status", "--watch", "--json").out.splitlines()
    assert [json.loads(line) for line in lines] == [STATUS, STATUS]


@pytest.mark.parametrize(
    ("words", "op"),
    [
        (["why", "mayor"], "why"),
        (["wake", "mayor"], "wake"),
        (["sleep", "mayor"], "sleep"),
        (["session", "peek", "mayor"], "peek"),
        (["session", "nudge", "mayor", "hello"], "nudge"),
        (["session", "kill", "mayor"], "kill"),
        (["pin", "mayor"], "pin"),
        (["sling", "mayor", "tidy"], "sling"),
        (["bead", "show", "gc-7"], "bead"),
    ],
)
def test_a_refusal_keeps_its_words_and_code(
    words: list[str], op: str, controller: Any, gc: Gc
) -> None:
    """The controller's what, do and exit code reach the person as they are (R25, R26)."""
    controller.refuses(op, 3, "mayor is suspended", "lift it with gc resume mayor")
    ran = gc(*words)
    assert ran.code == 3
    assert ran.err.endswith("mayor is suspended; lift it with gc resume mayor\n")
    assert ran.err.startswith(f"gc {words[0]}")


@pytest.mark.parametrize(
    "words",
    [
        ["why", "mayor"],
        ["wake", "mayor"],
        ["sleep", "mayor"],
        ["session", "peek", "mayor"],
        ["session", "nudge", "mayor", "hello"],
        ["session", "kill", "mayor"],
        ["stop"],
        ["events", "--follow"],
        ["status", "--watch"],
    ],
    ids=" ".join,
)
def test_what_needs_a_controller_says_so(words: list[str], city: Path, gc: Gc) -> None:
    """Without a controller these exit 5 and name `gc start` (R71)."""
    ran = gc(*words)
    assert ran.code == 5
    assert "no controller is running" in ran.err
    assert "gc start" in ran.err


def test_wake_follows_to_the_outcome(controller: Any, gc: Gc) -> None:
    """What happens on the way goes to stderr, the outcome to stdout (R25, WAKE-18)."""
    controller.gives(
        "wake",
        {"progress": "waking", "text": "waking mayor"},
        {"outcome": "woke", "state": "running"},
    )
    ran = gc("wake", "mayor", "--timeout", "90s")
    assert (ran.code, ran.out) == (0, "mayor: woke (state running)\n")
    assert "waking mayor" in ran.err
    assert controller.asked[0]["timeout_s"] == 90.0
    assert controller.asked[0]["by"] == "operator"


def test_a_timed_out_wake_prints_its_object_too(controller: Any, gc: Gc) -> None:
    """`--json` gives scripts the outcome and the state also when it is no success (R25)."""
    controller.refuses("wake", 4, "not ready within 60s", outcome="timed out", state="unknown")
    ran = gc("wake", "mayor", "--json")
    assert ran.code == 4
    assert ran.json["outcome"] == "timed out"
    assert ran.json["state"] == "unknown"


def test_a_pin_without_a_time_is_eight_hours(controller: Any, gc: Gc) -> None:
    """`gc pin` without `--for` is 8h; the end is shown with its offset (R76, R78)."""
    controller.gives("pin", {"pin": {"expires_at": "2026-03-01T20:00:00.000000Z"}})
    ran = gc("pin", "mayor", "--reason", "demo")
    assert controller.asked[0]["for_s"] == 8 * 3600
    assert "pinned until 2026-03-0" in ran.out
    assert ran.out.rstrip()[-6] in "+-"


def test_sling_prints_the_id(controller: Any, gc: Gc) -> None:
    """The bead's id alone, so that a script can use it."""
    controller.gives("sling", {"bead": BEAD})
    assert gc("sling", "worker", "tidy", "up").out == "gc-7\n"
    assert controller.asked[0]["title"] == "tidy up"


def test_bead_list_names_who_it_is_for(controller: Any, gc: Gc) -> None:
    """An unassigned bead shows its route."""
    controller.gives("beads", {"beads": [BEAD]})
    assert gc("bead", "list").out == "gc-7  task  open  worker  tidy up\n"


def test_bead_update_sends_what_was_given(controller: Any, gc: Gc) -> None:
    """Only the given fields travel."""
    controller.gives("bead_update", {"bead": BEAD})
    gc("bead", "update", "gc-7", "--status", "blocked", "--metadata", "a=b=c", "--blocked-by", "")
    asked = controller.asked[0]
    assert asked["status"] == "blocked"
    assert asked["metadata"] == {"a": "b=c"}
    assert asked["blocked_by"] == []
    assert "title" not in asked


@pytest.mark.parametrize(("bead", "code"), [(BEAD, 0), (None, 1)])
def test_hook_tells_by_its_exit_code(
    bead: Any, code: int, controller: Any, gc: Gc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 0 with work, id first; 1 without, silently."""
    monkeypatch.setenv("GC_SESSION_ID", "gc-1")
    controller.gives("hook", {"bead": bead})
    ran = gc("hook")
    assert ran.code == code
    assert ran.out == ("gc-7 tidy up\n" if bead else "")
    assert ran.err == ""


def test_hook_outside_a_session_is_a_usage_error(controller: Any, gc: Gc) -> None:
    """It answers for the session it runs in, so there has to be one."""
    assert gc("hook").code == 2


def test_events_show_local_time_with_offset(controller: Any, gc: Gc) -> None:
    """Text shows local time with its offset; JSON keeps UTC, one object a line (EVT-08, R76)."""
    event = {
        "seq": 12,
        "type": "session.woke",
        "ts": "2026-03-01T12:00:00.000000Z",
        "actor": "gc",
        "subject": "mayor",
        "message": "woke\x1b[2J",
        "payload": {},
    }
    controller.gives("events", {"event": event}, {"event": event}, {})
    text = gc("events").out.splitlines()
    assert len(text) == 2
    assert "session.woke" in text[0]
    assert "\x1b" not in text[0]
    as_json = gc("events", "--json", "--type", "session.woke", "--session", "mayor").out
    assert [json.loads(line) for line in as_json.splitlines()] == [event, event]
    assert controller.asked[1]["types"] == ["session.woke"]


def test_session_list_is_a_table(controller: Any, gc: Gc) -> None:
    """Name, state, agent, runtime, since, id."""
    controller.gives("status", {"status": STATUS})
    words = gc("session", "list").out.split()
    assert words[:4] == ["mayor", "awake", "mayor", "tmux"]
    assert words[-1] == "gc-1"


def test_peek_shows_no_control_characters(controller: Any, gc: Gc) -> None:
    """A screen is text here: it cannot move the cursor of whoever peeks (R44)."""
    controller.gives("peek", {"text": "one\n\x1b[2Jtwo"})
    assert gc("session", "peek", "mayor").out == "one\n\\x1b[2Jtwo\n"


def test_stop_waits_for_the_lock(controller: Any, city: Path, gc: Gc) -> None:
    """A controller that says it ends and keeps the lock is told by its pid (R36, R64)."""
    controller.gives("city_stop", {"progress": "stopping mayor"}, {"outcome": "stopped"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gascity.cli.controller.GONE_S", 0.1)
        ran = gc("stop", "--controller-only")
    assert ran.code == 4
    assert "pid 4242" in ran.err
    assert "stopping mayor" in ran.out
    assert controller.asked[0]["controller_only"] is True


def test_a_second_start_is_refused(controller: Any, gc: Gc) -> None:
    """The one that runs is named by its pid, exit 3 (R36)."""
    ran = gc("start")
    assert ran.code == 3
    assert "4242" in ran.err
