"""The probe for a safe idle boundary: evidence in a fixed order, the first answer wins.

Process alive, foreign foreground, dialog, busy, background, draft, prompt. Idle needs two captures
that agree, with a screen that has stood still for a while; everything else is not idle. No keys.

Source: DESIGN §8 (R15, R16; CAP-12, CAP-31..34)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import anyio
from anyio import to_thread

from gascity.model.world import ProbeResult, ScreenVerdict
from gascity.runtimes import processes
from gascity.runtimes.background import background_of, foreground_of
from gascity.runtimes.base import UNSETTLED, Boundary, RuntimeUnreachable, Watch
from gascity.runtimes.screens import Judgement
from gascity.runtimes.tmux.format import Hosted
from gascity.runtimes.tmux.host import TmuxHost
from gascity.runtimes.tmux.look import Frame, Memory, Processes, busy_elsewhere, stopped

BETWEEN_S: Final = 0.3
QUIET_S: Final = 1.5  # between two tool calls a busy screen shows an idle frame for shorter
IDLE: Final = Boundary(result=ProbeResult.IDLE)
_BLOCKERS: Final = {ScreenVerdict.PENDING: "pending", ScreenVerdict.BACKGROUND: "background"}


def not_idle(blocker: str, detail: str) -> Boundary:
    """A certain no."""
    return Boundary(result=ProbeResult.BUSY, blocker=blocker, detail=detail)


def unclear(detail: str) -> Boundary:
    """No judgement this time."""
    return Boundary(result=ProbeResult.UNCLEAR, blocker="idle_boundary", detail=detail)


class Prober:
    """Judges sessions of one host; shares the memory of what their screens showed."""

    def __init__(
        self,
        host: TmuxHost,
        memory: Memory,
        *,
        mark: str,
        helper_s: float,
        wall: Callable[[], float],
    ) -> None:
        self._helper_s = helper_s
        self._host = host
        self._memory = memory
        self._mark = mark
        self._wall = wall

    async def wait_for_idle(self, watch: Watch, *, timeout_s: float) -> Boundary:
        """Two agreeing looks within `timeout_s` seconds.

        Raises:
            RuntimeUnreachable: no judgement was possible in time.
        """
        with anyio.move_on_after(timeout_s):
            first, text = await self._once(watch, is_first=True)
            if first != IDLE:
                return first
            await anyio.sleep(min(BETWEEN_S, timeout_s / 2))
            second, again = await self._once(watch, is_first=False)
            if second == IDLE and again != text:
                return not_idle("idle_boundary", UNSETTLED)
            return second
        raise RuntimeUnreachable(f"no judgement within {timeout_s:g} s")

    async def _once(self, watch: Watch, *, is_first: bool) -> tuple[Boundary, str]:
        hosted = (await self._host.look()).sessions.get(watch.name)
        if hosted is None or hosted.mark != self._mark:
            return unclear("gone"), ""
        if watch.token and hosted.token != watch.token:
            return unclear("another run"), ""
        now = self._wall()
        found = Processes()
        if stopped(hosted, watch.process_names, found, now) is not None:
            return unclear("gone"), ""
        frame = await self._capture(hosted, watch, now)
        if frame is None:
            return unclear("its screen could not be read"), ""
        if is_first and frame.judgement.verdict is ScreenVerdict.IDLE and self._is_quiet(frame):
            return IDLE, frame.text  # processes are weighed once, at the end
        answer = await to_thread.run_sync(self._weigh, hosted, watch, frame, found)
        if answer == IDLE and not self._is_quiet(frame):
            return not_idle("idle_boundary", UNSETTLED), frame.text
        return answer, frame.text

    def _is_quiet(self, frame: Frame) -> bool:
        return self._wall() - frame.still_since >= QUIET_S

    async def _capture(self, hosted: Hosted, watch: Watch, now: float) -> Frame | None:
        screens = await self._host.screens(hosted.live)
        return self._memory.take(hosted, screens, watch, now)

    def _weigh(self, hosted: Hosted, watch: Watch, frame: Frame, found: Processes) -> Boundary:
        agent = found.known.get(hosted.agent.pid)
        if agent is None or agent.is_over or hosted.agent.is_dead:
            return unclear("gone")
        if agent.state in "Tt":
            return not_idle("idle_boundary", "stopped")
        if foreign := foreground_of(agent, watch.process_names, found.known):
            return not_idle("idle_boundary", f"foreground {foreign}")
        shown = frame.judgement
        if shown.verdict in {ScreenVerdict.PENDING, ScreenVerdict.BUSY}:
            return _said(shown)
        if (pane := busy_elsewhere(hosted, found)) is not None:
            return not_idle("background", f"pane {_name(pane.pid)}")
        work = background_of(
            agent,
            names=watch.process_names,
            token=hosted.token,
            known=found.known,
            others=[pane.pid for pane in hosted.panes if pane is not hosted.agent],
            helper_s=0.0 if watch.screens == "shell" else self._helper_s,
        )
        if work:
            return not_idle("background", work)
        # At a limit whose end is known nothing goes on before that.
        at_rest = frame.limit is not None and frame.limit.until is not None
        return IDLE if shown.verdict is ScreenVerdict.IDLE or at_rest else _said(shown)


def _said(shown: Judgement) -> Boundary:
    detail = shown.kind or shown.verdict.value
    return not_idle(_BLOCKERS.get(shown.verdict, "idle_boundary"), detail)


def _name(pid: int) -> str:
    one = processes.read(pid)
    return one.name if one else str(pid)
