"""A real city in bad surroundings: a slow or babbling tmux, other files, disks, controllers."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from gascity.api import client
from tests.integration.city import (
    RealCity,
    agent,
    city_toml,
    needs_tmux,
    real_city,
    running_city,
    types_of,
)
from tests.polling import wait_until
from tests.terminal import gc

pytestmark = [*needs_tmux, pytest.mark.slow]

ENDINGS: Final = ("session.stopped", "session.crashed", "session.draining", "session.removed")
TOML: Final = city_toml(
    agent("cold", sleep_after_idle="1s"), agent("warm"), daemon='shutdown_timeout = "1s"\n'
)


def wrapper(folder: Path, body: str) -> str:
    """A PATH where `tmux` runs `body` first; `$REAL` is the real one."""
    real = subprocess.run(["which", "tmux"], capture_output=True, text=True, check=True).stdout
    folder.mkdir(exist_ok=True)
    script = folder / "tmux"
    script.write_text(f"#!/bin/sh\nREAL={real.strip()}\n{body}\n")
    script.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


@pytest.fixture
def city(tmp_path: Path) -> Iterator[RealCity]:
    """One session asleep for idleness, one that is up; its tmux babbles once asked to."""
    switch = tmp_path / "broken"
    body = f'if [ -e {switch} ]; then cat {switch}; exit 0; fi\nexec "$REAL" "$@"'
    with running_city(TOML, PATH=wrapper(tmp_path / "bin", body)) as one:
        one.wait_cold("cold")
        one.wait_up("warm")
        yield one


RUBBISH: Final = {
    "nothing": b"",
    "words": b"hello, world\nno such thing\n" * 20,
    "bytes": bytes(range(1, 256)) * 40,
    "half a line": b"$1\tcold\t1",
    "a megabyte": b"x" * 1_000_000,
}


@pytest.mark.parametrize("what", RUBBISH)
def test_a_tmux_that_answers_rubbish_is_in_doubt(city: RealCity, tmp_path: Path, what: str) -> None:
    """Whatever it prints with exit 0: unknown, nobody touched; honest again, all as before (S7)."""
    seen, pids = city.seq(), city.tree()
    (tmp_path / "broken").write_bytes(RUBBISH[what])
    city.wait("warm", lambda one: "runtime_unknown" in one["blockers"], what="in doubt")
    city.patrol(5)
    assert city.session("cold")["state"] == "asleep"
    assert city.tree() == pids
    (tmp_path / "broken").unlink()
    city.wait_up("warm")
    assert types_of(city.events(*ENDINGS, after=seen)) == []
    assert city.tree() == pids


@pytest.mark.parametrize("ms", [50, 200])
def test_a_slow_tmux_is_only_slow(tmp_path: Path, ms: int) -> None:
    """Every call takes 50 or 200 ms more: it wakes, status answers at once, nobody crashes (R34).

    A probe is four calls and has one second (R16): at 200 ms nobody can be judged idle, so nobody
    is put to sleep, and status says why.
    """
    path = wrapper(tmp_path / "bin", f'sleep 0.{ms:03d}\nexec "$REAL" "$@"')
    with running_city(TOML, PATH=path) as city:
        city.wait_up("warm")
        if ms == 50:
            city.wait_cold("cold", within_s=40.0)
        else:
            entry = city.wait(
                "cold", lambda one: "idle_boundary" in one["blockers"], what="not judged"
            )
            assert "no judgement" in entry["blocker_details"][-1]["detail"]
        slowest = 0.0
        for _ in range(40):
            began = time.monotonic()
            city.status()
            slowest = max(slowest, time.monotonic() - began)
        assert slowest < 0.5
        ran = city.gc("wake", "cold")
        assert ran.code == 0, ran
        assert city.tree("cold")
        assert types_of(city.events("session.crashed")) == []


def test_a_controller_under_another_tmux_folder_kills_nobody() -> None:
    """Started again with another TMUX_TMPDIR, its server "is not there": doubt (R10, S6, S7)."""
    with running_city(TOML) as city:
        city.wait_cold("cold")
        city.wait_up("warm")
        pids = city.tree()
        seen = city.seq()
        server = city.server_pid()
        city.kill9()
        home, other = city.hosts, city.hosts.parent / "t2"
        other.mkdir(mode=0o700)
        city.hosts = other
        city.start()
        city.wait("warm", lambda one: "runtime_unknown" in one["blockers"], what="in doubt")
        city.patrol(10)
        assert city.tree() == pids
        assert types_of(city.events(*ENDINGS, "session.woke", after=seen)) == []
        city.kill9()
        city.hosts = home
        city.start()
        city.wait_up("warm")
        assert (city.tree(), city.server_pid()) == (pids, server)


def limit(pid: int, size: int) -> None:
    """No file of this process may grow beyond `size` bytes; -1 lifts it."""
    soft = resource.RLIM_INFINITY if size < 0 else size
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, resource.RLIM_INFINITY))


def test_a_full_disk_keeps_everybody_up_and_lets_people_wake_and_attach() -> None:
    """No room: nobody is stopped, `gc wake` and attach work; room: recorded (R75, D4)."""
    with running_city(TOML) as city:
        city.wait_cold("cold")
        city.wait_up("warm")
        seen, pid = city.seq(), city.pid()
        log = city.path / ".gc" / "gascity.db-wal"
        limit(pid, log.stat().st_size)  # what else it writes is shorter
        try:
            ran = city.gc("wake", "cold")
            assert (ran.code, "takes no writes" in ran.err) == (0, True), ran
            assert "woke" in ran.out
            assert city.tree("cold")
            assert any("takes no writes" in one for one in city.status()["warnings"])
            assert city.gc("sling", "warm", "something").code != 0
            until = time.monotonic() + 4.0  # four times the window of `cold`
            while time.monotonic() < until:
                city.patrol()
                assert set(city.hosted()) == {"cold", "warm"}
            person = city.terminal("attach", "cold")
            wait_until(lambda: city.clients() == ["cold"], what="attached")
            city.wait("cold", lambda one: "attached" in one["hard_wakes"], what="seen attached")
            assert person.detach() == 0
            assert city.events(after=seen) == []
        finally:
            limit(pid, -1)
        woke = city.wait_event("session.woke", "cold", after=seen)
        assert woke["payload"]["reason"] in ("adopted", "operator", "attached")
        city.wait_cold("cold")
        assert city.pid() == pid, "it went on without a restart"
        assert not any("takes no writes" in one for one in city.status()["warnings"])
        assert types_of(city.events("session.crashed")) == []


def test_a_paused_controller_keeps_its_city_and_goes_on() -> None:
    """SIGSTOP: a second one is refused; resumed, the first is alone as before (C1)."""
    with running_city(TOML) as city:
        city.wait_cold("cold")
        city.wait_up("warm")
        pid, pids, seen = city.pid(), city.tree(), city.seq()
        os.kill(pid, signal.SIGSTOP)
        try:
            for _ in range(3):
                began = time.monotonic()
                ran = city.gc("start")
                assert (ran.code, str(pid) in ran.err) == (3, True), ran
                assert time.monotonic() - began < 10.0
            before = city.store_files()
            assert city.gc("sling", "warm", "something").code != 0, "it holds the store"
        finally:
            os.kill(pid, signal.SIGCONT)
        city.patrol(3)
        assert (city.pid(), city.tree()) == (pid, pids)
        assert types_of(city.events(*ENDINGS, after=seen)) == []
        assert city.store_files().keys() == before.keys()


def test_a_replaced_lock_ends_the_first_controller_without_a_deed() -> None:
    """Its lock file taken away while it was paused, a second one rules: 0 writes, 0 stops (C1)."""
    with running_city(TOML) as city:
        city.wait_cold("cold")
        city.wait_up("warm")
        old = city.pid()
        os.kill(old, signal.SIGSTOP)
        (city.path / ".gc" / "controller.lock").unlink()
        child = subprocess.Popen(
            gc("start", "--foreground"), env=city.environment, stderr=subprocess.PIPE, text=True
        )
        try:
            # SQLite's own lock is the second line: whoever has the store open keeps it.
            _, said = child.communicate(timeout=30)
            assert child.returncode not in (0, None)
            assert "open in another process" in said
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
            os.kill(old, signal.SIGCONT)
            city.started.append(old)
            os.kill(old, signal.SIGTERM)
        wait_until(lambda: not _lives(old), what="the first ended")


def _lives(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.parametrize("name", ["gascity.db", "controller.lock", "controller.sock", ""])
def test_modes_that_were_widened_are_narrowed_or_refused(name: str) -> None:
    """World-open store, lock, socket or folder: private after the next start (R70, E1, E9)."""
    with running_city(TOML) as city:
        city.wait_up("warm")
        pids = city.tree()
        city.kill9()
        target = city.path / ".gc" / name
        if target.exists():
            target.chmod(0o777)
        ran = city.gc("start")
        mode = stat.S_IMODE(target.stat().st_mode)
        if ran.code == 0:
            city.started.append(city.pid())
            assert mode & 0o077 == 0, oct(mode)
        else:
            assert "chmod" in ran.err, ran
        assert city.tree() == pids


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("city.toml", "another user"),
        (".gc", "another user"),
        (".gc/gascity.db", "another user"),
        (".gc/gascity.db-wal", "another user"),
    ],
)
def test_files_of_another_user_are_refused_by_name(name: str, told: str) -> None:
    """Config, state folder and store of somebody else: `gc start` says so and touches nothing."""
    with real_city(TOML) as city:
        city.start()
        city.wait_up("warm")
        pids = city.tree()
        city.kill9()
        target = city.path / name
        os.chown(target, 12345, 12345)
        try:
            ran = city.gc("start")
            assert ran.code != 0, ran
            assert told in ran.err + (city.path / ".gc" / "controller.log").read_text()
            assert city.tree() == pids
        finally:
            os.chown(target, os.getuid(), os.getgid())
        city.start()


def test_a_thousand_reloads_touch_nobody() -> None:
    """Half written, missing, good, 1,000 times: one process, flat memory (R6, R11, F48)."""
    good = TOML
    with running_city(good) as city:
        city.wait_cold("cold")
        city.wait_up("warm")
        pids, pid, seen = city.tree(), city.pid(), city.seq()
        file = city.path / "city.toml"
        before = _resident_kib(pid)
        for number in range(1000):
            if number % 3 == 0:
                file.write_text(good[: number % len(good)])
            elif number % 3 == 1:
                file.unlink(missing_ok=True)
            else:
                city.configure(f"{good}\n# {number}\n")
            assert client.word(str(city.path), "reload") == "ok"
        city.configure(good)
        client.word(str(city.path), "reload")
        wait_until(lambda: not any("rejected" in one for one in city.status()["warnings"]))
        city.patrol(5)
        assert (city.pid(), city.tree()) == (pid, pids)
        assert types_of(city.events(*ENDINGS, "session.woke", after=seen)) == []
        assert _resident_kib(pid) - before < 16 * 1024
        told = len(city.events("controller.config_rejected", after=seen))
        print(f"\n1000 reloads: {told} rejections told, {_resident_kib(pid) - before} KiB more")


def _resident_kib(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    raise AssertionError("no VmRSS")
