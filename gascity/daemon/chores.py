"""What a controller does around its patrols: config, clock jumps, old events, its own problems.

Source: DESIGN §13 (R6, R14, R21, R61, R74, R75)
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import anyio

from gascity.act import unrecorded
from gascity.act.save import apply
from gascity.beads.store import Batch, StoreBroken, StoreUnavailable
from gascity.daemon.config_watch import ConfigWatch, Reloaded
from gascity.daemon.pulse import first_of
from gascity.model.events import Event, EventType
from gascity.model.roster import session_name
from gascity.observe.clock import JumpWatch
from gascity.observe.ports import Ports
from gascity.observe.world import Lookout
from gascity.report.log import logger

PRUNE_EVERY: Final = timedelta(hours=1)
RESUMED: Final = "resumed_at"
WRITABLE: Final = "written_again_at"
log = logger("chores")


class Chores:
    """The duties of one controller beside its patrols."""

    def __init__(self, ports: Ports, config: ConfigWatch | None) -> None:
        self.ports = ports
        self._config = config
        self._wanted = anyio.Event()  # somebody asked for a reading
        self._reloaded: list[Reloaded] = []  # readings that no patrol has taken yet
        ports.memory.rereads = config is not None
        self._jumps = JumpWatch(ports.clock)
        self._pruned_at: datetime | None = None

    async def begin(self, lookout: Lookout) -> None:
        """Load what the store remembers and say that a controller is here."""
        sessions = await lookout.sessions()
        self.ports.records = {session.id: session for session in sessions}
        noted = await self.ports.store.get_note(RESUMED)
        self.ports.memory.resumed_at = datetime.fromisoformat(noted) if noted else None
        self._jumps.jumped()
        started = Event(
            type=EventType.CONTROLLER_STARTED,
            ts=self.ports.clock.now(),
            message=f"controller started with {len(sessions)} sessions",
            payload={"city": self.ports.city.name, "revision": self.ports.city.revision},
        )
        try:
            await apply(self.ports, Batch(events=(started,)))
        except StoreBroken:
            raise
        except StoreUnavailable as problem:
            log.warning("the store takes no writes", problem=str(problem))

    async def before_patrol(self) -> None:
        """Try a store that took no writes, take a changed config, notice a clock that ran ahead."""
        await self._try_store()
        await self._take_config()
        if self.ports.find_foreign is not None:
            self.ports.foreign_demand = self.ports.find_foreign(self.ports.city)
        await self._notice_jump()

    async def after_patrol(self, now: datetime) -> None:
        """Store what was learnt about hosts; forget old events once an hour (R10, R74)."""
        try:
            for key, text in self.ports.notes().items():
                await self.ports.store.set_note(key, text)
            await self._prune(now)
        except StoreBroken:
            raise
        except StoreUnavailable as problem:
            log.warning("not written", problem=str(problem))

    async def _prune(self, now: datetime) -> None:
        if self._pruned_at is not None and now - self._pruned_at < PRUNE_EVERY:
            return
        self._pruned_at = now
        settings = self.ports.city.events
        await self.ports.store.prune_events(
            before=now - settings.keep.delta, max_bytes=settings.max_bytes
        )

    def ask_config(self) -> None:
        """Have the config read again, beside everything else."""
        self._wanted.set()

    async def watch_config(self, poke: Callable[[], None]) -> None:
        """Look at the config's files now and then; read them when they changed or when asked.

        The reading happens beside the patrols, and `poke` calls for one that takes it.
        """
        clock, config = self.ports.clock, self._config
        while config is not None:
            look = partial(clock.sleep_until, clock.monotonic() + config.look_s)
            await first_of(look, self._wanted.wait)
            if not self._wanted.is_set() and not config.has_changed():
                continue
            self._wanted = anyio.Event()
            reloaded = await config.read(self.ports.city, now=clock.now())
            self.ports.memory.readings += 1
            # Only the latest reading counts: one that was not taken yet may be undone by it.
            self._reloaded = [one for one in self._reloaded if one.city is None]
            if reloaded is not None:
                self._reloaded.append(reloaded)
            poke()

    def problems(self) -> tuple[str, ...]:
        """What people should know about the controller itself."""
        found = []
        if not self.ports.writable:
            found.append("the store takes no writes: nothing is put to sleep, wakes go on")
        if self._config is not None and self._config.problem:
            found.append(f"config rejected, the last good one is in force: {self._config.problem}")
        if self.ports.foreign_demand:
            found.append(f"{self.ports.foreign_demand}; nobody is put to sleep")
        found += [
            f"{identity}: {self.ports.missing(kind)}"
            for identity, kind in self._routes().items()
            if self.ports.runtime(kind) is None
        ]
        return tuple(found)

    def _routes(self) -> dict[str, str]:
        """{agent: what hosts its sessions}, one of them where it depends on their names."""
        return {
            agent.identity: agent.route(session_name(agent.identity))
            for agent in self.ports.city.agents.values()
        }

    async def _try_store(self) -> None:
        """Write one small note while the store is thought to take none: nothing else would (D4).

        A settled city writes nothing, so it would never learn that there is room again.
        """
        if self.ports.writable and not self.ports.memory.asked:
            return
        try:
            if not self.ports.writable:
                await self.ports.store.set_note(WRITABLE, self.ports.clock.now().isoformat())
                self.ports.writable = True
                log.info("the store takes writes again")
            await unrecorded.write(self.ports)
        except StoreBroken:
            raise
        except StoreUnavailable:
            return

    async def _take_config(self) -> None:
        """Take what was read; while somebody is missing from it, have it read again (R21)."""
        memory = self.ports.memory
        while self._reloaded:
            reloaded = self._reloaded.pop(0)
            if reloaded.city is not None:
                self.ports.city = reloaded.city
                memory.missing, memory.missing_since = frozenset(), None
            log.info(str(reloaded.event.type), message=reloaded.event.message)
            await apply(self.ports, Batch(events=(reloaded.event,)))
        if memory.missing_since is not None and memory.readings == memory.missing_in:
            self.ask_config()

    async def _notice_jump(self) -> None:
        """A machine that was suspended, or a clock set forward, restarts every window (R14)."""
        if not self._jumps.jumped():
            return
        now = self.ports.clock.now()
        self.ports.memory.resumed_at = now
        log.info("wall clock ran ahead; idle windows start again", at=now.isoformat())
        try:
            await self.ports.store.set_note(RESUMED, now.isoformat())
        except StoreBroken:
            raise
        except StoreUnavailable as problem:
            log.warning("resume not written", problem=str(problem))
