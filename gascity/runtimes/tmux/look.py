"""From what tmux says to sightings, with the memory that tells a repaint from activity.

tmux moves a window's activity with every byte. A frame keeps the visible text at the last capture,
so that bytes which left the text unchanged move nothing. Probes and peeks write no bytes.

Source: DESIGN §8 (R11, R12, R13, R66; CAP-11, CAP-18)
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Final

from gascity.model.reading import Known, Reading, Unclear
from gascity.model.world import Exit, Limit, Pending, ScreenVerdict, Sighting, Truth
from gascity.runtimes import processes
from gascity.runtimes.base import Watch
from gascity.runtimes.screens import (
    MARKER_RULE,
    Judgement,
    Screen,
    judge,
    judge_lines,
    steady_text,
)
from gascity.runtimes.screens.limits import limit_of
from gascity.runtimes.tmux.format import Hosted, Pane

STANDSTILL_S: Final = 1.0  # an unknown screen that long unchanged counts as ready (R66)
YOUNG_S: Final = 5.0  # before that age a lone shell may still be about to start the agent
_NO_EVIDENCE: Final = {ScreenVerdict.UNKNOWN, ScreenVerdict.SHELL, ScreenVerdict.PAGER}


class Processes:
    """The process table, read at most once per look and only when somebody asks."""

    @cached_property
    def known(self) -> dict[int, processes.Process]:
        """Every process by pid."""
        return processes.table()

    def is_over(self, pid: int) -> bool:
        """The process has ended."""
        one = processes.read(pid)
        return one is None or one.is_over

    def is_idle_shell(self, pid: int) -> bool:
        """A shell that runs nothing, not even a stopped or background job."""
        one = processes.read(pid)
        if one is None or one.name not in processes.SHELLS:
            return False
        below = processes.descendants([pid], self.known)
        return all(child.is_over for key, child in below.items() if key != pid)


@dataclass(slots=True, kw_only=True)
class Frame:
    """What the screen of one run showed at the last capture. Times are unix seconds."""

    text: str
    judgement: Judgement
    activity: float  # when the text last changed, at the latest
    seen: int  # the window activity at that capture
    captured_at: float
    still_since: float
    pending_since: float
    is_blank: bool
    rules: tuple[object, ...] = ()  # what it was judged by

    @property
    def limit(self) -> Limit | None:
        """The provider's limit that it shows."""
        return limit_of(self.judgement.said, since=self.still_since)

    def is_ready(self, now: float) -> bool:
        """Whether the program has come up (R66)."""
        if self.judgement.verdict not in _NO_EVIDENCE:
            return True
        return not self.is_blank and now - self.still_since >= STANDSTILL_S


@dataclass(slots=True)
class Memory:
    """Frames by run, those that were ready once, and when we ourselves typed last."""

    frames: dict[str, Frame] = field(default_factory=dict)
    ready: set[str] = field(default_factory=set)
    typed_until: dict[str, float] = field(default_factory=dict)
    not_ready_before: dict[str, float] = field(default_factory=dict)  # `ready_delay_ms`

    def must_capture(self, hosted: Hosted, watch: Watch) -> bool:
        """Whether the frame may be wrong: output since, or in that same second, or other rules."""
        frame = self.frames.get(hosted.key)
        return (
            frame is None
            or frame.rules != rules_of(watch)
            or hosted.activity != frame.seen
            or int(frame.captured_at) <= hosted.activity
        )

    def take(
        self,
        hosted: Hosted,
        screens: Mapping[str, tuple[Screen, int]],
        watch: Watch,
        now: float,
    ) -> Frame | None:
        """Keep a fresh capture of every live pane; None when the agent's pane is not in it."""
        if hosted.agent.id not in screens:
            return None
        screen, _ = screens[hosted.agent.id]
        shown = [screens[pane.id] for pane in hosted.live if pane.id in screens]
        text = "\f".join(steady_text(one, watch.screens, watch.own_rules) for one, _ in shown)
        seen = max(activity for _, activity in shown)
        judgement = judge(
            screen,
            detector=watch.screens,
            prefix=watch.prompt_prefix,
            own=watch.own_rules,
        )
        if judgement.rule == MARKER_RULE and processes.awaits_line(hosted.agent.pid):
            # A program that reads whole lines leaves the marker of its last turn where it was.
            judgement = judge_lines(screen, prefix=watch.prompt_prefix)
        old = self.frames.get(hosted.key)
        frame = Frame(
            text=text,
            judgement=judgement,
            activity=min(now, at_latest(seen)),
            seen=seen,
            captured_at=now,
            still_since=min(now, at_latest(seen)),
            pending_since=min(now, at_latest(seen)),
            is_blank=screen.is_blank,
            rules=rules_of(watch),
        )
        if old is not None:
            self._carry_over(hosted.key, old, frame)
        self.frames[hosted.key] = frame
        return frame

    def _carry_over(self, key: str, old: Frame, new: Frame) -> None:
        if new.text == old.text:
            new.still_since = old.still_since
        if new.text == old.text or new.seen <= self.typed_until.get(key, 0.0):
            new.activity = old.activity
        if new.judgement == old.judgement:
            new.pending_since = old.pending_since

    def is_ready(self, hosted: Hosted, now: float) -> bool:
        """Ready once, ready for good; without any capture a screen at rest is taken as ready."""
        frame = self.frames.get(hosted.key)
        ready = frame.is_ready(now) if frame else now - hosted.activity >= 1 + STANDSTILL_S
        if ready and now >= self.not_ready_before.get(hosted.key, 0.0):
            self.ready.add(hosted.key)
        return hosted.key in self.ready

    def keep_only(self, keys: Iterable[str]) -> None:
        """Forget runs that are gone."""
        alive = set(keys)
        self.ready &= alive
        for kept in (self.frames, self.typed_until, self.not_ready_before):
            for key in kept.keys() - alive:
                del kept[key]


def rules_of(watch: Watch) -> tuple[object, ...]:
    """Everything that a judgement depends on besides the screen."""
    return (watch.screens, watch.prompt_prefix, watch.own_rules)


def stopped(
    hosted: Hosted, process_names: Iterable[str], found: Processes, now: float
) -> Sighting | None:
    """The sighting of a session that runs no agent any more; None while it does (R11)."""
    agent = hosted.agent
    if not hosted.live:
        # A program that only closed its terminal still runs.
        is_over = all(pane.is_reaped or found.is_over(pane.pid) for pane in hosted.panes)
        return (
            replace(Sighting.stopped(exit=exit_of(agent)), token=hosted.token) if is_over else None
        )
    if hosted.attached or not _agent_is_gone(hosted, set(process_names), found, now):
        return None
    if all(found.is_idle_shell(pane.pid) for pane in hosted.live):
        return Sighting(
            truth=Truth.STOPPED,
            attached=Known(0),
            pending=Known(None),
            exit=exit_of(agent),
            agent_exited=True,
            token=hosted.token,
        )
    return None


def exit_of(pane: Pane) -> Exit | None:
    """How the pane's program ended; servers have been seen not to reap one for a long time."""
    if pane.is_reaped or not pane.is_dead:
        return pane.exit
    one = processes.read(pane.pid)
    if one is None or one.wait_status is None:
        return pane.exit
    code = os.waitstatus_to_exitcode(one.wait_status)
    return Exit(code=code) if code >= 0 else Exit(signal=-code)


def _agent_is_gone(hosted: Hosted, names: set[str], found: Processes, now: float) -> bool:
    if hosted.agent.is_dead or not hosted.agent.is_agent:
        return True
    if not names or now - hosted.created < YOUNG_S:
        return False
    one = processes.read(hosted.agent.pid)
    if one is None or one.name in names or one.name not in processes.SHELLS:
        return False
    return found.is_idle_shell(one.pid)


def busy_elsewhere(hosted: Hosted, found: Processes) -> Pane | None:
    """Another pane or window in which a program runs (R15)."""
    others = (pane for pane in hosted.live if pane is not hosted.agent)
    return next((pane for pane in others if not found.is_idle_shell(pane.pid)), None)


def running(hosted: Hosted, watch: Watch, memory: Memory, now: float) -> Sighting:
    """The sighting of a session whose agent runs."""
    frame = memory.frames.get(hosted.key)
    is_fresh = frame is not None and not memory.must_capture(hosted, watch)
    activity = (
        frame.activity if frame and hosted.activity <= frame.seen else at_latest(hosted.activity)
    )
    pending: Reading[Pending | None] | None = None
    judgement: Judgement | None = None
    if watch.screen:
        judgement = frame.judgement if frame and (is_fresh or frame.captured_at == now) else None
        pending = (
            Known(_pending(judgement, frame.pending_since))
            if judgement and frame
            else Unclear("its screen could not be read")
        )
    return Sighting(
        truth=Truth.RUNNING,
        attached=Known(hosted.attached),
        activity=Known(when(activity)),
        pending=pending,
        screen=judgement.verdict if judgement else None,
        screen_rule=judgement.rule if judgement else "",
        limit=frame.limit if frame and judgement else None,
        ready=memory.is_ready(hosted, now),
        token=hosted.token,
        detail="agent's pane is gone" if hosted.agent.is_dead else "",
    )


def _pending(judgement: Judgement, since: float) -> Pending | None:
    if judgement.verdict is not ScreenVerdict.PENDING:
        return None
    return Pending(kind=judgement.kind, question=judgement.question, since=when(since))


def at_latest(second: int) -> float:
    """tmux counts whole seconds: the last moment of that second, so that nothing seems older."""
    return second + 0.999999


def when(seconds: float) -> datetime:
    """A time as readings carry it."""
    return datetime.fromtimestamp(seconds, UTC)
