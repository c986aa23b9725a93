"""The `wait_until` tool: what it says of itself, what it records, and what it refuses."""

from __future__ import annotations

import json
import math
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import anyio
import pytest

from gascity.tools import (
    Nowhere,
    Surroundings,
    ToolResult,
    WaitRecorded,
    WaitRefused,
    WaitRequest,
    WaitUntilTool,
)
from gascity.tools.wait_until import NO_NOTE, NOT_A_TIME, NOT_ONE, NOT_SECONDS

NOON = datetime(2027, 3, 1, 12, tzinfo=UTC)
NOTE = "look at the build"


class Ledger:
    """Keeps what it is asked to keep; `refuses` says why not."""

    def __init__(self, refuses: WaitRefused | None = None) -> None:
        self.kept: list[WaitRequest] = []
        self.refuses = refuses

    def open_turn(self, what: str) -> AbstractAsyncContextManager[None]:
        raise AssertionError("a wait holds no turn open")

    async def record_wait(self, request: WaitRequest) -> WaitRecorded:
        if self.refuses is not None:
            raise self.refuses
        self.kept.append(request)
        due = request.until or NOON + timedelta(seconds=request.for_s or 0)
        return WaitRecorded(id="gc-9", due_at=due)


def called(arguments: object, around: Surroundings | None = None) -> ToolResult:
    """The result of one call at noon."""
    tool = WaitUntilTool(around or Ledger(), now=lambda: NOON)
    return anyio.run(tool.execute, arguments)


def refusal(arguments: object) -> str:
    """The error of a call that records nothing."""
    around = Ledger()
    result = called(arguments, around)
    assert (result.success, result.output, around.kept) == (False, "", [])
    assert result.error is not None
    return result.error


def test_it_says_what_it_takes() -> None:
    """A schema every provider reads: one flat object, `note` required (TOOL-33)."""
    tool = WaitUntilTool(Nowhere())
    assert tool.name == "wait_until"
    assert "end your turn" in tool.description
    schema = json.loads(json.dumps(dict(tool.parameters)))
    assert (schema["type"], schema["required"]) == ("object", ["note"])
    assert {name: one["type"] for name, one in schema["properties"].items()} == {
        "seconds": "integer",
        "until": "string",
        "note": "string",
    }
    assert not {"anyOf", "oneOf", "allOf"} & schema.keys()
    assert (tool.read_only, tool.exclusive, tool.concurrency_safe) == (False, False, False)


@pytest.mark.parametrize("seconds", [1, 3600, 31_536_000])
def test_seconds_are_recorded_from_now(seconds: int) -> None:
    """TOOL-33, R49: it returns at once and says when, and that the turn is to end."""
    around = Ledger()
    result = called({"seconds": seconds, "note": NOTE}, around)
    assert around.kept == [WaitRequest(note=NOTE, for_s=seconds)]
    assert (result.success, result.error) == (True, None)
    assert "gc-9" in result.output
    assert "End your turn" in result.output


@pytest.mark.parametrize(
    "until", ["2027-03-01T18:30:00+01:00", "2027-03-01T17:30:00Z", "2027-03-01 17:30+00:00"]
)
def test_a_date_is_recorded_as_the_instant_it_is(until: str) -> None:
    """R76: whatever offset it is written with; the answer is in UTC."""
    around = Ledger()
    result = called({"until": until, "note": NOTE}, around)
    assert around.kept == [WaitRequest(note=NOTE, until=NOON.replace(hour=17, minute=30))]
    assert "2027-03-01T17:30:00Z" in result.output


def test_unknown_fields_are_ignored() -> None:
    """As in the other tools; a null is as good as nothing said (TOOL-20)."""
    around = Ledger()
    assert called({"seconds": 5, "until": None, "note": NOTE, "unit": "s"}, around).success
    assert around.kept == [WaitRequest(note=NOTE, for_s=5)]


BAD_SECONDS: list[Any] = [
    0, -1, 1.5, 2.0, 1e20, math.nan, math.inf, "5", True, [5], {"s": 5}, 31_536_001, 10**30,
    10**6000,
]  # fmt: skip


@pytest.mark.parametrize("seconds", BAD_SECONDS, ids=[type(one).__name__ for one in BAD_SECONDS])
def test_what_is_no_number_of_seconds_is_refused(seconds: object) -> None:
    """R47: the type itself counts; no size of a number breaks it (TOOL-15, TOOL-17, TOOL-18)."""
    assert refusal({"seconds": seconds, "note": NOTE}) == NOT_SECONDS


@pytest.mark.parametrize(
    "until",
    ["tomorrow", "18:30", "2027-03-01T18:30:00", "2027-13-01T00:00:00Z", "", 1_800_000_000, True,
     "9999-12-31T23:59:59-23:59\n", "x" * 10_000],
    ids=repr,
)  # fmt: skip
def test_what_is_no_instant_is_refused(until: object) -> None:
    """R76: a time without a zone could be anybody's; the error says what time it is now."""
    assert (
        refusal({"until": until, "note": NOTE}) == f"{NOT_A_TIME}; now it is 2027-03-01T12:00:00Z"
    )


@pytest.mark.parametrize(
    ("until", "where"),
    [
        (NOON - timedelta(seconds=1), "in the past"),
        (NOON, "in the past"),
        (NOON + timedelta(days=366), "more than 365 days away"),
        (datetime.max.replace(tzinfo=timezone(timedelta(hours=-23))), "more than 365 days away"),
    ],
)
def test_an_instant_outside_the_next_year_is_refused(until: datetime, where: str) -> None:
    """A model rarely knows the time: it is told (R49)."""
    error = refusal({"until": until.isoformat(), "note": NOTE})
    assert error == f"until lies {where}; now it is 2027-03-01T12:00:00Z"


@pytest.mark.parametrize(
    "arguments",
    [{}, {"note": NOTE}, {"seconds": 5, "until": "2027-03-01T18:30:00Z", "note": NOTE},
     None, [], "60", 60, [("seconds", 5)]],
    ids=repr,
)  # fmt: skip
def test_one_of_the_two_has_to_be_said(arguments: object) -> None:
    """Neither, both, or no object at all (TOOL-19)."""
    assert refusal(arguments) == NOT_ONE


@pytest.mark.parametrize("note", [None, "", " \n", 5, ["x"], "x" * 2001])
def test_a_wait_without_a_note_is_refused(note: object) -> None:
    """It would wake an agent that does not know why."""
    assert refusal({"seconds": 5, "note": note}) == NO_NOTE


def test_a_refusal_of_the_surroundings_is_an_ordinary_result() -> None:
    """TOOL-09: what went wrong and what to do, no exception."""
    result = called({"seconds": 5, "note": NOTE}, Ledger(WaitRefused("it is full", "make room")))
    assert result == ToolResult.failed("the wait is not recorded: it is full; make room")
    alone = called({"seconds": 5, "note": NOTE}, Nowhere())
    assert alone.error is not None
    assert "run the server inside a session" in alone.error
