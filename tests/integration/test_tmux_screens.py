"""Activity, readiness and the idle boundary on real terminals.

R13, R15, R66; CAP-31..34: work under somebody's hands is never called idle.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from datetime import datetime

import pytest

from gascity.model.reading import Known
from gascity.model.screens import ScreenRule, ScreenRules
from gascity.model.world import ProbeResult, ScreenVerdict, Sighting, Truth
from gascity.runtimes import processes
from gascity.runtimes.base import Boundary, Watch
from tests.integration.rig import TmuxRig
from tests.polling import eventually, wait_until

pytestmark = [pytest.mark.anyio, pytest.mark.tmux]


async def judged(tmux: TmuxRig, name: str = "worker", **changes: object) -> Boundary:
    """One probe as the controller asks for it."""
    watch = Watch(**{"name": name, "screen": True, **changes})  # type: ignore[arg-type]
    return await tmux.runtime.wait_for_idle(watch, timeout_s=1.0)


async def settled(tmux: TmuxRig, name: str = "worker", **changes: object) -> Boundary:
    """The first probe that does not merely report fresh output."""

    async def ask() -> Boundary | None:
        answer = await judged(tmux, name, **changes)
        return answer if answer.detail != "output" else None

    answer = await eventually(ask)
    assert answer is not None
    return answer


def last_activity(seen: object) -> datetime:
    """The activity of a sighting that has one."""
    reading = getattr(seen, "activity", None)
    assert isinstance(reading, Known)
    assert isinstance(reading.value, datetime)
    return reading.value


async def test_a_repaint_is_not_activity(tmux: TmuxRig) -> None:
    """Bytes that leave the visible text as it was move nothing, and the session is idle (R13)."""
    await tmux.start("worker", env={"STANDIN_REPAINT": "1"})
    first = last_activity(await tmux.see("worker"))
    raw = "#{window_activity}"
    before = int(tmux.tmux("display-message", "-p", "-t", "=worker:", raw))
    wait_until(lambda: int(tmux.tmux("display-message", "-p", "-t", "=worker:", raw)) >= before + 2)
    assert last_activity(await tmux.see("worker")) == first
    assert (await settled(tmux)).result is ProbeResult.IDLE


async def test_new_text_is_activity_after_a_repaint(tmux: TmuxRig) -> None:
    """A line that is really new moves the clock (R13)."""
    await tmux.start("worker", env={"STANDIN_REPAINT": "1"})
    first = last_activity(await tmux.see("worker"))
    tmux.type("worker", "hello", "Enter")
    tmux.shows("worker", "done: hello")
    await tmux.until("worker", lambda seen: last_activity(seen) > first)


async def test_a_nudge_without_an_answer_is_not_activity(tmux: TmuxRig) -> None:
    """What the controller typed, echoed on the screen, does not warm the session (R13)."""
    token = await tmux.start("worker", command="printf '❯ '; exec cat > /dev/null")
    first = last_activity(await tmux.see("worker"))
    time.sleep(1.1)  # noqa: ASYNC251  the clock under test counts whole seconds
    await tmux.runtime.send("worker", "anybody?", token=token)
    tmux.shows("worker", "anybody?")
    assert last_activity(await tmux.see("worker")) == first


async def test_a_slow_start_is_not_ready_until_it_shows_something(tmux: TmuxRig) -> None:
    """A blank screen is no readiness, however long it stands; the prompt is (R66)."""
    spec = tmux.spec("worker", command="sleep 1.5; printf '❯ '; exec cat")
    await tmux.runtime.start(spec)
    assert not (await tmux.see("worker")).ready
    seen = await tmux.until("worker", lambda one: one.ready)
    assert seen.screen is ScreenVerdict.IDLE


async def test_an_unknown_screen_is_ready_once_it_stands_still(tmux: TmuxRig) -> None:
    """A screen nobody knows counts after a second without change (R66)."""
    started = time.monotonic()
    await tmux.runtime.start(tmux.spec("worker", command="echo hello there; exec cat"))
    seen = await tmux.until("worker", lambda one: one.ready)
    assert seen.screen is ScreenVerdict.UNKNOWN
    assert time.monotonic() - started >= 1.0


@pytest.mark.parametrize("kind", ["permission", "plan", "choice", "trust"])
@pytest.mark.parametrize("screens", ["", "claude"])
async def test_each_dialog_is_pending(tmux: TmuxRig, kind: str, screens: str) -> None:
    """Known dialogs are pending and ready; the probe sends no key that would answer them (R15)."""
    await tmux.start("worker", env={"STANDIN_FIRST": kind})
    seen = await tmux.see("worker", screens=screens)
    assert (seen.screen, seen.ready) == (ScreenVerdict.PENDING, True)
    assert isinstance(seen.pending, Known)
    assert seen.pending.value is not None
    assert seen.pending.value.kind in ({kind} if screens else {kind, "choice", "permission"})
    assert (await judged(tmux, screens=screens)).blocker == "pending"
    assert "answered" not in tmux.screen("worker")


async def test_a_question_keeps_its_age(tmux: TmuxRig) -> None:
    """A dialog that stands there is as old as it is, not as old as the last look (R79)."""
    await tmux.start("worker", env={"STANDIN_FIRST": "permission"})
    first = (await tmux.see("worker")).pending
    await judged(tmux)
    assert (await tmux.see("worker")).pending == first


async def test_a_foreign_program_in_the_foreground_is_not_idle(tmux: TmuxRig) -> None:
    """Whoever has the terminal is not the agent, whatever the screen shows (CAP-31)."""
    await tmux.start("worker")
    tmux.shows("worker", "❯")  # what is typed before it listens is lost
    tmux.type("worker", "fg printf '❯ '; read answer", "Enter")
    command = "#{pane_current_command}"  # of whoever has the terminal
    wait_until(
        lambda: tmux.tmux("display-message", "-p", "-t", "=worker:", command) == "sh",
        what="the shell has the terminal",
    )
    answer = await settled(tmux)
    assert (answer.result, answer.blocker) == (ProbeResult.BUSY, "idle_boundary")
    assert answer.detail.startswith("foreground")


@pytest.mark.slow
async def test_a_program_in_another_pane_is_background(tmux: TmuxRig) -> None:
    """A build in a second window keeps the session; a shell at rest there does not (R15)."""
    await tmux.start("worker")
    tmux.tmux("new-window", "-d", "-t", "=worker:", "exec sleep 600")
    answer = await settled(tmux)
    assert (answer.blocker, answer.detail) == ("background", "pane sleep")
    tmux.tmux("respawn-window", "-k", "-t", "=worker:1", "exec bash --norc -i")
    assert (await settled(tmux)).result is ProbeResult.IDLE


async def test_a_child_that_left_its_session_is_still_work(tmux: TmuxRig) -> None:
    """A detached process with the run's token would be killed by a sleep: background (R15)."""
    await tmux.start("worker")
    tmux.shows("worker", "❯")
    tmux.type("worker", "setsid 600", "Enter")
    tmux.shows("worker", "in the background")
    assert (await settled(tmux)).blocker == "background"


@pytest.mark.slow
async def test_helpers_that_came_with_the_agent_are_not_work(tmux: TmuxRig) -> None:
    """A child as old as its agent is a helper; so is a tool server of any age (R15)."""
    tmux.runtime = tmux.again(helper_s=30.0)
    await tmux.start("worker", env={"STANDIN_FIRST": "background 600"})
    assert (await settled(tmux)).result is ProbeResult.IDLE
    tmux.runtime = tmux.again()
    assert (await settled(tmux)).blocker == "background"


@pytest.mark.slow
async def test_a_tool_server_is_a_helper_at_any_age(tmux: TmuxRig) -> None:
    """Our own `gc mcp` and stdio tool servers are told by their command lines (R15)."""
    server = tmux.folder / "docs-mcp-server"
    server.write_text("#!/bin/sh\nsleep 600\n", encoding="utf-8")
    server.chmod(0o700)
    await tmux.start("worker")
    tmux.shows("worker", "❯")
    tmux.type("worker", f"run {server}", "Enter")
    tmux.shows("worker", "in the background")
    assert (await settled(tmux)).result is ProbeResult.IDLE


async def test_a_session_that_is_gone_is_unclear_not_idle(tmux: TmuxRig) -> None:
    """No judgement about nobody, nor about another run of that name (CAP-12, R63)."""
    await tmux.start("worker")
    assert (await judged(tmux, "nobody")).result is ProbeResult.UNCLEAR
    assert (await judged(tmux, token="earlier")).result is ProbeResult.UNCLEAR


@pytest.mark.parametrize(
    ("typed", "verdict"),
    [
        ((), "idle"),
        (("git comm",), "draft"),
        (("echo 'a", "Enter"), "draft"),
        (("sleep 600", "Enter"), "foreground sleep"),
        (("sleep 600 &", "Enter"), "sleep"),
        (("read answer", "Enter"), "unknown"),
    ],
    ids=["prompt", "draft", "unfinished", "job", "background job", "read"],
)
async def test_a_plain_shell_as_the_agent(
    tmux: TmuxRig, typed: tuple[str, ...], verdict: str
) -> None:
    """A shell is idle at its prompt only: not with a draft, a job, or a question (R15, CAP-31)."""
    await tmux.start("worker", command="PS1='$ ' exec bash --norc -i")
    if typed:
        tmux.type("worker", *typed)
        tmux.shows("worker", typed[0].split()[0])
    answer = await settled(tmux, screens="shell")
    if verdict == "idle":
        assert answer.result is ProbeResult.IDLE
    else:
        assert answer.result is ProbeResult.BUSY
        assert answer.detail.startswith(verdict)


@pytest.mark.slow
async def test_a_line_reading_program_may_leave_its_marker_behind(tmux: TmuxRig) -> None:
    """The busy marker of the last turn counts while it works, not while it reads a line (R15)."""
    marker = "echo 'Working (esc to interrupt)'"
    script = f"while printf '❯ '; read line; do {marker}; sleep $line; echo; done"
    await tmux.start("worker", command=script)
    tmux.type("worker", "600", "Enter")
    tmux.shows("worker", "esc to interrupt")
    assert (await settled(tmux)).detail == "busy"
    agent = tmux.pid("worker")
    for pid in processes.descendants([agent], processes.table()).keys() - {agent}:
        os.kill(pid, signal.SIGTERM)
    wait_until(lambda: tmux.screen("worker").endswith("❯"))
    assert (await settled(tmux)).result is ProbeResult.IDLE


async def test_a_detached_and_reattached_person_is_seen(tmux: TmuxRig) -> None:
    """Attachment is read in the same look as everything else (CAP-34)."""
    await tmux.start("worker")
    for _ in range(2):
        with tmux.attached("worker"):
            assert (await tmux.see("worker")).attached == Known(1)
        assert (await tmux.see("worker")).attached == Known(0)


async def test_the_stand_in_works_off_a_job(tmux: TmuxRig) -> None:
    """It claims, works and closes with the program named by GC_BIN until nothing is left."""
    log = tmux.folder / "log"
    fake = tmux.folder / "gc.py"
    fake.write_text(
        "import pathlib, sys\n"
        f"log = pathlib.Path({str(log)!r})\n"
        "done = log.read_text() if log.exists() else ''\n"
        "log.write_text(done + ' '.join(sys.argv[1:]) + '\\n')\n"
        "if sys.argv[1] == 'hook':\n"
        "    sys.exit(1) if 'close' in done else print('gc-1 a title')\n",
        encoding="utf-8",
    )
    await tmux.start(
        "worker",
        env={"STANDIN_WORKS": "1", "STANDIN_JOB_S": "0.2", "GC_BIN": f"{sys.executable} {fake}"},
    )
    tmux.shows("worker", "closed gc-1")
    wait_until(lambda: log.read_text(encoding="utf-8").count("hook") == 2)
    assert log.read_text(encoding="utf-8").split("\n")[1] == "bead close gc-1"
    assert (await tmux.see("worker")).truth is Truth.RUNNING


@pytest.mark.parametrize("screens", ["", "claude"])
async def test_the_end_of_a_session_at_a_limit_is_told(tmux: TmuxRig, screens: str) -> None:
    """What the pane still shows when its program has ended says when the limit is over (R41)."""
    said = "usage limit reached, resets at 2099-01-02T03:04:05Z"
    await tmux.start("worker", command=f"printf '❯ '; read x; echo; echo '{said}'; exit 1")
    tmux.shows("worker", "❯")
    tmux.type("worker", "", "Enter")

    async def ended() -> Sighting | None:
        seen = await tmux.see("worker", screens=screens)
        return seen if seen.truth is Truth.STOPPED else None

    seen = await eventually(ended)
    assert seen is not None
    assert seen.limit is not None
    # The prompt may still stand before them: what is matched begins at the start of its line.
    assert seen.limit.said.removeprefix("❯ ").startswith(said)
    assert seen.limit.until == datetime.fromisoformat("2099-01-02T03:05:05+00:00")


@pytest.mark.slow
async def test_a_session_at_a_limit_is_at_rest_until_then(tmux: TmuxRig) -> None:
    """A limit whose end is stated is a boundary and tells its time; another is not (R15, R41)."""
    rule, script = "─" * 60, tmux.folder / "limit.sh"
    for name, said in (("worker", "resets 3:45pm"), ("other", "see you")):
        text = f"● ok\n\n  ⎿  You've hit your session limit · {said}\n\n{rule}\n❯ \n{rule}\n  /help"
        script.write_text(f'cat <<"END"\n{text}\nEND\nexec cat\n', encoding="utf-8")
        await tmux.start(name, command=f"sh {script}", screens="claude")
    seen = await tmux.see("worker", screens="claude")
    assert seen.screen is ScreenVerdict.RATELIMIT
    assert seen.limit is not None
    assert seen.limit.until is not None
    assert (await settled(tmux, screens="claude")).result is ProbeResult.IDLE
    assert (await settled(tmux, "other", screens="claude")).detail == "ratelimit"


async def test_other_rules_judge_the_same_screen_anew(tmux: TmuxRig) -> None:
    """A reload that changes rules needs no new output to take effect (R6, R15)."""
    await tmux.start("worker")
    assert (await tmux.see("worker")).screen is ScreenVerdict.IDLE
    busy = ScreenRule(name="x", verdict=ScreenVerdict.BUSY, region="input", pattern="^empty$")
    own = ScreenRules(name="generic", rules=(busy,))
    seen = await tmux.see("worker", own_rules=own)
    assert (seen.screen, seen.screen_rule) == (ScreenVerdict.BUSY, "generic.x")
