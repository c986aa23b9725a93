"""The recovery table: total, unambiguous, and in agreement with the design's own rows."""

from __future__ import annotations

from itertools import product

import pytest

from gascity.decide.recovery import RECOVERY, Facts, Noted, noted_as, recover
from gascity.model.plan import Path
from gascity.model.session import SleepIntent, SleepReason, State
from gascity.model.world import Truth
from gascity.testing.builders import a_session, awake

RUN, STOP, UNKNOWN = Truth.RUNNING, Truth.STOPPED, Truth.UNKNOWN
NONE, PENDING, CONFIRMED = SleepIntent.NONE, SleepIntent.PENDING, SleepIntent.CONFIRMED
AWAKE, IDLE, OTHER = Noted.AWAKE, Noted.IDLE, Noted.OTHER
EVERY = list(product(Truth, Noted, SleepIntent, (True, False), (True, False)))


def rows(facts: Facts) -> list[str]:
    return [f"{row.label} {row.path}" for row in RECOVERY if row.matches(facts)]


@pytest.mark.parametrize("facts", EVERY, ids=lambda facts: "-".join(map(str, facts)))
def test_exactly_one_row_matches(facts: Facts) -> None:
    """Every combination of facts is described by exactly one row (R29, REC-10)."""
    assert len(rows(facts)) == 1


def test_every_row_is_reached() -> None:
    """No row of the table is dead (R29)."""
    assert all(any(row.matches(facts) for facts in EVERY) for row in RECOVERY)


# The design's nine rows, literally: truth | noted | intent | hard wake | structural -> path.
# "any" is a star; the structural row outranks the others, unknown truth outranks it (R29).
ANY = None
DESIGN_ROWS = [
    ("REC-01", RUN, AWAKE, NONE, False, False, {Path.EVALUATE}),
    ("REC-02", RUN, AWAKE, PENDING, False, False, {Path.DRAIN}),
    ("REC-03", RUN, ANY, ANY, True, False, {Path.WAKE}),
    ("REC-04", STOP, IDLE, NONE, False, False, {Path.REST}),
    ("REC-05", STOP, IDLE, NONE, True, False, {Path.WAKE}),
    ("REC-06", STOP, ANY, CONFIRMED, False, False, {Path.COMMIT, Path.PRESERVE}),
    ("REC-07", STOP, ANY, PENDING, False, False, {Path.AMBIGUOUS}),
    ("REC-08", STOP, ANY, ANY, True, False, {Path.WAKE}),
    ("REC-09", RUN, ANY, ANY, ANY, True, {Path.STRUCTURAL}),
    ("REC-09 stopped", STOP, ANY, ANY, ANY, True, {Path.STRUCTURAL}),
    ("R29 unknown", UNKNOWN, ANY, ANY, ANY, ANY, {Path.HOLD}),
]


@pytest.mark.parametrize("row", DESIGN_ROWS, ids=lambda row: row[0])
def test_the_designs_rows_hold_literally(row: tuple[object, ...]) -> None:
    """The outcome table of the design, cell by cell (REC-01..REC-09, R29, R31)."""
    _, *columns, paths = row
    matching = [
        facts
        for facts in EVERY
        if all(want is ANY or want == have for want, have in zip(columns, facts, strict=True))
    ]
    assert matching
    for facts in matching:
        [found] = [one for one in RECOVERY if one.matches(facts)]
        assert found.path in paths, facts  # type: ignore[operator]


def test_a_confirmed_stop_keeps_another_sleep_reason_and_only_that() -> None:
    """Preserve is for sleepers of another reason, commit for all others (R31)."""
    for noted in Noted:
        [row] = rows((STOP, noted, CONFIRMED, False, False))
        assert row.endswith("preserve") is (noted is OTHER)


@pytest.mark.parametrize(
    "facts",
    [facts for facts in EVERY if facts[0] is RUN and facts[1] is not AWAKE and not any(facts[3:])],
    ids=lambda facts: "-".join(map(str, facts)),
)
def test_a_running_session_recorded_as_down_is_adopted(facts: Facts) -> None:
    """A still-running runtime is treated as awake again (REC-21, R29)."""
    assert rows(facts)[0].endswith("adopt")


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("reason", SleepReason)
def test_only_asleep_for_idleness_counts_as_idle(state: State, reason: SleepReason) -> None:
    """Only `asleep: idle` is the cold slot; COEX-06 keeps the other reasons apart (R50)."""
    noted = noted_as(a_session(state=state, sleep_reason=reason))
    if state in (State.CREATING, State.AWAKE):
        assert noted is AWAKE
    else:
        cold = state is State.ASLEEP and reason is SleepReason.IDLE
        assert noted is (IDLE if cold else OTHER)


def test_the_row_is_found_for_a_record() -> None:
    """A record with its truth finds its row (REC-10)."""
    session = awake(sleep_intent=PENDING)
    assert recover(session, RUN, wanted=False, structural=False).label == "@E"
    assert recover(session, RUN, wanted=True, structural=False).label == "@C"
    assert recover(session, STOP, wanted=True, structural=True).label == "@B"
