"""`gc` as a real process: terminals, prompts, Ctrl-C, and readers that go away."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.control_stand_in import StandIn, a_city, controlled
from tests.terminal import Terminal, environment, gc

CONSEQUENCE = "will start a new session and discard prior interactive context"
EVENT = {
    "seq": 1,
    "type": "session.woke",
    "ts": "2026-03-01T12:00:00.000000Z",
    "actor": "gc",
    "subject": "mayor",
    "message": "",
    "payload": {},
}
MAYOR = {
    "name": "mayor",
    "state": "awake",
    "policy": {"effective": "60s", "source": "agent"},
    "capability": {"class": "full"},
    "blockers": [],
}


@pytest.fixture
def city() -> Iterator[Path]:
    """A city without a controller."""
    with a_city() as path:
        yield path


@pytest.fixture
def controller(city: Path) -> Iterator[StandIn]:
    """A controller that answers from a script."""
    with controlled(city) as stand_in:
        yield stand_in


def test_a_person_confirms_a_fresh_start(controller: StandIn, city: Path) -> None:
    """On a terminal the consequence is shown, then asked; `y` goes in (ATT-07, ATT-19, ATT-21)."""
    controller.gives("attach", {"confirm": True, "consequence": CONSEQUENCE})
    controller.gives("attach", {"ready": True, "argv": ["echo", "inside", "now"]})
    terminal = Terminal(gc("attach", "mayor"), environment(city))
    terminal.wait_for("[y/N]")
    assert CONSEQUENCE in terminal.shown
    assert len(controller.asked) == 1
    terminal.type("y\n")
    assert terminal.end() == 0
    assert "inside now" in terminal.shown


def test_a_person_declines(controller: StandIn, city: Path) -> None:
    """Anything but yes ends with 3 and one request, which wrote nothing (ATT-19)."""
    controller.gives("attach", {"confirm": True, "consequence": CONSEQUENCE})
    terminal = Terminal(gc("attach", "mayor"), environment(city))
    terminal.wait_for("[y/N]")
    terminal.type("\n")
    assert terminal.end() == 3
    assert [one["confirm_fresh"] for one in controller.asked] == [False]


def test_ctrl_c_at_the_prompt_writes_nothing(controller: StandIn, city: Path) -> None:
    """Ctrl-C at the question is 130, and nothing was asked for (ATT-16, ATT-19)."""
    controller.gives("attach", {"confirm": True, "consequence": CONSEQUENCE})
    terminal = Terminal(gc("attach", "mayor"), environment(city))
    terminal.wait_for("[y/N]")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130
    assert "Traceback" not in terminal.shown
    assert len(controller.asked) == 1


def test_ctrl_c_while_waking_cancels(city: Path) -> None:
    """Ctrl-C while the controller is still waking takes the intent back (ATT-12, ATT-16)."""
    accepted: dict[str, Any] = {
        "v": 1,
        "ok": True,
        "end": False,
        "progress": "wake accepted",
        "text": "waking mayor... (timeout 60s)",
        "holder": "h-1",
    }
    with controlled(city, linger=True) as controller:
        controller.replies["attach"] = [[accepted]]
        controller.gives("attach_cancel", {"outcome": "canceled"})
        terminal = Terminal(gc("attach", "mayor"), environment(city))
        terminal.wait_for("waking mayor... (timeout 60s)")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.end() == 130
        assert "Traceback" not in terminal.shown
        assert [(one["op"], one.get("holder")) for one in controller.asked][1:] == [
            ("attach_cancel", "h-1")
        ]


def test_ctrl_c_ends_following_events(city: Path) -> None:
    """`gc events --follow` shows events as they come and ends by Ctrl-C with 130."""
    with controlled(city, linger=True) as controller:
        controller.replies["events"] = [[{"v": 1, "ok": True, "end": False, "event": EVENT}]]
        terminal = Terminal(gc("events", "--follow"), environment(city))
        terminal.wait_for("session.woke")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.end() == 130
        assert "Traceback" not in terminal.shown


def test_a_reader_that_went_away_is_no_error(controller: StandIn, city: Path) -> None:
    """`gc events | head -1` ends quietly: nothing on stderr, exit 0."""
    controller.gives("events", *[{"event": EVENT}] * 5000)
    done = subprocess.Popen(
        gc("events", "--json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(city),
    )
    assert done.stdout is not None
    assert done.stderr is not None
    assert done.stdout.readline().startswith(b"{")
    done.stdout.close()
    with done.stderr:
        assert done.stderr.read() == b""
    assert done.wait(timeout=20) == 0


@pytest.mark.parametrize(
    ("words", "more", "coloured"),
    [
        (["status"], {}, True),
        (["--no-color", "status"], {}, False),
        (["status", "--no-color"], {}, False),
        (["status"], {"NO_COLOR": "1"}, False),
        (["status"], {"TERM": "dumb"}, False),
    ],
)
def test_colours_are_for_terminals_that_want_them(
    words: list[str], more: dict[str, str], coloured: bool, controller: StandIn, city: Path
) -> None:
    """A terminal gets colours unless it, its owner or an option says no (STAT-09)."""
    controller.gives("status", {"status": {"sessions": [MAYOR], "warnings": []}})
    terminal = Terminal(gc(*words), environment(city, **more))
    terminal.wait_for("mayor")
    assert terminal.end() == 0
    assert ("\x1b[32mawake" in terminal.shown) is coloured


def test_a_locale_without_unicode_is_no_crash(controller: StandIn, city: Path) -> None:
    """Names that the terminal cannot show are escaped, not a traceback."""
    session = MAYOR | {"name": "b\u00fcrgermeister"}
    controller.gives("status", {"status": {"sessions": [session], "warnings": []}})
    done = subprocess.run(
        gc("status"),
        capture_output=True,
        env=environment(city, PYTHONIOENCODING="ascii"),
        timeout=20,
        check=True,
    )
    assert b"b\\xfcrgermeister" in done.stdout
