"""The idle drain: which effect follows which, by what the re-look after each one says.

Save first, then do, then look again. One row per effect; six columns for what the look can say:

clear    nothing speaks against going on
woken    a hard wake, an activity newer than the probe, or a policy that no longer asks for sleep
taken    a structural change outranks the idle path (DRAIN-12..16)
unsure   a reading that must be clear is not (DRAIN-10, DRAIN-11)
running  the stop returned, yet the runtime still runs (R28, F53)
failed   the effect itself did not happen: a stop without outcome, a save refused

Source: DESIGN §10 (DRAIN-01..17, R27, R28, R35); RACE-01..04
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum, auto
from typing import Final

from gascity.model.world import DrainPhase


class Phase(StrEnum):
    """Where the walk stands: the effect that is done next."""

    PROBE = auto()
    RECORD = auto()
    STOP = auto()
    CONFIRM = auto()
    COMMIT = auto()
    ABORT = auto()
    RESTART = auto()
    RELEASE = auto()
    END = auto()


class Effect(StrEnum):
    """What is done to the world at a phase."""

    WAIT_FOR_IDLE = "wait_for_idle"
    SAVE_PENDING = "save idle-stop-pending"
    STOP_RUNTIME = "stop"
    SAVE_CONFIRMED = "save idle-stop-confirmed"
    SAVE_ASLEEP = "save asleep"
    CLEAR_INTENT = "clear intent"
    CLEAR_AND_START = "clear intent and start"
    NOTHING = "nothing"


class Verdict(StrEnum):
    """What the look after an effect says; the columns of the table."""

    CLEAR = "clear"
    WOKEN = "woken"
    TAKEN = "taken"
    UNSURE = "unsure"
    RUNNING = "running"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Step:
    """One row: the effect, and what follows each verdict."""

    effect: Effect
    clear: Phase
    woken: Phase
    taken: Phase
    unsure: Phase
    running: Phase
    failed: Phase

    def follow(self, verdict: Verdict) -> Phase:
        """The phase that a verdict leads to."""
        phase: Phase = getattr(self, verdict.value)
        return phase


E, P, D = Effect, Phase, DrainPhase

# fmt: off
DRAIN: Final[Mapping[Phase, Step]] = {
    # phase          effect             clear      woken      taken      unsure   running    failed
    P.PROBE:   Step(E.WAIT_FOR_IDLE,   P.RECORD,  P.END,     P.END,     P.END,   P.RECORD,  P.END),
    P.RECORD:  Step(E.SAVE_PENDING,    P.STOP,    P.ABORT,   P.RELEASE, P.ABORT, P.STOP,    P.END),
    P.STOP:    Step(E.STOP_RUNTIME,    P.CONFIRM, P.RESTART, P.RELEASE, P.END,   P.END,     P.END),
    P.CONFIRM: Step(E.SAVE_CONFIRMED,  P.COMMIT,  P.RESTART, P.RELEASE, P.END,   P.RELEASE, P.END),
    P.COMMIT:  Step(E.SAVE_ASLEEP,     P.END,     P.RESTART, P.END,     P.END,   P.END,     P.END),
    P.ABORT:   Step(E.CLEAR_INTENT,    P.END,     P.END,     P.END,     P.END,   P.END,     P.END),
    P.RESTART: Step(E.CLEAR_AND_START, P.END,     P.END,     P.END,     P.END,   P.END,     P.END),
    P.RELEASE: Step(E.CLEAR_INTENT,    P.END,     P.END,     P.END,     P.END,   P.END,     P.END),
    P.END:     Step(E.NOTHING,         P.END,     P.END,     P.END,     P.END,   P.END,     P.END),
}

SHOWN: Final[Mapping[Phase, DrainPhase]] = {
    # how the walk is shown while the effect of a phase is being done
    P.PROBE: D.PROBING,      P.RECORD: D.PENDING,     P.STOP: D.STOPPING,
    P.CONFIRM: D.CONFIRMED,  P.COMMIT: D.COMMITTED,   P.ABORT: D.ABORTED,
    P.RESTART: D.ABORTED,    P.RELEASE: D.ABORTED,    P.END: D.NONE,
}
# fmt: on

LAST: Final = frozenset({Phase.ABORT, Phase.RESTART, Phase.RELEASE, Phase.COMMIT, Phase.END})
"""Phases after which nothing is looked at: the walk is over."""

STOP_ASKED: Final = frozenset({Phase.STOP, Phase.CONFIRM, Phase.COMMIT})
"""Phases at or after which the runtime may be gone by our own doing."""


def follow(phase: Phase, verdict: Verdict) -> Phase:
    """The phase after `phase`, given what the look said."""
    return DRAIN[phase].follow(verdict)
