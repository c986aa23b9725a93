"""The control socket for real: a server in a thread, the thin client, and hostile company."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.from_thread
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gascity.api import client, listener, server
from gascity.api.client import ControlError
from gascity.api.listener import UnsafeFolder
from gascity.api.lock import ControllerLock
from gascity.api.server import Server
from gascity.beads.store import StoreBroken
from gascity.observe.clock import SystemClock
from tests.desk import FakeDesk, a_session, awake, comes_up, fails
from tests.polling import wait_until

DEADLINE_S: Final = 10.0


class House:
    """A served city: its path, its desk, what went wrong, and the loop it lives on."""

    def __init__(self, city: Path, desk: FakeDesk, portal: Any) -> None:
        self.city = city
        self.desk = desk
        self.portal = portal
        self.faults: list[tuple[str, BaseException]] = []
        self.served: Any = None

    @property
    def path(self) -> Path:
        """The socket."""
        return self.city / ".gc" / "controller.sock"

    def call(self, op: str, **fields: Any) -> dict[str, Any]:
        """Ask as a command would."""
        return client.call(str(self.city), op, **fields)

    def refused(self, op: str, **fields: Any) -> ControlError:
        """The error an op ends in."""
        with pytest.raises(ControlError) as error:
            self.call(op, **fields)
        return error.value

    def raw(self) -> socket.socket:
        """A bare connection."""
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(DEADLINE_S)
        connection.connect(str(self.path))
        return connection

    def on_loop(self, fn: Callable[[], Any]) -> Any:
        """Do something where the server lives."""
        return self.portal.call(fn)

    def move(self) -> None:
        """Let a patrol have ended."""
        self.on_loop(self.desk.move)

    def is_well(self) -> bool:
        """Whether it still answers."""
        return client.word(str(self.city), "ping") == str(os.getpid())


@contextlib.contextmanager
def served(city: Path, desk: FakeDesk) -> Iterator[House]:
    """The server of a city, until the end of the block."""
    (city / ".gc").mkdir(mode=0o700, exist_ok=True)
    with ControllerLock(city) as lock, anyio.from_thread.start_blocking_portal() as portal:
        house = House(city, desk, portal)
        one = Server(desk, report=lambda op, problem: house.faults.append((op, problem)))

        async def serve(*, task_status: anyio.abc.TaskStatus[None]) -> None:
            desk.changed = anyio.Event()
            await one.serve(city, lock=lock, task_status=task_status)

        house.served, _ = portal.start_task(serve)
        try:
            yield house
        finally:
            house.served.cancel()
            wait_until(house.served.done)


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder with a short name."""
    with tempfile.TemporaryDirectory(prefix="gc-") as path:
        yield Path(path).resolve()


@pytest.fixture
def house(folder: Path) -> Iterator[House]:
    """A city with one awake session and one that sleeps."""
    desk = FakeDesk(awake(), a_session("poet"), clock=SystemClock())
    with served(folder, desk) as one:
        yield one


def said(connection: socket.socket, data: bytes) -> bytes:
    """Send bytes, read to the end."""
    found = b""
    with connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(data)
        with contextlib.suppress(ConnectionError):
            while more := connection.recv(65536):
                found += more
    return found


def test_the_socket_is_ours_alone_and_goes_with_its_server(folder: Path) -> None:
    """0600 in a folder that becomes 0700; nothing is left behind (E1)."""
    (folder / ".gc").mkdir(mode=0o755)
    with served(folder, FakeDesk(clock=SystemClock())) as house:
        assert stat.S_IMODE(house.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(house.path.parent.stat().st_mode) == 0o700
    assert not house.path.exists()


def test_the_socket_is_private_from_its_first_moment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mask does it, not a later change of mode (E1)."""
    (folder / ".gc").mkdir(mode=0o700)
    monkeypatch.setattr(listener.os, "chmod", lambda *args, **kwargs: None)
    before = os.umask(0o000)
    try:
        with listener.listening(folder):
            mode = (folder / ".gc" / "controller.sock").stat().st_mode
    finally:
        os.umask(before)
    assert stat.S_IMODE(mode) & 0o077 == 0


def test_what_a_dead_server_left_is_replaced(folder: Path) -> None:
    """Whoever holds the lock may take the place (R36)."""
    (folder / ".gc").mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(folder / ".gc" / "controller.sock"))
    with served(folder, FakeDesk(clock=SystemClock())) as house:
        assert house.is_well()


def test_only_our_own_socket_is_removed_at_the_end(folder: Path) -> None:
    """Another file that took its name stays."""
    with served(folder, FakeDesk(clock=SystemClock())) as house:
        house.path.unlink()
        house.path.write_text("somebody else's")
    assert house.path.read_text() == "somebody else's"


@pytest.mark.parametrize("what", ["link", "file in the way"])
def test_a_folder_that_is_not_ours_alone_is_refused(folder: Path, what: str) -> None:
    """A link could lead anywhere; a file could be somebody's (E1)."""
    real = folder / "elsewhere"
    real.mkdir(mode=0o700)
    if what == "link":
        (folder / ".gc").symlink_to(real)
    else:
        (folder / ".gc").mkdir(mode=0o700)
        (folder / ".gc" / "controller.sock").write_text("precious")
    with pytest.raises(UnsafeFolder), listener.listening(folder):
        pass


def test_a_path_too_long_for_an_address_works(folder: Path) -> None:
    """Server and client reach it through the open folder, nowhere else (E1)."""
    deep = folder.joinpath(*["a-long-name-for-a-folder"] * 8)
    deep.mkdir(parents=True)
    with served(deep, FakeDesk(awake(), clock=SystemClock())) as house:
        assert house.is_well()
        assert house.call("sessions")["names"] == ["mayor"]
        assert house.path.is_socket()


def test_bare_words_do_what_the_ecosystem_expects(house: House) -> None:
    """Pid, then ok; stop leaves sessions running (R37)."""
    assert client.word(str(house.city), "ping") == str(os.getpid())
    assert client.word(str(house.city), "poke") == "ok"
    assert client.word(str(house.city), "reload") == "ok"
    assert client.word(str(house.city), "stop") == "ok"
    assert (house.desk.reloads, house.desk.stopped) == (1, [False])


def test_a_status_never_waits_for_a_runtime_that_hangs(house: House) -> None:
    """It is what the last patrol left (R33, R44)."""
    house.desk.runtime.hangs = True
    began = time.monotonic()
    status = house.call("status")["status"]
    assert time.monotonic() - began < 1.0
    assert [one["name"] for one in status["sessions"]] == ["mayor", "poet"]
    assert house.call("status", sessions=["poet"])["status"]["sessions"][0]["name"] == "poet"


def test_another_user_is_refused_every_word(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel says who asks; only we and root are answered (E2)."""
    monkeypatch.setattr(listener, "peer_uid", lambda connection: os.geteuid() + 4242)
    for op in ("status", "sessions", "pins", "config"):
        assert house.refused(op).exit == 3
    for word in (b"ping\n", b"stop\n", b"poke\n"):
        assert b'"ok":false' in said(house.raw(), word)
    assert house.desk.stopped == []


def test_who_cannot_be_told_is_refused(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Doubt about the user is no (E2)."""

    def nobody_knows(connection: socket.socket) -> int:
        raise OSError("no such option")

    monkeypatch.setattr(listener, "peer_uid", nobody_knows)
    assert "no such option" in house.refused("status").what


def test_the_real_peer_is_us(folder: Path) -> None:
    """The kernel's answer is read rightly (E2)."""
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        assert listener.peer_uid(ours) == os.geteuid()


HOSTILE: Final = {
    "garbage": b"\xff\xfe\x00garbage\n",
    "no json": b"hello\n",
    "duplicate": b'{"v":1,"op":"status","op":"city_stop"}\n',
    "nan": b'{"v":1,"op":"pin","session":"mayor","for_s":NaN}\n',
    "deep": b"[" * 50_000 + b"\n",
    "unknown op": b'{"v":1,"op":"exec"}\n',
    "unknown field": b'{"v":1,"op":"status","x":1}\n',
    "endless": b"x" * 200_000,
    "one byte too long": b"y" * 65_536 + b"\n",
    "no newline": b'{"v":1,"op":"rm"}',
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_lines_get_one_error_and_harm_nobody(house: House, what: str) -> None:
    """One object, ok false; the next client is served (E3)."""
    connection = house.raw()
    if what == "no newline":
        connection.sendall(HOSTILE[what])
        connection.shutdown(socket.SHUT_WR)
        answer = said(connection, b"")
    else:
        answer = said(connection, HOSTILE[what])
    assert answer.count(b"\n") == 1
    assert b'"ok":false' in answer
    assert house.desk.stopped == []
    assert house.is_well()


def test_a_line_that_trickles_in_is_cut_off(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is for the whole line, not for each byte (E3)."""
    monkeypatch.setattr(server, "IDLE_TIMEOUT_S", 0.3)
    began = time.monotonic()
    with house.raw() as slow:
        slow.settimeout(0.05)
        answer = b""
        while not answer and time.monotonic() - began < DEADLINE_S:
            with contextlib.suppress(ConnectionError):
                slow.sendall(b"{")
            with contextlib.suppress(TimeoutError):
                answer = slow.recv(4096)
    assert b"no line within" in answer
    assert time.monotonic() - began < 5


def test_too_many_connections_are_told_so_and_room_comes_back(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """64 at once; the next is told to try again (E3)."""
    monkeypatch.setattr(server, "IDLE_TIMEOUT_S", 30.0)
    with contextlib.ExitStack() as stack:
        for _ in range(64):
            stack.enter_context(house.raw())
        assert "64 connections" in wait_until(lambda: said(house.raw(), b"")).decode()
        assert "64 connections" in house.refused("status").what
    wait_until(lambda: said(house.raw(), b"ping\n") == f"{os.getpid()}\n".encode())


def test_followers_leave_room_for_commands(house: House) -> None:
    """However many watch, a command is answered (E3)."""
    streams = [client.stream(str(house.city), "watch") for _ in range(48)]
    for one in streams:
        next(one)
    assert "48 clients follow" in house.refused("watch").what
    assert house.call("sessions")["names"] == ["mayor", "poet"]
    for one in streams:
        one.close()  # type: ignore[attr-defined]


def test_a_client_that_says_more_than_its_line_is_hung_up_on(house: House) -> None:
    """A flood after the request ends the request (E3)."""
    with house.raw() as flood:
        flood.sendall(b'{"v":1,"op":"watch"}\n')
        assert flood.recv(10)
        with contextlib.suppress(ConnectionError, TimeoutError):
            for _ in range(100):
                flood.sendall(b"z" * 65_536)
    assert house.is_well()


def test_a_client_that_never_reads_costs_one_connection_for_a_while(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others are served meanwhile, and it is hung up on (E3)."""
    monkeypatch.setattr(listener, "SEND_S", 0.2)
    house.desk.problems = ("x" * 1_000_000,)
    with house.raw() as deaf:
        deaf.sendall(b'{"v":1,"op":"status"}\n')
        assert house.is_well()
        wait_until(lambda: house_is_empty(house))


def house_is_empty(house: House) -> bool:
    """Whether the server holds no file but its own: asked by filling all places."""
    with contextlib.ExitStack() as stack:
        for _ in range(63):
            stack.enter_context(house.raw())
        return said(house.raw(), b"ping\n") == f"{os.getpid()}\n".encode()


def test_a_fault_of_ours_is_answered_and_reported(house: House) -> None:
    """The client gets exit 1, the log gets the problem, the server goes on (E3)."""

    def broken() -> None:
        raise RuntimeError("a bug")

    house.desk.snapshot = broken  # type: ignore[method-assign,assignment]
    assert house.refused("status").exit == 1
    assert [op for op, _ in house.faults] == ["status"]
    assert house.is_well()


def test_a_store_that_takes_no_writes_is_said_so(house: House) -> None:
    """Exit 1; nothing was changed (R75)."""
    house.desk.store.full = True  # type: ignore[attr-defined]
    assert "cannot be written" in house.refused("sling", target="mayor", title="dig").what
    assert house.is_well()


def test_a_broken_store_ends_the_server_after_saying_so(house: House) -> None:
    """The process must end (R75)."""
    house.desk.store.fail_next = StoreBroken("fsync")  # type: ignore[attr-defined]
    assert "fsync" in house.refused("sling", target="mayor", title="dig").what
    wait_until(house.served.done)
    assert isinstance(house.served.exception(), StoreBroken)


def test_a_wake_ends_with_its_outcome_and_exit_code(house: House) -> None:
    """Woke, already awake, refused, timed out, failed: each by its code (R25, F16)."""
    house.desk.steps = [fails("poet")]
    assert house.refused("wake", session="poet").reply["outcome"] == "failed"
    assert house.refused("wake", session="poet", timeout_s=0.2).exit == 4
    house.desk.steps = [comes_up("poet")]
    assert house.call("wake", session="poet")["outcome"] == "woke"
    assert house.call("wake", session="mayor")["outcome"] == "already awake"
    house.call("suspend", session="mayor", by="ada")
    house.desk.runtime.truths.clear()
    refused = house.refused("attach", session="nobody")
    assert (refused.exit, refused.reply["outcome"]) == (2, "refused")


def test_hanging_up_takes_an_attach_back(house: House) -> None:
    """A client that is killed leaves no intent behind (ATT-12, ATT-16)."""
    stream = client.stream(str(house.city), "attach", session="poet", confirm_fresh=True)
    assert next(stream)["progress"] == "waking poet... (timeout 60s)"
    assert house.desk.sessions["gc-poet"].attach_intent is not None
    stream.close()  # type: ignore[attr-defined]
    wait_until(lambda: house.desk.sessions["gc-poet"].attach_intent is None)


def test_a_second_attach_is_refused_and_the_first_goes_on(house: House) -> None:
    """The words, and one way in for the first (ATT-22)."""
    first = client.stream(str(house.city), "attach", session="poet", confirm_fresh=True)
    next(first)
    second = house.refused("attach", session="poet", confirm_fresh=True)
    assert (second.exit, second.what) == (3, "session is already being woken by another attach")
    house.on_loop(lambda: comes_up("poet")(house.desk))
    house.move()
    assert list(first)[-1]["argv"] == ["tmux", "attach-session", "-t", "=poet"]


def test_an_attach_can_be_taken_back_by_its_holder_from_elsewhere(house: House) -> None:
    """Ctrl-C of a client that still has its terminal (ATT-12)."""
    first = client.stream(str(house.city), "attach", session="poet", confirm_fresh=True)
    holder = next(first)["holder"]
    assert house.call("attach_cancel", session="poet", holder=holder)["outcome"] == "canceled"
    house.move()
    with pytest.raises(ControlError) as error:
        list(first)
    assert error.value.reply["outcome"] == "canceled"


def test_a_fresh_attach_asks_before_it_writes(house: House) -> None:
    """Confirmation over the socket (ATT-07)."""
    reply = house.call("attach", session="poet")
    assert reply["confirm"] is True
    assert house.desk.sessions["gc-poet"].attach_intent is None


def test_events_are_followed_as_they_come(house: House) -> None:
    """Old ones first, new ones after, by number (R74)."""
    house.call("sling", target="mayor", title="one")
    stream = client.stream(str(house.city), "events", follow=True)
    assert next(stream)["event"]["message"] == "one"
    house.call("sling", target="mayor", title="two")
    house.move()
    assert next(stream)["event"]["seq"] == 2
    stream.close()  # type: ignore[attr-defined]
    assert [one["event"]["seq"] for one in client.stream(str(house.city), "events", after=1)
            if "event" in one] == [2]  # fmt: skip


def test_watch_speaks_when_something_changed(house: House) -> None:
    """The status at once, then after a patrol with a change, not after one without (R42)."""
    stream = client.stream(str(house.city), "watch")
    assert next(stream)["status"]["warnings"] == []
    house.move()
    house.desk.problems = ("a problem",)
    house.move()
    assert next(stream)["status"]["warnings"] == ["a problem"]
    stream.close()  # type: ignore[attr-defined]


def test_stopping_the_city_is_followed_to_its_end(house: House) -> None:
    """Progress, then the last word as the server goes down (R37, R64)."""
    stream = client.stream(str(house.city), "city_stop", controller_only=False)
    assert "1 session left" in next(stream)["progress"]
    assert house.desk.stopped == [True]
    threading.Timer(0.1, house.served.cancel).start()
    assert list(stream)[-1]["outcome"] == "stopped"


FRAMES = st.binary(max_size=200) | st.builds(
    lambda op, tail: b'{"v":1,"op":"' + op.encode() + b'"' + tail,
    st.sampled_from(["status", "pin", "wake", "bead_update", "events"]),
    st.binary(max_size=80),
)


def test_no_bytes_bring_the_server_down(house: House) -> None:
    """Whatever comes, each client gets at most errors, and no fault of ours is met (E3)."""

    @settings(
        max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(FRAMES)
    def send(data: bytes) -> None:
        if data.strip() == b"stop":
            return
        said(house.raw(), data.replace(b"\n", b" ") + b"\n")

    send()
    assert house.faults == []
    assert house.is_well()
