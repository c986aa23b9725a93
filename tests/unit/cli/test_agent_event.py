"""`gc agent-event`: hooks in words of ours, and an agent that notices nothing of it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gascity.cli import agent_event, entry
from gascity.cli.agent_words import KINDS, said_by
from gascity.cli.hook_files import FILES
from gascity.model.signals import SignalKind

INSIDE = {"GC_SESSION_ID": "gc-mayor", "GC_SESSION_NAME": "mayor", "GC_INSTANCE_TOKEN": "t1"}


@pytest.mark.parametrize(
    ("name", "payload", "expected"),
    [
        ("UserPromptSubmit", {"session_id": "c1"}, {"kind": "turn-open", "conversation": "c1"}),
        ("prompt-submitted", {}, {"kind": "turn-open"}),
        ("BeforeAgent", {}, {"kind": "turn-open"}),
        ("Stop", {}, {"kind": "turn-close"}),
        ("turn_ended", {}, {"kind": "turn-close"}),
        ("agent-turn-complete", {"thread-id": "c2"}, {"kind": "turn-close", "conversation": "c2"}),
        (
            "Stop",
            {"background_tasks": [{"description": "npm start"}, {"id": "b2"}, "x"]},
            {"kind": "turn-close", "items": ["npm start", "b2", "x"]},
        ),
        ("Stop", {"background_tasks": []}, {"kind": "turn-close", "items": []}),
        ("SubagentStop", {"agent_id": "a"}, {"kind": "beat", "sub": True}),
        ("SubagentStop", {"background_tasks": []}, {"kind": "work", "items": []}),
        (
            "PermissionRequest",
            {"tool_name": "Bash", "tool_input": {"command": "rm -rf build"}},
            {"kind": "pending", "what": "permission", "question": "Bash: rm -rf build"},
        ),
        (
            "PreToolUse",
            {"tool_name": "AskUserQuestion", "tool_input": {"questions": [{"question": "Blue?"}]}},
            {"kind": "pending", "what": "choice", "question": "Blue?"},
        ),
        ("PreToolUse", {"tool_name": "ExitPlanMode"}, {"kind": "pending", "what": "plan"}),
        ("PreToolUse", {"tool_name": "Read"}, {"kind": "turn-open"}),
        ("PostToolUse", {}, {"kind": "pending-clear"}),
        (
            "Notification",
            {"notification_type": "ToolPermission", "message": "Run it?"},
            {"kind": "pending", "what": "permission", "question": "Run it?"},
        ),
        (
            "Notification",
            {"notification_type": "idle_prompt", "message": "Waiting for your input"},
            {"kind": "beat"},
        ),
        ("SessionStart", {"source": "compact"}, {"kind": "beat"}),
        ("SessionStart", {"source": "resume"}, {"kind": "here"}),
        ("PostCompact", {"trigger": "manual"}, {"kind": "turn-close"}),
        ("PostCompact", {"trigger": "auto"}, {"kind": "beat"}),
        ("background-started", {}, {"kind": "work-begin"}),
        ("SessionEnd", {}, {"kind": "gone"}),
        ("SomethingNew", {}, {"kind": "beat"}),
    ],
)
def test_hooks_are_put_into_words(
    name: str, payload: dict[str, Any], expected: dict[str, Any]
) -> None:
    """What a hook's name and object mean, whichever CLI it is of (R15, R79)."""
    assert said_by(name, payload) == {"source": name, **expected}


def test_every_word_is_one_of_ours_and_every_hook_has_one() -> None:
    """No hook that `gc hooks` installs is unknown to `gc agent-event` (R15)."""
    assert set(KINDS.values()) <= set(SignalKind)
    for about in FILES.values():
        for event in about.events:
            assert event.lower() in {*KINDS, "postcompact", "notification"}


@pytest.fixture
def socket_path(city: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Inside a session of this city."""
    for name, value in INSIDE.items():
        monkeypatch.setenv(name, value)
    return city / ".gc" / "controller.sock"


@contextlib.contextmanager
def stdin(text: str) -> Iterator[None]:
    """While inside, descriptor 0 holds this text and ends."""
    kept, (read, write) = os.dup(0), os.pipe()
    os.write(write, text.encode())
    os.close(write)
    os.dup2(read, 0)
    try:
        yield
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(read)


def test_it_tells_the_controller_whose_hook_it_is(controller: Any, socket_path: Path) -> None:
    """Session, token, order and words reach the controller (R63)."""
    controller.gives("signal", {"turn": "open"})
    with stdin(json.dumps({"session_id": "c1", "tool_name": "Bash"})):
        assert agent_event.tell(["UserPromptSubmit"]) == 0
    [asked] = controller.asked
    assert asked.pop("seq") > 0
    assert asked == {
        "v": 1,
        "op": "signal",
        "session": "gc-mayor",
        "token": "t1",
        "kind": "turn-open",
        "source": "UserPromptSubmit",
        "conversation": "c1",
    }


def test_a_question_may_be_given_in_words(controller: Any, socket_path: Path) -> None:
    """For hooks without an object: `--what=`, `--question=`; an object may be an argument."""
    controller.gives("signal", {})
    controller.gives("signal", {})
    with stdin(""):
        agent_event.tell(["permission-asked", "--what=permission", "--question=run it?"])
        agent_event.tell(["notify", '{"type": "agent-turn-complete", "thread-id": "c9"}'])
    first, second = controller.asked
    assert (first["kind"], first["what"], first["question"]) == (
        "pending",
        "permission",
        "run it?",
    )
    assert (second["kind"], second["conversation"]) == ("beat", "c9")


@pytest.mark.parametrize("trouble", ["nobody", "refused", "hung", "not ours", "garbage", "outside"])
def test_an_agent_notices_nothing(
    trouble: str,
    socket_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Exit 0 and not a word, whatever is wrong with the controller or the hook (R15)."""
    with contextlib.ExitStack() as stack:
        if trouble in {"refused", "hung"}:
            server = stack.enter_context(socket.socket(socket.AF_UNIX))
            server.bind(str(socket_path))
            if trouble == "hung":
                server.listen()
        if trouble == "not ours":
            monkeypatch.setenv("GC_CITY", "/nowhere")
        if trouble == "outside":
            monkeypatch.delenv("GC_INSTANCE_TOKEN")
        text = "{" * 100_000 if trouble == "garbage" else "{}"
        stack.enter_context(stdin(text[:60_000]))
        monkeypatch.setattr(sys, "argv", ["gc", "agent-event", "Stop", "--unheard=of", "x"])
        assert entry.main() == 0
    assert capfd.readouterr() == ("", "")


def test_an_object_that_does_not_come_is_not_waited_for(controller: Any, socket_path: Path) -> None:
    """An inherited input that stays open and silent delays nobody (R15)."""
    controller.gives("signal", {})
    read, write = os.pipe()
    kept = os.dup(0)
    os.dup2(read, 0)
    try:
        assert agent_event.tell(["Stop"]) == 0
    finally:
        os.dup2(kept, 0)
        for one in (kept, read, write):
            os.close(one)
    assert controller.asked[0]["kind"] == "turn-close"
    assert agent_event.STDIN_S + agent_event.DEADLINE_S < 0.1
    assert isinstance(sys.stdout, io.TextIOBase)
