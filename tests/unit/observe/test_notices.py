"""Which notices a look finds: what wakes, what is told, what is over."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from gascity.beads.bead import MESSAGE, WAIT, Bead
from gascity.beads.notices import Mode, begin_delivery, new_message
from gascity.beads.store import NewBead
from gascity.beads.work import WaitState, new_wait, settle_wait
from gascity.observe.notices import Notices, read_notices
from gascity.testing.builders import NOON, a_session

MAYOR = a_session("mayor")
HOUR = timedelta(hours=1)


def stored(new: NewBead, bead_id: str, *, at: int = 0, **more: str) -> Bead:
    when = NOON + timedelta(seconds=at)
    return Bead(
        id=bead_id,
        type=new.type,
        metadata={**new.metadata, **more},
        created_at=when,
        updated_at=when,
    )


def message(bead_id: str, mode: Mode = Mode.WAKE, **more: object) -> Bead:
    return stored(new_message(MAYOR, "x", mode=mode), bead_id, **more)  # type: ignore[arg-type]


def wait(bead_id: str, *, due: timedelta = -HOUR, **more: object) -> Bead:
    return stored(new_wait(MAYOR, until=NOON + due), bead_id, **more)  # type: ignore[arg-type]


def look(*beads: Bead) -> Notices:
    waits = [bead for bead in beads if bead.type == WAIT]
    messages = [bead for bead in beads if bead.type == MESSAGE]
    return read_notices(waits, messages, {bead.id: bead for bead in beads}, NOON)


def test_ready_waits_and_messages_are_told_oldest_first() -> None:
    """F26: whatever their kind; those that only lie there are told, and wake nobody."""
    found = look(
        message("m-2", at=2), wait("w-1", at=1), message("m-0", Mode.QUEUE, at=0), wait("w-3", at=3)
    )
    assert found.told == {MAYOR.id: ("m-0", "w-1", "m-2", "w-3")}
    assert found.waking == {MAYOR.id: ["w-1", "m-2", "w-3"]}


def test_a_wait_that_is_not_due_is_pending() -> None:
    """F15: it wakes nobody yet, and status can say that it will."""
    found = look(wait("w", due=HOUR))
    assert (found.told, found.pending) == ({}, {MAYOR.id})


def test_a_wait_declared_ready_is_told_whatever_its_time() -> None:
    """`gc wait ready`."""
    asked = wait("w", due=HOUR)
    said = settle_wait(asked, WaitState.READY).metadata
    found = look(replace(asked, metadata={**asked.metadata, **said}))
    assert found.told == {MAYOR.id: ("w",)}


def test_an_expired_wait_is_over() -> None:
    """R42: it is named until that is written down."""
    expired = wait("w", due=HOUR, expires_at=(NOON - HOUR).isoformat())
    assert (look(expired).lapsed, look(expired).told) == (("w",), {})


def test_a_delivery_that_began_is_never_told_again() -> None:
    """F26: of both kinds."""
    begun = [
        replace(one, metadata={**one.metadata, **begin_delivery(one).metadata})
        for one in (message("m"), wait("w"))
    ]
    found = look(*begun)
    assert (found.told, found.waking) == ({}, {})
    assert set(found.interrupted[MAYOR.id]) == {"m", "w"}
