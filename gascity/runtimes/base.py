"""What a runtime must answer and do.

Every adapter passes `tests/integration/test_runtime_contract.py`.

A runtime raises only `RuntimeUnreachable` for the world's faults; everything it knows it returns as
readings. What it never answers is not in its `support`, what it never does not in its `abilities`;
further parts are separate protocols, found with `isinstance`, never by exception text.

Source: DESIGN §8 (CAP-08..25, R9..R16, R45, R63)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol, runtime_checkable

from gascity.model.screens import ScreenRules
from gascity.model.world import ProbeResult, Sighting, Support

UNSETTLED: Final = "output"
"""Detail of a probe whose screen looks idle but has not stood still for long enough yet."""


class RuntimeUnreachable(Exception):
    """The runtime gave no certain answer in time; the text says why, for people."""


class StartFailed(Exception):
    """The runtime answered, and the session certainly did not come up."""


class Unable(Exception):
    """This runtime never does that, for it does not declare the ability; nothing was tried."""


class NoSuchAnswer(Exception):
    """Nothing is asked, or not that; the text says what may be answered."""


class Ability(StrEnum):
    """What a runtime can do with a session besides hosting it; each declares its own."""

    PEEK = "peek"  # show what it printed last
    SEND = "send"  # hand it a line
    INTERRUPT = "interrupt"  # break off its turn
    ATTACH = "attach"  # give a person its terminal
    RESPOND = "respond"  # answer the question that it is pending on
    EXIT_STATUS = "exit_status"  # say how it ended
    OUTLIVE = "outlive"  # sessions go on without the controller, and the next one finds them


BY_TERMINAL: Final = frozenset(Ability) - {Ability.RESPOND}
"""What a host of terminals can do: a question on a screen is answered by whoever attaches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """Everything needed to host one session, complete: nothing is inherited by accident (R69).

    `command` goes to `/bin/sh -c` unchanged. `env` is the whole environment. `prompt_prefix`,
    `screens` and `process_names` say how readiness and idleness look for this agent. `fresh`: a
    runtime that keeps conversations itself begins a new one.
    """

    name: str
    session_id: str
    token: str
    city: str  # the city's mark: its real path
    command: str
    work_dir: str
    env: Mapping[str, str]
    prompt_prefix: str = ""
    screens: str = ""
    process_names: tuple[str, ...] = ()
    ready_delay_ms: int = 0
    fresh: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """A session this look is about, and what is known of it so that its screen can be judged.

    `token` "" accepts whatever carries the city's mark. `screen`: judge its screen and pending now
    (they are skipped when nothing was written since the last judgement).
    """

    name: str
    token: str = ""
    prompt_prefix: str = ""
    screens: str = ""
    own_rules: ScreenRules | None = None  # what the operator says about its screens
    process_names: tuple[str, ...] = ()
    screen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One answer about many sessions: {name: sighting}, complete for the names asked for.

    A name that certainly does not exist is a stopped sighting; a name nobody could be asked about
    is an unknown one. `foreign` are sessions on the same host without this city's mark (R37).
    """

    sightings: Mapping[str, Sighting]
    foreign: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """What a probe for a safe idle boundary found. `detail` is shown: busy, draft, background..."""

    result: ProbeResult
    blocker: str = ""  # the blocker word when not idle: idle_boundary, background, pending
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """What a stop did. It proves nothing: the caller looks again (R28)."""

    signalled: tuple[int, ...] = ()  # pids
    left: tuple[int, ...] = field(default=())  # pids that were still there at the deadline


class Runtime(Protocol):
    """A host for sessions. Every call is bounded in time by the runtime itself."""

    @property
    def kind(self) -> str:
        """The word in `session = "..."`: tmux, subprocess, ..."""
        ...

    @property
    def support(self) -> Support:
        """Which questions this runtime can answer at all."""
        ...

    @property
    def abilities(self) -> frozenset[Ability]:
        """What it can do; the calls of any other ability raise `Unable`."""
        ...

    async def list(self, watches: Collection[Watch]) -> Listing:
        """Readings of every watched session, with a constant number of calls whatever their count.

        Raises:
            RuntimeUnreachable: nobody could be asked about any of them.
        """
        ...

    async def start(self, spec: Spec) -> None:
        """Start a session that does not exist. The mark and token are on it before it can run.

        Raises:
            StartFailed: it certainly did not come up (name taken, bad work dir, died at once).
            RuntimeUnreachable: it may or may not have come up.
        """
        ...

    async def stop(self, name: str, *, token: str, grace_s: float) -> Stopped:
        """Stop the session and its whole process tree; a no-op when it is gone already.

        Touches nothing whose token differs (R63). Graceful first, forced after `grace_s` seconds.

        Raises:
            RuntimeUnreachable: the outcome is not known.
        """
        ...

    async def peek(self, name: str, *, lines: int) -> str:
        """The last visible lines as plain text; never counts as activity (R44)."""
        ...

    async def send(self, name: str, text: str, *, token: str) -> None:
        """Type `text` followed by Enter, only into the session that carries `token`."""
        ...

    async def interrupt(self, name: str, *, token: str) -> None:
        """Send the soft interrupt (Ctrl-C) to the session that carries `token`."""
        ...

    def attach_command(self, name: str) -> tuple[str, ...]:
        """The argv a person's terminal runs to attach; empty when it cannot be attached to."""
        ...

    async def close(self) -> None:
        """Release what the adapter itself holds; sessions go on."""
        ...


@runtime_checkable
class WaitsForIdle(Protocol):
    """A runtime that can confirm a safe idle boundary (CAP-12, R15)."""

    async def wait_for_idle(self, watch: Watch, *, timeout_s: float) -> Boundary:
        """Judge the session within `timeout_s` seconds; sends no keys.

        Raises:
            RuntimeUnreachable: no judgement was possible.
        """
        ...


@runtime_checkable
class Responds(Protocol):
    """A runtime that can answer the question a session is pending on (R79)."""

    async def respond(self, name: str, answer: str, *, token: str, request: str = "") -> str:
        """Answer with an option, by its number from 1, its id, its name or the start of its kind.

        `request` "" means the oldest open question. Returns the name of the chosen option.

        Raises:
            NoSuchAnswer: no such question is open, or it has no such option.
            RuntimeUnreachable: no run of that name carries the token.
        """
        ...
