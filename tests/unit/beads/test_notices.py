"""Notices as records: what is typed, where they stand, and the writes that move them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import pytest

from gascity.beads.bead import CLOSED, MESSAGE, WAIT, Bead
from gascity.beads.notices import (
    Delivery,
    Mode,
    begin_delivery,
    delivery_of,
    end_delivery,
    new_message,
    text_of,
    wakes,
)
from gascity.beads.work import WaitState, wait_state
from gascity.model.session import Session

NOW: Final = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MAYOR: Final = Session(id="gc-1", version=1, name="mayor", template="mayor")


def notice(kind: str = MESSAGE, **metadata: Any) -> Bead:
    return Bead(id="n", type=kind, metadata=metadata, created_at=NOW, updated_at=NOW, version=7)


def changed(before: Bead, **metadata: str) -> Bead:
    return notice(before.type, **{**before.metadata, **metadata})


@pytest.mark.parametrize("mode", list(Mode))
def test_a_new_message_is_queued_for_its_session(mode: Mode) -> None:
    """F26: whose it is, what it says, and whether it wakes."""
    new = new_message(MAYOR, "hello", mode=mode, by="ann")
    stored = notice(new.type, **new.metadata)
    assert (text_of(stored), delivery_of(stored), wakes(stored)) == (
        "hello",
        Delivery.QUEUED,
        mode is Mode.WAKE,
    )
    assert stored.metadata["session_id"] == "gc-1"
    assert "hello" not in new.title


@pytest.mark.parametrize("kind", [MESSAGE, WAIT])
def test_a_delivery_is_announced_under_the_version_that_was_read(kind: str) -> None:
    """F26: the one who saves it first delivers it; nobody else does."""
    update = begin_delivery(notice(kind))
    assert update.expect_version == 7
    assert delivery_of(changed(notice(kind), **update.metadata)) is Delivery.DELIVERING


@pytest.mark.parametrize("kind", [MESSAGE, WAIT])
@pytest.mark.parametrize("how", [Delivery.DELIVERED, Delivery.UNCLEAR])
def test_a_delivery_that_ended_closes_the_notice(kind: str, how: Delivery) -> None:
    """F26: closed with how it ended; a wait is closed in its own words too."""
    update = end_delivery(notice(kind), how)
    after = changed(notice(kind), **update.metadata)
    assert (update.status, delivery_of(after)) == (CLOSED, how)
    assert kind == MESSAGE or after.metadata["state"] == "closed"


def test_a_wait_whose_session_is_gone_is_canceled() -> None:
    """R68: in the words of waits."""
    update = end_delivery(notice(WAIT), Delivery.CANCELED)
    after = changed(notice(WAIT), **update.metadata)
    assert wait_state(after, {}, NOW) is WaitState.CANCELED


def test_a_word_nobody_knows_is_not_typed_on_a_guess() -> None:
    """R73: unclear, so that it is closed and said, never delivered twice."""
    assert delivery_of(notice(state="someday")) is Delivery.UNCLEAR


def test_the_text_of_a_wait_is_its_note() -> None:
    """R66."""
    assert text_of(notice(WAIT, note="look", text="no")) == "look"
    assert text_of(notice(WAIT)) == ""
