"""Cuts, barriers and crashes of a script."""

from __future__ import annotations

import anyio
import pytest

from gascity.testing.script import AFTER, BEFORE, Crash, Cut, Script


def test_a_deed_happens_once_at_its_cut() -> None:
    """HARN-03: of three stops only the second one of worker is met, and only after it."""
    script, done = Script(), []
    script.after("stop", lambda: done.append(len(script.log)), of="worker", nth=2)

    async def test() -> None:
        for of in ("worker", "other", "worker", "worker"):
            await script.reach(BEFORE, "stop", of)
            await script.reach(AFTER, "stop", of)

    anyio.run(test)
    assert done == [6]
    assert script.waiting == ()


def test_the_log_tells_calls_in_order_and_failures_apart() -> None:
    """HARN-01: the log is what happened, in order; a failed call did not take effect."""
    script = Script()

    async def test() -> None:
        await script.reach(BEFORE, "stop", "worker")
        await script.reach(AFTER, "stop", "worker", failed=True, note="no answer")
        await script.reach(BEFORE, "start", "worker")
        await script.reach(AFTER, "start", "worker")

    anyio.run(test)
    assert script.calls(of="worker") == ["start"]
    assert str(script.log[1]) == "after stop worker failed (no answer)"


def test_a_gate_holds_the_call_until_it_is_opened() -> None:
    """HARN-01: a barrier lets the test act while a call stands at a cut."""
    script, order = Script(), []
    gate = script.hold(BEFORE, "stop")

    async def caller() -> None:
        await script.reach(BEFORE, "stop")
        order.append("stopped")

    async def test() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(caller)
            await gate.arrived()
            order.append("meanwhile")
            gate.open()

    anyio.run(test)
    assert order == ["meanwhile", "stopped"]


def test_nothing_survives_a_crash_until_the_next_life() -> None:
    """HARN-04: a dead controller calls nothing any more, whatever its clean-up tries."""
    script = Script()
    script.crash(BEFORE, "stop")

    async def controller() -> None:
        try:
            await script.reach(BEFORE, "stop")
        except Exception:  # noqa: BLE001  this is the point
            pytest.fail("a crash was swallowed")
        finally:
            await script.reach(BEFORE, "save asleep")

    with pytest.raises(Crash):
        anyio.run(controller)
    script.revive()
    anyio.run(script.reach, BEFORE, "list")
    assert [moment.call for moment in script.log] == ["stop", "list"]


def test_a_cut_reads_as_a_person_would_say_it() -> None:
    """The name of a case is the cut."""
    assert str(Cut(when=AFTER, call="list", of="worker", nth=2)) == "after list of worker #2"
