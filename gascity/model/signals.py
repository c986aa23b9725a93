"""What an agent's own hooks say of it: one signal at a time, and what has been heard of one run.

A signal is evidence and never the only word: it can keep a session awake, and never makes it idle.

Source: DESIGN §8 (R15, R63, R79)
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class SignalKind(StrEnum):
    """What a signal is about, in words of no particular agent CLI."""

    HERE = "here"  # a conversation began or came back
    TURN_OPEN = "turn-open"  # a prompt was submitted, or a tool is used
    TURN_CLOSE = "turn-close"  # the turn is over, well or not
    PENDING = "pending"  # it asks and waits
    PENDING_CLEAR = "pending-clear"  # it was answered
    WORK = "work"  # everything that runs in the background now
    WORK_BEGIN = "work-begin"  # one more thing does
    WORK_END = "work-end"  # one thing does no more
    BEAT = "beat"  # something happened
    GONE = "gone"  # the agent ends


class Turn(StrEnum):
    """Whether a turn is open, as far as hooks said."""

    UNSAID = ""
    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One signal of the run with this instance token, in the order `seq` of its senders.

    `what` is the kind of a question, or the name of the background work; `items` names all
    background work, and is None where the hook does not say. `source` is the hook's own name.
    `conversation` is the CLI's own id of it. A subagent's signal neither opens nor closes a turn.
    """

    token: str
    kind: SignalKind
    at: datetime
    seq: int = 0
    what: str = ""
    question: str = ""
    items: tuple[str, ...] | None = None
    source: str = ""
    conversation: str = ""
    is_sub: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What the hooks of one run have said; `at` is the latest signal, `seq` its place.

    `asked` is the kind of an open question, "" for none. `work` names what runs in the background,
    None while nothing was said about that.
    """

    token: str
    at: datetime
    seq: int = 0
    source: str = ""
    conversation: str = ""
    turn: Turn = Turn.UNSAID
    turn_at: datetime | None = None
    asked: str = ""
    question: str = ""
    asked_at: datetime | None = None
    work: tuple[str, ...] | None = None
    work_at: datetime | None = None
