"""What the fake runtime adds to the contract: cuts inside a look, and lies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from gascity.model.reading import Known, Unclear
from gascity.model.world import ProbeResult, Sighting, Truth
from gascity.runtimes.base import RuntimeUnreachable, Spec, StartFailed, WaitsForIdle, Watch
from gascity.testing.clock import FakeClock, run_virtual
from gascity.testing.hosted import FULL, TIMED_ONLY, FakeHost
from gascity.testing.runtime import FakeRuntime, connect
from gascity.testing.script import AFTER, BEFORE, Script

WORKER = Watch(name="worker", screen=True)
SPEC = Spec(
    name="worker", session_id="gc-1", token="one", city="/city", command="agent", work_dir="/",
    env={},
)  # fmt: skip


class Bench:
    """A host with one running worker, seen through one connection."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.host = FakeHost(self.clock)
        self.script = Script(self.clock.monotonic)
        self.runtime = FakeRuntime(self.host, self.script)
        self.worker = self.host.of("worker")
        self.worker.begin(SPEC, now=self.clock.now())

    async def see(self) -> Sighting:
        return (await self.runtime.list([WORKER])).sightings["worker"]

    async def stop(self, token: str = "one") -> object:
        return await self.runtime.stop("worker", token=token, grace_s=1.0)

    async def probe(self) -> object:
        return await self.runtime.wait_for_idle(WORKER, timeout_s=1.0)

    def run(self, fn: Callable[[], Awaitable[object]]) -> object:
        return run_virtual(self.clock, fn)


@pytest.mark.parametrize("call", ["list", "is_running", "attached", "activity", "pending"])
def test_a_look_can_be_torn_at_every_reading(call: str) -> None:
    """HARN-01: each reading in a look is a cut, before it is taken and after."""
    bench = Bench()
    met: list[str] = []
    bench.script.before(call, lambda: met.append("before"))
    bench.script.after(call, lambda: met.append("after"))
    bench.run(bench.see)
    assert met == ["before", "after"]


def test_what_changes_before_a_reading_is_read_and_after_it_is_not() -> None:
    """HARN-03: somebody attaches between the readings of one look."""
    early, late = Bench(), Bench()
    early.script.before("attached", lambda: setattr(early.worker, "attached", 1))
    late.script.after("attached", lambda: setattr(late.worker, "attached", 1))
    seen = [bench.run(bench.see) for bench in (early, late)]
    assert [one.attached for one in seen if isinstance(one, Sighting)] == [Known(1), Known(0)]


@pytest.mark.parametrize(
    ("lie", "runs"),
    [("stop_raises", True), ("stop_lost", False), ("stop_hangs", True)],
)
def test_a_stop_without_outcome_may_or_may_not_have_stopped(lie: str, runs: bool) -> None:
    """R28, R34: an error or a time-out says nothing about the runtime."""
    bench = Bench()
    setattr(bench.worker, lie, "connection lost" if lie != "stop_hangs" else True)
    with pytest.raises(RuntimeUnreachable):
        bench.run(bench.stop)
    assert bench.worker.running is runs


def test_a_stop_may_return_while_it_still_runs() -> None:
    """R28: a stop that returned is not proof."""
    bench = Bench()
    bench.worker.stop_works = False
    bench.run(bench.stop)
    assert bench.worker.running


@pytest.mark.parametrize("how", ["another token", "a hidden token", "another city"])
def test_a_stop_reaches_only_the_run_it_means(how: str) -> None:
    """R63: nothing is stopped that does not carry the token and the mark."""
    bench = Bench()
    bench.worker.has_hidden_token = how == "a hidden token"
    bench.worker.city = "/elsewhere" if how == "another city" else "/city"

    async def stop() -> object:
        return await bench.stop("two" if how == "another token" else "one")

    bench.run(stop)
    assert bench.worker.running


@pytest.mark.parametrize(
    ("lie", "error", "runs"),
    [
        ("start_fails", StartFailed, False),
        ("start_raises", RuntimeUnreachable, False),
        ("start_lost", RuntimeUnreachable, True),
    ],
)
def test_a_start_may_fail_for_certain_or_not(lie: str, error: type[Exception], runs: bool) -> None:
    """R41: a definite failure and an unknown outcome are told apart."""
    bench = Bench()
    bench.worker.end()
    setattr(bench.worker, lie, "no more processes")

    async def start() -> None:
        await bench.runtime.start(SPEC)

    with pytest.raises(error):
        bench.run(start)
    assert bench.worker.running is runs


@pytest.mark.parametrize("reading", ["attached", "activity", "pending"])
def test_each_reading_can_be_unclear_by_itself(reading: str) -> None:
    """R9: doubt about one thing is doubt about that thing alone."""
    bench = Bench()
    setattr(bench.worker, f"{reading}_unclear", "garbled")
    seen = bench.run(bench.see)
    assert isinstance(seen, Sighting)
    doubtful = {
        name
        for name in ("attached", "activity", "pending")
        if isinstance(getattr(seen, name), Unclear)
    }
    assert (seen.truth, doubtful) == (Truth.RUNNING, {reading})


def test_a_host_that_hangs_gives_up_in_virtual_time() -> None:
    """R34: a hung host costs its deadline and no real time; a probe its own."""
    bench = Bench()
    bench.host.hangs = True
    before = bench.clock.monotonic()
    with pytest.raises(RuntimeUnreachable, match="2 s"):
        bench.run(bench.see)
    bench.host.hangs, bench.worker.probe_hangs = False, True
    with pytest.raises(RuntimeUnreachable, match="1 s"):
        bench.run(bench.probe)
    assert bench.clock.monotonic() - before == 3.0


def test_a_connection_supports_what_it_says() -> None:
    """CAP-12, CAP-16: a runtime without a boundary has no such question, by its type."""
    clock = FakeClock()
    host = FakeHost(clock)
    made = [connect(host, Script(), support=kind) for kind in (FULL, TIMED_ONLY)]
    assert [isinstance(one, WaitsForIdle) for one in made] == [True, False]
    assert [one.support for one in made] == [FULL, TIMED_ONLY]


def test_a_host_that_goes_down_takes_everything_with_it() -> None:
    """R10: without its host a session is certainly stopped, and why is known."""
    bench = Bench()
    bench.host.go_down()
    seen = bench.run(bench.see)
    assert isinstance(seen, Sighting)
    assert seen.truth is Truth.STOPPED
    assert seen.exit is not None
    assert seen.exit.host_gone


def test_a_probe_says_what_the_fields_say_or_lies() -> None:
    """R15, R16: an honest probe reads the session, a told one says what it was told."""
    bench = Bench()
    honest = bench.run(bench.probe)
    bench.worker.probe_raises = "no screen"
    with pytest.raises(RuntimeUnreachable):
        bench.run(bench.probe)
    assert getattr(honest, "result", None) is ProbeResult.IDLE
    assert [moment.failed for moment in bench.script.log if moment.when == AFTER] == [False, True]
    assert [moment.call for moment in bench.script.log if moment.when == BEFORE] == [
        "wait_for_idle"
    ] * 2
