"""What the fake runtime hosts: the truth about each session, and how calls about it lie.

A test sets fields; nothing here expects anything. The host outlives controllers.

Source: DESIGN §8, §H (HARN-01)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import anyio

from gascity.model.world import Exit, Pending, ProbeResult, ScreenVerdict, Support
from gascity.runtimes.base import Boundary, Spec
from gascity.testing.clock import FakeClock

PROMPT: Final = "❯"
FULL: Final = Support(
    activity_clock=True, idle_boundary=True, pending_signal=True, attachment_signal=True
)
TIMED_ONLY: Final = Support(
    activity_clock=True, idle_boundary=False, pending_signal=True, attachment_signal=True
)
NO_ATTACHMENT: Final = Support(
    activity_clock=True, idle_boundary=True, pending_signal=True, attachment_signal=False
)
DISABLED: Final = Support(
    activity_clock=False, idle_boundary=False, pending_signal=False, attachment_signal=False
)


@dataclass(slots=True, kw_only=True)
class FakeSession:
    """A name on the host. Most tests touch a few fields; all have the honest, quiet default.

    `city` None: never started here. `running` False with a `city` is a dead pane. Names of lies say
    what goes wrong; a text is the reason that is reported, "" means it does not go wrong.
    """

    name: str

    # what is true
    running: bool = False
    city: str | None = None
    token: str = ""
    command: str = ""
    work_dir: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    attached: int = 0
    activity: datetime | None = None
    pending: Pending | None = None
    screen: ScreenVerdict = ScreenVerdict.IDLE
    detail: str = ""
    ready: bool = False
    exit: Exit | None = None
    agent_exited: bool = False
    lines: list[str] = field(default_factory=list)
    typed: list[str] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)  # typed into any run of it
    interrupts: int = 0
    starts: int = 0  # runs begun, by whomever
    stops: int = 0  # runs ended by `stop`

    # how `stop` lies
    stop_works: bool = True  # False: returns in good order, and it still runs
    stop_raises: str = ""  # nothing happens, and the outcome is unknown
    stop_lost: str = ""  # it stops, and the outcome is unknown
    stop_hangs: bool = False  # neither happens nor returns before the deadline
    # how `start` lies
    start_fails: str = ""  # it certainly does not come up
    start_raises: str = ""  # it does not come up, and nobody can tell
    start_lost: str = ""  # it comes up, and nobody can tell
    start_hangs: bool = False
    ends_at_once: Exit | None = None  # it comes up and dies right after
    ready_at_once: bool = True
    # how readings lie
    unclear: str = ""
    attached_unclear: str = ""
    activity_unclear: str = ""
    pending_unclear: str = ""
    has_hidden_token: bool = False  # it carries one that cannot be read
    # how a probe lies
    probe_says: Boundary | None = None
    probe_raises: str = ""
    probe_hangs: bool = False

    def begin(self, spec: Spec, *, now: datetime) -> None:
        """A fresh run of what `spec` says."""
        self.running = True
        self.city, self.token, self.command = spec.city, spec.token, spec.command
        self.work_dir, self.env = spec.work_dir, dict(spec.env)
        self.attached, self.pending, self.exit = 0, None, None
        self.screen, self.detail, self.agent_exited = ScreenVerdict.IDLE, "", False
        self.activity, self.ready = now, self.ready_at_once
        self.lines, self.typed = [PROMPT], []
        self.starts += 1

    def end(self, exit: Exit | None = None) -> None:
        """The run is over; `exit` None leaves no trace of it at all."""
        self.running = self.ready = False
        self.attached, self.pending, self.exit = 0, None, exit
        if exit is None:
            self.city, self.token = None, ""

    def take(self, text: str, *, now: datetime) -> None:
        """It is told something, and answers at once."""
        self.typed.append(text)
        self.heard.append(text)
        self.lines[-1:] = [f"{PROMPT} {text}", f"● done: {text}", PROMPT]
        self.activity = now

    def break_off(self) -> None:
        """Its turn is interrupted."""
        self.interrupts += 1
        if self.screen is ScreenVerdict.BUSY:
            self.screen = ScreenVerdict.IDLE

    def boundary(self) -> Boundary:
        """What an honest probe says."""
        if self.probe_says is not None:
            return self.probe_says
        if not self.running:
            return Boundary(result=ProbeResult.UNCLEAR, blocker="idle_boundary", detail="gone")
        if self.pending is not None:
            return _not_idle("pending", self.pending.kind)
        if self.screen is ScreenVerdict.IDLE:
            return Boundary(result=ProbeResult.IDLE)
        blocker = "background" if self.screen is ScreenVerdict.BACKGROUND else "idle_boundary"
        return _not_idle(blocker, self.detail or str(self.screen))


@dataclass(slots=True)
class FakeHost:
    """Where sessions run. It outlives controllers; `sessions` is by name.

    `unreachable` non-empty: no call about anything gets an answer. `hangs`: no call ends until
    `unhang`; it gives up after `deadline_s` seconds (None: never). `is_gone`: the host went down
    with everything on it. `took` is how many seconds a call takes.
    """

    clock: FakeClock
    sessions: dict[str, FakeSession] = field(default_factory=dict)
    unreachable: str = ""
    hangs: bool = False
    is_gone: bool = False
    deadline_s: float | None = 2.0
    took: dict[str, float] = field(default_factory=dict)  # {name of call: seconds}
    _hanging: list[anyio.Event] = field(default_factory=list)

    def of(self, name: str) -> FakeSession:
        """The session of that name; made on first sight."""
        return self.sessions.setdefault(name, FakeSession(name=name))

    def running(self) -> frozenset[str]:
        """The names of everything that runs, foreign sessions included."""
        return frozenset(name for name, one in self.sessions.items() if one.running)

    def go_down(self) -> None:
        """The host ends, and every session with it (R10)."""
        self.is_gone = True
        for one in self.sessions.values():
            one.end()

    def unhang(self) -> None:
        """Everything that hangs now goes on."""
        self.hangs = False
        for one in self.sessions.values():
            one.stop_hangs = one.start_hangs = one.probe_hangs = False
        for freed in self._hanging:
            freed.set()
        self._hanging.clear()

    async def hang(self) -> bool:
        """Stand still until `unhang`; False when the deadline came first."""
        freed = anyio.Event()
        self._hanging.append(freed)
        with anyio.move_on_after(self.deadline_s):
            await freed.wait()
            return True
        return False


def _not_idle(blocker: str, detail: str) -> Boundary:
    return Boundary(result=ProbeResult.BUSY, blocker=blocker, detail=detail)
