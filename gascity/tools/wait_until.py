"""The `wait_until` tool: records a wait that outlives the turn, the agent and the machine.

The call returns at once. Whoever keeps the wait tells the agent its note when the time has come,
and may put it to sleep until then; `sleep` is for what is worth holding a turn open.

Source: TOOL-33, R49
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

from gascity.tools.surroundings import Surroundings, WaitRefused, WaitRequest
from gascity.tools.tool import Tool, ToolResult

MAX_WAIT_SECONDS: Final = 31_536_000
MAX_NOTE_CHARACTERS: Final = 2_000

NOT_ONE: Final = "give either seconds or until, and not both"
NOT_SECONDS: Final = f"seconds must be an integer from 1 to {MAX_WAIT_SECONDS} (365 days)"
NOT_A_TIME: Final = (
    "until must be a date and time with an offset from UTC, such as 2027-03-01T18:30:00+01:00"
)
NO_NOTE: Final = (
    f"note must be text of 1 to {MAX_NOTE_CHARACTERS} characters: what to go on with then"
)

_PARAMETERS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "type": "object",
        "properties": {
            "seconds": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_WAIT_SECONDS,
                "description": "Whole seconds from now. Give this or until.",
            },
            "until": {
                "type": "string",
                "format": "date-time",
                "description": "RFC 3339 date and time with an offset. Give this or seconds.",
            },
            "note": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_NOTE_CHARACTERS,
                "description": "What you will be told then: what you waited for, what to do next.",
            },
        },
        "required": ["note"],
    }
)


def parse_wait(arguments: object, *, now: datetime) -> WaitRequest:
    """The wait that the arguments ask for; other fields are ignored. `now` is aware.

    Raises ValueError with the message for the model, which never holds the value.
    """
    given = arguments if isinstance(arguments, Mapping) else {}
    seconds, until, note = (given.get(name) for name in ("seconds", "until", "note"))
    if (seconds is None) == (until is None):
        raise ValueError(NOT_ONE)
    if not isinstance(note, str) or not note.strip() or len(note) > MAX_NOTE_CHARACTERS:
        raise ValueError(NO_NOTE)
    if until is not None:
        return WaitRequest(note=note, until=_instant(until, now))
    if type(seconds) is not int or not 1 <= seconds <= MAX_WAIT_SECONDS:
        raise ValueError(NOT_SECONDS)
    return WaitRequest(note=note, for_s=seconds)


def _instant(until: object, now: datetime) -> datetime:
    """The aware instant, later than now and not more than a year away."""
    try:
        at = datetime.fromisoformat(until if isinstance(until, str) else "")
        if at.tzinfo is None:
            raise ValueError
        ahead = (at - now).total_seconds()
    except (ValueError, OverflowError):
        raise ValueError(f"{NOT_A_TIME}; now it is {_shown(now)}") from None
    if not 0 < ahead <= MAX_WAIT_SECONDS:
        where = "in the past" if ahead <= 0 else "more than 365 days away"
        raise ValueError(f"until lies {where}; now it is {_shown(now)}")
    return at.astimezone(UTC)


def _shown(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _now() -> datetime:
    return datetime.now(UTC)


class WaitUntilTool(Tool):
    """Records waits in the surroundings it was made for."""

    def __init__(self, surroundings: Surroundings, *, now: Callable[[], datetime] = _now) -> None:
        self._surroundings = surroundings
        self._now = now

    @property
    def name(self) -> str:
        """`wait_until`."""
        return "wait_until"

    @property
    def description(self) -> str:
        """What the model is told."""
        return (
            "Record a long wait that survives restarts, then end your turn. When it is over you"
            " are woken and told your note with the time that really passed. Use sleep instead"
            " for short pauses within a turn."
        )

    @property
    def parameters(self) -> Mapping[str, Any]:
        """`note`, and one of `seconds` and `until`."""
        return _PARAMETERS

    async def execute(self, arguments: object) -> ToolResult:
        """Return once the wait is stored, or with an error; it never waits for the time itself."""
        try:
            request = parse_wait(arguments, now=self._now())
        except ValueError as problem:
            return ToolResult.failed(str(problem))
        try:
            kept = await self._surroundings.record_wait(request)
        except WaitRefused as refused:
            return ToolResult.failed(f"the wait is not recorded: {refused.what}; {refused.do}")
        return ToolResult.succeeded(
            f"Wait {kept.id} is recorded: it is over at {_shown(kept.due_at)}."
            " End your turn now; you will be told your note then."
        )
