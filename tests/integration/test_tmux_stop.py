"""Stopping on real tmux: the whole tree, proven, and nothing but it.

R28, R63: a stop reaches every process of the run it was asked for, and no other run.
"""

from __future__ import annotations

import os
import signal
import time

import pytest

from gascity.model.world import Truth
from gascity.runtimes import processes
from tests.integration.rig import AGENT, TmuxRig
from tests.polling import wait_until

pytestmark = [pytest.mark.anyio, pytest.mark.tmux]


def carriers(token: str) -> set[int]:
    """Processes of a run that are not over."""
    found = {pid: processes.read(pid) for pid in processes.carriers("GC_INSTANCE_TOKEN", token)}
    return {pid for pid, one in found.items() if one is not None and not one.is_over}


async def test_a_child_in_its_own_session_that_ignores_term_is_ended(tmux: TmuxRig) -> None:
    """`kill-session` would leave it behind; the stop does not (R28)."""
    token = await tmux.start("worker")
    tmux.type("worker", "setsid 600", "Enter")
    tmux.shows("worker", "in the background")
    wait_until(lambda: len(carriers(token)) == 3)  # the agent, the child's shell, its sleep
    before = carriers(token)
    started = time.monotonic()
    outcome = await tmux.runtime.stop("worker", token=token, grace_s=0.5)
    assert time.monotonic() - started < 3
    assert outcome.left == ()
    assert before <= set(outcome.signalled)
    assert carriers(token) == set()
    assert (await tmux.see("worker")).truth is Truth.STOPPED


async def test_kill_session_alone_would_leave_it(tmux: TmuxRig) -> None:
    """The counter-proof, and a stop of a session that is gone still ends what it left (R28)."""
    token = await tmux.start("worker")
    await tmux.start("other")
    tmux.type("worker", "setsid 600", "Enter")
    tmux.shows("worker", "in the background")
    wait_until(lambda: len(carriers(token)) == 3)  # the agent, the child's shell, its sleep
    agent = tmux.pid("worker")
    tmux.tmux("kill-session", "-t", "=worker")
    wait_until(lambda: agent not in carriers(token))
    assert len(carriers(token)) == 2
    assert (await tmux.runtime.stop("worker", token=token, grace_s=0.2)).left == ()
    assert carriers(token) == set()
    assert (await tmux.see("other")).truth is Truth.RUNNING


async def test_an_agent_that_ignores_term_is_killed_after_the_grace(tmux: TmuxRig) -> None:
    """A parent that ignores TERM and HUP ends at the deadline, its children with it (R28)."""
    token = await tmux.start("worker", env={"STANDIN_IGNORE_TERM": "1"})
    tmux.type("worker", "background 600", "Enter")
    wait_until(lambda: len(carriers(token)) == 2)
    started = time.monotonic()
    outcome = await tmux.runtime.stop("worker", token=token, grace_s=0.4)
    assert 0.4 <= time.monotonic() - started < 3
    assert (outcome.left, carriers(token)) == ((), set())


async def test_an_agent_that_listens_is_not_waited_for(tmux: TmuxRig) -> None:
    """A graceful end takes as long as the agent needs, not the whole grace."""
    token = await tmux.start("worker")
    started = time.monotonic()
    await tmux.runtime.stop("worker", token=token, grace_s=20.0)
    assert time.monotonic() - started < 5


async def test_an_interactive_shell_ends_gracefully(tmux: TmuxRig) -> None:
    """Shells ignore TERM; they are hung up on instead of being waited for."""
    token = await tmux.start("worker", command="exec bash --norc -i")
    started = time.monotonic()
    outcome = await tmux.runtime.stop("worker", token=token, grace_s=20.0)
    assert outcome.left == ()
    assert time.monotonic() - started < 5


async def test_a_stopped_process_is_ended_as_well(tmux: TmuxRig) -> None:
    """A suspended agent hears its end too."""
    token = await tmux.start("worker")
    os.kill(tmux.pid("worker"), signal.SIGSTOP)
    outcome = await tmux.runtime.stop("worker", token=token, grace_s=20.0)
    assert (outcome.left, carriers(token)) == ((), set())


async def test_a_replaced_session_survives_the_stop_of_its_predecessor(tmux: TmuxRig) -> None:
    """The token of an earlier run reaches nothing of the run that has the name now (R63)."""
    old = await tmux.start("worker")
    await tmux.runtime.stop("worker", token=old, grace_s=2.0)
    new = await tmux.start("worker")
    assert (await tmux.runtime.stop("worker", token=old, grace_s=0.0)).signalled == ()
    seen = await tmux.see("worker")
    assert (seen.truth, seen.token) == (Truth.RUNNING, new)


async def test_other_sessions_and_the_server_are_spared(tmux: TmuxRig) -> None:
    """One stop ends one run."""
    token = await tmux.start("worker-1")
    await tmux.start("worker-10")
    await tmux.runtime.stop("worker-1", token=token, grace_s=1.0)
    assert (await tmux.see("worker-10")).truth is Truth.RUNNING
    assert tmux.runtime.server is not None
    assert tmux.runtime.server.is_alive


async def test_further_panes_end_with_the_session(tmux: TmuxRig) -> None:
    """What a person opened inside the session belongs to it."""
    token = await tmux.start("worker")
    tmux.tmux("split-window", "-d", "-t", "=worker:", "exec sleep 600")
    other = int(tmux.tmux("list-panes", "-t", "=worker:", "-F", "#{pane_pid}").splitlines()[-1])
    outcome = await tmux.runtime.stop("worker", token=token, grace_s=1.0)
    assert other in outcome.signalled
    assert outcome.left == ()


async def test_a_dead_pane_is_stopped_and_its_name_free_again(tmux: TmuxRig) -> None:
    """remain-on-exit keeps the pane, not the session: status and signal are told (R11)."""
    token = await tmux.start("worker")
    os.kill(tmux.pid("worker"), signal.SIGKILL)
    seen = await tmux.until("worker", lambda one: one.truth is Truth.STOPPED)
    assert seen.exit is not None
    assert (seen.exit.code, seen.exit.signal, seen.token) == (None, 9, token)
    await tmux.start("worker")


async def test_a_shell_without_its_agent_is_stopped(tmux: TmuxRig) -> None:
    """The agent is gone and its shell is left: stopped, unless somebody is attached (R11)."""
    now = [time.time()]
    tmux.runtime = tmux.again(wall=lambda: now[0])
    command = f"{AGENT}; exec bash --norc -i"
    await tmux.start("worker", command=command)
    names = {"process_names": ("python", "python3", "python3.11")}
    assert (await tmux.see("worker", **names)).truth is Truth.RUNNING
    tmux.type("worker", "exit", "Enter")
    wait_until(lambda: (one := processes.read(tmux.pid("worker"))) and one.name == "bash")
    now[0] += 60
    with tmux.attached("worker"):
        assert (await tmux.see("worker", **names)).truth is Truth.RUNNING
    seen = await tmux.see("worker", **names)
    assert (seen.truth, seen.agent_exited) == (Truth.STOPPED, True)
    tmux.type("worker", "sleep 600", "Enter")
    wait_until(lambda: len(processes.descendants([tmux.pid("worker")], processes.table())) == 2)
    assert (await tmux.see("worker", **names)).truth is Truth.RUNNING
