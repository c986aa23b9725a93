"""What the words of a provider script mean. A word nobody knows is never support.

The ecosystem's are `is-running`, `process-alive`, `list-running` and `get-last-activity`. Ours
raise the class of a script that knows them: `is-attached` (true, false or a count), `pending` (none
or a question as JSON) and `wait-for-idle` (`idle`, or `busy [background|pending] DETAIL`).

Source: DESIGN §8 (CAP-09, CAP-11, CAP-12, CAP-20, R9, R12, R13)
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from gascity.model.reading import Known, Reading, Unclear, Unsupported
from gascity.model.world import Pending, ProbeResult
from gascity.runtimes.base import Boundary, RuntimeUnreachable
from gascity.runtimes.exec.script import Answer

T = TypeVar("T")
_NONE: Final = frozenset({"none", "null", "{}"})
_BLOCKERS: Final = frozenset({"background", "pending"})
_TEXT_MOST: Final = 500


class Meaningless(RuntimeUnreachable):
    """The script answered with something that is no answer."""


def truth_of(word: str) -> bool:
    """`true` runs, anything else does not, as everywhere in the ecosystem."""
    return word == "true"


def activity_of(word: str, *, now: datetime) -> datetime | None:
    """An RFC 3339 instant, never later than now; nothing and malformed are the zero time."""
    try:
        at = datetime.fromisoformat(word)
        if at.tzinfo is None or at.year <= 1:
            return None
        return min(at.astimezone(UTC), now)
    except (ValueError, OverflowError):
        return None


def attached_of(word: str) -> int:
    """How many people are attached.

    Raises:
        Meaningless: it is neither a truth nor a count.
    """
    if word in ("true", "false"):
        return int(word == "true")
    if word.isascii() and word.isdigit():
        return int(word[:6])
    raise Meaningless(f"is-attached printed {word[:40]!r}, neither true, false nor a count")


def pending_of(text: str) -> Pending | None:
    """The open question, or that there is none.

    Raises:
        Meaningless: it is neither.
    """
    if text in _NONE:
        return None
    try:
        said: Any = json.loads(text)
        question = str(said.get("prompt") or said.get("question") or "")[:_TEXT_MOST]
        since = said.get("since")
        at = None if since is None else activity_of(str(since), now=datetime.now(UTC))
        kind = str(said.get("kind") or "question")[:40]
    except (ValueError, AttributeError, RecursionError):
        raise Meaningless(f"pending printed {text[:40]!r}, neither none nor an object") from None
    return Pending(kind=kind, question=question, since=at)


def boundary_of(text: str) -> Boundary:
    """What `wait-for-idle` found.

    Raises:
        Meaningless: the first word is neither idle nor busy.
    """
    word, _, detail = text.partition(" ")
    detail = detail.strip()[:_TEXT_MOST]
    if word == "idle":
        return Boundary(result=ProbeResult.IDLE)
    if word != "busy":
        raise Meaningless(f"wait-for-idle printed {text[:40]!r}, neither idle nor busy")
    blocker, _, rest = detail.partition(" ")
    if blocker not in _BLOCKERS:
        return Boundary(result=ProbeResult.BUSY, blocker="idle_boundary", detail=detail or "busy")
    return Boundary(result=ProbeResult.BUSY, blocker=blocker, detail=rest.strip() or blocker)


_PARSED: Final[Mapping[str, Callable[[str], object]]] = {
    "is-attached": attached_of,
    "pending": pending_of,
    "wait-for-idle": boundary_of,
}


def is_support(op: str, answer: Answer) -> bool:
    """Whether this answer shows that the script knows an optional operation (CAP-13)."""
    if not answer.known or answer.error:
        return False
    try:
        _PARSED[op](answer.word)
    except Meaningless:
        return False
    return True


def may_be_attached(reading: Reading[int]) -> bool:
    """Anything but a clear no counts, where the question can be asked at all."""
    return isinstance(reading, Unclear) or (isinstance(reading, Known) and reading.value > 0)


async def read_answer(asked: Awaitable[Answer], parsed: Callable[[str], T]) -> Reading[T]:
    """One question of a look: its faults are doubt about this reading alone."""
    try:
        answer = await asked
        return Known(parsed(answer.word)) if answer.known else Unsupported()
    except RuntimeUnreachable as doubt:
        return Unclear(str(doubt))
