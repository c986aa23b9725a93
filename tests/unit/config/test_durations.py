"""Spans of time: Go's grammar to the nanosecond, and the words around it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gascity.config.durations import UNITS, parse_duration, parse_keep_warm
from gascity.model.duration import OFF, Duration

# Made by time.ParseDuration of Go 1.26; null is an error there.
GOLDEN = json.loads(Path(__file__).with_name("durations.golden.json").read_text("utf-8"))


def parsed_ns(text: str) -> int | None:
    """Nanoseconds, or None for a text that is refused."""
    try:
        return parse_duration(text).ns
    except ValueError:
        return None


def test_every_golden_text_means_what_it_means_in_go() -> None:
    """Nearly five hundred texts give Go's nanoseconds, or are refused where Go refuses (R1)."""
    assert [[text, parsed_ns(text)] for text, _ in GOLDEN] == GOLDEN


@given(
    st.lists(
        st.tuples(st.integers(0, 10**6), st.sampled_from(sorted(UNITS))), min_size=1, max_size=6
    )
)
def test_terms_add_up(terms: list[tuple[int, str]]) -> None:
    """A span is the sum of its terms, in any order and however often a unit comes back (R1)."""
    text = "".join(f"{count}{unit}" for count, unit in terms)
    total = sum(count * UNITS[unit] for count, unit in terms)
    assert parsed_ns(text) == (total if total < 1 << 63 else None)


@given(st.integers(0, (1 << 63) - 1))
def test_nanoseconds_come_back(ns: int) -> None:
    """Whatever an int64 of nanoseconds can hold survives being written and read (R1)."""
    assert parsed_ns(f"{ns}ns") == ns
    assert parsed_ns(f"-{ns}ns") == -ns


@given(st.text(max_size=40))
def test_any_text_is_a_span_or_an_error_with_a_remedy(text: str) -> None:
    """No text is a surprise: a span, or a ValueError that says what to write (R1)."""
    said = ""
    try:
        parse_keep_warm(text)
    except ValueError as fault:
        said = str(fault)
    assert not said or "write" in said


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("off", OFF),
        ("OFF", OFF),
        (" Off\t", OFF),
        ("0s", Duration(0, "0s")),
        ("0", Duration(0, "0")),
        ("30s", Duration(30 * 10**9, "30s")),
        (" 60s ", Duration(60 * 10**9, "60s")),
        ("5m", Duration(300 * 10**9, "5m")),
        ("1h30m", Duration(5400 * 10**9, "1h30m")),
        ("1.5s", Duration(1_500_000_000, "1.5s")),
        ("500ms", Duration(500_000_000, "500ms")),
        ("-0s", Duration(0, "0s")),
    ],
)
def test_a_window_is_off_or_a_span(text: str, window: object) -> None:
    """`off` in any case and durations are windows, zero included (CFG-08, CFG-09, R1)."""
    assert parse_keep_warm(text) == window


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        pytest.param("", "leave the key out to inherit", id="VAL-01"),
        pytest.param("  ", "leave the key out to inherit", id="VAL-01 blank"),
        pytest.param("-5s", "cannot be negative", id="VAL-02"),
        pytest.param("-1ns", "cannot be negative", id="VAL-02 smallest"),
        pytest.param("never", '"off" for never', id="VAL-03 never"),
        pytest.param("on", '"off" for never', id="VAL-03 on"),
        pytest.param("none", '"off" for never', id="VAL-03 none"),
        pytest.param("1d", 'write "24h"', id="days"),
        pytest.param("30", 'write the unit, for example "30s"', id="bare number"),
        pytest.param("1.5", 'for example "1.5s"', id="bare fraction"),
        pytest.param("1 h", "without spaces inside", id="space inside"),
        pytest.param("5M", '"60s"', id="upper case unit"),
        pytest.param("٥s", '"60s"', id="other digits"),
        pytest.param("3000000h", "292 years", id="overflow"),
        pytest.param("1s" * 600, "too long", id="long text"),
        pytest.param(60, "in quotes", id="number"),
        pytest.param(0, "in quotes", id="zero without quotes"),
        pytest.param(True, "a boolean", id="boolean"),
        pytest.param(["60s"], "an array", id="array"),
    ],
)
def test_what_is_no_window_is_refused_with_what_to_write(text: object, remedy: str) -> None:
    """Empty, negative and other words are refused with a remedy (CFG-10, VAL-01..03, R1)."""
    with pytest.raises(ValueError, match=re.escape(remedy)):
        parse_keep_warm(text)


def test_an_empty_stamp_is_told_how_to_unset() -> None:
    """In a patch or override `""` is refused with the word that does undo a value (CFG-10, R2)."""
    with pytest.raises(ValueError, match=r'unset = \["sleep_after_idle"\]'):
        parse_keep_warm("", stamps=True)
