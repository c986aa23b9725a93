"""What every runtime promises, asked of each adapter on a host of its own.

CAP-08..25: the readings that capability is decided from.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial

import anyio
import pytest

from gascity.model.reading import Known, Unsupported
from gascity.model.world import ProbeResult, ScreenVerdict, Truth
from gascity.runtimes.base import (
    Ability,
    Boundary,
    NoSuchAnswer,
    Responds,
    RuntimeUnreachable,
    StartFailed,
    Unable,
    WaitsForIdle,
    Watch,
)
from tests.integration.rig import FEATURES, QUESTIONS, RuntimeRig, attached_to
from tests.polling import eventually

pytestmark = [pytest.mark.anyio, pytest.mark.tmux]
needs = pytest.mark.needs


async def judged(rig: RuntimeRig, name: str) -> Boundary:
    """One probe as the controller asks for it."""
    assert isinstance(rig.runtime, WaitsForIdle)
    return await rig.runtime.wait_for_idle(Watch(name=name, screen=True), timeout_s=1.0)


async def test_an_empty_host_answers_that_nothing_runs(rig: RuntimeRig) -> None:
    """Absence of a host is a certain answer about every session (R10)."""
    seen = await rig.see("worker")
    assert (seen.truth, attached_to(seen)) == (Truth.STOPPED, 0)


async def test_what_is_not_offered_is_declared(rig: RuntimeRig) -> None:
    """A question without an answer is unsupported, a deed refused, a way in empty (CAP-25)."""
    token = await rig.start("worker")
    seen, support, able = await rig.see("worker"), rig.runtime.support, rig.runtime.abilities
    offered = {name for name in QUESTIONS if getattr(support, name)} | able
    assert offered == FEATURES - rig.lacks
    readings = {
        "activity_clock": seen.activity,
        "pending_signal": seen.pending,
        "attachment_signal": seen.attached,
    }
    assert {one for one, found in readings.items() if isinstance(found, Unsupported)} == (
        readings.keys() & rig.lacks
    )
    assert isinstance(rig.runtime, WaitsForIdle) >= support.idle_boundary
    assert bool(rig.runtime.attach_command("worker")) is (Ability.ATTACH in able)
    refused: dict[Ability, Callable[[], Awaitable[object]]] = {
        Ability.PEEK: lambda: rig.runtime.peek("worker", lines=5),
        Ability.SEND: lambda: rig.runtime.send("worker", "x", token=token),
        Ability.INTERRUPT: lambda: rig.runtime.interrupt("worker", token=token),
    }
    assert isinstance(rig.runtime, Responds) is (Ability.RESPOND in able)
    for ability in refused.keys() - able:
        with pytest.raises(Unable):
            await refused[ability]()


async def test_a_started_session_runs_and_carries_its_token(rig: RuntimeRig) -> None:
    """Start hosts the session under the mark and token it was given (R37, R63)."""
    token = await rig.start("worker")
    seen = await rig.see("worker")
    assert (seen.truth, seen.token, seen.ready) == (Truth.RUNNING, token, True)


async def test_a_name_that_is_taken_is_refused(rig: RuntimeRig) -> None:
    """A second start of the same name fails for certain and leaves the first alone (R63)."""
    token = await rig.start("worker")
    with pytest.raises(StartFailed, match="worker"):
        await rig.runtime.start(rig.spec("worker"))
    assert (await rig.see("worker")).token == token


async def test_a_command_that_dies_at_once_is_a_failed_start(rig: RuntimeRig) -> None:
    """Start reports a session that certainly did not come up, and leaves nothing behind (R41)."""
    with pytest.raises(StartFailed, match="at once"):
        await rig.runtime.start(rig.spec("worker", command="exit 3"))
    assert (await rig.see("worker")).truth is Truth.STOPPED


async def test_stop_ends_the_session_and_can_be_repeated(rig: RuntimeRig) -> None:
    """A stopped session is seen as stopped; stopping it again does nothing (R28)."""
    token = await rig.start("worker")
    assert (await rig.runtime.stop("worker", token=token, grace_s=2.0)).left == ()
    assert (await rig.see("worker")).truth is Truth.STOPPED
    again = await rig.runtime.stop("worker", token=token, grace_s=2.0)
    assert (again.signalled, again.left) == ((), ())


async def test_a_wrong_token_touches_nothing(rig: RuntimeRig) -> None:
    """Stop, send and interrupt reach only the run that carries the token (R63)."""
    token = await rig.start("worker")
    await rig.runtime.stop("worker", token="another", grace_s=0.0)
    with pytest.raises((RuntimeUnreachable, Unable)):
        await rig.runtime.send("worker", "exit", token="another")
    with pytest.raises((RuntimeUnreachable, Unable)):
        await rig.runtime.interrupt("worker", token="another")
    seen = await rig.see("worker")
    assert (seen.truth, seen.token) == (Truth.RUNNING, token)


async def test_many_come_up_and_go_beside_each_other(rig: RuntimeRig) -> None:
    """Starts and stops do not wait for each other, nor mix up whom they are about (R34, R45)."""
    specs = [rig.spec(f"worker-{n}") for n in range(4)]
    rig.tokens |= {one.name: one.token for one in specs}
    async with anyio.create_task_group() as group:
        for one in specs:
            group.start_soon(rig.runtime.start, one)
    seen = (await rig.runtime.list([Watch(name=one.name) for one in specs])).sightings
    assert {name: found.token for name, found in seen.items()} == rig.tokens
    async with anyio.create_task_group() as group:
        for one in specs[::2]:
            group.start_soon(partial(rig.runtime.stop, one.name, token=one.token, grace_s=2.0))
    seen = (await rig.runtime.list([Watch(name=one.name) for one in specs])).sightings
    running = [name for name, found in seen.items() if found.truth is Truth.RUNNING]
    assert running == ["worker-1", "worker-3"]


async def test_names_are_exact(rig: RuntimeRig) -> None:
    """With worker-1 gone nothing aimed at it reaches worker-10 (R45)."""
    token = await rig.start("worker-10")
    await rig.runtime.stop("worker-1", token=token + "x", grace_s=0.0)
    assert (await rig.see("worker-1")).truth is Truth.STOPPED
    if Ability.PEEK in rig.runtime.abilities:
        assert await rig.runtime.peek("worker-1", lines=5) == ""
    assert (await rig.see("worker-10")).truth is Truth.RUNNING


@needs("attachment_signal")
async def test_attachments_are_counted(rig: RuntimeRig) -> None:
    """Nobody, one and two people attached are told apart (R12)."""
    await rig.start("worker")
    assert attached_to(await rig.see("worker")) == 0
    with rig.attached("worker"):
        assert attached_to(await rig.see("worker")) == 1
        with rig.attached("worker"):
            assert attached_to(await rig.see("worker")) == 2
    assert attached_to(await rig.see("worker")) == 0


@needs("activity_clock")
async def test_activity_is_when_the_session_last_did_something(rig: RuntimeRig) -> None:
    """New output moves the clock, to about now (R13, CAP-11)."""
    before = datetime.now(UTC)
    await rig.start("worker")
    first = (await rig.see("worker")).activity
    assert isinstance(first, Known)
    assert first.value is not None
    assert abs((first.value - before).total_seconds()) < 5
    await rig.put("worker", "busy")

    async def moved() -> bool:
        seen = (await rig.see("worker")).activity
        return isinstance(seen, Known) and seen.value is not None and seen.value > first.value

    await eventually(moved)


async def test_looking_is_not_activity(rig: RuntimeRig) -> None:
    """Looks, probes and peeks leave the activity where it was (R13, R44)."""
    await rig.start("worker")
    before = (await rig.see("worker")).activity
    for _ in range(3):
        if rig.runtime.support.idle_boundary:
            await judged(rig, "worker")
        if Ability.PEEK in rig.runtime.abilities:
            await rig.runtime.peek("worker", lines=10)
    assert (await rig.see("worker")).activity == before


@needs("pending_signal")
async def test_a_dialog_is_pending_and_says_what_it_asks(rig: RuntimeRig) -> None:
    """A permission dialog is pending with kind, question and age, and no boundary (R15, R79)."""
    await rig.start("worker")
    assert (await rig.see("worker")).pending == Known(None)
    await rig.put("worker", "permission")
    seen = await rig.until("worker", lambda one: one.screen is ScreenVerdict.PENDING)
    assert isinstance(seen.pending, Known)
    assert seen.pending.value is not None
    assert seen.pending.value.kind == "permission"
    assert "proceed" in seen.pending.value.question
    assert seen.pending.value.since is not None
    assert (await judged(rig, "worker")).blocker == "pending"


@needs("pending_signal", "respond")
async def test_a_question_can_be_answered(rig: RuntimeRig) -> None:
    """Answered, it is pending no more and the turn goes on; nobody else can answer (R63, R79)."""
    token = await rig.start("worker")
    await rig.put("worker", "permission")
    asked = (await rig.see("worker")).pending
    assert isinstance(asked, Known)
    assert asked.value is not None
    assert "Allow" in asked.value.options
    assert isinstance(rig.runtime, Responds)
    with pytest.raises(RuntimeUnreachable):
        await rig.runtime.respond("worker", "1", token="another")
    with pytest.raises(NoSuchAnswer, match="1 "):
        await rig.runtime.respond("worker", "perhaps", token=token)
    assert await rig.runtime.respond("worker", "allow", token=token) == "Allow"
    await rig.until("worker", lambda one: one.screen is ScreenVerdict.IDLE)
    assert (await rig.see("worker")).pending == Known(None)
    with pytest.raises(NoSuchAnswer, match="nothing is asked"):
        await rig.runtime.respond("worker", "allow", token=token)


@needs("idle_boundary")
async def test_an_idle_prompt_is_a_boundary(rig: RuntimeRig) -> None:
    """An agent that stands at its prompt is idle, once it has stood there a moment (CAP-12)."""
    await rig.start("worker")

    async def idle() -> bool:
        return (await judged(rig, "worker")).result is ProbeResult.IDLE

    await eventually(idle)


@pytest.mark.parametrize(
    ("condition", "blocker", "detail"),
    [
        ("busy", "idle_boundary", "busy"),
        ("permission", "pending", "permission"),
        ("unknown", "idle_boundary", "unknown"),
        ("draft", "idle_boundary", "draft"),
        ("background", "background", "sleep"),
    ],
)
@needs("idle_boundary")
async def test_an_agent_that_is_not_idle_is_no_boundary(
    rig: RuntimeRig, condition: str, blocker: str, detail: str
) -> None:
    """Busy, a dialog, an unknown screen, a draft, a background child: each is not idle (CAP-32)."""
    if condition not in rig.conditions:
        pytest.skip(f"{rig.runtime.kind} agents know no {condition}")
    await rig.start("worker")
    await rig.put("worker", condition)

    async def settled() -> Boundary | None:
        answer = await judged(rig, "worker")
        assert answer.result is ProbeResult.BUSY
        return answer if answer.detail != "output" else None

    answer = await eventually(settled)
    assert answer is not None
    assert answer.blocker == blocker
    assert answer.detail.startswith(detail)


@needs("peek")
async def test_peek_is_plain_text(rig: RuntimeRig) -> None:
    """The last lines are shown without control sequences (R44)."""
    await rig.start("worker")

    async def shown() -> str:
        text = await rig.runtime.peek("worker", lines=2)
        return text if rig.PROMPT in text else ""

    text = await eventually(shown)
    assert text.splitlines()[-1].startswith(rig.PROMPT)
    assert len(text.splitlines()) <= 2
    assert "\x1b" not in text


@needs("send")
async def test_send_types_and_presses_enter(rig: RuntimeRig) -> None:
    """Text arrives as it is, and is submitted."""
    token = await rig.start("worker")
    await rig.runtime.send("worker", "say #{pid} $HOME \"x\" 'y' é", token=token)

    async def answered() -> bool:
        return "● done: say #{pid} $HOME \"x\" 'y' é" in await rig.runtime.peek("worker", lines=20)

    await eventually(answered)


@needs("interrupt")
async def test_interrupt_stops_what_it_does(rig: RuntimeRig) -> None:
    """The soft interrupt ends a turn, not the session."""
    token = await rig.start("worker")
    await rig.put("worker", "busy")
    await rig.runtime.interrupt("worker", token=token)

    async def at_its_prompt() -> bool:
        shown = (await rig.runtime.peek("worker", lines=1)).strip()
        return shown.startswith(rig.PROMPT)

    await eventually(at_its_prompt)
    assert (await rig.see("worker")).truth is Truth.RUNNING


@needs("exit_status")
async def test_an_agent_that_exits_is_stopped_with_its_status(rig: RuntimeRig) -> None:
    """A session whose agent ended is stopped and tells how; a new start replaces it (R11)."""
    await rig.start("worker")
    await rig.put("worker", "exit")
    seen = await rig.until("worker", lambda one: one.truth is Truth.STOPPED)
    assert seen.exit is not None
    assert seen.exit.code == 7
    await rig.start("worker")


@pytest.mark.slow
@needs("host")
async def test_a_hung_host_is_unreachable_in_time(rig: RuntimeRig) -> None:
    """No call outlives its bound, and the host answers again when it is back (R10, R34)."""
    token = await rig.start("worker")
    with rig.hung():
        calls: list[Callable[[], Awaitable[object]]] = [
            lambda: rig.see("worker"),
            lambda: rig.runtime.stop("worker", token=token, grace_s=0.0),
            lambda: rig.runtime.start(rig.spec("other")),
        ]
        if rig.runtime.support.idle_boundary:
            calls.append(lambda: judged(rig, "worker"))
        for call in calls:
            started = time.monotonic()
            with pytest.raises(RuntimeUnreachable):
                await call()
            assert time.monotonic() - started < 3.5
    assert (await rig.see("worker")).truth is Truth.RUNNING


@needs("outlive")
async def test_another_adapter_adopts_what_runs(rig: RuntimeRig) -> None:
    """After a restart the same host shows the same sessions, with token and readiness (R37)."""
    token = await rig.start("worker")
    runtime = rig.again()
    seen = (await runtime.list([Watch(name="worker", screen=True)])).sightings["worker"]
    assert (seen.truth, seen.token, seen.ready) == (Truth.RUNNING, token, True)
    with pytest.raises(StartFailed, match="worker"):
        await runtime.start(rig.spec("worker"))
    assert (await runtime.stop("worker", token=token, grace_s=2.0)).left == ()
    await runtime.close()
