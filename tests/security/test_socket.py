"""The control socket: whose it is, who is let in, and how much anybody may say (E1, E2, E3)."""

from __future__ import annotations

import json
import os
import socket
import stat
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gascity.api import client
from gascity.api.client import ControlError
from gascity.api.frames import REQUESTS
from gascity.api.lock import ControllerLock
from gascity.api.protocol import EXIT_REFUSED, WORDS
from tests.integration.city import RealCity, agent, city_toml, needs_tmux, running_city
from tests.polling import wait_until
from tests.security.other_user import KNOCK, NOBODY, as_nobody, needs_root

VERBS = [*WORDS, *(json.dumps({"v": 1, "op": op, "session": "mayor"}) for op in REQUESTS)]


@pytest.fixture(scope="module")
def city() -> Iterator[RealCity]:
    """A running city."""
    with running_city(city_toml(agent("mayor"))) as one:
        one.wait_up("mayor")
        yield one


def sock(city: RealCity) -> Path:
    return city.path / ".gc" / "controller.sock"


@pytest.mark.slow
class TestWhose:
    """E1: a socket of ours, in a folder of ours."""

    pytestmark = needs_tmux

    def test_modes_and_owner_are_ours_alone(self, city: RealCity) -> None:
        """Socket 0600, folder 0700, both ours (E1)."""
        at, folder = sock(city).lstat(), sock(city).parent.lstat()
        assert stat.S_ISSOCK(at.st_mode)
        assert stat.S_IMODE(at.st_mode) == 0o600
        assert stat.S_IMODE(folder.st_mode) == 0o700
        assert at.st_uid == folder.st_uid == os.geteuid()

    @needs_root
    def test_another_user_does_not_even_reach_it(self, city: RealCity) -> None:
        """With the modes as they are, no verb gets an answer (E1)."""
        said = as_nobody(KNOCK, str(sock(city)), *VERBS)
        assert set(said.values()) == {"PermissionError"}

    @needs_root
    def test_another_user_who_reaches_it_is_refused_every_verb(self, city: RealCity) -> None:
        """The kernel says who knocks: 0 of all verbs work, though the modes let him in (E2)."""
        opened = [city.path.parent, city.path, sock(city).parent, sock(city)]
        before = {path: stat.S_IMODE(path.stat().st_mode) for path in opened}
        seen = city.seq()
        try:
            for path in opened:
                path.chmod(0o777)
            said = as_nobody(KNOCK, str(sock(city)), *VERBS)
        finally:
            for path, mode in before.items():
                path.chmod(mode)
        assert len(said) == len(set(VERBS))
        refusals = [json.loads(answer) for answer in said.values()]
        assert {(one["ok"], one["exit"]) for one in refusals} == {(False, EXIT_REFUSED)}
        assert all(f"uid {NOBODY}" in one["what"] for one in refusals)
        assert city.seq() == seen
        assert city.session("mayor")["state"] == "awake"


@pytest.mark.parametrize("at", [".gc", ".gc/controller.lock"])
def test_a_link_where_the_state_should_be_is_refused(tmp_path: Path, at: str) -> None:
    """Whoever opens anything in `.gc` holds its lock, and that is never reached by a link (E1)."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    city = tmp_path / "city"
    city.mkdir()
    if at != ".gc":
        (city / ".gc").mkdir(mode=0o700)
        (elsewhere / "lock").touch()
    (city / at).symlink_to(elsewhere if at == ".gc" else elsewhere / "lock")
    with pytest.raises(OSError, match=r"(?i)symbolic link|not a directory"):
        ControllerLock(city).acquire()
    assert [path.name for path in elsewhere.iterdir()] in ([], ["lock"])


@needs_root
def test_the_state_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    """Nothing is opened in a folder whose owner may swap the files in it (E1)."""
    (tmp_path / ".gc").mkdir()
    os.chown(tmp_path / ".gc", NOBODY, NOBODY)
    with pytest.raises(PermissionError, match="another user"):
        ControllerLock(tmp_path).acquire()


# Serves one connection at argv[1] and prints what it heard.
IMPOSTOR = """
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o666)
server.listen(1)
server.settimeout(20)
connection, _ = server.accept()
heard = connection.recv(100)
print(json.dumps(heard.decode()))
"""


@needs_root
def test_a_controller_of_another_user_is_not_believed() -> None:
    """A client runs what the controller names for an attach, so it asks only its own (E2)."""
    with tempfile.TemporaryDirectory(prefix="gc-") as folder:
        state = Path(folder) / ".gc"
        state.mkdir()
        Path(folder).chmod(0o755)
        os.chown(state, NOBODY, NOBODY)
        path = state / "controller.sock"
        heard: list[str] = []
        host = threading.Thread(target=lambda: heard.append(as_nobody(IMPOSTOR, str(path))))
        host.start()
        wait_until(path.exists, timeout_s=20)
        with pytest.raises(ControlError) as refusal:
            client.call(folder, "attach", session="mayor")
        host.join(timeout=30)
    assert refusal.value.exit == EXIT_REFUSED
    assert "another user" in refusal.value.what
    assert heard == [""], "it was told nothing"


@pytest.mark.slow
class TestHowMuch:
    """E3: one short strict line, few connections, little patience."""

    pytestmark = needs_tmux

    def test_a_frame_has_a_size(self, city: RealCity) -> None:
        """64 KiB without an end is one error and a hang-up (E3)."""
        assert "64 KiB" in said(city, b"x" * 70_000)["what"]

    @pytest.mark.parametrize(
        "line",
        [
            b'{"v":1,"op":"status","op":"city_stop"}',
            b'{"v":1,"op":"pin","session":"mayor","for_s":NaN}',
            b'{"v":1,"op":"explode"}',
            b'{"v":1,"op":"status","extra":1}',
            b"[" * 30_000,
            b'{"v":' + b"9" * 5000 + b"}",
            b"\xff\xfe",
            b'{"v":true,"op":"status"}',
        ],
        ids=["twice", "nan", "verb", "field", "deep", "digits", "bytes", "version"],
    )
    def test_json_is_read_strictly(self, city: RealCity, line: bytes) -> None:
        """What lenient readers let through is one error, and the server stays up (E3)."""
        assert said(city, line)["exit"] == 2
        assert client.word(str(city.path), "ping") == str(city.pid())

    def test_silence_ends(self, city: RealCity) -> None:
        """Who says nothing for two seconds is hung up on (E3)."""
        with knock(city) as connection:
            answer = json.loads(connection.makefile("rb").readline())
        assert "no line within" in answer["what"]

    def test_connections_are_counted(self, city: RealCity) -> None:
        """The 65th is told so; the others and the next commands are served (E3)."""
        held = [knock(city) for _ in range(64)]
        try:
            assert "64 connections" in said(city, b"ping", expect="connections")["what"]
        finally:
            for one in held:
                one.close()

        def answers() -> bool:
            try:
                return client.word(str(city.path), "ping") == str(city.pid())
            except ControlError:
                return False

        wait_until(answers, timeout_s=10)


def knock(city: RealCity) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(20)
    connection.connect(str(sock(city)))
    return connection


def said(city: RealCity, line: bytes, *, expect: str = "") -> dict[str, object]:
    """The one object that answers a line."""
    with knock(city) as connection:
        try:
            connection.sendall(line + b"\n")
        except OSError:
            assert expect or len(line) > 60_000
        found: dict[str, object] = json.loads(connection.makefile("rb").readline())
    assert found["ok"] is False
    return found
