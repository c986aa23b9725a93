"""Agents over the Agent Client Protocol: coming back, going with the controller, bad ones."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from textwrap import dedent

import anyio
import pytest

from gascity.model.reading import Known
from gascity.model.world import ScreenVerdict, Truth
from gascity.runtimes import processes
from gascity.runtimes.acp.wire import BURST, EVERY_S
from gascity.runtimes.base import RuntimeUnreachable, StartFailed, Watch
from tests.integration.rig import opened
from tests.integration.rig_acp import ACP_AGENT, AcpRig
from tests.polling import eventually, wait_until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture
async def acp(tmp_path: Path) -> AsyncIterator[AcpRig]:
    """No agent yet."""
    async with opened(AcpRig(tmp_path)) as one:
        assert isinstance(one, AcpRig)
        yield one


def carrying(token: str) -> set[int]:
    """What still runs of a session."""
    found = processes.carriers("GC_INSTANCE_TOKEN", token)
    return {pid for pid in found if (one := processes.read(pid)) and not one.is_over}


async def told(acp: AcpRig, text: str) -> None:
    """Prompt it, and wait until its turn is over."""
    await acp.runtime.send("worker", text, token=acp.tokens["worker"])
    await acp.until("worker", lambda seen: seen.screen is ScreenVerdict.IDLE)


async def again(acp: AcpRig, **changes: object) -> str:
    """Stop it and start it once more; what it shows."""
    await acp.runtime.stop("worker", token=acp.tokens["worker"], grace_s=2.0)
    await acp.start("worker", **changes)
    return await acp.runtime.peek("worker", lines=50)


async def test_a_conversation_comes_back(acp: AcpRig) -> None:
    """After a stop the next start loads what was said before (R62)."""
    await acp.start("worker")
    await told(acp, "say it")
    assert "❯ say it" in await again(acp)
    assert (await acp.see("worker")).detail == ""


async def test_a_fresh_agent_begins_anew(acp: AcpRig) -> None:
    """`wake_mode = "fresh"` loads nothing, and neither is there anything before the first turn."""
    await acp.start("worker")
    await told(acp, "say it")
    assert "say it" not in await again(acp, fresh=True)
    assert "say it" not in await again(acp)


async def test_an_agent_that_cannot_load_says_so(acp: AcpRig) -> None:
    """A new conversation in the place of the old one is never kept quiet (R62)."""
    await acp.start("worker", env={})
    await told(acp, "say it")
    await again(acp, env={})
    assert "new conversation" in (await acp.see("worker")).detail


async def test_a_conversation_that_is_gone_fails_the_start(acp: AcpRig) -> None:
    """It is reported, not replaced (R62); nothing of the attempt is left."""
    await acp.start("worker")
    await told(acp, "say it")
    await acp.runtime.stop("worker", token=acp.tokens["worker"], grace_s=2.0)
    for kept in acp.home.iterdir():
        kept.unlink()
    spec = acp.spec("worker")
    with pytest.raises(StartFailed, match="could not load conversation"):
        await acp.runtime.start(spec)
    assert carrying(spec.token) == set()
    seen = await acp.see("worker")
    assert (seen.truth, seen.exit) == (Truth.STOPPED, None)


async def test_what_an_earlier_controller_left_is_ended(acp: AcpRig) -> None:
    """Its pipes are gone, so nobody could reach it; its host went, it did not crash (R37)."""
    token = await acp.start("worker")
    await told(acp, "say it")
    assert carrying(token)
    later = acp.again()
    seen = (await later.list([Watch(name="worker", screen=True)])).sightings["worker"]
    assert seen.truth is Truth.STOPPED
    assert seen.exit is not None
    assert seen.exit.host_gone
    assert carrying(token) == set()
    spec = acp.spec("worker")
    await later.start(spec)
    assert "❯ say it" in await later.peek("worker", lines=50)


async def test_a_stop_in_a_turn_breaks_it_off_first(acp: AcpRig) -> None:
    """The agent hears of the end and its question is answered; its children end too (R28)."""
    token = await acp.start("worker")
    await told(acp, "background 600")
    await acp.put("worker", "permission")
    done = await acp.runtime.stop("worker", token=token, grace_s=2.0)
    assert len(done.signalled) >= 2
    assert done.left == ()
    assert carrying(token) == set()


async def test_an_interrupt_answers_the_open_question(acp: AcpRig) -> None:
    """Cancelled, as the protocol asks of a client that cancels a turn."""
    token = await acp.start("worker")
    await acp.put("worker", "permission")
    await acp.runtime.interrupt("worker", token=token)
    await acp.until("worker", lambda seen: seen.screen is ScreenVerdict.IDLE)
    assert "cancelled" in await acp.runtime.peek("worker", lines=5)


async def test_one_turn_at_a_time(acp: AcpRig) -> None:
    """What is said in the middle of a turn is refused, not lost (R66)."""
    token = await acp.start("worker")
    await acp.put("worker", "busy")
    with pytest.raises(RuntimeUnreachable, match="a turn is open"):
        await acp.runtime.send("worker", "more", token=token)


async def test_every_update_is_activity(acp: AcpRig) -> None:
    """A turn that goes on moves the clock with each update, nothing else does (R13, CAP-22)."""
    await acp.start("worker")
    first = (await acp.see("worker")).activity
    await acp.put("worker", "busy")

    async def moved() -> bool:
        seen = (await acp.see("worker")).activity
        assert isinstance(seen, Known)
        assert isinstance(first, Known)
        assert seen.value is not None
        assert first.value is not None
        return seen.value > first.value

    await eventually(moved)


async def test_a_flood_holds_up_nobody(acp: AcpRig) -> None:
    """An agent that talks without end waits at its pipe; what is kept is bounded (R34)."""
    await acp.start("worker")
    started = time.monotonic()
    await acp.runtime.send("worker", "flood 1000000", token=acp.tokens["worker"])
    slowest = 0.0
    for _ in range(40):
        began = time.monotonic()
        await anyio.sleep(0.02)
        await acp.see("worker")
        slowest = max(slowest, time.monotonic() - began)
    assert slowest < 1.0
    lines = (await acp.runtime.peek("worker", lines=0)).splitlines()
    assert len(lines) <= 1002
    taken = max(int(line) for line in lines if line.isdecimal())
    assert taken <= (time.monotonic() - started) / EVERY_S * BURST + 2 * BURST


BAD = {
    "silent": ("exec sleep 600", "did not answer"),
    "noisy on stderr": ("yes >&2", "did not answer"),
    "babbling": ("yes", "did not answer"),
    "one line without end": ("tr '\\0' x < /dev/zero", "Connection closed"),
    "gone at once": ("exit 3", "ended at once .status 3."),
    "no such program": ("no-such-agent --acp", "ended at once .status 127."),
    "wrong answers": (
        """while read -r line; do echo '{"jsonrpc": "2.0", "id": 0, "result": {"x": 1}}'; done""",
        "validation error|did not answer",
    ),
}


@pytest.mark.parametrize("kind", BAD)
async def test_an_agent_that_does_not_speak_is_a_failed_start(acp: AcpRig, kind: str) -> None:
    """In time, with a reason, and nothing of it left (R34, R41)."""
    command, why = BAD[kind]
    runtime = acp.again(handshake_s=0.7)
    spec = acp.spec("worker", command=command)
    with pytest.raises(StartFailed, match=why):
        await runtime.start(spec)
    assert carrying(spec.token) == set()
    seen = (await runtime.list([Watch(name="worker")])).sightings["worker"]
    assert (seen.truth, seen.exit) == (Truth.STOPPED, None)


LIBRARY = """
import asyncio, acp
class Agent(acp.Agent):
    def on_connect(self, conn): self.conn = conn
    async def initialize(self, protocol_version, **kwargs):
        return acp.InitializeResponse(protocol_version=protocol_version)
    async def new_session(self, cwd, **kwargs):
        return acp.NewSessionResponse(session_id="s")
    async def prompt(self, session_id, prompt, **kwargs):
        said = acp.update_agent_message_text(f"heard {prompt[0].text}")
        await self.conn.session_update(session_id=session_id, update=said)
        return acp.PromptResponse(stop_reason="end_turn")
asyncio.run(acp.run_agent(Agent()))
"""


async def test_an_agent_of_the_protocol_s_own_library_is_understood(acp: AcpRig) -> None:
    """Not only our stand-in: the library's agent side gets and gives the same messages (CAP-22)."""
    program = acp.folder / "agent.py"
    program.write_text(LIBRARY, encoding="utf-8")
    await acp.start("worker", command=f"exec {sys.executable} {program}")
    await told(acp, "this")
    assert "heard this" in await acp.runtime.peek("worker", lines=5)


async def test_agents_end_with_a_controller_that_is_killed(acp: AcpRig) -> None:
    """No agent is left that nobody can talk to, however its controller ended (R37)."""
    spec = acp.spec("worker", command=f"{ACP_AGENT.removeprefix('exec ')}; exec sleep 600")
    program = dedent(
        f"""
        import asyncio, json, pathlib, sys
        from gascity.runtimes.acp import AcpRuntime
        from gascity.runtimes.base import Spec
        async def main():
            runtime = AcpRuntime(pathlib.Path({str(acp.folder / "notes")!r}), city={spec.city!r})
            await runtime.start(Spec(**json.loads(sys.stdin.read())))
            print("up", flush=True)
            await asyncio.sleep(600)
        asyncio.run(main())
        """
    )
    fields = {name: getattr(spec, name) for name in spec.__slots__}
    with subprocess.Popen(  # noqa: ASYNC220  nothing else runs here
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as controller:
        assert controller.stdin is not None
        assert controller.stdout is not None
        controller.stdin.write(json.dumps(fields).encode())
        controller.stdin.close()
        assert controller.stdout.readline() == b"up\n"
        assert carrying(spec.token)
        os.kill(controller.pid, signal.SIGKILL)
    wait_until(lambda: not carrying(spec.token), what="the agent ended")
