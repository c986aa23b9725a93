"""Sessions as plain processes: what keepers do for them, and what is left when they are gone."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gascity.model.reading import Known
from gascity.model.world import Sighting, Truth
from gascity.runtimes import processes
from gascity.runtimes.base import RuntimeUnreachable, Watch
from gascity.runtimes.subprocess import SubprocessRuntime
from gascity.runtimes.subprocess.records import boot, read_run
from tests.integration.rig import CITY, opened
from tests.integration.rig_subprocess import SubprocessRig
from tests.polling import eventually, wait_until

pytestmark = pytest.mark.anyio


@pytest.fixture
async def plain(tmp_path: Path) -> AsyncIterator[SubprocessRig]:
    """An empty folder of sessions."""
    async with opened(SubprocessRig(tmp_path)) as one:
        assert isinstance(one, SubprocessRig)
        yield one


def pids(plain: SubprocessRig, name: str) -> tuple[int, int]:
    """The keeper and the agent of a session."""
    run = read_run(plain.home / name)
    assert run is not None
    return run.keeper[0], run.agent[0]


def carrying(token: str) -> set[int]:
    """What still runs of a session."""
    found = processes.carriers("GC_INSTANCE_TOKEN", token)
    return {pid for pid in found if (one := processes.read(pid)) and not one.is_over}


@pytest.mark.slow
async def test_a_silent_program_keeps_no_clock(plain: SubprocessRig) -> None:
    """A session that never printed anything has no activity time, and what prints has (CAP-21)."""
    silent = await plain.start("silent", command="exec sleep 600")
    assert (await plain.see("silent")).activity == Known(None)
    assert silent
    await plain.start("worker")

    async def clock() -> bool:
        seen = (await plain.see("worker")).activity
        return isinstance(seen, Known) and seen.value is not None

    await eventually(clock)


@pytest.mark.slow
async def test_output_is_kept_within_bounds(plain: SubprocessRig) -> None:
    """A program that floods is never held up and costs twice the bound on disk (R34)."""
    runtime = SubprocessRuntime(plain.home, city=CITY, log_bytes=20_000)
    spec = plain.spec("worker", command="seq 200000; echo done; exec sleep 600")
    await runtime.start(spec)
    plain.tokens["worker"] = spec.token

    async def through() -> bool:
        return "done" in await runtime.peek("worker", lines=3)

    await eventually(through)
    kept = sum(file.stat().st_size for file in (plain.home / "worker").glob("log*"))
    assert 20_000 <= kept <= 40_000
    await runtime.close()


@pytest.mark.slow
async def test_a_stop_takes_what_went_off_on_its_own(plain: SubprocessRig) -> None:
    """Children in sessions of their own that ignore TERM end with the session (R28)."""
    token = await plain.start("worker")
    plain.say("worker", "setsid 600\nignore-term\n")
    wait_until(lambda: len(carrying(token)) >= 4, what="keeper, agent, shell and sleep")
    done = await plain.runtime.stop("worker", token=token, grace_s=0.2)
    assert done.left == ()
    assert len(done.signalled) >= 4
    assert carrying(token) == set()


@pytest.mark.slow
async def test_how_it_ended_is_told_to_a_controller_that_was_not_there(
    plain: SubprocessRig,
) -> None:
    """The keeper writes the exit status down; whoever looks later reads it (R37, R41)."""
    await plain.start("worker")
    await plain.runtime.close()
    await plain.put("worker", "exit")
    later = plain.again()

    async def over() -> Sighting | None:
        seen = (await later.list([Watch(name="worker")])).sightings["worker"]
        return seen if seen.truth is Truth.STOPPED else None

    seen = await eventually(over)
    assert seen is not None
    assert str(seen.exit) == "status 7"


@pytest.mark.slow
async def test_a_session_without_its_keeper_still_runs(plain: SubprocessRig) -> None:
    """Killing the keeper hides the output, not the session; it is seen, and stopped (R10, R28)."""
    token = await plain.start("worker", command="exec sleep 600")
    keeper, agent = pids(plain, "worker")
    os.kill(keeper, signal.SIGKILL)
    seen = await plain.until("worker", lambda one: one.detail)
    assert (seen.truth, seen.detail) == (Truth.RUNNING, "its keeper is gone")
    done = await plain.runtime.stop("worker", token=token, grace_s=2.0)
    assert (done.signalled, done.left) == ((agent,), ())
    assert (await plain.see("worker")).truth is Truth.STOPPED


@pytest.mark.slow
async def test_a_record_that_vanished_proves_nothing(plain: SubprocessRig) -> None:
    """While its processes live, a session without its record is unclear, not stopped (R10)."""
    token = await plain.start("worker")
    (plain.home / "worker" / "session.json").unlink()
    assert (await plain.see("worker")).truth is Truth.UNKNOWN
    await plain.runtime.stop("worker", token=token, grace_s=2.0)
    assert (await plain.see("worker")).truth is Truth.STOPPED


@pytest.mark.parametrize("text", ["", "{", "[]", '{"token": 1}', '{"keeper": "x"}', "\x00\xff"])
async def test_a_garbled_record_is_unclear(plain: SubprocessRig, text: str) -> None:
    """What cannot be read is never taken for absence (R10)."""
    (plain.home / "worker").mkdir(parents=True)
    (plain.home / "worker" / "session.json").write_text(text, encoding="utf-8")
    seen = await plain.see("worker")
    assert seen.truth is Truth.UNKNOWN
    assert "session.json" in seen.why
    with pytest.raises(RuntimeUnreachable):
        await plain.runtime.stop("worker", token="x", grace_s=0.0)


@pytest.mark.slow
async def test_another_boot_of_the_machine_ended_everything(plain: SubprocessRig) -> None:
    """Pids of an earlier boot are nobody's; the host went down with them (R10, R41)."""
    await plain.start("worker")
    record = plain.home / "worker" / "session.json"
    said = record.read_text(encoding="utf-8")
    run = read_run(plain.home / "worker")
    assert run is not None
    record.write_text(said.replace(run.boot, "another"), encoding="utf-8")
    seen = await plain.see("worker")
    assert seen.truth is Truth.STOPPED
    assert seen.exit is not None
    assert seen.exit.host_gone
    record.write_text(said, encoding="utf-8")


async def test_a_pid_that_is_another_s_by_now_is_nobody(plain: SubprocessRig) -> None:
    """Pid and start time are the identity; a stranger with the pid is not seen, nor hit (E13)."""
    home = plain.home / "worker"
    home.mkdir(parents=True)
    other = [os.getpid(), 1]
    said = {"token": "t", "city": CITY, "boot": boot(), "began": 0, "keeper": other, "agent": other}
    (home / "session.json").write_text(json.dumps(said), encoding="utf-8")
    assert (await plain.see("worker")).truth is Truth.STOPPED
    done = await plain.runtime.stop("worker", token="t", grace_s=0.0)
    assert (done.signalled, done.left) == ((), ())


@pytest.mark.slow
async def test_the_environment_is_whole_and_on_no_command_line(plain: SubprocessRig) -> None:
    """A session gets exactly what it is given, by its environment alone (R69)."""
    out = plain.folder / "env"
    spec = plain.spec("worker", command=f"env > {out}; exec sleep 600", env={"SECRET": "x y'\nz"})
    await plain.runtime.start(spec)
    plain.tokens["worker"] = spec.token
    wait_until(lambda: out.exists() and "SECRET" in out.read_text())
    assert "SECRET=x y'\nz\n" in out.read_text()
    assert "HOME=" not in out.read_text()
    for pid in pids(plain, "worker"):
        assert not any("x y'" in word for word in processes.words(pid))
