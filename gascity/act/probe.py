"""One bounded look for a safe idle boundary; every fault of the world is an answer.

Source: DESIGN §7 (PROBE-03, CAP-12, R16)
"""

from __future__ import annotations

from typing import Final

import anyio

from gascity.model.session import Session
from gascity.model.world import Probe, ProbeResult
from gascity.observe.idle_probe import ask_idle
from gascity.observe.ports import Ports
from gascity.observe.world import watch_of
from gascity.runtimes.base import UNSETTLED, RuntimeUnreachable

PROBE_TIMEOUT_S: Final = 1.0
PROBE_SLACK_S: Final = 2.0
SETTLE_S: Final = 1.5


async def probe(session: Session, ports: Ports) -> Probe:
    """One bounded look for an idle boundary; every fault is an answer (R16).

    A screen that looks idle and only has to stand still is looked at once more, `SETTLE_S` seconds
    later: a window that closes with the last output must not wait for another patrol (R64, R80).
    """
    found = await _once(session, ports)
    if found.detail != UNSETTLED:
        return found
    await ports.clock.sleep_until(ports.clock.monotonic() + SETTLE_S)
    return await _once(session, ports)


def can_probe(session: Session, ports: Ports) -> bool:
    """Whether anything can say that the session stands at a boundary."""
    agent = ports.city.agents.get(session.template)
    return ports.prober(session.runtime) is not None or bool(agent and agent.idle_probe)


async def _once(session: Session, ports: Ports) -> Probe:
    """The runtime's word, then the agent's own: only if both know nothing against it, it is idle.

    Where the runtime has no word, the agent's own decides.
    """
    found = await _by_runtime(session, ports)
    agent = ports.city.agents.get(session.template)
    asks_on = found.result in (ProbeResult.IDLE, ProbeResult.UNSUPPORTED)
    if agent is None or not agent.idle_probe or not asks_on:
        return found
    said = await ask_idle(session, agent, ports.city, now=ports.clock.now())
    now = ports.clock.now()
    return Probe(result=said.result, at=now, blocker="idle_boundary", detail=said.detail)


async def _by_runtime(session: Session, ports: Ports) -> Probe:
    runtime = ports.prober(session.runtime)
    if runtime is None:
        return Probe(result=ProbeResult.UNSUPPORTED, at=ports.clock.now())
    watch = watch_of(session, ports.city, screen=True)
    try:
        with anyio.fail_after(PROBE_TIMEOUT_S + PROBE_SLACK_S):
            boundary = await runtime.wait_for_idle(watch, timeout_s=PROBE_TIMEOUT_S)
    except TimeoutError:
        why = f"no answer within {PROBE_TIMEOUT_S + PROBE_SLACK_S:g}s"
        return _unclear(ports, why)
    except RuntimeUnreachable as problem:
        return _unclear(ports, str(problem))
    return Probe(
        result=boundary.result,
        at=ports.clock.now(),
        blocker=boundary.blocker or "idle_boundary",
        detail=boundary.detail,
    )


def _unclear(ports: Ports, why: str) -> Probe:
    now = ports.clock.now()
    return Probe(result=ProbeResult.UNCLEAR, at=now, blocker="idle_boundary", detail=why)
