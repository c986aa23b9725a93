"""An agent's own word about its idleness: what it may say, and what saying nothing costs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gascity.model.duration import seconds
from gascity.model.plan import Capability, CapabilityClass
from gascity.model.world import ProbeResult
from gascity.observe import idle_probe
from gascity.observe.idle_probe import ask_idle, said_of
from gascity.runtimes.base import Boundary
from gascity.runtimes.bounded import Job, Ran
from gascity.testing.builders import a_city, a_session, headless
from gascity.testing.city import FakeCity
from gascity.testing.hosted import FULL, TIMED_ONLY

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
IDLE, BUSY, UNCLEAR = ProbeResult.IDLE, ProbeResult.BUSY, ProbeResult.UNCLEAR


@pytest.mark.parametrize(
    ("code", "out", "result"),
    [
        (0, "", IDLE),
        (1, "", BUSY),
        (0, '{"busy": false}', IDLE),
        (0, '{"busy": true, "detail": "compiling"}', BUSY),
        (1, '{"busy": false}', BUSY),
        (0, "yes", UNCLEAR),
        (0, "[]", UNCLEAR),
        (0, '{"busy": "no"}', UNCLEAR),
        (0, '{"last_activity": "noon"}', UNCLEAR),
        (0, '{"last_activity": "2026-01-01T10:00:00"}', UNCLEAR),
        (2, "", UNCLEAR),
        (-9, "", UNCLEAR),
        (None, "", UNCLEAR),
    ],
)
def test_what_a_probe_may_say(code: int | None, out: str, result: ProbeResult) -> None:
    """Exit code and JSON; anything else is no answer (CAP-12, R16)."""
    problem = "no answer within 1s" if code is None else ""
    said = said_of(Ran(code=code, out=out, problem=problem), now=NOW)
    assert said.result is result
    assert (said.result is UNCLEAR) is said.detail.startswith("idle_probe:")


def test_a_future_activity_is_now() -> None:
    """A probe cannot keep a session awake into the future (R13)."""
    later = (NOW + timedelta(hours=1)).isoformat()
    said = said_of(Ran(code=0, out=f'{{"last_activity": "{later}"}}'), now=NOW)
    assert said.last_activity == NOW


Answer = Callable[[Ran], None]


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Answer:
    """Have every probe end like this: real processes know no virtual time."""

    def end_like(ran: Ran) -> None:
        async def run(job: Job) -> Ran:
            assert job.argv == ("./is-idle", "-q")
            assert job.env["GC_SESSION_NAME"] == "worker"
            return ran

        monkeypatch.setattr(idle_probe, "run", run)

    return end_like


WORKER = headless("worker", sleep_after_idle=seconds(60), idle_probe=("./is-idle", "-q"))


def capability_of(city: FakeCity) -> Capability:
    """What the last patrol made of the worker."""
    plan = city.controller.snapshot().plan
    assert plan is not None
    found = plan.decisions[city.session("worker").id].capability
    assert found is not None
    return found


def idle_for_long(city: FakeCity) -> None:
    """Up, then left alone for more than its window."""
    city.tick(3)
    city.clock.advance(120)
    city.tick(4)


def test_it_gives_a_boundary_where_the_runtime_has_none(answer: Answer) -> None:
    """With a clock by the runtime and a boundary by the probe the class is full (CAP-15)."""
    answer(Ran(code=0, out=""))
    with FakeCity(a_city(WORKER), support=TIMED_ONLY) as city:
        idle_for_long(city)
        assert capability_of(city).kind is CapabilityClass.FULL
        assert city.session("worker").is_cold


@pytest.mark.parametrize(
    ("ran", "result"),
    [
        (Ran(code=1, out=""), BUSY),
        (Ran(code=3, out=""), UNCLEAR),
        (Ran(code=0, out="maybe"), UNCLEAR),
        (Ran(code=None, out="", problem="no answer within 1s"), UNCLEAR),
    ],
    ids=["busy", "status 3", "babble", "hangs"],
)
def test_without_a_good_word_it_stays_awake(answer: Answer, ran: Ran, result: ProbeResult) -> None:
    """Busy and failing both keep it up, and the second is shown as what it is (R16)."""
    answer(ran)
    with FakeCity(a_city(WORKER), support=TIMED_ONLY) as city:
        idle_for_long(city)
        assert city.host.of("worker").running
        probe = city.ports.memory.probes[city.session("worker").id]
        assert probe.result is result
        if result is UNCLEAR:
            assert capability_of(city).adjustment == "unclear:idle_boundary"
            assert probe.detail.startswith("idle_probe:")


def test_what_the_runtime_calls_busy_is_busy(answer: Answer) -> None:
    """Where both speak, both must agree; the agent's word alone stops nothing (R15)."""
    answer(Ran(code=0, out=""))
    with FakeCity(a_city(WORKER), support=FULL) as city:
        city.tick(3)
        busy = Boundary(result=BUSY, blocker="background", detail="make")
        city.host.of("worker").probe_says = busy
        city.clock.advance(120)
        city.tick(4)
        assert city.host.of("worker").running
        assert city.ports.memory.probes[city.session("worker").id].detail == "make"


def test_its_last_activity_is_a_clock(answer: Answer) -> None:
    """What the probe says it did counts, if that is later than what the runtime saw (CAP-11)."""
    with FakeCity(a_city(WORKER), support=TIMED_ONLY) as city:
        answer(Ran(code=0, out=""))
        city.tick(3)
        city.clock.advance(50)
        at = city.clock.now()
        answer(Ran(code=0, out=f'{{"last_activity": "{at.isoformat()}"}}'))
        city.tick(2)
        city.clock.advance(50)
        city.tick(2)
        assert city.ports.active_at(city.session("worker")) == at
        assert city.host.of("worker").running
        city.clock.advance(30)
        city.tick(3)
        assert city.session("worker").is_cold


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_it_is_run_without_a_shell_in_its_folder(tmp_path: Path) -> None:
    """The words are handed over as they are, and a hung one costs a second (R33, R69)."""
    program = tmp_path / "is-idle"
    program.write_text('#!/bin/sh\necho "{\\"detail\\": \\"$1 $GC_SESSION_NAME\\"}"\n')
    program.chmod(0o755)
    agent = replace(WORKER, idle_probe=("./is-idle", "$HOME;x"), work_dir=str(tmp_path))
    said = await ask_idle(a_session("worker"), agent, a_city(agent), now=NOW)
    assert (said.result, said.detail) == (IDLE, "$HOME;x worker")
    hung = replace(agent, idle_probe=("sleep", "600"))
    began = time.monotonic()
    said = await ask_idle(a_session("worker"), hung, a_city(hung), now=NOW)
    assert said.result is UNCLEAR
    assert time.monotonic() - began < 10
