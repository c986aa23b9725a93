"""Processes: who dies with whom, what is inherited, and that only the right one is killed.

E5, E13 and S6 of the rules; sessions outlive their controller (R37).
"""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import anyio
import pytest

from gascity.observe.commands import run_command
from gascity.runtimes import processes
from gascity.runtimes.base import RuntimeUnreachable
from gascity.runtimes.bounded import Ran
from gascity.runtimes.ending import Hunt
from tests.integration.city import RealCity, agent, city_toml, marked, needs_tmux, running_city
from tests.integration.rig import TmuxRig, opened
from tests.polling import wait_until

ROOT: Final = Path(__file__).resolve().parents[2]


@pytest.fixture
def anyio_backend() -> str:
    """The loop that the product runs on."""
    return "asyncio"


def alive(pid: int) -> bool:
    """Whether it runs; one that only waits to be reaped does not."""
    one = processes.read(pid)
    return one is not None and not one.is_over


# --- E5: checks die with the controller, sessions never

HANGING: Final = {
    "plain": "sleep 600",
    "forks": "sleep 600 & sleep 601; true",
    "ignores TERM": "trap '' TERM HUP INT; sleep 600 & wait",
    "grandchildren": "(sh -c 'sleep 600; true'; true) ; true",
}
RUNNER: Final = """
import os, sys, anyio
from gascity.observe.commands import run_command
async def main():
    await run_command(sys.argv[1], cwd="/", env=dict(os.environ), deadline_s=600)
anyio.run(main)
"""


@pytest.mark.parametrize("kind", HANGING)
def test_a_check_dies_with_its_controller_whatever_it_started(kind: str) -> None:
    """kill -9 of the controller leaves no process of its check, grandchildren included (E5)."""
    mark = f"{os.getpid()}-{kind.replace(' ', '-')}"
    controller = subprocess.Popen(
        [sys.executable, "-c", RUNNER, HANGING[kind]],
        env={**os.environ, "PYTHONPATH": str(ROOT), "CHECK_MARK": mark},
    )
    try:

        def sleeping() -> set[int]:
            pids = processes.carriers("CHECK_MARK", mark) - {controller.pid}
            return pids if any("sleep" in processes.words(one) for one in pids) else set()

        pids = wait_until(sleeping, timeout_s=20)
    finally:
        controller.kill()
        controller.wait(timeout=10)
    wait_until(
        lambda: not any(map(alive, pids | processes.carriers("CHECK_MARK", mark))),
        timeout_s=10,
        what=f"nothing of {pids} is left",
    )


def test_a_number_is_signalled_only_while_its_process_is_unreaped() -> None:
    """The group of a check is killed before its leader is reaped, while it has the number (E13)."""
    order: list[str] = []
    real_killpg, real_wait = os.killpg, subprocess.Popen.wait

    def killpg(pid: int, number: int) -> None:
        order.append("kill")
        with contextlib.suppress(ChildProcessError):
            found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            order.append("unreaped" if found else "running")
        real_killpg(pid, number)

    def wait(self: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        order.append("reap")
        return real_wait(self, timeout)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "killpg", killpg)
        patch.setattr(subprocess.Popen, "wait", wait)
        ran = ask("exit 3")
    assert ran.code == 3
    assert order == ["kill", "unreaped", "reap"]


def ask(command: str, **env: str) -> Ran:
    """Run one check to its end."""

    async def main() -> Ran:
        return await run_command(command, cwd="/", env={**os.environ, **env}, deadline_s=20)

    return anyio.run(main)


@pytest.fixture
def open_files() -> Iterator[list[int]]:
    """Files that are marked as inherited: what a library or a service manager may leave open."""
    ends = [*os.pipe(), *os.pipe()]
    for end in ends:
        os.set_inheritable(end, True)  # noqa: FBT003
    yield ends
    for end in ends:
        os.close(end)


def test_a_check_inherits_no_file(open_files: list[int]) -> None:
    """Input from nowhere, output to us, nothing else, though files of ours are inheritable (E5)."""
    ran = ask("ls /proc/$$/fd; readlink /proc/$$/fd/0")
    assert set(ran.out.split()) <= {"0", "1", "2", "/dev/null"}


# --- a whole city

CHECK: Final = "sleep 600 & sleep 601; echo 0"
TOML: Final = city_toml(
    agent("mayor"),
    f"[[agent]]\nname = 'pool'\nstart_command = 'true'\n"
    f"[agent.pool]\nmin = 0\nmax = 1\ncheck = {CHECK!r}\n",
)


@pytest.fixture(scope="module")
def city() -> Iterator[RealCity]:
    """A city with a session and a check that hangs, started as a service manager would."""
    with running_city(TOML, NOTIFY_SOCKET="/nowhere/notify", LISTEN_FDS="1") as one:
        one.wait_up("mayor")
        yield one


@pytest.mark.slow
class TestCity:
    """The rules on a real controller."""

    pytestmark = needs_tmux

    def test_a_session_inherits_no_file_of_the_controller(self, city: RealCity) -> None:
        """A terminal and nothing else: no socket, lock, database or log of ours (E5)."""
        for pid in marked(city.path):
            targets = [str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir()]
            ours = [one for one in targets if str(city.path / ".gc") in one]
            others = [one for one in targets if one.startswith(("socket:", "anon_inode:[pidfd"))]
            assert (ours, others) == ([], []), processes.words(pid)

    def test_a_check_is_told_nothing_that_is_somebody_elses(self, city: RealCity) -> None:
        """No socket of the service manager, no marks of a session (E5, R69)."""
        pid = wait_until(lambda: check_pids(city), timeout_s=20).pop()
        raw = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
        names = {one.partition("=")[0] for one in raw}
        assert not names & {"NOTIFY_SOCKET", "LISTEN_FDS", "TMUX", "GC_SESSION_NAME"}
        assert {"GC_CITY", "GC_TEMPLATE"} <= names

    def test_kill_9_takes_the_checks_along_and_leaves_the_sessions(self, city: RealCity) -> None:
        """The check is gone with its group, the session goes on under the same pids (E5, R37)."""
        checks = wait_until(lambda: check_pids(city), timeout_s=20)
        sessions = set(city.tree("mayor"))
        city.kill9()
        wait_until(lambda: not any(map(alive, checks)), timeout_s=10, what="the check is gone")
        assert set(city.tree("mayor")) == sessions
        city.start()
        city.wait_up("mayor")
        assert set(city.tree("mayor")) == sessions


def check_pids(city: RealCity) -> set[int]:
    """Pids of the check's processes, once all of them are there."""
    pids = processes.carriers("GC_CITY", str(city.path)) & processes.carriers("GC_TEMPLATE", "pool")
    return pids if sum("sleep" in processes.words(one) for one in pids) == 2 else set()


# --- E13, S6: the right process or none


def sleeper(**env: str) -> subprocess.Popen[bytes]:
    """A process that must live."""
    return subprocess.Popen(["sleep", "600"], env={**os.environ, **env})


@contextlib.contextmanager
def bystander(**env: str) -> Iterator[subprocess.Popen[bytes]]:
    """A foreign process, ended afterwards."""
    one = sleeper(**env)
    try:
        yield one
    finally:
        one.kill()
        one.wait(timeout=10)


def end(hunt: Hunt) -> tuple[int, ...]:
    """Whom the hunt signalled."""

    async def main() -> tuple[int, ...]:
        return (await hunt.end(0.1)).signalled

    return anyio.run(main)


def test_a_root_whose_pid_is_anothers_by_now_is_spared() -> None:
    """Between the look and the kill the pid went to a foreign process: it lives (E13, S6)."""
    with bystander() as foreign:
        now = processes.read(foreign.pid)
        assert now is not None
        before = replace(now, started=now.started - 1)
        assert end(Hunt(roots=[before], token="", spare=[])) == ()
        assert alive(foreign.pid)


def test_the_same_hunt_ends_the_very_process() -> None:
    """The other way round: pid and start time agree, and it is ended (E13)."""
    with bystander() as ours:
        now = processes.read(ours.pid)
        assert now is not None
        assert end(Hunt(roots=[now], token="", spare=[])) == (ours.pid,)
        assert not alive(ours.pid)


def test_a_pid_that_changes_hands_between_table_and_kill_is_not_signalled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The token was on a process that is gone when its pid is taken hold of (E13, S6)."""
    with bystander(GC_INSTANCE_TOKEN="token-of-ours") as foreign:
        real = processes.table

        def older() -> dict[int, processes.Process]:
            known = real()
            one = known[foreign.pid]
            known[foreign.pid] = replace(one, started=one.started - 1)
            return known

        monkeypatch.setattr(processes, "table", older)
        assert end(Hunt(roots=[], token="token-of-ours", spare=[])) == ()
        assert alive(foreign.pid)


def test_nothing_but_a_held_process_is_ever_signalled() -> None:
    """Only children of one's own, before they are reaped, are signalled by number (E13)."""
    callers = {}
    for path in (ROOT / "gascity").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        found = [word for word in ("os.kill(", "os.killpg(") if word in text]
        if found and "testing" not in path.parts:
            callers[path.relative_to(ROOT / "gascity").as_posix()] = found
    assert callers == {"runtimes/bounded.py": ["os.killpg("], "cli/busy.py": ["os.kill("]}


class TestFence:
    """S6, R63: stop and keys reach the run that carries the token, or nobody."""

    pytestmark = needs_tmux

    @pytest.mark.anyio
    async def test_another_token_reaches_nobody(self, tmp_path: Path) -> None:
        """Stop, keys and interrupt with the token of an earlier run change nothing (S6, R63)."""
        async with opened(TmuxRig(tmp_path)) as rig:
            assert isinstance(rig, TmuxRig)
            await rig.start("worker")
            pid, shown = rig.pid("worker"), rig.screen("worker")
            for token in ("stale", "", f"{rig.tokens['worker']}x", "'; kill-server #"):
                stopped = await rig.runtime.stop("worker", token=token, grace_s=0.0)
                assert stopped.signalled == ()
                for act in (
                    rig.runtime.send("worker", "exit", token=token),
                    rig.runtime.interrupt("worker", token=token),
                ):
                    with pytest.raises(RuntimeUnreachable):
                        await act
            assert (rig.pid("worker"), rig.screen("worker")) == (pid, shown)

    @pytest.mark.anyio
    async def test_a_session_of_another_city_is_never_reached(self, tmp_path: Path) -> None:
        """The same name and even the same token under another mark: foreign (S6, R37)."""
        async with opened(TmuxRig(tmp_path)) as rig:
            assert isinstance(rig, TmuxRig)
            token = await rig.start("worker")
            other = rig.again(city="/another/city")
            pid = rig.pid("worker")
            with pytest.raises(RuntimeUnreachable):
                await other.send("worker", "exit", token=token)
            with contextlib.suppress(RuntimeUnreachable):
                await other.stop("worker", token="not-its-token", grace_s=0.0)
            assert rig.pid("worker") == pid
            assert alive(pid)

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a socket away")
    @pytest.mark.anyio
    async def test_a_server_of_another_user_is_not_talked_to(self, tmp_path: Path) -> None:
        """It would be told what is typed and believed about what runs (E2, R70)."""
        async with opened(TmuxRig(tmp_path)) as rig:
            assert isinstance(rig, TmuxRig)
            await rig.start("worker")
            assert stat.S_ISSOCK(rig.socket.lstat().st_mode)
            os.chown(rig.socket, 65534, 65534, follow_symlinks=False)
            with pytest.raises(RuntimeUnreachable, match="belongs to user 65534"):
                await rig.see("worker")
            os.chown(rig.socket, 0, 0, follow_symlinks=False)

    def test_a_link_for_the_socket_folder_is_refused(self, tmp_path: Path) -> None:
        """In a shared folder anybody may put one under the name that tmux will use (E1)."""
        from gascity.runtimes.tmux.client import prepare_folder

        (tmp_path / "elsewhere").mkdir(mode=0o700)
        (tmp_path / "tmux-1").symlink_to("elsewhere")
        with pytest.raises(RuntimeUnreachable, match="folder"):
            prepare_folder(tmp_path / "tmux-1" / "x")
