"""Scripts that answer, and scripts that do not: what each comes to, and what it may cost."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

from gascity.decide.capability import CLASS
from gascity.model.plan import CapabilityClass
from gascity.model.reading import Known, Unclear, Unsupported
from gascity.model.world import ProbeResult, Sighting, Truth
from gascity.runtimes.base import (
    Ability,
    Responds,
    RuntimeUnreachable,
    Spec,
    StartFailed,
    Watch,
)
from gascity.runtimes.exec import ExecRuntime, Script, find_script
from gascity.runtimes.exec.answers import activity_of, attached_of, boundary_of, pending_of
from gascity.runtimes.exec.script import start_config
from tests.polling import wait_until

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
UP = "case $1 in list-running) echo worker;; is-running) echo true;;"


class Host:
    """One script, written by the test, and the runtime over it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "script"

    def says(self, text: str, *, look_s: float = 5.0, call_s: float = 5.0) -> ExecRuntime:
        """The runtime of a script with this body."""
        self.path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        self.path.chmod(0o755)
        script = Script(
            path=self.path,
            cwd=str(self.folder),
            env={"PATH": os.environ["PATH"]},
            look_s=look_s,
            call_s=call_s,
            start_s=call_s,
        )
        return ExecRuntime(script, said="script", city="/c", lore=self.folder / "lore.json")


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def see(runtime: ExecRuntime, name: str = "worker") -> Sighting:
    async def look() -> Sighting:
        return (await runtime.list([Watch(name=name)])).sightings[name]

    return anyio.run(look)


def spec(folder: Path, **changes: Any) -> Spec:
    fields: dict[str, Any] = {
        "name": "worker", "session_id": "i", "token": "tok", "city": "/c",
        "command": "true", "work_dir": str(folder), "env": {"KEY": "a secret value"},
    }  # fmt: skip
    return Spec(**{**fields, **changes})


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").exists() and " Z " not in Path(f"/proc/{pid}/stat").read_text()


# --- the ecosystem's words


def test_a_plain_script_gives_a_clock_and_nothing_else(host: Host) -> None:
    """With activity it is timed_only; an operation it does not know is no support (CAP-20)."""
    runtime = host.says(f"{UP} get-last-activity) echo 2026-01-01T10:00:00Z;; *) exit 2;; esac")
    seen = see(runtime)
    assert seen.activity == Known(datetime(2026, 1, 1, 10, tzinfo=UTC))
    assert (seen.attached, seen.pending) == (Unsupported(), Unsupported())
    offered = runtime.support
    assert CLASS[offered.activity_clock, offered.idle_boundary] is CapabilityClass.TIMED_ONLY
    assert not (offered.pending_signal)
    assert not (offered.attachment_signal)


@pytest.mark.parametrize("said", ["exit 2", "exit 0", "echo soon", "echo 0001-01-01T00:00:00Z"])
def test_no_activity_is_no_clock(host: Host, said: str) -> None:
    """An unknown operation, nothing, a malformed time, the zero time (CAP-11, CAP-20)."""
    seen = see(host.says(f"{UP} get-last-activity) {said};; *) exit 2;; esac"))
    assert seen.activity in (Known(None), Unsupported())


@pytest.mark.parametrize("stub", ["exit 0", "exit 1", "echo ok", "echo usage; exit 64"])
def test_only_a_good_answer_is_support(host: Host, stub: str) -> None:
    """A script that pretends, or fails, at what it does not know gains nothing (CAP-13)."""
    runtime = host.says(f"{UP} get-last-activity) exit 0;; get-meta) exit 0;; *) {stub};; esac")
    assert see(runtime).truth is Truth.RUNNING
    offered = runtime.support
    assert not (offered.idle_boundary)
    assert not (offered.pending_signal)
    assert not (offered.attachment_signal)


OPTIONAL = "is-attached) echo 2;; pending) echo none;; wait-for-idle) echo idle;;"


def test_optional_operations_raise_the_class_and_are_remembered(host: Host) -> None:
    """Each shows itself once, on a session that runs, and holds over a restart (CAP-06, CAP-20)."""
    text = f"{UP} {OPTIONAL} *) exit 2;; esac"
    runtime = host.says(text)
    assert not runtime.support.idle_boundary
    assert see(runtime).attached == Known(2)
    assert runtime.support.idle_boundary
    assert host.says(text).support == runtime.support


@pytest.mark.slow
def test_a_changed_script_is_learnt_anew(host: Host) -> None:
    """What it knew before counts until a session shows otherwise (CAP-06)."""
    see(host.says(f"{UP} {OPTIONAL} *) exit 2;; esac"))
    runtime = host.says(f"{UP} *) exit 2;; esac # less")
    assert runtime.support.idle_boundary
    see(runtime)
    assert not runtime.support.idle_boundary


def test_it_declares_what_its_protocol_has(host: Host) -> None:
    """The protocol has no word for how a session ended, and none for an answer (CAP-25)."""
    runtime = host.says("exit 2")
    assert frozenset(Ability) - runtime.abilities == {Ability.EXIT_STATUS, Ability.RESPOND}
    assert not isinstance(runtime, Responds)


def test_an_empty_list_is_believed_of_a_script_that_lists(host: Host) -> None:
    """One that never names anybody may only pretend; it is asked about each (R10)."""
    pretends = host.says("case $1 in is-running) echo true;; list-running) ;; *) exit 2;; esac")
    assert see(pretends).truth is Truth.RUNNING
    lists = host.says("case $1 in list-running) echo other;; is-running) exit 1;; *) exit 2;; esac")
    assert see(lists).truth is Truth.STOPPED


def test_a_session_of_another_city_is_not_ours(host: Host) -> None:
    """A name that another city's session has is stopped for us, and never stopped by us (R37)."""
    runtime = host.says(f"{UP} get-meta) echo /other;; stop) touch stopped;; *) exit 2;; esac")
    assert see(runtime).truth is Truth.STOPPED
    anyio.run(lambda: runtime.stop("worker", token="t", grace_s=0.0))
    assert not (host.folder / "stopped").exists()


def test_start_gets_the_ecosystem_s_object(host: Host) -> None:
    """One JSON object on stdin; the environment is on no command line (R69)."""
    runtime = host.says(
        "case $1 in is-running) [ -e up ] && echo true || echo false;;"
        " start) cat > config; touch up;; set-meta) cat > $3;; *) exit 2;; esac"
    )
    given = spec(host.folder, process_names=("claude",), prompt_prefix="❯ ", ready_delay_ms=5)
    anyio.run(runtime.start, given)
    said = json.loads((host.folder / "config").read_text())
    assert said == {
        "work_dir": str(host.folder), "command": "true", "process_names": ["claude"],
        "env": {"KEY": "a secret value", "GC_INSTANCE_TOKEN": "tok"},
        "ready_prompt_prefix": "❯ ", "ready_delay_ms": 5,
    }  # fmt: skip
    assert (host.folder / "GC_INSTANCE_TOKEN").read_text() == "tok"
    assert not any("secret" in word for call in runtime._script.calls for word in call)
    assert "process_names" not in json.loads(start_config(spec(host.folder)))


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("echo no room >&2; exit 1", "no room"),
        ("echo 'it already exists' >&2; exit 1", "runs already"),
        ("echo 'KEY=a secret value' >&2; exit 1", "KEY=…"),
        ("exit 2", "knows no start"),
        ("exit 0", "ended at once"),
    ],
)
def test_a_start_that_certainly_failed_says_why(host: Host, said: str, why: str) -> None:
    """The script's own words, without the values it was given (E8, R41)."""
    runtime = host.says(f"case $1 in is-running) echo false;; start) {said};; *) exit 2;; esac")
    with pytest.raises(StartFailed, match=why) as caught:
        anyio.run(runtime.start, spec(host.folder))
    assert "secret" not in str(caught.value)


# --- bad scripts


@pytest.mark.slow
@pytest.mark.parametrize(
    "said",
    [
        "exec sleep 600",
        "trap '' TERM HUP INT; sleep 600 & wait; sleep 600",
        "yes",
        "yes >&2",
        "kill -9 $$",
        "echo broken >&2; exit 1",
    ],
    ids=["hangs", "ignores signals", "floods", "floods stderr", "dies", "fails"],
)
def test_a_bad_script_is_unclear_within_its_deadline(host: Host, said: str) -> None:
    """No certain answer is no answer, and nobody waits for long (R10, R34)."""
    runtime = host.says(f"echo $$ >> pids; {said}", look_s=0.4, call_s=0.4)
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: runtime.list([Watch(name="worker")]),
        lambda: runtime.stop("worker", token="t", grace_s=0.0),
    ]
    for call in calls:
        began = time.monotonic()
        with pytest.raises(RuntimeUnreachable, match=r"script|no answer"):
            anyio.run(call)
        assert time.monotonic() - began < 10  # not for ever, on however slow a machine
    pids = [int(pid) for pid in (host.folder / "pids").read_text().split()]
    assert pids
    wait_until(lambda: not any(map(alive, pids)), what="nothing of it left")


def test_children_that_hold_the_output_delay_no_answer(host: Host) -> None:
    """The answer is there with the script's end, and the children end with it (R34)."""
    runtime = host.says(
        f"sleep 600 & echo $! >> pids; {UP} get-last-activity) echo 2026-01-01T10:00:00Z;;"
        " *) exit 2;; esac",
        look_s=60,
        call_s=60,
    )
    began = time.monotonic()
    assert isinstance(see(runtime).activity, Known)
    assert time.monotonic() - began < 30
    pids = [int(pid) for pid in (host.folder / "pids").read_text().split()]
    wait_until(lambda: not any(map(alive, pids)), what="nothing of it left")


@pytest.mark.slow
def test_start_leaves_what_it_started_unless_it_failed(host: Host) -> None:
    """A session may be a plain child of the script; one of a failed start is ended (R34)."""
    runtime = host.says(
        "case $1 in is-running) [ -s pid ] && echo true || echo false;;"
        " start) sleep 600 & echo $! > pid;; set-meta) ;; stop) kill $(cat pid); rm pid;; esac",
        look_s=60,
    )
    anyio.run(runtime.start, spec(host.folder))
    pid = int((host.folder / "pid").read_text())
    assert alive(pid)
    anyio.run(lambda: runtime.stop("worker", token="tok", grace_s=0.0))
    wait_until(lambda: not alive(pid))
    failing = host.says(
        "case $1 in is-running) echo false;; start) sleep 600 & echo $! > pid; exit 1;; esac"
    )
    with pytest.raises(StartFailed):
        anyio.run(failing.start, spec(host.folder))
    pid = int((host.folder / "pid").read_text())
    wait_until(lambda: not alive(pid), what="the child of the failed start")


@pytest.mark.slow
def test_one_slow_session_leaves_the_others_their_answers(host: Host) -> None:
    """A look ends in time with what it has; who gave no answer is unknown (R34)."""
    runtime = host.says(
        "case $1-$2 in list-running-*) echo slow; echo quick;; get-last-activity-slow) sleep 600;;"
        " get-last-activity-*) echo 2026-01-01T10:00:00Z;; *) exit 2;; esac",
        look_s=1.5,
    )

    async def look() -> dict[str, Sighting]:
        watches = [Watch(name="slow"), Watch(name="quick")]
        return dict((await runtime.list(watches)).sightings)

    seen = anyio.run(look)
    assert seen["quick"].truth is Truth.RUNNING
    assert seen["slow"].truth is Truth.UNKNOWN or isinstance(seen["slow"].activity, Unclear)


def test_a_script_that_is_not_there_is_unclear(host: Host) -> None:
    """It may be back in a moment; nobody is taken for stopped (R10)."""
    runtime = host.says("exit 0")
    host.path.unlink()
    with pytest.raises(RuntimeUnreachable, match="not found"):
        see(runtime)


# --- words


def test_what_the_words_mean() -> None:
    """Counts, questions, boundaries; anything else is no answer (CAP-09, CAP-12, R12)."""
    assert [attached_of(word) for word in ("true", "false", "3")] == [1, 0, 3]
    assert pending_of("none") is None
    asked = pending_of('{"kind": "permission", "prompt": "May I?", "request_id": "x"}')
    assert asked is not None
    assert (asked.kind, asked.question) == ("permission", "May I?")
    assert boundary_of("idle").result is ProbeResult.IDLE
    busy = boundary_of("busy background sleep 600")
    assert (busy.result, busy.blocker, busy.detail) == (
        ProbeResult.BUSY, "background", "sleep 600",
    )  # fmt: skip
    assert boundary_of("busy").blocker == "idle_boundary"
    reads: list[Callable[[str], object]] = [attached_of, pending_of, boundary_of]
    for parsed in reads:
        for word in ("", "maybe", "[1]", "-1", "²"):
            with pytest.raises(RuntimeUnreachable):
                parsed(word)
    assert activity_of("2030-01-01T00:00:00+02:00", now=NOW) == NOW
    assert activity_of("2026-01-01T00:00:00.123456789Z", now=NOW) is not None


def test_where_a_script_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole path, one below the city, a name on the path (R72)."""
    (tmp_path / "bin").mkdir()
    for name in ("bin/tool", "own"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_script("/x/y", tmp_path) == Path("/x/y")
    assert find_script("scripts/a", tmp_path) == tmp_path / "scripts/a"
    assert find_script("own", tmp_path) == tmp_path / "own"
    assert find_script("tool", tmp_path) == tmp_path / "bin/tool"
    assert find_script("missing", tmp_path) == tmp_path / "missing"
    for odd in ("\0", "~nobody-of-that-name/x", "", ".", "../..", "a" * 5000):
        path = find_script(odd, tmp_path)
        script = Script(path=path, cwd=str(tmp_path), env={})
        runtime = ExecRuntime(script, said=odd, city="/c", lore=tmp_path / "lore.json")
        with pytest.raises(RuntimeUnreachable):
            see(runtime)
