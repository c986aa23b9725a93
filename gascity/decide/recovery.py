"""What the facts of one session ask for, after a restart as at every patrol: one table.

Columns are facts, rows are labelled, `ANY` is any. Order means nothing: a test proves that exactly
one row matches each combination (R29). The label travels into events and `gc why`.

@A  Nobody could tell whether it runs: nothing is stopped, started or removed.
@B  Removed, suspended, excess or drifted: the idle path is dropped for that action (REC-09).
@C  It runs and somebody needs it: idle markers go, it stays awake (REC-03, REC-21).
@D  It runs, nothing is in flight: ordinary idle evaluation (REC-01).
@E  A drain was announced and it still runs: the drain goes on (REC-02).
@F  A stop was confirmed, yet it runs: somebody restarted it between two looks. Adopt it.
@G  It is recorded as idle-asleep, yet it runs: somebody started it. Adopt it.
@H  It is recorded as asleep for another reason or held, yet it runs. Adopt it.
@I  It is stopped and somebody needs it: idle markers go, it is started (REC-05, REC-08).
@J  A cold session nobody needs: it stays cold (REC-04).
@K  The stop was confirmed and the controller died before the commit: commit (REC-06).
@L  The same for a session that sleeps for another reason: keep that reason (R31).
@M  A stop was announced, nobody saw it happen: ambiguous, counted, evaluated afresh (REC-07).
@N  Recorded awake, found stopped, nothing announced: an exit to classify (REC-11, REC-14).
@O  Asleep for another reason or held: ordinary wake evaluation.

Source: DESIGN §10 (REC-01..23, R28..R31)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Final

from gascity.model.plan import Path
from gascity.model.session import Session, SleepIntent, SleepReason, State
from gascity.model.world import Truth


class Noted(StrEnum):
    """The lifecycle as recorded, as far as recovery tells records apart."""

    AWAKE = "awake"  # creating or awake
    IDLE = "idle"  # asleep: idle
    OTHER = "other"  # asleep for another reason, suspended, quarantined


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; None matches anything."""

    label: str
    truth: Truth | None
    noted: Noted | None
    intent: SleepIntent | None
    wake: bool | None
    structural: bool | None
    path: Path

    def matches(self, facts: Facts) -> bool:
        """Whether every column agrees with the facts."""
        columns = (self.truth, self.noted, self.intent, self.wake, self.structural)
        return all(want is None or want == have for want, have in zip(columns, facts, strict=True))


Facts = tuple[Truth, Noted, SleepIntent, bool, bool]

ANY = None
RUN, STOP, UNKN = Truth.RUNNING, Truth.STOPPED, Truth.UNKNOWN
AWAKE, IDLE, OTHER = Noted.AWAKE, Noted.IDLE, Noted.OTHER
NONE, PEND, CONF = SleepIntent.NONE, SleepIntent.PENDING, SleepIntent.CONFIRMED
YES, NO = True, False

# fmt: off
RECOVERY: Final = (
    #   label  truth  noted   intent  wake  struct  path
    Row("@A",  UNKN,  ANY,    ANY,    ANY,    ANY,    Path.HOLD),
    Row("@B",  RUN,   ANY,    ANY,    ANY,    YES,    Path.STRUCTURAL),
    Row("@B",  STOP,  ANY,    ANY,    ANY,    YES,    Path.STRUCTURAL),
    Row("@C",  RUN,   ANY,    ANY,    YES,  NO,     Path.WAKE),
    Row("@D",  RUN,   AWAKE,  NONE,   NO,   NO,     Path.EVALUATE),
    Row("@E",  RUN,   AWAKE,  PEND,   NO,   NO,     Path.DRAIN),
    Row("@F",  RUN,   AWAKE,  CONF,   NO,   NO,     Path.ADOPT),
    Row("@G",  RUN,   IDLE,   ANY,    NO,   NO,     Path.ADOPT),
    Row("@H",  RUN,   OTHER,  ANY,    NO,   NO,     Path.ADOPT),
    Row("@I",  STOP,  ANY,    ANY,    YES,  NO,     Path.WAKE),
    Row("@J",  STOP,  IDLE,   NONE,   NO,   NO,     Path.REST),
    Row("@K",  STOP,  AWAKE,  CONF,   NO,   NO,     Path.COMMIT),
    Row("@K",  STOP,  IDLE,   CONF,   NO,   NO,     Path.COMMIT),
    Row("@L",  STOP,  OTHER,  CONF,   NO,   NO,     Path.PRESERVE),
    Row("@M",  STOP,  ANY,    PEND,   NO,   NO,     Path.AMBIGUOUS),
    Row("@N",  STOP,  AWAKE,  NONE,   NO,   NO,     Path.EVALUATE),
    Row("@O",  STOP,  OTHER,  NONE,   NO,   NO,     Path.EVALUATE),
)
# fmt: on


def noted_as(session: Session) -> Noted:
    """How the record counts for recovery."""
    if session.state in (State.CREATING, State.AWAKE):
        return Noted.AWAKE
    if session.state is State.ASLEEP and session.sleep_reason is SleepReason.IDLE:
        return Noted.IDLE
    return Noted.OTHER


def recover(session: Session, truth: Truth, *, wanted: bool, structural: bool) -> Row:
    """The one row of RECOVERY that describes this session.

    Args:
        wanted: A hard wake applies. Config presence is not one.
        structural: A removal, suspension, trim or drift applies to it.
    """
    return _lookup((truth, noted_as(session), session.sleep_intent, wanted, structural))


@cache
def _lookup(facts: Facts) -> Row:
    [row] = [row for row in RECOVERY if row.matches(facts)]
    return row
