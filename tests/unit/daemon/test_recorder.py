"""Recording ticks: off by default, bounded, private, without secrets, and never in the way."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gascity.daemon import recorder as recording
from gascity.daemon.recorder import FILE, FOLDER, OLDER, Ring, TickRecorder
from gascity.decide.tick import decide
from gascity.model.city import City
from gascity.model.world import World
from gascity.report.replay import replay
from gascity.report.ticks import Tick, read
from gascity.testing.builders import a_city, a_world, agent, awake, cold, running
from gascity.testing.city import FakeCity
from tests.polling import wait_until


def config(count: int = 3, **agent_keys: Any) -> City:
    """A city that records so many ticks."""
    city = a_city(agent("mayor", **agent_keys), agent("poet"))
    return replace(city, daemon=replace(city.daemon, record_ticks=count))


def a_tick(city: City | None = None) -> World:
    return a_world(city or config(), awake("mayor"), cold("poet"))


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """The `.gc` of a city."""
    path = tmp_path / ".gc"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture
def made(state: Path) -> Iterator[Callable[..., TickRecorder]]:
    """Makes recorders, and lets their files go."""
    all_made: list[TickRecorder] = []

    def make(**options: Any) -> TickRecorder:
        all_made.append(TickRecorder(state, **options))
        return all_made[-1]

    yield make
    for one in all_made:
        one.close()


def ticks(state: Path, name: str = FILE) -> list[Tick]:
    """What a file holds, each line whole."""
    with (state / FOLDER / name).open("rb") as file:
        found = list(read(file))
    assert all(isinstance(one, Tick) for one in found)
    return found  # type: ignore[return-value]


def test_nothing_is_recorded_unless_asked() -> None:
    """R78: a city that says nothing about it hands no tick to anybody."""
    with FakeCity(a_city(agent("mayor"))) as city:
        handed: list[World] = []
        city.ports.record = lambda world, _outcome: handed.append(world)
        city.tick(2)
        assert handed == []
        city.ports.city = replace(
            city.ports.city, daemon=replace(city.ports.city.daemon, record_ticks=1)
        )
        city.tick()
        assert handed  # a reload takes it up


def test_a_recorder_that_is_not_asked_makes_nothing(
    state: Path, made: Callable[..., TickRecorder]
) -> None:
    """R78: no thread, no folder."""
    before = threading.active_count()
    made().close()
    assert threading.active_count() == before
    assert list(state.iterdir()) == []


def test_the_ring_keeps_the_last_ticks_and_no_more(
    state: Path, made: Callable[..., TickRecorder]
) -> None:
    """R74: at least the last N and at most twice as many, in order, every one replays."""
    recorder = made(queued=100)
    for second in range(11):
        world = replace(a_tick(), now=a_tick().now.replace(second=second))
        recorder.record(world, decide(world))
    recorder.close()
    kept = [*ticks(state, OLDER), *ticks(state)]
    assert [one.world.now.second for one in kept] == [6, 7, 8, 9, 10]
    assert replay(kept, decide).is_same
    assert recorder.lost == 0


def test_the_files_are_bounded_in_bytes(state: Path, made: Callable[..., TickRecorder]) -> None:
    """R74: a large city fills no disk, whatever number of ticks was asked for."""
    recorder = made(max_bytes=20_000, queued=100)
    world = a_tick(config(100_000))
    for _ in range(20):
        recorder.record(world, decide(world))
    recorder.close()
    sizes = [(state / FOLDER / name).stat().st_size for name in (FILE, OLDER)]
    assert all(0 < size <= 20_000 for size in sizes)


def test_a_restarted_controller_counts_on(state: Path, made: Callable[..., TickRecorder]) -> None:
    """R74: the bound holds over restarts, and a line that a death tore stays one line."""
    world = a_tick()
    for _ in range(2):
        recorder = made()
        recorder.record(world, decide(world))
        recorder.close()
    with (state / FOLDER / FILE).open("ab") as file:
        file.write(b'{"schema":1,"vers')
    recorder = made()
    recorder.record(world, decide(world))
    recorder.close()
    with (state / FOLDER / FILE).open("rb") as lines:
        found = replay(read(lines), decide)
    assert (found.ticks, [one.torn for one in found.skipped]) == (3, [True])
    assert found.is_same
    recorder = made()
    recorder.record(world, decide(world))
    recorder.close()
    assert len(ticks(state)) == 1


def test_only_the_owner_can_read_it(state: Path, made: Callable[..., TickRecorder]) -> None:
    """R78: the folder is 0700 and the files 0600, under any umask, also after a rotation."""
    (state / FOLDER).mkdir(mode=0o755)
    recorder = made()
    before = os.umask(0)
    try:
        for _ in range(4):
            recorder.record(a_tick(), decide(a_tick()))
        recorder.close()
    finally:
        os.umask(before)
    assert (state / FOLDER).stat().st_mode & 0o777 == 0o700
    for name in (FILE, OLDER):
        assert (state / FOLDER / name).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("which", ["folder", "file"])
def test_nothing_is_written_through_a_link(
    which: str, state: Path, tmp_path: Path, made: Callable[..., TickRecorder]
) -> None:
    """R78: a link in the place of the folder or the file is refused, and counts as lost."""
    target = tmp_path / "elsewhere"
    if which == "folder":
        target.mkdir()
        (state / FOLDER).symlink_to(target)
    else:
        target.write_text("mine", encoding="utf-8")
        (state / FOLDER).mkdir()
        (state / FOLDER / FILE).symlink_to(target)
    recorder = made()
    recorder.record(a_tick(), decide(a_tick()))
    recorder.close()
    assert recorder.lost == 1
    assert list(target.iterdir()) == [] if which == "folder" else target.read_text() == "mine"


def test_no_secret_is_recorded(state: Path, made: Callable[..., TickRecorder]) -> None:
    """R78: values, commands, tokens, questions and what is on screens stay where they are."""
    secret = "s3cret"
    city = config(
        env={"API_KEY": secret},
        start_command=f"KEY={secret} agent",
        args=("--key", secret),
        work_query=f"q {secret}",
        description=secret,
    )
    from gascity.model.reading import Known
    from gascity.model.world import Pending

    asked = Known(Pending(kind="choice", question=secret))
    seen = replace(running(pending=asked, token=secret), detail=secret)
    session = awake("mayor", instance_token=secret, session_key=secret, last_error=secret)
    world = a_world(city, session, cold("poet"), seen={"mayor": seen})
    recorder = made()
    plan = decide(world)
    recorder.record(world, plan)
    recorder.close()
    text = (state / FOLDER / FILE).read_text(encoding="utf-8")
    assert secret not in text
    assert "API_KEY" in text
    [tick] = ticks(state)
    assert tick.world.sessions["gc-mayor"].instance_token == tick.world.sightings["gc-mayor"].token
    assert replay([tick], decide).is_same


def test_hashes_differ_between_two_recordings(
    state: Path, made: Callable[..., TickRecorder]
) -> None:
    """R78: without the key, which is never written, nobody can try values against a hash."""
    world = a_tick(replace(config(env={"PIN": "1234"}), revision="0f1e2d3c"))
    for _ in range(2):
        recorder = made()
        recorder.record(world, decide(world))
        recorder.close()
    text = (state / FOLDER / FILE).read_text(encoding="utf-8")
    for derived in (world.city.revision, world.sessions["gc-mayor"].started_hash):
        assert derived
        assert derived not in text
    first, second = (one.world.city.agents["mayor"].env["PIN"] for one in ticks(state))
    assert first != second


def test_a_slow_disk_costs_ticks_and_never_a_patrol(
    state: Path,
    made: Callable[..., TickRecorder],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """R74: whoever records returns while the writer hangs; what had no room is counted and told."""
    going, go = threading.Event(), threading.Event()
    add = Ring.add

    def slow(self: Ring, line: bytes, *, keep: int) -> None:
        going.set()
        assert go.wait(20)
        add(self, line, keep=keep)

    monkeypatch.setattr(Ring, "add", slow)
    warned: list[dict[str, Any]] = []
    monkeypatch.setattr(recording, "log", _Log(warned))
    recorder = made(queued=2)
    world = a_tick(config(100))
    recorder.record(world, decide(world))
    assert going.wait(20)
    for _ in range(6):
        recorder.record(world, decide(world))
    assert recorder.lost == 4
    go.set()
    recorder.close()
    assert len(ticks(state)) == 3
    assert warned == [{"lost": 4, "problem": "the writer was too slow"}]


def test_a_full_disk_costs_ticks_and_is_told_seldom(
    state: Path, made: Callable[..., TickRecorder], monkeypatch: pytest.MonkeyPatch
) -> None:
    """R74: a line that was cut by the fault is ended, and recording goes on when there is room."""
    warned: list[dict[str, Any]] = []
    monkeypatch.setattr(recording, "log", _Log(warned))
    recorder = made(queued=100)
    world = a_tick(config(100))
    write, full = os.write, threading.Event()

    def short(file: int, data: bytes) -> int:
        if full.is_set() and len(data) > 1000:
            if len(data) % 2:  # some of it, then nothing
                write(file, data[:100])
            raise OSError(errno.ENOSPC, "no space left")
        return write(file, data)

    monkeypatch.setattr(recording.os, "write", short)
    recorder.record(world, decide(world))
    wait_until(lambda: (state / FOLDER / FILE).exists() and ticks(state), timeout_s=20)
    full.set()
    for _ in range(9):
        recorder.record(world, decide(world))
    wait_until(lambda: recorder.lost == 9, timeout_s=20)
    full.clear()
    recorder.record(world, decide(world))
    recorder.close()
    with (state / FOLDER / FILE).open("rb") as lines:
        found = replay(read(lines), decide)
    assert (found.ticks, found.is_same) == (2, True)
    assert [one["lost"] for one in warned] == [1, 2, 4, 8]


def test_a_machine_without_threads_costs_ticks_and_never_a_patrol(
    made: Callable[..., TickRecorder], monkeypatch: pytest.MonkeyPatch
) -> None:
    """R74: at the limit of threads nothing is recorded, and nothing is raised."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    recorder = made()
    with monkeypatch.context() as limited:
        limited.setattr(threading.Thread, "start", refuse)
        recorder.record(a_tick(), decide(a_tick()))
    assert recorder.lost == 1


class _Log:
    """Takes warnings in place of the log."""

    def __init__(self, warned: list[dict[str, Any]]) -> None:
        self.warned = warned

    def warning(self, _text: str, **facts: Any) -> None:
        self.warned.append(facts)


def test_a_fault_in_the_rules_is_recorded_with_what_it_saw(
    state: Path, made: Callable[..., TickRecorder], monkeypatch: pytest.MonkeyPatch
) -> None:
    """R73: the tick that deciding failed in can be replayed, and fails again or differs."""
    from gascity.daemon import patrol

    def broken(world: World) -> Any:
        raise KeyError("mayor")

    recorder = made()
    with FakeCity(config()) as city:
        city.ports.record = recorder.record
        monkeypatch.setattr(patrol, "decide", broken)
        city.tick()
        assert not city.is_dead
    recorder.close()
    [tick] = ticks(state)
    assert tick.fault == "KeyError"
    assert replay([tick], broken).is_same
    [difference] = replay([tick], decide).differences
    assert (difference.fact, difference.then, difference.now) == ("fault", "KeyError", "")
