"""How one value stands in metadata text, and back: the alphabet of `record.KEYS`.

Text is all there is: other tools read the same records. "" is the empty value of every format.
A text that cannot be read gives the format's `doubtful` value and a complaint; nothing raises.

Source: DESIGN §11 (META-22; R38, R73)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from gascity.beads.times import time_of, time_text
from gascity.model.session import (
    Pin,
    SleepIntent,
    SleepReason,
    SleepRequest,
    State,
    StopNote,
    StopReason,
    WakeNote,
)

# A hold whose end cannot be read holds: lifting it is for a person (R26).
NEVER: Final = datetime(9999, 1, 1, tzinfo=UTC)
# A suspension whose start cannot be read is one.
LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST: Final = 2**53
_ZERO_TIME: Final = "0001-01-01T00:00:00Z"  # how other tools say "no time"


class Unreadable(ValueError):
    """The text is not of the format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One way to write a value. `empty` is what "" reads as; `doubtful` what garbage reads as."""

    name: str
    write: Callable[[Any], str]
    read: Callable[[str], Any]
    empty: Any = None
    doubtful: Any = None


def coerced(values: Mapping[str, object]) -> dict[str, str]:
    """Metadata as text whatever another tool stored: `true` stays `true`, null and false are "".

    Numbers and structures keep their JSON text.
    """
    return {
        key: value if isinstance(value, str) else _json_text(value)
        for key, value in values.items()
        if value is not None and value != ""
    }


def _json_text(value: object) -> str:
    return "true" if value is True else "" if value is False else compact(value)


def compact(value: object) -> str:
    """JSON without spaces, one spelling for one value."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True)


def parsed(text: str) -> Any:
    """The JSON value. Raises Unreadable."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Unreadable("not JSON") from None


def _time(text: str) -> datetime | None:
    if text == _ZERO_TIME:
        return None
    try:
        return time_of(text)
    except (ValueError, TypeError):
        raise Unreadable("not an RFC 3339 time with a zone") from None


def _sure_time(text: Any) -> datetime:
    if not isinstance(text, str) or (at := _time(text)) is None:
        raise Unreadable("a time is missing")
    return at


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 17) or int(text) > _LARGEST:
        raise Unreadable("not a whole number")
    return int(text)


def _slot(text: str) -> int:
    slot = _count(text)
    if slot < 1:
        raise Unreadable("slots count from 1")
    return slot


def _flag(text: str) -> bool:
    if text not in {"true", "false", "1", "0"}:
        raise Unreadable("not true or empty")
    return text in {"true", "1"}


def _list(text: str) -> list[Any]:
    value = parsed(text)
    if not isinstance(value, list):
        raise Unreadable("not a JSON list")
    return value


def _words(text: str) -> tuple[str, ...]:
    value = _list(text)
    if not all(isinstance(word, str) for word in value):
        raise Unreadable("not a list of words")
    return tuple(value)


def _times(text: str) -> tuple[datetime, ...]:
    return tuple(map(_sure_time, _list(text)))


def _object(value: Any, texts: tuple[str, ...]) -> Mapping[str, Any]:
    """The JSON object, checked to hold text under each of `texts`."""
    if not isinstance(value, dict) or not all(isinstance(value.get(k, ""), str) for k in texts):
        raise Unreadable("not the expected JSON object")
    return value


def _wake_note(text: str) -> WakeNote:
    value = _object(parsed(text), ("holder", "by", "started_at"))
    return WakeNote(
        holder=value.get("holder", ""),
        by=value.get("by", ""),
        at=_sure_time(value.get("at")),
        expires_at=_sure_time(value.get("expires_at")),
        started_at=_time(value["started_at"]) if value.get("started_at") else None,
    )


def _wake_note_text(note: WakeNote) -> str:
    value = {"holder": note.holder, "by": note.by, "at": time_text(note.at)}
    value["expires_at"] = time_text(note.expires_at)
    if note.started_at is not None:
        value["started_at"] = time_text(note.started_at)
    return compact(value)


def _pins(text: str) -> tuple[Pin, ...]:
    values = [_object(each, ("owner", "reason")) for each in _list(text)]
    return tuple(
        Pin(
            owner=value.get("owner", ""),
            reason=value.get("reason", ""),
            at=_sure_time(value.get("at")),
            expires_at=_sure_time(value.get("expires_at")),
            held=value.get("held") is True,
        )
        for value in values
    )


def _pins_text(pins: tuple[Pin, ...]) -> str:
    return compact(
        [
            {
                "owner": pin.owner,
                "reason": pin.reason,
                "at": time_text(pin.at),
                "expires_at": time_text(pin.expires_at),
                **({"held": True} if pin.held else {}),
            }
            for pin in pins
        ]
    )


def _sleep_request(text: str) -> SleepRequest:
    value = _object(parsed(text), ("by",))
    return SleepRequest(
        by=value.get("by", ""), at=_sure_time(value.get("at")), force=value.get("force") is True
    )


def _sleep_request_text(request: SleepRequest) -> str:
    value: dict[str, object] = {"by": request.by, "at": time_text(request.at)}
    return compact({**value, "force": True} if request.force else value)


def _stop_note(text: str) -> StopNote:
    value = _object(parsed(text), ("reason",))
    generation = value.get("generation")
    if type(generation) is not int or not 0 <= generation <= _LARGEST:
        raise Unreadable("no generation")
    try:
        reason = StopReason(value.get("reason", ""))
    except ValueError:
        raise Unreadable("unknown reason") from None
    return StopNote(reason=reason, generation=generation, at=_sure_time(value.get("at")))


def _stop_note_text(note: StopNote) -> str:
    value = {"reason": note.reason.value, "generation": note.generation, "at": time_text(note.at)}
    return compact(value)


def _word(words: type[StrEnum], *, empty: StrEnum | None) -> Format:
    """A word of a fixed set; the word of another tool says nothing to us."""

    def read(text: str) -> StrEnum:
        try:
            return words(text)
        except ValueError:
            raise Unreadable("a word we do not know") from None

    name = "one of " + ", ".join(f"`{word}`" for word in words if word.value)
    return Format(name=name, write=lambda word: word.value, read=read, empty=empty, doubtful=empty)


TEXT: Final = Format(name="text", write=str, read=str, empty="", doubtful="")
RUNTIME: Final = Format(name="text", write=str, read=str, empty="tmux", doubtful="tmux")
STATE: Final = _word(State, empty=None)
SLEEP_REASON: Final = _word(SleepReason, empty=SleepReason.NONE)
SLEEP_INTENT: Final = _word(SleepIntent, empty=SleepIntent.NONE)
TIME: Final = Format(name="RFC 3339 time", write=time_text, read=_time)
HOLD_TIME: Final = Format(name="RFC 3339 time", write=time_text, read=_time, doubtful=NEVER)
SINCE: Final = Format(name="RFC 3339 time", write=time_text, read=_time, doubtful=LONG_AGO)
COUNT: Final = Format(name="whole number", write=str, read=_count, empty=0, doubtful=0)
SLOT: Final = Format(name="whole number from 1", write=str, read=_slot)
FLAG: Final = Format(
    name="`true` or empty", write=lambda _: "true", read=_flag, empty=False, doubtful=False
)
WORDS: Final = Format(name="JSON list of words", write=compact, read=_words, empty=(), doubtful=())
TIMES: Final = Format(
    name="JSON list of times",
    write=lambda times: compact([time_text(at) for at in times]),
    read=_times,
    empty=(),
    doubtful=(),
)
WAKE_NOTE: Final = Format(
    name="JSON `{holder, by, at, expires_at, started_at?}`",
    write=_wake_note_text,
    read=_wake_note,
)
PINS: Final = Format(
    name="JSON list of `{owner, reason, at, expires_at, held?}`",
    write=_pins_text,
    read=_pins,
    empty=(),
    doubtful=(),
)
SLEEP_REQUEST: Final = Format(
    name="JSON `{by, at, force?}`", write=_sleep_request_text, read=_sleep_request
)
STOP_NOTE: Final = Format(
    name="JSON `{reason, generation, at}`", write=_stop_note_text, read=_stop_note
)
