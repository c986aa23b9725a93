"""A line from a stranger is one checked request or one sentence about what is wrong."""

from __future__ import annotations

import json
import string
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gascity.api.answers import ANSWERS
from gascity.api.frames import REQUESTS, BadRequest, Request, parse_line
from gascity.api.protocol import OPS, WORDS


def line(**fields: Any) -> bytes:
    """A request as a client sends it."""
    return json.dumps({"v": 1, **fields}).encode()


def test_every_op_has_fields_and_an_answer() -> None:
    """The three tables name the same ops."""
    assert set(OPS) == set(REQUESTS) == set(ANSWERS)


def test_a_request_holds_what_was_said() -> None:
    """Nothing is added."""
    asked = parse_line(line(op="wake", session="mayor", wait=False))
    assert (asked.op, dict(asked.fields)) == ("wake", {"session": "mayor", "wait": False})


@pytest.mark.parametrize("word", WORDS)
def test_the_ecosystems_bare_words_work(word: str) -> None:
    """With any white space around them."""
    assert parse_line(f" {word}\r".encode()).op == word


REFUSED = {
    "twice": b'{"v": 1, "op": "status", "op": "city_stop"}',
    "twice inside": b'{"v": 1, "op": "bead_update", "id": "x", "metadata": {"a": "1", "a": "2"}}',
    "nan": b'{"v": 1, "op": "wake", "session": "a", "timeout_s": NaN}',
    "infinity": b'{"v": 1, "op": "wake", "session": "a", "timeout_s": Infinity}',
    "overflow": b'{"v": 1, "op": "wake", "session": "a", "timeout_s": 1e999}',
    "deep": b"[" * 60_000,
    "deep object": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "deep field": b'{"v": 1, "op": "why", "session": ' + b"[" * 900 + b"]" * 900 + b"}",
    "long number": b'{"v": 1, "op": "events", "after": ' + b"9" * 60_000 + b"}",
    "not utf-8": b'{"v": 1, "op": "why", "session": "\xff"}',
    "half a character": b'{"v": 1, "op": "why", "session": "\\ud800"}',
    "nul": b'{"v": 1, "op": "sling", "target": "a", "title": "\\u0000"}',
    "no version": b'{"op": "status"}',
    "next version": b'{"v": 2, "op": "status"}',
    "true is not 1": b'{"v": true, "op": "status"}',
    "1.0 is not 1": b'{"v": 1.0, "op": "status"}',
    "unknown op": b'{"v": 1, "op": "rm"}',
    "op of another type": b'{"v": 1, "op": ["status"]}',
    "unknown field": b'{"v": 1, "op": "status", "shell": "x"}',
    "missing field": b'{"v": 1, "op": "wake"}',
    "empty name": b'{"v": 1, "op": "wake", "session": " "}',
    "control characters": b'{"v": 1, "op": "wake", "session": "a\\u001b[2J"}',
    "text for a flag": b'{"v": 1, "op": "wake", "session": "a", "wait": "yes"}',
    "true for a count": b'{"v": 1, "op": "events", "after": true}',
    "negative time": b'{"v": 1, "op": "pin", "session": "a", "for_s": -1}',
    "a thousand years": b'{"v": 1, "op": "pin", "session": "a", "for_s": 3e10}',
    "null": b'{"v": 1, "op": "wake", "session": null}',
    "a list": b"[]",
    "two objects": b'{"v": 1, "op": "status"}{"v": 1, "op": "status"}',
    "nothing": b"",
    "a word we do not know": b"shutdown",
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_json_readers_let_through_is_refused(what: str) -> None:
    """One clear sentence, exit 2, and a remedy."""
    with pytest.raises(BadRequest) as refused:
        parse_line(REFUSED[what])
    assert refused.value.exit == 2
    assert 0 < len(refused.value.what) < 250
    assert refused.value.do
    assert refused.value.what.isprintable()


def outcome(data: bytes) -> Request | BadRequest:
    """What comes of a line."""
    try:
        return parse_line(data)
    except BadRequest as refused:
        return refused


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    sorted({"v", "op"} | {name for fields in REQUESTS.values() for name in fields})
) | st.text(string.ascii_letters, max_size=4)
NEARLY = st.builds(
    lambda op, fields: json.dumps({"v": 1, "op": op, **fields}).encode(),
    st.sampled_from(sorted(OPS)),
    st.dictionaries(KEYS, VALUES, max_size=4),
)


@given(st.binary(max_size=300) | NEARLY)
@example(b'{"v":1,"op":"status"}')
def test_nothing_but_a_bad_request_ever_comes_of_a_line(data: bytes) -> None:
    """No bytes raise anything else; what passes has exactly the fields of its op."""
    asked = outcome(data)
    if isinstance(asked, BadRequest):
        assert asked.what.isascii()
    else:
        assert asked.op in WORDS or set(asked.fields) <= set(REQUESTS[asked.op])
