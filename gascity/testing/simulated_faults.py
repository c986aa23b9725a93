"""What goes wrong in a simulated city, each for a while: one short fault each.

Faults take a number, like deeds. `heal` ends every one of them.

Source: DESIGN §H, §13; R4, R9 and R10 of the reliability targets; field reports F12, F30, F53
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from gascity.beads.store import StoreBroken, StoreUnavailable
from gascity.model.city import City, Pool
from gascity.model.duration import OFF, seconds
from gascity.model.world import Exit
from gascity.testing.hosted import FakeSession
from gascity.testing.simulated_deeds import Deed, Life

LIES: Final[dict[str, Any]] = {
    "stop_works": False,
    "stop_raises": "busy",
    "stop_lost": "timed out",
    "start_fails": "no such file",
    "start_raises": "busy",
    "start_lost": "timed out",
    "ends_at_once": Exit(code=1),
    "unclear": "timed out",
    "attached_unclear": "garbled",
    "activity_unclear": "garbled",
    "pending_unclear": "garbled",
    "probe_raises": "timed out",
    "has_hidden_token": True,
}
HONEST: Final = {one: getattr(FakeSession(name=""), one) for one in LIES}
WINDOWS: Final = (None, OFF, seconds(0), seconds(60), seconds(300))


class Misfortune(Life):
    """The same life, with everything that may go wrong in it."""

    def crash(self, number: int) -> None:
        """The controller dies some calls from now, and comes back some seconds later."""
        self.city.dies_in = 1 + number % 40
        self.city.down_s = float((1, 5, 40, 700)[number % 4])

    def lie(self, number: int) -> None:
        """One question about one session, or one order to it, goes wrong for a while."""
        name = self.anybody(number)
        if name:
            what = sorted(LIES)[number // 5 % len(LIES)]
            setattr(self.city.host.of(name), what, LIES[what])

    def be_honest(self, number: int) -> None:
        """Everybody tells the truth again."""
        for one in self.city.host.sessions.values():
            for what, honest in HONEST.items():
                setattr(one, what, honest)

    def hang(self, number: int) -> None:
        """The runtimes hang for a while."""
        self.city.host.hangs = True
        self.city.later(self.city.host.unhang, 1.0 + number * 2)

    def lose_host(self, number: int) -> None:
        """No call about anything gets an answer for a while."""
        self.city.host.unreachable = "no route to host"
        self.city.later(lambda: setattr(self.city.host, "unreachable", ""), 1.0 + number * 5)

    def flap(self, number: int) -> None:
        """The runtimes answer and do not answer, in turn."""

        def turn(left: int) -> None:
            self.city.host.unreachable = "flapping" if left % 2 else ""
            if left:
                self.city.later(lambda: turn(left - 1), 7.0)

        turn(2 * (number % 20) + 1)

    def slow_down(self, number: int) -> None:
        """Calls take their time."""
        taken = (0.0, 0.25, 1.5)[number % 3]
        calls = ("list", "start", "stop", "wait_for_idle")
        self.city.host.took = dict.fromkeys(calls, taken)

    def reboot(self, number: int) -> None:
        """The machine under the sessions goes down with all of them."""
        self.city.host.go_down()

    def meddle(self, number: int) -> None:
        """Somebody else starts a session that sleeps."""
        down = [name for name in self.names() if not self.city.runs(name)]
        if down and number % 5 == 0:
            name = down[number % len(down)]
            self.city.begin_elsewhere(name)
            self.city.inspector.busy_at[name] = self.city.clock.monotonic()

    def blind_store(self, number: int) -> None:
        """Work and waits cannot be read, or can again."""
        self.city.store.demand_unclear = "disk I/O error" if number % 2 else ""

    def fill_disk(self, number: int) -> None:
        """No space is left for a while."""
        self.city.fill_disk(full=True)
        self.city.later(lambda: self.city.fill_disk(full=False), 1.0 + number * 10)

    def fail_write(self, number: int) -> None:
        """The next write is refused, or breaks the store."""
        broken = StoreBroken("fsync") if number % 3 == 0 else StoreUnavailable("locked")
        self.city.memory.fail_next = broken

    def step_clock(self, number: int) -> None:
        """Somebody sets the wall clock."""
        ahead = (1, -1, 3600, -3600, 86400, -86400)[number % 6]
        self.city.clock.step(float(ahead))

    def close_lid(self, number: int) -> None:
        """The machine sleeps for minutes or days."""
        self.city.clock.suspend(float((60, 3600, 259_200)[number % 3]))

    # -- the config

    def edit(self, number: int) -> None:
        """Somebody edits the config, well or badly."""
        edits = (
            self._other_window,
            self._other_policy,
            self._other_pool,
            self._other_command,
            self._without,
            self._other_hold,
            self._half_seen,
        )
        city = self.city.edits.written or self.city.ports.city
        agents = sorted(city.agents)
        if number % 8 == 7:
            self.city.edit(None)
        elif agents:
            which = agents[number // 8 % len(agents)]
            self.city.edit(edits[number % 8 % len(edits)](city, which, number // 64))

    def undo_edits(self, number: int) -> None:
        """The config is as it was in the beginning."""
        self.city.edit(self.city.config)

    def _other_window(self, city: City, which: str, number: int) -> City:
        return _with(city, which, sleep_after_idle=WINDOWS[number % len(WINDOWS)])

    def _other_policy(self, city: City, which: str, number: int) -> City:
        first = self.city.config.session_sleep
        return replace(city, session_sleep={} if city.session_sleep else first)

    def _other_pool(self, city: City, which: str, number: int) -> City:
        pool = city.agents[which].pool
        if pool is None:
            return city
        changed = Pool(min=number % 3, max=2 + number % 2, check=pool.check)
        return _with(city, which, pool=changed)

    def _other_command(self, city: City, which: str, number: int) -> City:
        return _with(city, which, env={"CHANGED": str(number)})

    def _without(self, city: City, which: str, number: int) -> City:
        left = {
            name: replace(agent, depends_on=tuple(n for n in agent.depends_on if n != which))
            for name, agent in city.agents.items()
            if name != which
        }
        return replace(city, agents=left) if left else city

    def _other_hold(self, city: City, which: str, number: int) -> City:
        return _with(city, which, suspended=not city.agents[which].suspended)

    def _half_seen(self, city: City, which: str, number: int) -> City:
        return replace(self._without(city, which, number), incomplete=True)

    # -- the end of all that

    def heal(self) -> None:
        """Nothing is wrong any more; what people asked for stays asked for."""
        host = self.city.host
        host.unhang()
        host.unreachable, host.took = "", {}
        self.be_honest(0)
        self.city.store.demand_unclear = ""
        self.city.fill_disk(full=False)
        self.city.memory.fail_next = None
        self.city.dies_in, self.city.down_s = 0, 5.0
        written = self.city.edits.written
        if written is None or written.incomplete:
            self.undo_edits(0)
        for identity, agent in self.city.config.agents.items():
            if agent.pool is not None and agent.pool.check:
                self.city.count(identity, 1)

    def calm_down(self) -> None:
        """Every agent is at its prompt, nobody looks, nobody asks."""
        for name, one in self.city.host.sessions.items():
            one.attached, one.pending = 0, None
            if one.running:
                self.end_turn_of(name)

    def end_turn_of(self, name: str) -> None:
        """Back at its prompt."""
        one = self.city.host.of(name)
        one.screen = type(one.screen).IDLE
        one.ready = True
        if self.city.has(name):
            self.moved(name)


def _with(city: City, which: str, **over: Any) -> City:
    return replace(city, agents={**city.agents, which: replace(city.agents[which], **over)})


FAULTS: Final[dict[str, Deed]] = {
    one.__name__: one
    for one in (
        Misfortune.crash,
        Misfortune.lie,
        Misfortune.be_honest,
        Misfortune.hang,
        Misfortune.lose_host,
        Misfortune.flap,
        Misfortune.slow_down,
        Misfortune.reboot,
        Misfortune.meddle,
        Misfortune.blind_store,
        Misfortune.fill_disk,
        Misfortune.fail_write,
        Misfortune.step_clock,
        Misfortune.close_lid,
        Misfortune.edit,
        Misfortune.undo_edits,
    )
}
HARMLESS: Final[frozenset[str]] = frozenset({"step_clock", "close_lid", "edit", "undo_edits"})
