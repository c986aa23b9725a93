"""The thin client finds its city and tells apart who does not answer."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gascity.api import client
from gascity.api.client import ControlError, find_city
from gascity.api.holder import holder_of
from gascity.api.lock import COMMAND, ControllerLock, LockHeld


@pytest.fixture
def city() -> Iterator[Path]:
    """A city without a controller; its path is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="gc-") as folder:
        path = Path(folder).resolve()
        (path / ".gc").mkdir(mode=0o700)
        (path / "city.toml").write_text('[workspace]\nname = "demo"\n')
        yield path


def test_the_city_is_named_or_the_nearest_parent(
    city: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--city, then $GC_CITY, then upwards."""
    inner = city / "rigs" / "barn"
    inner.mkdir(parents=True)
    monkeypatch.delenv("GC_CITY", raising=False)
    monkeypatch.chdir(inner)
    assert find_city() == str(city)
    assert find_city(str(city / "city.toml")) == str(city)
    monkeypatch.chdir("/")
    monkeypatch.setenv("GC_CITY", str(city))
    assert find_city() == str(city)


@pytest.mark.parametrize("how", ["named", "environment", "nowhere"])
def test_no_city_is_a_usage_error(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 2 with what was looked at."""
    monkeypatch.delenv("GC_CITY", raising=False)
    monkeypatch.chdir(tmp_path)
    if how == "environment":
        monkeypatch.setenv("GC_CITY", str(tmp_path))
    with pytest.raises(ControlError, match=r"city\.toml") as error:
        find_city(str(tmp_path) if how == "named" else None)
    assert error.value.exit == 2


def test_no_controller_is_exit_5(city: Path) -> None:
    """No socket, no lock (R71)."""
    with pytest.raises(ControlError) as error:
        client.call(str(city), "status")
    assert (error.value.exit, error.value.do) == (5, "start it with gc start")


def test_a_socket_that_a_dead_controller_left_is_no_controller(city: Path) -> None:
    """Refused and the lock free: exit 5 at once (R71)."""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(city / ".gc" / "controller.sock"))
    with pytest.raises(ControlError) as error:
        client.call(str(city), "status")
    assert error.value.exit == 5


def test_a_controller_that_holds_the_lock_and_does_not_answer_is_named(
    city: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hung, with its pid, and not exit 5 (R71)."""
    monkeypatch.setattr(client, "ANSWER_S", 0.2)
    with ControllerLock(city), socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(city / ".gc" / "controller.sock"))
        deaf.listen()
        with pytest.raises(ControlError, match=f"pid {os.getpid()} does not answer") as error:
            client.call(str(city), "status")
    assert error.value.exit == 1


def test_a_controller_without_a_socket_is_hung_after_a_moment(
    city: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that starts gets that moment (R71)."""
    monkeypatch.setattr(client, "STARTING_S", 0.1)
    with ControllerLock(city), pytest.raises(ControlError, match="does not answer") as error:
        client.call(str(city), "status")
    assert error.value.exit == 1


def test_a_deed_waits_longer_for_a_controller_that_starts(
    city: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work that is closed while the controller comes back is closed, not done again (R71)."""
    monkeypatch.setattr(client, "STARTING_S", 0.0)
    said: list[bytes] = []

    def late() -> None:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(city / ".gc" / "controller.sock"))
            server.listen()
            with server.accept()[0] as connection:
                said.append(connection.recv(4096))
                connection.sendall(b'{"v": 1, "ok": true, "end": true}\n')

    with ControllerLock(city):
        with pytest.raises(ControlError, match="does not answer"):
            client.call(str(city), "bead", id="gc-1")
        coming = threading.Timer(0.2, late)
        coming.start()
        assert client.call(str(city), "bead_close", id="gc-1")["ok"] is True
        coming.join()
    assert json.loads(said[0])["op"] == "bead_close"


def test_a_command_that_holds_the_city_is_no_controller(
    city: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said to be a command, and to try again (R71)."""
    monkeypatch.setattr(client, "STARTING_S", 0.1)
    with (
        ControllerLock(city, role=COMMAND),
        pytest.raises(ControlError, match="another gc command") as error,
    ):
        client.call(str(city), "status")
    assert error.value.exit == 1


def test_a_second_controller_is_refused_with_the_pid_of_the_first(city: Path) -> None:
    """Soon, and by pid (R36)."""
    with ControllerLock(city), pytest.raises(LockHeld, match=f"pid {os.getpid()}") as held:
        ControllerLock(city).acquire()
    assert held.value.pid == os.getpid()


def test_a_command_that_holds_the_city_for_a_moment_is_waited_for(city: Path) -> None:
    """A starting controller does not call it the first (R36)."""
    script = (
        "import sys, time; from gascity.api.lock import *\n"
        "with ControllerLock(sys.argv[1], role=COMMAND):\n"
        "    print('held', flush=True); time.sleep(0.5)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(city)], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        with ControllerLock(city) as lock:
            assert lock.is_held
        assert child.wait(timeout=10) == 0


def test_a_lock_is_free_the_moment_its_holder_is_killed(city: Path) -> None:
    """No stale pid keeps anybody out (R36)."""
    script = (
        "import sys, time; from gascity.api.lock import *\n"
        "lock = ControllerLock(sys.argv[1]).acquire(); print('held', flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(city)], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert holder_of(str(city)) == (child.pid, "controller")
        child.kill()
        child.wait(timeout=10)
    assert holder_of(str(city)) is None
    with ControllerLock(city) as lock:
        assert lock.is_held


def test_a_lock_that_is_a_link_is_not_followed(city: Path, tmp_path: Path) -> None:
    """Nobody makes us lock or write another file."""
    (city / ".gc" / "controller.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"):
        ControllerLock(city).acquire()
    assert not (tmp_path / "elsewhere").exists()


def test_a_request_that_is_too_long_is_not_sent(city: Path) -> None:
    """The limit is known on this side too."""
    with pytest.raises(ControlError) as error:
        client.call(str(city), "sling", target="a", title="x" * 70_000)
    assert error.value.exit == 2
