"""The attach client: how it stands, what it may do first, and what each thing it sees leads to.

Two tables. OPENING says what an attach does before anything is written; STEPS says where a waiting
attach goes from there. Server and command line share the words. Only the controller starts
sessions: attach writes an intent and waits.

AWAKE     It runs and nothing is taking it away: the terminal is handed over, nothing is written.
NEW       It never ran, so there is no conversation to lose.
STARTING  Somebody else's reason is starting it: there is nothing left to confirm.
DRAINING  It runs and is being put to sleep: the intent takes that back, if it comes in time (R55).
          Too late, it is started again, and so a fresh one has to be confirmed.
ASLEEP    It sleeps and may be woken, or nobody can tell whether it runs.
HELD      Suspended, held, quarantined, drained or put away by an operator (R65).

Source: DESIGN §12 (ATT-01..25, R55, R65)
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum, auto
from typing import Final

from gascity.model.duration import Duration

FRESH_CONSEQUENCE: Final = "will start a new session and discard prior interactive context"
CONCURRENT: Final = "session is already being woken by another attach"

SHORTEST_LIFE: Final = timedelta(seconds=30)
LONGEST_LIFE: Final = timedelta(minutes=5)


class Stand(StrEnum):
    """How a session stands when somebody wants to attach."""

    AWAKE = auto()
    NEW = auto()
    STARTING = auto()
    DRAINING = auto()
    ASLEEP = auto()
    HELD = auto()


class AttachState(StrEnum):
    """Where an attach stands; the words of replies and exit messages."""

    READY = "ready"  # the terminal may be handed over
    CONFIRM = "fresh confirmation required"
    ACCEPTED = "wake accepted"  # the intent is durable
    WAITING = "waiting"
    REFUSED = "refused"
    CONCURRENT = "already being woken"
    TIMED_OUT = "timed out"
    FAILED = "failed"
    CANCELED = "canceled"


ENDS: Final = frozenset(AttachState) - {AttachState.ACCEPTED, AttachState.WAITING}


class Seen(StrEnum):
    """What a waiting attach can see next."""

    UP = auto()  # the session was seen ready after the intent
    GOING_ON = auto()  # nothing decided yet
    FAILED = auto()  # the controller gave up for good
    EXPIRED = auto()
    LEFT = auto()


@dataclass(frozen=True, slots=True)
class Opening:
    """One line of OPENING; None matches anything. `fresh`: a wake begins a new conversation."""

    stand: Stand
    fresh: bool | None
    confirmed: bool | None
    other: bool | None  # another attach holds an unexpired intent
    first: AttachState

    def matches(self, facts: tuple[Stand, bool, bool, bool]) -> bool:
        """Whether every column agrees with the facts."""
        columns = (self.stand, self.fresh, self.confirmed, self.other)
        return all(want is None or want == have for want, have in zip(columns, facts, strict=True))


_: Final = None
YES, NO = True, False
_A = AttachState

# fmt: off
OPENING: Final = (
    #       stand           fresh confirmed other  first
    Opening(Stand.AWAKE,    _,    _,        _,     _A.READY),
    Opening(Stand.HELD,     _,    _,        _,     _A.REFUSED),
    Opening(Stand.NEW,      _,    _,        YES,   _A.CONCURRENT),
    Opening(Stand.NEW,      _,    _,        NO,    _A.ACCEPTED),
    Opening(Stand.STARTING, _,    _,        YES,   _A.CONCURRENT),
    Opening(Stand.STARTING, _,    _,        NO,    _A.ACCEPTED),
    Opening(Stand.DRAINING, _,    _,        YES,   _A.CONCURRENT),
    Opening(Stand.DRAINING, NO,   _,        NO,    _A.ACCEPTED),
    Opening(Stand.DRAINING, YES,  NO,       NO,    _A.CONFIRM),
    Opening(Stand.DRAINING, YES,  YES,      NO,    _A.ACCEPTED),
    Opening(Stand.ASLEEP,   _,    _,        YES,   _A.CONCURRENT),
    Opening(Stand.ASLEEP,   NO,   _,        NO,    _A.ACCEPTED),
    Opening(Stand.ASLEEP,   YES,  NO,       NO,    _A.CONFIRM),
    Opening(Stand.ASLEEP,   YES,  YES,      NO,    _A.ACCEPTED),
)

STEPS: Final = {
    #               up          going on     failed      expired        left
    _A.ACCEPTED: (_A.READY,   _A.WAITING,  _A.FAILED,  _A.TIMED_OUT,  _A.CANCELED),
    _A.WAITING:  (_A.READY,   _A.WAITING,  _A.FAILED,  _A.TIMED_OUT,  _A.CANCELED),
}
# fmt: on


def opening(stand: Stand, *, fresh: bool, confirmed: bool, other: bool) -> AttachState:
    """What an attach does first: the one line of OPENING that describes it."""
    [row] = [row for row in OPENING if row.matches((stand, fresh, confirmed, other))]
    return row.first


def step(state: AttachState, seen: Seen) -> AttachState:
    """Where a waiting attach goes when it sees `seen`; an attach that ended stays ended."""
    if state in ENDS:
        return state
    return STEPS[state][list(Seen).index(seen)]


def intent_life(startup_timeout: Duration) -> timedelta:
    """How long an attach intent lives: the start-up time within 30 s and 5 m (ATT-05)."""
    return min(max(startup_timeout.delta, SHORTEST_LIFE), LONGEST_LIFE)


def span_text(span: timedelta) -> str:
    """A span as people write it: `60s`, `90s`, `5m`."""
    total = span.total_seconds()
    if total >= 120 and total % 60 == 0:
        return f"{total / 60:g}m"
    return f"{total:g}s"


def accepted_text(name: str, timeout: timedelta) -> str:
    """What is shown once the intent is durable (ATT-08)."""
    return f"waking {name}... (timeout {span_text(timeout)})"
