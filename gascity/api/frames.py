"""One line from a stranger → one checked request, or one sentence about what is wrong with it.

JSON is read strictly: Python's reader takes duplicate keys and NaN, and answers depth and long
numbers with errors of other types. Each op accepts exactly the fields of REQUESTS.

Source: DESIGN §13 "The control socket" (E3)
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from gascity.api.protocol import EXIT_USAGE, OPS, VERSION, WORDS

MAX_TEXT: Final = 4096  # characters of a name, owner, reason, ...
MAX_ITEMS: Final = 256
MAX_SECONDS: Final = 366 * 24 * 3600.0
MAX_INT: Final = 2**53


class BadRequest(Exception):
    """A line that asks for nothing we can do; `what` is wrong with it, `do` this instead."""

    def __init__(self, what: str, do: str = "send one JSON object a line") -> None:
        super().__init__(what)
        self.what = what
        self.do = do
        self.exit = EXIT_USAGE


@dataclass(frozen=True, slots=True)
class Request:
    """A checked request; `fields` holds only what was said."""

    op: str
    fields: Mapping[str, Any] = field(default_factory=dict)


Check: TypeAlias = Callable[[Any], str]  # "" when fine, else what it should be


def _text(value: Any, limit: int = MAX_TEXT) -> str:
    if not isinstance(value, str):
        return "a string"
    if len(value) > limit:
        return f"a string of at most {limit} characters"
    if "\0" in value or not _encodes(value):
        return "text without NUL and half characters"
    return ""


def _encodes(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _name(value: Any) -> str:
    fault = _text(value)
    if not fault and (not value.strip() or not value.isprintable()):
        return "a name: not empty, no control characters"
    return fault


def _long_text(value: Any) -> str:
    return _text(value, limit=32 * 1024)


def _flag(value: Any) -> str:
    return "" if isinstance(value, bool) else "true or false"


def _count(value: Any) -> str:
    fine = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_INT
    return "" if fine else "a whole number from 0"


def _seconds(value: Any) -> str:
    fine = (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
        and 0 < value <= MAX_SECONDS
    )
    return "" if fine else "a number of seconds above 0, at most a year"


def _texts(value: Any) -> str:
    if not isinstance(value, list) or len(value) > MAX_ITEMS or any(map(_text, value)):
        return f"a list of at most {MAX_ITEMS} strings"
    return ""


def _map(value: Any) -> str:
    fine = (
        isinstance(value, dict)
        and len(value) <= MAX_ITEMS
        and not any(_name(key) or _long_text(one) for key, one in value.items())
    )
    return "" if fine else "an object of strings"


# op -> field -> (check, required)
REQUESTS: Final[Mapping[str, Mapping[str, tuple[Check, bool]]]] = {
    "status": {"sessions": (_texts, False)},
    "watch": {"sessions": (_texts, False)},
    "why": {"session": (_name, True)},
    "sessions": {},
    "events": {
        "after": (_count, False),
        "types": (_texts, False),
        "session": (_text, False),
        "since": (_text, False),
        "follow": (_flag, False),
    },
    "wake": {
        "session": (_name, True),
        "by": (_text, False),
        "wait": (_flag, False),
        "timeout_s": (_seconds, False),
    },
    "attach": {
        "session": (_name, True),
        "by": (_text, False),
        "confirm_fresh": (_flag, False),
        "timeout_s": (_seconds, False),
    },
    "attach_cancel": {"session": (_name, True), "holder": (_name, True)},
    "sleep": {"session": (_name, True), "by": (_text, False), "force": (_flag, False)},
    "pin": {
        "session": (_name, True),
        "owner": (_text, False),
        "reason": (_text, False),
        "for_s": (_seconds, False),
        "agent": (_flag, False),
    },
    "unpin": {"session": (_name, True), "owner": (_text, False)},
    "pins": {},
    "suspend": {"session": (_name, False), "all": (_flag, False), "by": (_text, False)},
    "resume": {"session": (_name, False), "all": (_flag, False), "by": (_text, False)},
    "peek": {"session": (_name, True), "lines": (_count, False)},
    "screen": {"session": (_name, True)},
    "signal": {
        "session": (_name, True),
        "token": (_name, True),
        "kind": (_name, True),
        "seq": (_count, False),
        "what": (_text, False),
        "question": (_text, False),
        "items": (_texts, False),
        "source": (_text, False),
        "conversation": (_text, False),
        "sub": (_flag, False),
    },
    "turn": {
        "session": (_name, True),
        "token": (_text, False),
        "what": (_text, False),
        "owner": (_text, False),
    },
    "nudge": {
        "session": (_name, True),
        "text": (_long_text, True),
        "mode": (_text, False),
        "by": (_text, False),
    },
    "respond": {
        "session": (_name, True),
        "answer": (_text, False),
        "request": (_text, False),
        "by": (_text, False),
    },
    "messages": {"session": (_text, False), "all": (_flag, False)},
    "unsend": {"id": (_name, True), "by": (_text, False)},
    "kill": {"session": (_name, True), "by": (_text, False)},
    "sling": {"target": (_name, True), "title": (_text, True), "priority": (_count, False)},
    "beads": {"type": (_text, False), "status": (_text, False), "assignee": (_text, False)},
    "bead": {"id": (_name, True)},
    "bead_claim": {"id": (_name, True), "assignee": (_name, True)},
    "bead_close": {"id": (_name, True), "reason": (_text, False)},
    "bead_update": {
        "id": (_name, True),
        "status": (_text, False),
        "assignee": (_text, False),
        "title": (_text, False),
        "priority": (_count, False),
        "metadata": (_map, False),
        "blocked_by": (_texts, False),
    },
    "hook": {"session_id": (_name, True), "claim": (_flag, False)},
    "wait_add": {
        "session": (_name, True),
        "for_s": (_seconds, False),
        "until": (_text, False),
        "bead_ids": (_texts, False),
        "any_of": (_flag, False),
        "note": (_text, False),
        "elapsed": (_flag, False),
        "expires_s": (_seconds, False),
        "by": (_text, False),
    },
    "waits": {"session": (_text, False), "all": (_flag, False)},
    "wait_ready": {"id": (_name, True), "by": (_text, False)},
    "wait_cancel": {"id": (_name, True), "by": (_text, False)},
    "config": {},
    "city_stop": {"controller_only": (_flag, False)},
}


def picked(fields: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The fields that were said, as keyword arguments; an empty name is not said."""
    return {name: fields[name] for name in names if fields.get(name) not in (None, "")}


def parse_line(line: bytes) -> Request:
    """The request on one line, without its newline; a bare word is an op without fields.

    Raises:
        BadRequest: for everything else; nothing else is ever raised.
    """
    if line.strip().decode("ascii", "replace") in WORDS:
        return Request(line.strip().decode("ascii"))
    asked = _read(line)
    version = asked.pop("v", None)
    if isinstance(version, bool) or version != VERSION or not isinstance(version, int):
        raise BadRequest(
            f"protocol version {_shown(version)} is not spoken here", f'send "v": {VERSION}'
        )
    op = asked.pop("op", None)
    if not isinstance(op, str) or op not in REQUESTS:
        raise BadRequest(f"unknown op {_shown(op)}", f"known are {', '.join(sorted(OPS))}")
    _check_fields(op, asked)
    return Request(op, asked)


def _check_fields(op: str, asked: Mapping[str, Any]) -> None:
    known = REQUESTS[op]
    strange = sorted(set(asked) - set(known))
    if strange:
        takes = ", ".join(known) or "no fields"
        raise BadRequest(f"{op}: unknown field {_shown(strange[0])}", f"{op} takes {takes}")
    for name, (check, required) in known.items():
        if name not in asked:
            if required:
                raise BadRequest(f"{op}: {name} is missing", f"send {name}")
        elif wanted := check(asked[name]):
            raise BadRequest(f"{op}: {name} is {_shown(asked[name])}", f"{name} has to be {wanted}")


def _read(line: bytes) -> dict[str, Any]:
    """The one JSON object on the line, read without Python's leniencies."""
    try:
        value = json.loads(
            line.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant
        )
    except UnicodeDecodeError:
        raise BadRequest("not UTF-8") from None
    except RecursionError:
        raise BadRequest("nested too deeply") from None
    except ValueError as problem:
        raise BadRequest(f"not JSON: {str(problem)[:120]}") from None
    if not isinstance(value, dict):
        raise BadRequest(f"a JSON {type(value).__name__}, not an object")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BadRequest("a key is there twice", "say each key once")
    return found


def _no_constant(word: str) -> None:
    raise BadRequest(f"{word} is not JSON", "send a number")


def _shown(value: Any) -> str:
    """A short safe form of what a stranger sent; containers by their type, for they may be deep."""
    text = type(value).__name__ if isinstance(value, list | dict) else repr(value)
    return ascii(text[:40])[1:-1] + ("..." if len(text) > 40 else "")
