"""What happens at which cut: callbacks, barriers and crashes before or after a named call.

Names are what a log would say: `list`, `wait_for_idle`, `save idle-stop-pending`, `stop`, ... The
fakes announce each call here; the program under test knows nothing of it.

Source: DESIGN §H (HARN-01, HARN-03, HARN-04)
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

import anyio

When: TypeAlias = Literal["before", "after"]
Deed: TypeAlias = Callable[[], Awaitable[None] | None]

_IN_DEED: Final[ContextVar[bool]] = ContextVar("in a deed", default=False)

BEFORE: Final[When] = "before"
AFTER: Final[When] = "after"


class Crash(BaseException):
    """The controller dies here. No `except Exception` can swallow it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A gap between two effects: before or after the `nth` call of this name.

    `of` restricts it to one session; "" is any. The count is of calls that match.
    """

    when: When
    call: str
    of: str = ""
    nth: int = 1

    def __str__(self) -> str:
        which = f" #{self.nth}" if self.nth > 1 else ""
        return f"{self.when} {self.call}{f' of {self.of}' if self.of else ''}{which}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One line of the log: a call began or ended. `at` is monotonic seconds.

    `failed`: it ended with an error. `note` says what it was asked or why it failed; `value` is the
    answer it gave, where that is one reading.
    """

    when: When
    call: str
    of: str
    at: float
    note: str = ""
    failed: bool = False
    value: object = None

    def __str__(self) -> str:
        subject = f" {self.of}" if self.of else ""
        ending = " failed" if self.failed else ""
        said = self.note or ("" if self.value is None else str(self.value))
        return f"{self.when} {self.call}{subject}{ending}{f' ({said})' if said else ''}"


@dataclass(slots=True)
class Gate:
    """A call held at a cut: `arrived` once it is there; it goes on after `open`."""

    _there: anyio.Event = field(default_factory=anyio.Event)
    _open: anyio.Event = field(default_factory=anyio.Event)

    async def arrived(self) -> None:
        """Wait until the call is at the cut."""
        await self._there.wait()

    def open(self) -> None:
        """Let it go on."""
        self._open.set()

    async def hold(self) -> None:
        """What the call does at the cut."""
        self._there.set()
        await self._open.wait()


@dataclass(slots=True)
class _Due:
    cut: Cut
    deed: Deed
    forever: bool
    seen: int = 0


@dataclass(slots=True)
class Script:
    """The cuts of one test and the log of everything that was called, in order.

    `monotonic` dates the log. Once `crashed`, every later call of the dead controller crashes too,
    so that its clean-up changes nothing; `revive` begins a new life.
    """

    monotonic: Callable[[], float] = lambda: 0.0
    log: list[Moment] = field(default_factory=list)
    watch: Callable[[Moment], None] | None = None  # sees each moment before its deeds
    crashed: bool = False
    _due: list[_Due] = field(default_factory=list)

    def at(self, cut: Cut, deed: Deed) -> None:
        """Do `deed` once at the cut. It may be a coroutine function; what it raises, the call does.

        Deeds at the same cut run in the order they were given.
        """
        self._due.append(_Due(cut, deed, forever=False))

    def before(self, call: str, deed: Deed, *, of: str = "", nth: int = 1) -> None:
        """Do `deed` just before the nth such call takes effect."""
        self.at(Cut(when=BEFORE, call=call, of=of, nth=nth), deed)

    def after(self, call: str, deed: Deed, *, of: str = "", nth: int = 1) -> None:
        """Do `deed` just after the nth such call took effect, before its caller knows."""
        self.at(Cut(when=AFTER, call=call, of=of, nth=nth), deed)

    def always(self, when: When, call: str, deed: Deed, *, of: str = "") -> None:
        """Do `deed` at every such call."""
        self._due.append(_Due(Cut(when=when, call=call, of=of), deed, forever=True))

    def hold(self, when: When, call: str, *, of: str = "", nth: int = 1) -> Gate:
        """Stop the nth such call at the cut until the gate is opened."""
        gate = Gate()
        self.at(Cut(when=when, call=call, of=of, nth=nth), gate.hold)
        return gate

    def crash(self, when: When, call: str, *, of: str = "", nth: int = 1) -> None:
        """Kill the controller at the cut."""
        self.at(Cut(when=when, call=call, of=of, nth=nth), self.die)

    def die(self) -> None:
        """Kill the controller now, from inside a call."""
        self.crashed = True
        raise Crash

    def revive(self) -> None:
        """A new controller may call again. Cuts that did not come up are kept."""
        self.crashed = False

    def forget(self) -> None:
        """Drop every cut that did not come up."""
        self._due.clear()

    @property
    def waiting(self) -> tuple[Cut, ...]:
        """Cuts that did not come up yet."""
        return tuple(due.cut for due in self._due if not due.forever)

    def calls(self, call: str = "", *, of: str = "") -> list[str]:
        """The names of calls that took effect, in order; narrowed to one name or one session."""
        return [
            moment.call
            for moment in self.log
            if moment.when == AFTER
            and not moment.failed
            and (not call or moment.call == call)
            and (not of or moment.of == of)
        ]

    async def reach(
        self,
        when: When,
        call: str,
        of: str = "",
        *,
        note: str = "",
        failed: bool = False,
        value: object = None,
    ) -> None:
        """What a fake says at each cut: logs it and does what is due there.

        Calls that a deed makes are the test's own: they are neither logged nor met.
        """
        if self.crashed:
            raise Crash
        if _IN_DEED.get():
            return
        moment = Moment(
            when=when,
            call=call,
            of=of,
            at=self.monotonic(),
            note=note,
            failed=failed,
            value=value,
        )
        self.log.append(moment)
        if self.watch is not None:
            self.watch(moment)
        deeds = self._matching(moment)
        if deeds:
            with _in_deed(value=True):
                for deed in deeds:
                    done = deed()
                    if done is not None:
                        await done
        if self.crashed:
            raise Crash

    @contextlib.contextmanager
    def offstage(self) -> Iterator[None]:
        """Calls made inside are the test's own: they are neither logged nor met."""
        with _in_deed(value=True):
            yield

    @contextlib.contextmanager
    def onstage(self) -> Iterator[None]:
        """Inside a deed: calls made here are the controller's again."""
        with _in_deed(value=False):
            yield

    def _matching(self, moment: Moment) -> list[Deed]:
        found: list[Deed] = []
        for due in list(self._due):
            cut = due.cut
            if (cut.when, cut.call) != (moment.when, moment.call) or cut.of not in ("", moment.of):
                continue
            due.seen += 1
            if due.forever:
                found.append(due.deed)
            elif due.seen == cut.nth:
                found.append(due.deed)
                self._due.remove(due)
        return found


@contextlib.contextmanager
def _in_deed(*, value: bool) -> Iterator[None]:
    token = _IN_DEED.set(value)
    try:
        yield
    finally:
        _IN_DEED.reset(token)
