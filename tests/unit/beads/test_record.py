"""Session records: every field there and back, and what garbage or another tool leaves."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gascity.beads.bead import SESSION, Bead
from gascity.beads.formats import LONG_AGO, NEVER, coerced
from gascity.beads.keys import KEYS
from gascity.beads.record import (
    changes,
    new_session,
    problems_of,
    read_session,
    session_of,
    texts_of,
    to_update,
)
from gascity.beads.times import time_of, time_text
from gascity.model.city import Agent, NamedMode
from gascity.model.roster import Place, slot_place
from gascity.model.session import (
    Diagnostics,
    Pin,
    PolicyNote,
    Session,
    SleepIntent,
    SleepReason,
    SleepRequest,
    State,
    StopNote,
    StopReason,
    WakeNote,
)

NOW: Final = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)

# The first day is how other tools write "no time"; the last is out of reach in some zones.
times = st.datetimes(
    min_value=datetime(2, 1, 1),  # noqa: DTZ001
    max_value=datetime(9998, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)
maybe = st.none() | times
text = st.text(max_size=20)
words = st.lists(text, max_size=3).map(tuple)
stamps = st.lists(times, max_size=3).map(tuple)
counts = st.integers(min_value=0, max_value=2**53)
notes = st.builds(WakeNote, holder=text, by=text, at=times, expires_at=times, started_at=maybe)
sessions = st.builds(
    Session,
    id=st.just("gc-1"),
    version=st.just(7),
    name=st.text(min_size=1, max_size=20),
    template=text,
    slot=st.none() | st.integers(min_value=1, max_value=2**53),
    runtime=st.text(min_size=1, max_size=10),
    foreign_state=st.just("") | st.sampled_from(["archived", "draining", "é"]),
    state=st.sampled_from(State),
    sleep_reason=st.sampled_from(SleepReason),
    sleep_intent=st.sampled_from(SleepIntent),
    created_at=st.just(NOW),
    since=maybe,
    woke_at=maybe,
    ready_at=maybe,
    slept_at=maybe,
    detached_at=maybe,
    generation=counts,
    instance_token=text,
    session_key=text,
    started_hash=text,
    fingerprint=text,
    fingerprint_inputs=text,
    latch_generation=counts,
    attach_intent=st.none() | notes,
    wake_request=st.none() | notes,
    pins=st.lists(
        st.builds(Pin, owner=text, reason=text, at=times, expires_at=times), max_size=2
    ).map(tuple),
    sleep_request=st.none() | st.builds(SleepRequest, by=text, at=times, force=st.booleans()),
    stop_note=st.none()
    | st.builds(StopNote, reason=st.sampled_from(StopReason), generation=counts, at=times),
    suspended_at=maybe,
    suspended_by=text,
    held_until=maybe,
    exits=stamps,
    failed_starts=stamps,
    quarantined_until=maybe,
    quarantine_cycle=counts,
    last_exit=text,
    last_error=text,
    idle_timeout_deferrals=text,
    policy=st.builds(
        PolicyNote,
        requested=text,
        effective=text,
        source=text,
        adjustment=text,
        capability=text,
        probe_health=text,
    ),
    diagnostics=st.builds(
        Diagnostics,
        suppressed=st.booleans(),
        blockers=words,
        abort_blockers=words,
        blocked_at=maybe,
        snapshot=text,
    ),
).map(lambda one: replace(one, state=State.ASLEEP) if one.foreign_state else one)


def bead(metadata: dict[str, str]) -> Bead:
    return Bead(
        id="gc-1", type=SESSION, metadata=metadata, created_at=NOW, updated_at=NOW, version=7
    )


def merged(metadata: dict[str, str], written: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in {**metadata, **written}.items() if value}


BASE: Final = {"session_name": "mayor", "template": "mayor", "state": "awake"}


@given(sessions)
@settings(max_examples=300, deadline=None)
def test_every_field_survives_writing_and_reading(session: Session) -> None:
    """What is written reads back equal and without a complaint (D1, META-01..META-18)."""
    metadata = {key: value for key, value in texts_of(session).items() if value}
    assert read_session(bead(metadata)) == (session, ())


@given(sessions, sessions)
@settings(max_examples=200, deadline=None)
def test_the_difference_leads_from_one_to_the_other(old: Session, new: Session) -> None:
    """Only keys that differ are written, and writing them gives the new session (R42)."""
    metadata = {key: value for key, value in texts_of(old).items() if value}
    metadata["mc_theirs"] = "kept"
    written = changes(old, new, metadata)
    assert all(metadata.get(key, "") != value for key, value in written.items())
    after = merged(metadata, written)
    assert session_of(bead(after)) == new
    assert after["mc_theirs"] == "kept"
    assert changes(new, new, after) == changes(new, session_of(bead(after)), after) == {}
    update = to_update(old, new, metadata)
    assert (update.id, update.expect_version, update.metadata) == ("gc-1", 7, written)


@given(st.dictionaries(st.sampled_from([key.name for key in KEYS]), st.text(max_size=30)))
@settings(max_examples=500, deadline=None)
def test_garbage_never_raises_and_is_never_written_over(metadata: dict[str, str]) -> None:
    """Whatever the record holds is read somehow; saying it again writes nothing (META-22, R73)."""
    session = session_of(bead(metadata))
    assert changes(session, session_of(bead(metadata)), metadata) == {}


def test_every_field_of_a_session_has_a_key() -> None:
    """No field is forgotten at a restart: all but the record's own are in the list."""
    own = {"id", "version", "created_at", "foreign_state", "policy", "diagnostics"}
    expected = {field.name for field in fields(Session)} - own
    expected |= {f"policy.{field.name}" for field in fields(PolicyNote)}
    expected |= {f"diagnostics.{field.name}" for field in fields(Diagnostics)}
    assert {key.field for key in KEYS} == expected
    assert len({key.name for key in KEYS}) == len(KEYS)


def test_the_keys_of_the_design_are_there() -> None:
    """META-01..META-17 under the names that other tools know."""
    assert {key.name for key in KEYS} >= {
        "detached_at", "requested_sleep_after_idle", "effective_sleep_after_idle",
        "sleep_policy_source", "sleep_policy_fingerprint", "sleep_policy_fingerprint_inputs",
        "sleep_policy_adjustment_reason", "sleep_probe_health", "sleep_intent", "attach_intent",
        "config_wake_suppressed", "current_sleep_blockers", "last_sleep_abort_blockers",
        "last_sleep_blocked_at", "sleep_capability", "sleep_reason", "sleep_decision_snapshot",
        "state", "session_name", "template", "generation", "instance_token", "session_key",
    }  # fmt: skip


@pytest.mark.parametrize("garbage", ["\x00", "null", "[1]", "{}", "-1", "9" * 30, "[[[", "١"])
def test_corrupt_diagnostics_change_no_other_field(garbage: str) -> None:
    """Blockers, snapshot and suppression may hold anything: what decides stays equal (META-22)."""
    whole = session_of(bead(BASE))
    for key in (key for key in KEYS if not key.decides):
        session = session_of(bead({**BASE, key.name: garbage}))
        kept = replace(session, policy=whole.policy, diagnostics=whole.diagnostics)
        assert kept == whole, key.name


@pytest.mark.parametrize(
    ("key", "garbage", "field", "reading"),
    [
        ("held_until", "next week", "held_until", NEVER),
        ("quarantined_until", "2026-01-02T03:04:05", "quarantined_until", NEVER),
        ("suspended_at", "?", "suspended_at", LONG_AGO),
        ("generation", "-3", "generation", 0),
        ("generation", "1e3", "generation", 0),
        ("sleep_latch_generation", "x", "latch_generation", 0),
        ("pool_slot", "0", "slot", None),
        ("attach_intent", '{"by": 3}', "attach_intent", None),
        ("attach_intent", '{"at": "2026-01-02T03:04:05Z"}', "attach_intent", None),
        ("wake_request", "[" * 10_000, "wake_request", None),
        ("pins", '[{"owner": "a"}]', "pins", ()),
        ("stop_note", '{"reason": "whim", "generation": 1}', "stop_note", None),
        ("recent_exits", '["soon"]', "exits", ()),
        ("sleep_intent", "wait-hold", "sleep_intent", SleepIntent.NONE),
        ("sleep_reason", "user-hold", "sleep_reason", SleepReason.NONE),
        ("detached_at", "0001-01-01T00:00:00+12:00", "detached_at", None),
    ],
)
def test_a_doubtful_value_reads_safe_and_is_reported(
    key: str, garbage: str, field: str, reading: object
) -> None:
    """A doubtful hold holds, a doubtful request was not made; the key is named (META-22, R26)."""
    record = bead({**BASE, key: garbage})
    session, (problem,) = read_session(record)
    assert getattr(session, field) == reading
    assert problem.startswith(f"{key}: ")
    assert problems_of(record) == (problem,)
    moved = replace(session, last_error="x")
    assert changes(session, moved, record.metadata) == {"last_error": "x"}


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"state": "active"}, {"state": State.AWAKE}),
        ({"state": "drained"}, {"state": State.ASLEEP, "sleep_reason": SleepReason.DRAINED}),
        ({"state": "archived"}, {"state": State.ASLEEP, "foreign_state": "archived"}),
        ({"state": ""}, {"state": State.CREATING}),
        ({"state": "", "last_woke_at": time_text(NOW)}, {"state": State.AWAKE}),
        ({"state": "", "sleep_reason": "idle"}, {"state": State.ASLEEP}),
    ],
)
def test_states_of_other_tools_are_understood_or_kept(
    metadata: dict[str, str], expected: dict[str, Any]
) -> None:
    """`active` is awake, `drained` is asleep; an unknown word is kept beside (META-19, D2)."""
    session = session_of(bead({**BASE, **metadata}))
    assert {key: getattr(session, key) for key in expected} == expected
    assert bool(session.foreign_state) == ("foreign_state" in expected)


def test_a_foreign_state_is_never_written_over() -> None:
    """Other fields may move; the word of the other tool stays until it is let go (D2, R73)."""
    record = bead({**BASE, "state": "archived"})
    session = session_of(record)
    moved = replace(session, state=State.AWAKE, last_error="x")
    assert changes(session, moved, record.metadata) == {"last_error": "x"}
    released = replace(moved, foreign_state="")
    assert changes(session, released, record.metadata)["state"] == "awake"


def test_a_record_without_a_name_is_named_by_its_id() -> None:
    """An empty name could mean any session: the id stands in, and it is reported (R45)."""
    session, problems = read_session(bead({"state": "awake"}))
    assert session.name == "gc-1"
    assert len(problems) == 1


def test_values_of_other_tools_become_text() -> None:
    """JSON scalars read as the text that was meant; null and false read as nothing."""
    stored = {"a": True, "b": False, "c": None, "d": 3, "e": "x", "f": ["y"], "g": "", "h": 1.5}
    assert {k: v for k, v in coerced(stored).items() if v} == {
        "a": "true", "d": "3", "e": "x", "f": '["y"]', "h": "1.5",
    }  # fmt: skip


def test_a_new_record_reads_as_a_session_never_started() -> None:
    """Places of agents, slots and named sessions become records that other tools know too."""
    agent = Agent(identity="rig/worker", name="worker", rig="rig", runtime="subprocess")
    new = new_session(slot_place(agent, 2), now=NOW)
    session = session_of(bead(dict(new.metadata)))
    assert (session.name, session.template, session.slot) == ("rig--worker-2", "rig/worker", 2)
    assert (session.runtime, session.state, session.since) == ("subprocess", State.CREATING, NOW)
    assert not session.was_started
    assert (new.type, new.title, new.labels) == (
        SESSION, "rig--worker-2", ("gc:session", "agent:rig/worker"),
    )  # fmt: skip
    assert new.metadata["agent_name"] == "rig/worker-2"
    named = Place(name="boss", template="rig/worker", agent=agent, named=NamedMode.ALWAYS)
    assert new_session(named, now=NOW).metadata["configured_named_mode"] == "always"


@given(times, times)
def test_text_order_is_time_order(one: datetime, other: datetime) -> None:
    """Stored times compare as text, and read back to the microsecond (R38)."""
    assert time_of(time_text(one)) == one
    assert (time_text(one) < time_text(other)) == (one < other)
    assert time_text(one).endswith("Z")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-02T03:04:05Z", NOW.replace(microsecond=0)),
        ("2026-01-02T03:04:05.000006789Z", NOW),
        ("2026-01-02T05:04:05.000006+02:00", NOW),
    ],
)
def test_times_of_other_tools_are_read(text: str, expected: datetime) -> None:
    """Whole seconds, nanoseconds and other zones name the same instants (R38)."""
    assert time_of(text) == expected
    assert time_of(text).utcoffset() == timedelta(0)
