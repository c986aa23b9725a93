"""`gc attach`: the client's half, against a controller that follows a script."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gascity.cli import attach

Gc = Callable[..., Any]
CONSEQUENCE = "will start a new session and discard prior interactive context"
ARGV = ["tmux", "-L", "gc-demo", "attach-session", "-t", "=mayor"]
CONFIRM = {"confirm": True, "wake_mode": "fresh", "consequence": CONSEQUENCE}


class Entered(Exception):
    """The process would have become this command now."""

    def __init__(self, argv: list[str], environment: dict[str, str]) -> None:
        super().__init__(argv)
        self.argv = argv
        self.environment = environment


@pytest.fixture(autouse=True)
def entered(monkeypatch: pytest.MonkeyPatch) -> list[Entered]:
    """What `execvpe` was asked for, instead of doing it."""
    seen: list[Entered] = []

    def become(file: str, argv: list[str], environment: dict[str, str]) -> None:
        assert file == argv[0]
        seen.append(Entered(argv, environment))
        raise SystemExit(0)

    monkeypatch.setattr(os, "execvpe", become)
    return seen


def terminal(monkeypatch: pytest.MonkeyPatch, answer: str | None) -> None:
    """Somebody sits at the terminal and answers; None: nobody does."""
    monkeypatch.setattr("sys.stdin.isatty", lambda: answer is not None, raising=False)
    monkeypatch.setattr("builtins.input", lambda prompt="": answer)


def test_without_a_terminal_the_intent_ends_before_the_hand_over(
    controller: Any, gc: Gc, entered: list[Entered]
) -> None:
    """Nobody will be seen to attach, so no intent is left to keep the session up (ATT-04)."""
    controller.gives("attach", {"ready": True, "argv": ARGV, "holder": "h-1"})
    controller.gives("attach_cancel", {"outcome": "canceled"})
    ran = gc("attach", "mayor")
    assert entered[0].argv == ARGV
    assert "no terminal here" in ran.err
    assert controller.asked[-1]["op"] == "attach_cancel"
    assert controller.asked[-1]["holder"] == "h-1"


def test_an_awake_session_is_entered_at_once(
    controller: Any, gc: Gc, entered: list[Entered]
) -> None:
    """Awake: the terminal is handed over with nothing said (ATT-06)."""
    controller.gives("attach", {"ready": True, "argv": ARGV})
    ran = gc("attach", "mayor")
    assert [one.argv for one in entered] == [ARGV]
    assert ran.out == ""


def test_a_wake_is_told_while_it_lasts(controller: Any, gc: Gc, entered: list[Entered]) -> None:
    """The accepted line comes letter by letter, then the waiting, then the way in (ATT-08)."""
    controller.gives(
        "attach",
        {"progress": "wake accepted", "text": "waking mayor... (timeout 60s)", "holder": "h"},
        {"progress": "waiting", "text": "still waking mayor"},
        {"ready": True, "argv": ARGV},
    )
    ran = gc("attach", "mayor")
    assert ran.out == "waking mayor... (timeout 60s)\nstill waking mayor\n"
    assert len(entered) == 1


@pytest.mark.parametrize("answer", ["y", "yes", "Y"])
def test_yes_at_the_terminal_starts_fresh(
    answer: str, controller: Any, gc: Gc, entered: list[Entered], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mode and consequence are printed, then asked; only a yes confirms (ATT-07, ATT-09)."""
    terminal(monkeypatch, answer)
    controller.gives("attach", CONFIRM)
    controller.gives("attach", {"ready": True, "argv": ARGV})
    ran = gc("attach", "mayor")
    assert f"wake_mode=fresh: {CONSEQUENCE}" in ran.out
    assert [one["confirm_fresh"] for one in controller.asked] == [False, True]
    assert len(entered) == 1


@pytest.mark.parametrize("answer", ["", "n", "no", "what"])
def test_anything_else_writes_nothing(
    answer: str, controller: Any, gc: Gc, entered: list[Entered], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Declining leaves the session as it is: no second request was made (ATT-19)."""
    terminal(monkeypatch, answer)
    controller.gives("attach", CONFIRM)
    ran = gc("attach", "mayor")
    assert ran.code == 3
    assert [one["confirm_fresh"] for one in controller.asked] == [False]
    assert entered == []


def test_without_a_terminal_the_flag_is_needed(
    controller: Any, gc: Gc, entered: list[Entered], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can be asked, so it fails fast and names the flag (ATT-18, ATT-20, ATT-21)."""
    terminal(monkeypatch, None)
    controller.gives("attach", CONFIRM)
    ran = gc("attach", "mayor")
    assert ran.code == 3
    assert CONSEQUENCE in ran.out
    assert "--confirm-fresh" in ran.err
    assert len(controller.asked) == 1


def test_the_flag_prints_the_consequence_too(
    controller: Any, gc: Gc, entered: list[Entered], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--confirm-fresh` agrees, and what it agrees to is still printed first (ATT-17, ATT-21)."""
    terminal(monkeypatch, None)
    controller.gives("attach", CONFIRM)
    controller.gives(
        "attach",
        {"text": "waking mayor... (timeout 60s)", "progress": "wake accepted", "holder": "h"},
        {"ready": True, "argv": ARGV},
    )
    ran = gc("attach", "mayor", "--confirm-fresh")
    assert ran.out.index(CONSEQUENCE) < ran.out.index("waking mayor...")
    assert len(entered) == 1


def test_a_second_attach_is_told_of_the_first(
    controller: Any, gc: Gc, entered: list[Entered]
) -> None:
    """The second caller reads the exact sentence and exits 3 (ATT-22)."""
    controller.refuses("attach", 3, "session is already being woken by another attach")
    ran = gc("attach", "mayor")
    assert ran.code == 3
    assert "session is already being woken by another attach" in ran.err
    assert entered == []


def test_a_timeout_is_no_failure(controller: Any, gc: Gc, entered: list[Entered]) -> None:
    """Timed out is exit 4 with what is seen; never called a failure (ATT-10, ATT-14)."""
    controller.refuses(
        "attach", 4, "attach did not begin within 60s; mayor is seen running", state="running"
    )
    ran = gc("attach", "mayor")
    assert ran.code == 4
    assert "running" in ran.err
    assert "fail" not in ran.err


def test_a_failed_wake_is_shown_and_not_retried(
    controller: Any, gc: Gc, entered: list[Entered]
) -> None:
    """What the start said is shown once, exit 1, one request (ATT-11, ATT-15)."""
    controller.refuses("attach", 1, "mayor did not start: no such directory")
    ran = gc("attach", "mayor")
    assert ran.code == 1
    assert "no such directory" in ran.err
    assert len(controller.asked) == 1


def test_ctrl_c_takes_the_intent_back(
    controller: Any, gc: Gc, entered: list[Entered], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while waiting cancels the intent this attach wrote and exits 130 (ATT-12, ATT-16)."""
    controller.gives("attach_cancel", {"outcome": "canceled"})

    def interrupted(*_: object, **__: object) -> Any:
        yield {"progress": "wake accepted", "text": "waking mayor...", "holder": "h-1"}
        raise KeyboardInterrupt

    monkeypatch.setattr(attach, "follow", interrupted)
    ran = gc("attach", "mayor")
    assert ran.code == 130
    assert [(one["op"], one["holder"]) for one in controller.asked] == [("attach_cancel", "h-1")]


def test_ctrl_c_with_the_controller_gone_is_still_130(
    city: Path, gc: Gc, entered: list[Entered], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taking the intent back is best effort: no controller, no error (ATT-16)."""

    def interrupted(*_: object, **__: object) -> Any:
        yield {"progress": "wake accepted", "holder": "h-1"}
        raise KeyboardInterrupt

    monkeypatch.setattr(attach, "follow", interrupted)
    ran = gc("attach", "mayor")
    assert ran.code == 130
    assert ran.err == ""


def test_from_inside_the_same_server_the_client_switches(
    controller: Any,
    gc: Gc,
    entered: list[Entered],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Inside the city's own tmux server the client moves instead of nesting (R65)."""
    monkeypatch.setenv("TMUX_TMPDIR", str(tmp_path))
    monkeypatch.setenv("TMUX", f"{tmp_path}/tmux-{os.getuid()}/gc-demo,12,0")
    controller.gives("attach", {"ready": True, "argv": ARGV})
    gc("attach", "mayor")
    assert entered[0].argv == ["tmux", "-L", "gc-demo", "switch-client", "-t", "=mayor"]
    assert "TMUX" in entered[0].environment


def test_from_inside_another_server_it_nests_and_says_so(
    controller: Any, gc: Gc, entered: list[Entered], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inside another tmux server TMUX is taken out, and a note says what happens (R65)."""
    monkeypatch.setenv("TMUX", "/run/other/default,12,0")
    controller.gives("attach", {"ready": True, "argv": ARGV})
    ran = gc("attach", "mayor")
    assert entered[0].argv == ARGV
    assert "TMUX" not in entered[0].environment
    assert "inside another tmux server" in ran.err


def test_the_timeout_is_sent_in_seconds(controller: Any, gc: Gc, entered: list[Entered]) -> None:
    """`--timeout` reads the durations of the configuration (ATT-05)."""
    controller.gives("attach", {"ready": True, "argv": ARGV})
    gc("attach", "mayor", "--timeout", "1m30s")
    assert controller.asked[0]["timeout_s"] == 90.0
