"""The acp adapter: agents that speak the protocol over pipes held by this very controller.

Such a session cannot outlive its controller: whoever comes next ends what is left of it, and loads
its conversation again when it is started. Nobody can attach.

Source: DESIGN §8, §W (CAP-22, CAP-26, R10, R13, R28, R37, R62, R63, R79)
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from anyio import to_thread

from gascity.model.reading import Known, Unsupported
from gascity.model.world import Exit, ProbeResult, ScreenVerdict, Sighting, Support, Truth
from gascity.runtimes import processes
from gascity.runtimes.acp.hosted import HANDSHAKE_S, Hosted, come_up
from gascity.runtimes.acp.memory import Note, read_note, write_note
from gascity.runtimes.background import HELPER_S, background_of
from gascity.runtimes.base import (
    Ability,
    Boundary,
    Listing,
    RuntimeUnreachable,
    Spec,
    StartFailed,
    Stopped,
    Watch,
)
from gascity.runtimes.ending import Hunt
from gascity.runtimes.starting import check

ORPHAN_S: Final = 1.0  # how gently what an earlier controller left is ended


class AcpRuntime:
    """Agents of one city; `folder` keeps which conversation is whose, `city` is the mark."""

    def __init__(
        self,
        folder: Path,
        *,
        city: str,
        handshake_s: float = HANDSHAKE_S,
        helper_s: float = HELPER_S,
    ) -> None:
        self._folder = folder
        self._city = city
        self._handshake_s = handshake_s
        self._helper_s = helper_s
        self._hosted: dict[str, Hosted] = {}
        self._starting: set[str] = set()
        self._lost: set[str] = set()  # sessions that went with an earlier controller

    @property
    def kind(self) -> str:
        """The word in `session = "..."`."""
        return "acp"

    @property
    def support(self) -> Support:
        """The protocol says when something happens, what is asked and when a turn ends (CAP-22)."""
        return Support(
            activity_clock=True, idle_boundary=True, pending_signal=True, attachment_signal=False
        )

    @property
    def abilities(self) -> frozenset[Ability]:
        """No terminal to attach to, and no life without this controller."""
        return frozenset(Ability) - {Ability.ATTACH, Ability.OUTLIVE}

    async def list(self, watches: Collection[Watch]) -> Listing:
        """A sighting of every watched session; asks the agents nothing."""
        return Listing(sightings={one.name: await self._sighting(one.name) for one in watches})

    async def _sighting(self, name: str) -> Sighting:
        hosted = self._hosted.get(name)
        if hosted is None:
            await self._end_orphan(name)
            gone = name in self._lost
            return Sighting.stopped(exit=Exit(host_gone=True) if gone else None)
        if hosted.is_over:
            return Sighting(
                truth=Truth.STOPPED,
                attached=Known(0),
                pending=Known(None),
                exit=hosted.exit,
                token=hosted.token,
            )
        talk = hosted.talk
        fresh = "it began a new conversation: its agent cannot load the old one"
        return Sighting(
            truth=Truth.RUNNING,
            attached=Unsupported(),
            activity=Known(datetime.fromtimestamp(min(talk.active, time.time()), UTC)),
            pending=Known(talk.pending),
            screen=talk.verdict,
            screen_rule="acp",
            ready=True,
            token=hosted.token,
            detail=fresh if hosted.began_fresh else "",
        )

    async def _end_orphan(self, name: str) -> None:
        """End what an earlier controller left running: its pipes are gone, nobody can reach it.

        Raises:
            RuntimeUnreachable: it does not end.
        """
        note = await to_thread.run_sync(read_note, self._file(name))
        if not note.token or name in self._starting:
            return
        done = await Hunt(roots=(), token=note.token, spare=()).end(ORPHAN_S)
        if done.left:
            raise RuntimeUnreachable(f"{name} was left by an earlier controller: {done.left}")
        self._lost.add(name)
        await self._note(name, Note(conversation=note.conversation, has_turns=note.has_turns))

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.json"

    async def _note(self, name: str, note: Note) -> None:
        try:
            await to_thread.run_sync(write_note, self._file(name), note)
        except OSError as problem:
            why = f"{self._file(name)} cannot be written: {problem.strerror}"
            raise RuntimeUnreachable(why) from None

    async def start(self, spec: Spec) -> None:
        """Start an agent and open its conversation."""
        check(spec)
        before = self._hosted.get(spec.name)
        if spec.name in self._starting or (before is not None and not before.is_over):
            raise StartFailed(f"{spec.name} runs already")
        await self._end_orphan(spec.name)
        self._starting.add(spec.name)
        try:
            if before is not None:
                await before.end(ORPHAN_S)
                del self._hosted[spec.name]
            note = await to_thread.run_sync(read_note, self._file(spec.name))
            # Whoever comes after a crash right here must know whom to end.
            await self._note(
                spec.name,
                Note(conversation=note.conversation, has_turns=note.has_turns, token=spec.token),
            )
            try:
                hosted = await come_up(spec, note, handshake_s=self._handshake_s)
            except StartFailed:
                await self._note(spec.name, note)
                raise
            self._hosted[spec.name] = hosted
            self._lost.discard(spec.name)
            await self._remember(spec.name, hosted)
        finally:
            self._starting.discard(spec.name)

    async def _remember(self, name: str, hosted: Hosted) -> None:
        note = Note(
            conversation=hosted.conversation,
            has_turns=hosted.has_turns,
            token="" if hosted.is_over else hosted.token,
        )
        await self._note(name, note)

    async def stop(self, name: str, *, token: str, grace_s: float) -> Stopped:
        """Break off its turn, then end its process tree."""
        hosted = self._hosted.get(name)
        if hosted is None or hosted.token != token:
            return Stopped()
        await hosted.cancel()
        done = await hosted.end(grace_s)
        if not done.left:
            del self._hosted[name]
            with contextlib.suppress(RuntimeUnreachable):
                await self._remember(name, hosted)
        return done

    async def wait_for_idle(self, watch: Watch, *, timeout_s: float) -> Boundary:
        """Neither asked nor in a turn, and nothing of it works in the background."""
        hosted = self._hosted.get(watch.name)
        if hosted is None or hosted.is_over:
            return Boundary(result=ProbeResult.UNCLEAR, blocker="idle_boundary", detail="gone")
        if watch.token and hosted.token != watch.token:
            detail = "another run"
            return Boundary(result=ProbeResult.UNCLEAR, blocker="idle_boundary", detail=detail)
        work = await to_thread.run_sync(self._background, hosted, watch)
        match hosted.talk.verdict:
            case ScreenVerdict.PENDING:
                return _busy("pending", "permission")
            case ScreenVerdict.BUSY:
                return _busy("idle_boundary", "busy: a prompt is in flight")
        return _busy("background", work) if work else Boundary(result=ProbeResult.IDLE)

    def _background(self, hosted: Hosted, watch: Watch) -> str:
        agent = processes.read(hosted.process.pid)
        if agent is None:
            return ""
        return background_of(
            agent,
            names=watch.process_names,
            token=hosted.token,
            known=processes.table(),
            others=(),
            helper_s=self._helper_s,
        )

    async def peek(self, name: str, *, lines: int) -> str:
        """The last lines it said, and how it stands."""
        hosted = self._hosted.get(name)
        return hosted.talk.shown(lines) if hosted is not None and not hosted.is_over else ""

    async def send(self, name: str, text: str, *, token: str) -> None:
        """A prompt, which begins a turn."""
        hosted = self._ours(name, token)
        await hosted.prompt(text)
        with contextlib.suppress(RuntimeUnreachable):
            await self._remember(name, hosted)

    async def interrupt(self, name: str, *, token: str) -> None:
        """Cancel its turn; open questions are answered as cancelled."""
        await self._ours(name, token).cancel()

    async def respond(self, name: str, answer: str, *, token: str, request: str = "") -> str:
        """Answer an open permission request; the name of the chosen option."""
        return self._ours(name, token).talk.respond(answer, request)

    def _ours(self, name: str, token: str) -> Hosted:
        hosted = self._hosted.get(name)
        if hosted is None or hosted.is_over or hosted.token != token:
            raise RuntimeUnreachable(f"no run of {name} carries that token")
        return hosted

    def attach_command(self, name: str) -> tuple[str, ...]:
        """There is no terminal to attach to."""
        return ()

    async def close(self) -> None:
        """End every agent gently: without this controller nobody could reach it (R37)."""
        for name, hosted in [*self._hosted.items()]:
            with contextlib.suppress(RuntimeUnreachable):
                await self.stop(name, token=hosted.token, grace_s=ORPHAN_S)


def _busy(blocker: str, detail: str) -> Boundary:
    return Boundary(result=ProbeResult.BUSY, blocker=blocker, detail=detail)
