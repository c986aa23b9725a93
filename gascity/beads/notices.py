"""Notices: what a session is still to be told, a message or the note of a ready wait.

Pure functions over records. Delivered once: the record says `delivering` before anything is typed,
so that a delivery nobody saw end is never repeated.

Source: DESIGN §5 (R66); F26
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from gascity.beads.bead import CLOSED, MESSAGE, WAIT, Bead
from gascity.beads.store import NewBead, Update
from gascity.beads.work import WaitState
from gascity.model.session import Session

MESSAGE_LABEL: Final = "gc:message"


class Mode(StrEnum):
    """What a message does to a session that sleeps."""

    WAKE = "wake"  # wakes it, and holds until it is delivered
    QUEUE = "queue"  # lies there until something else wakes it


class Delivery(StrEnum):
    """Where a notice stands."""

    QUEUED = "queued"
    DELIVERING = "delivering"  # saved before the first key is pressed
    DELIVERED = "delivered"
    UNCLEAR = "unclear"  # may or may not have been typed; never typed again
    CANCELED = "canceled"
    FAILED = "failed"  # its session is gone


def new_message(session: Session, text: str, *, mode: Mode, by: str = "operator") -> NewBead:
    """A message to a session; its text is one line."""
    return NewBead(
        type=MESSAGE,
        title=f"message for {session.name}",
        labels=(MESSAGE_LABEL, f"session:{session.id}"),
        metadata={
            "session_id": session.id,
            "session_name": session.name,
            "text": text,
            "mode": mode.value,
            "by": by,
            "state": Delivery.QUEUED.value,
        },
    )


def delivery_of(notice: Bead) -> Delivery:
    """Where it stands. A word nobody knows is unclear: it is not typed on a guess."""
    word = notice.metadata.get(_key(notice), "")
    try:
        return Delivery(word) if word else Delivery.QUEUED
    except ValueError:
        return Delivery.UNCLEAR


def wakes(message: Bead) -> bool:
    """Whether it wakes a session that sleeps."""
    return message.metadata.get("mode") != Mode.QUEUE


def text_of(notice: Bead) -> str:
    """What is typed; "" for a wait that only wakes."""
    return notice.metadata.get("text" if notice.type == MESSAGE else "note", "")


def tells_elapsed(notice: Bead) -> bool:
    """Whether its text is typed with the time that passed since it was recorded."""
    return notice.type == WAIT and notice.metadata.get("elapsed") == "true"


def begin_delivery(notice: Bead) -> Update:
    """Say that it is about to be typed."""
    return Update(
        id=notice.id,
        expect_version=notice.version,
        metadata={_key(notice): Delivery.DELIVERING.value},
    )


def end_delivery(notice: Bead, how: Delivery) -> Update:
    """Close it: delivered, unclear, canceled or failed."""
    said = {_key(notice): how.value}
    if notice.type == WAIT:
        gone = how in {Delivery.CANCELED, Delivery.FAILED}
        said = {"state": (WaitState(how.value) if gone else WaitState.CLOSED).value}
        said |= {} if gone else {"delivery": how.value}
    return Update(id=notice.id, expect_version=notice.version, status=CLOSED, metadata=said)


def _key(notice: Bead) -> str:
    return "state" if notice.type == MESSAGE else "delivery"
