"""Turns announced over the control socket: held by a connection, and by nothing else."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gascity.act.requests_turn import TURN_MOST_S
from gascity.api import announce, server
from gascity.api.announce import Announcement
from gascity.observe.clock import SystemClock
from gascity.observe.recollection import ANNOUNCE_AGAIN_S
from tests.desk import FakeDesk, awake
from tests.integration.test_control_socket import House, folder, served
from tests.polling import wait_until

__all__ = ["folder"]

SELF = {"session": "mayor", "token": "token-1"}

# Announces a turn of argv[1] and keeps it until it is killed.
HOLDER = """
import sys, time
from gascity.api.announce import Announcement
one = Announcement(sys.argv[1], session="mayor", token="token-1", what="a build")
while True:
    one.keep()
    time.sleep(0.01)
"""


@pytest.fixture
def house(folder: Path) -> Iterator[House]:
    """A served city with one awake session."""
    with served(folder, FakeDesk(awake(), clock=SystemClock())) as one:
        yield one


@contextlib.contextmanager
def announced(house: House, **fields: str) -> Iterator[Announcement]:
    """An announcement that the server has heard."""
    one = Announcement(str(house.city), **{**SELF, **fields})
    try:
        kept(one, lambda: one.is_open)
        yield one
    finally:
        one.close()


def kept(one: Announcement, holds: Callable[[], object]) -> None:
    """Keep it until something holds."""

    def kept_and_holds() -> object:
        one.keep()
        return holds()

    wait_until(kept_and_holds)


def test_a_turn_is_open_exactly_as_long_as_the_announcement(house: House) -> None:
    """R48: it is on the record when the answer comes, and over when the connection is."""
    with announced(house, what="sleep 20s\x1b[2J"):
        [turn] = house.desk.turns
        assert (turn.token, turn.what) == ("token-1", "sleep 20s")
        assert house.desk.sessions["gc-mayor"].open_turn == "token-1"
    wait_until(lambda: not house.desk.turns)
    assert house.faults == []


def test_several_may_be_open_at_once(house: House) -> None:
    """Calls that run beside each other are turns of their own."""
    with announced(house, what="one"):
        with announced(house, what="two"):
            assert [turn.what for turn in house.desk.turns] == ["one", "two"]
        wait_until(lambda: len(house.desk.turns) == 1)
        assert house.desk.turns[0].what == "one"


def test_a_killed_tool_server_leaves_no_turn(house: House) -> None:
    """R48: SIGKILL runs no code of ours; the kernel hangs up."""
    words = [sys.executable, "-c", HOLDER, str(house.city)]
    with subprocess.Popen(words) as holder:
        try:
            wait_until(lambda: house.desk.turns)
        finally:
            holder.send_signal(signal.SIGKILL)
    wait_until(lambda: not house.desk.turns)


def test_a_new_controller_is_told_again(folder: Path) -> None:
    """REC-15: it is announced to whoever serves the socket, as soon as somebody does."""
    one = Announcement(str(folder), **SELF)
    one.keep()
    assert (one.is_open, bool(one.problem)) == (False, True)
    for _ in range(2):
        with served(folder, FakeDesk(awake(), clock=SystemClock())) as house:
            kept(one, lambda: one.is_open)
            assert len(house.desk.turns) == 1
        kept(one, lambda: not one.is_open)
    one.close()


def test_a_long_turn_is_announced_anew_before_it_is_taken_to_be_over(house: House) -> None:
    """R48: at no moment is there none: the old connection ends once the new one is known."""
    with announced(house) as one:
        [first] = house.desk.turns
        one._renew_at = 0.0
        seen = []

        def renewed() -> bool:
            seen.append(list(house.desk.turns))
            return one.is_open and first not in house.desk.turns

        kept(one, renewed)
        assert all(seen)
        assert len(house.desk.turns) == 1
        assert one._renew_at > 0.0


def test_a_renewal_that_is_refused_keeps_what_there_was(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R9: with no room for a second connection the first goes on holding the turn."""
    with announced(house) as one:
        turns = list(house.desk.turns)
        monkeypatch.setattr(server, "MAX_TURNS", 1)
        one._renew_at = 0.0
        kept(one, lambda: one.is_open and one._renew_at > 0.0)
        assert house.desk.turns == turns


def test_an_earlier_run_is_refused_and_does_not_insist(house: House) -> None:
    """R63: it is told why, and asks again a few times a minute at most."""
    one = Announcement(str(house.city), session="mayor", token="token-0")
    kept(one, lambda: one.problem)
    assert "another run" in one.problem
    assert not house.desk.turns
    one.keep()
    assert one._socket is None
    one.close()


def test_a_controller_that_never_answers_is_not_waited_for(folder: Path) -> None:
    """`keep` never waits, whoever listens: an event loop hangs on it."""
    (folder / ".gc").mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(folder / ".gc" / "controller.sock"))
        mute.listen(0)
        several = [Announcement(str(folder), **SELF) for _ in range(4)]
        for one in several * 3:
            one.keep()
        assert not any(one.is_open for one in several)
        for one in several:
            one.close()


@pytest.mark.parametrize("said", [b"nonsense", b"[1]", b'{"v": 1}', b"\xff\xfe"])
def test_nonsense_is_hung_up_on(folder: Path, said: bytes) -> None:
    """What listens there is no controller of ours: no error, and another try later."""
    (folder / ".gc").mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.bind(str(folder / ".gc" / "controller.sock"))
        stranger.listen(4)
        one = Announcement(str(folder), **SELF)
        one.keep()
        connection, _ = stranger.accept()
        with connection:
            assert json.loads(connection.recv(4096))["op"] == "turn"
            connection.sendall(said + b"\n")
            kept(one, lambda: one.problem)
        assert one._socket is None


def test_a_city_of_waiting_agents_leaves_room_for_commands(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E3: turns are counted apart from connections, and have a bound of their own."""
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 3)
    monkeypatch.setattr(server, "MAX_TURNS", 6)
    with contextlib.ExitStack() as stack:
        for _ in range(6):
            stack.enter_context(announced(house))
        assert house.is_well()
        one = Announcement(str(house.city), **SELF)
        kept(one, lambda: one.problem)
        assert "6 turns are open" in one.problem
        one.close()
    wait_until(lambda: not house.desk.turns)
    with announced(house):
        assert len(house.desk.turns) == 1


def test_it_asks_again_well_within_the_time_it_is_waited_for() -> None:
    """R9: a controller waits long enough for several tries of everybody."""
    assert max(announce.KEEP_S, announce.REFUSED_S) * 2 <= ANNOUNCE_AGAIN_S
    assert announce.RENEW_S < TURN_MOST_S
