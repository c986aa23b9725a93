"""The tmux adapter: the runtime protocol over one tmux server of the city's own.

A look costs one tmux process for all panes and clients and at most one more for the screens that
are asked for and may have changed. Everything that changes a session is fenced by its token inside
tmux itself, so that a command which arrives late reaches nobody else.

Source: DESIGN §8 (R9..R16, R45, R63, R66, R67)
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

import anyio

from gascity.model.world import Exit, Limit, Sighting, Support
from gascity.runtimes.background import HELPER_S
from gascity.runtimes.base import (
    BY_TERMINAL,
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
from gascity.runtimes.tmux import launch
from gascity.runtimes.tmux.boundary import Prober
from gascity.runtimes.tmux.format import (
    Host,
    Hosted,
    mark_of,
)
from gascity.runtimes.tmux.host import TmuxHost, unreaped_roots
from gascity.runtimes.tmux.keyboard import Keyboard
from gascity.runtimes.tmux.last_words import limit_at_end
from gascity.runtimes.tmux.look import Memory, Processes, running, stopped
from gascity.runtimes.tmux.server import ServerId

_SETTLE_S = 0.03  # a command that cannot run ends within this time
_LOOK_EVERY_S = 0.004


def default_socket(city_name: str, city_path: Path) -> str:
    """The name of the city's own server: unique to its folder (R67)."""
    word = re.sub(r"[^A-Za-z0-9_-]", "-", city_name) or "city"
    digest = hashlib.sha256(str(city_path.resolve()).encode()).hexdigest()[:6]
    return f"gc-{word}-{digest}"


def _meaning(hosted: Hosted) -> str:
    """What a shell says by its status when there was nothing to run."""
    ended = hosted.agent.exit
    meanings = {126: ": it may not be executed", 127: ": no such command"}
    return meanings.get(ended.code or 0, "") if ended is not None else ""


def _ignore(_: ServerId) -> None:
    """Nobody stores the server's identity."""


class TmuxRuntime:
    """Sessions on the tmux server `socket` (a name as for `tmux -L`, or a path).

    `city` is the city's mark, `tmux_config` a file sourced when the server boots. `known_server`
    is what an earlier controller stored; `on_server` is told whenever that changes. A child that
    came up within `helper_s` seconds of its agent is a helper, a later one is work.
    """

    def __init__(
        self,
        socket: str,
        *,
        city: str,
        tmux_config: str = "",
        known_server: ServerId | None = None,
        on_server: Callable[[ServerId], None] = _ignore,
        deadline_s: float = 2.5,
        helper_s: float = HELPER_S,
        scratch: Path | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._host = TmuxHost(
            socket, known_server=known_server, on_server=on_server, deadline_s=deadline_s
        )
        self._mark = mark_of(city)
        self._tmux_config = tmux_config
        self._scratch = scratch
        self._wall = wall
        self._memory = Memory()
        self._prober = Prober(
            self._host, self._memory, mark=self._mark, helper_s=helper_s, wall=wall
        )
        self._keyboard = Keyboard(self._host, self._memory, mark=self._mark, wall=wall)

    @property
    def kind(self) -> str:
        """The word in `session = "..."`."""
        return "tmux"

    @property
    def support(self) -> Support:
        """Everything can be asked (CAP-18; R15)."""
        return Support(
            activity_clock=True, idle_boundary=True, pending_signal=True, attachment_signal=True
        )

    @property
    def abilities(self) -> frozenset[Ability]:
        """What terminals can."""
        return BY_TERMINAL

    @property
    def server(self) -> ServerId | None:
        """The server last seen; stored by the controller."""
        return self._host.server

    @property
    def socket(self) -> Path:
        """Where the server's socket is."""
        return self._host.client.socket

    @property
    def calls(self) -> int:
        """tmux processes started so far."""
        return self._host.client.calls

    async def list(self, watches: Collection[Watch]) -> Listing:
        """Readings of every watched session: one tmux process, two when screens are judged."""
        host = await self._host.settled_look()
        now = self._wall()
        found = Processes()
        absent = self._absent(host)
        sightings: dict[str, Sighting] = {}
        alive: list[tuple[Watch, Hosted]] = []
        ended: list[tuple[Watch, Hosted]] = []
        for watch in watches:
            hosted = host.sessions.get(watch.name)
            if hosted is None:
                sightings[watch.name] = absent
            elif hosted.mark != self._mark:
                sightings[watch.name] = replace(
                    absent, why="a session that is not ours has its name"
                )
            elif (end := stopped(hosted, watch.process_names, found, now)) is not None:
                sightings[watch.name] = end
                ended.append((watch, hosted))
            else:
                alive.append((watch, hosted))
        for name, limit in (await self._limits(ended, now)).items():
            sightings[name] = replace(sightings[name], limit=limit)
        await self._judge(alive, now)
        for watch, hosted in alive:
            sightings[watch.name] = running(hosted, watch, self._memory, now)
        self._memory.keep_only(one.key for one in host.sessions.values())
        foreign = (name for name, one in host.sessions.items() if one.mark != self._mark)
        return Listing(sightings=sightings, foreign=tuple(sorted(foreign)))

    async def _limits(
        self, ended: Collection[tuple[Watch, Hosted]], now: float
    ) -> dict[str, Limit | None]:
        """{name: the provider's limit it ended at}, of those whose record says they run."""
        asked = [pair for pair in ended if pair[0].screen]
        screens = await self._host.screens([hosted.agent for _, hosted in asked])
        return {
            watch.name: limit_at_end(watch, hosted, screens, self._memory, now)
            for watch, hosted in asked
        }

    def _absent(self, host: Host) -> Sighting:
        """What is known of a session that is not on the host."""
        if doubt := self._host.doubt(host):
            return Sighting.unknown(doubt)
        is_host_gone = not host.server_pid and self._host.server is not None
        return Sighting.stopped(exit=Exit(host_gone=True) if is_host_gone else None)

    async def _judge(self, alive: Collection[tuple[Watch, Hosted]], now: float) -> None:
        """Capture, in one call, every asked screen that may have changed since its last capture."""
        asked = [
            (watch, hosted)
            for watch, hosted in alive
            if watch.screen and self._memory.must_capture(hosted, watch)
        ]
        screens = await self._host.screens([pane for _, hosted in asked for pane in hosted.live])
        for watch, hosted in asked:
            self._memory.take(hosted, screens, watch, now)

    async def start(self, spec: Spec) -> None:
        """Start a session; what is left of an earlier, stopped one of that name goes first."""
        check(spec)
        host = await self._host.look()
        if doubt := self._host.doubt(host):
            raise RuntimeUnreachable(doubt)
        await self._make_room(host, spec)
        self._host.prepare()
        file = launch.EnvironmentFile(self._scratch, spec)
        try:
            await self._launch(spec, file, boots=not host.sessions)
        finally:
            file.remove()

    async def _make_room(self, host: Host, spec: Spec) -> None:
        hosted = host.sessions.get(spec.name)
        if hosted is None:
            return
        if hosted.mark != self._mark:
            raise StartFailed(f"a session that is not ours has the name {spec.name}")
        if stopped(hosted, spec.process_names, Processes(), self._wall()) is None:
            raise StartFailed(f"{spec.name} runs already")
        await self.stop(spec.name, token=hosted.token, grace_s=0.5)

    async def _launch(self, spec: Spec, file: launch.EnvironmentFile, *, boots: bool) -> None:
        lines = launch.batch(spec, file.path, boots=boots, tmux_config=self._tmux_config)
        script = "".join(f"{line}\n" for line in lines)
        reply = await self._host.client.call("start-server", ";", "source-file", "-", script=script)
        if "duplicate session" in reply.err:
            raise StartFailed(f"{spec.name} runs already")
        with anyio.move_on_after(self._host.client.deadline_s):
            while not file.is_read:  # noqa: ASYNC110  nothing announces it
                await anyio.sleep(_LOOK_EVERY_S)
        await anyio.sleep(_SETTLE_S)
        hosted = (await self._host.settled_look()).sessions.get(spec.name)
        if hosted is None or hosted.token != spec.token:
            raise StartFailed(reply.err.strip() or "it ended at once")
        if not hosted.live:
            await self.stop(spec.name, token=spec.token, grace_s=0.0)
            # What it printed may hold a secret, and this text is stored (E8).
            raise StartFailed(f"it ended at once ({hosted.agent.exit}{_meaning(hosted)})")
        if spec.ready_delay_ms and not spec.prompt_prefix:
            ready_at = self._wall() + spec.ready_delay_ms / 1000
            self._memory.not_ready_before[hosted.key] = ready_at
        if not file.is_read:
            raise RuntimeUnreachable("the session did not read its environment in time")

    async def stop(self, name: str, *, token: str, grace_s: float) -> Stopped:
        """End everything that belongs to the run with this token, then its tmux session."""
        host = await self._host.look()
        if doubt := self._host.doubt(host):
            raise RuntimeUnreachable(doubt)
        hosted = self._ours(host, name, token)
        roots = unreaped_roots(host, hosted) if hosted else []
        hunt = Hunt(roots=roots, token=token, spare=[host.server_pid])
        outcome = await hunt.end(grace_s)
        if hosted is not None:
            await self._keyboard.fenced(hosted, f"kill-session -t ={name}")
        return outcome

    def _ours(self, host: Host, name: str, token: str) -> Hosted | None:
        hosted = host.sessions.get(name)
        is_ours = hosted is not None and hosted.mark == self._mark and hosted.token == token
        return hosted if is_ours else None

    async def wait_for_idle(self, watch: Watch, *, timeout_s: float) -> Boundary:
        """Whether the session stands at a safe idle boundary, asked twice within `timeout_s`."""
        return await self._prober.wait_for_idle(watch, timeout_s=timeout_s)

    async def peek(self, name: str, *, lines: int) -> str:
        """The last lines of the agent's screen without control sequences; "" when it is gone."""
        return await self._keyboard.peek(name, lines=lines)

    async def send(self, name: str, text: str, *, token: str) -> None:
        """Paste `text` and press Enter, in the run with this token only."""
        await self._keyboard.send(name, text, token=token)

    async def interrupt(self, name: str, *, token: str) -> None:
        """Press Ctrl-C in the run with this token only."""
        await self._keyboard.interrupt(name, token=token)

    def attach_command(self, name: str) -> tuple[str, ...]:
        """The argv for a terminal outside this server."""
        client = self._host.client
        return (client.binary, "-u", "-S", str(client.socket), "attach-session", "-t", f"={name}")

    def switch_command(self, name: str) -> tuple[str, ...]:
        """The argv for a person who is inside this very server already."""
        client = self._host.client
        return (client.binary, "-u", "-S", str(client.socket), "switch-client", "-t", f"={name}")

    async def close(self) -> None:
        """Reap what is left of our own clients; sessions go on."""
        self._host.client.close()
