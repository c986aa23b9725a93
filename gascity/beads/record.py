"""Session records as text and back: read into a `Session`, change it, write the difference.

The keys are listed in `keys`. What we do not know, a key or a state word of another tool, is kept
and never acted on. A value that cannot be read gets a safe reading and a complaint, and stays as
it is until a decision changes it.

Source: DESIGN §11 (META-01..22; R42, R73)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from operator import attrgetter
from typing import Any, Final

from gascity.beads.bead import SESSION, Bead
from gascity.beads.formats import Unreadable, coerced
from gascity.beads.keys import KEYS, Key
from gascity.beads.store import NewBead, Update
from gascity.beads.times import time_of, time_text
from gascity.model.roster import Place
from gascity.model.session import Diagnostics, PolicyNote, Session, SleepReason, State

__all__ = [
    "KEYS",
    "Key",
    "changes",
    "coerced",
    "new_session",
    "problems_of",
    "read_session",
    "session_of",
    "texts_of",
    "time_of",
    "time_text",
    "to_update",
]

SESSION_LABEL: Final = "gc:session"

_BY_NAME: Final[Mapping[str, Key]] = {key.name: key for key in KEYS}
_GETTERS: Final = tuple((key.name, attrgetter(key.field), key.format) for key in KEYS)
_STATE_WORDS: Final = {
    **{state.value: state for state in State},
    "active": State.AWAKE,
    "drained": State.ASLEEP,
}
_POLICY: Final = frozenset(f"policy.{field.name}" for field in fields(PolicyNote))
_DIAGNOSTICS: Final = frozenset(f"diagnostics.{field.name}" for field in fields(Diagnostics))


def session_of(bead: Bead) -> Session:
    """The session that a record keeps; never raises for what the record holds (META-22)."""
    return read_session(bead)[0]


def problems_of(bead: Bead) -> tuple[str, ...]:
    """What in the record could not be read, as `key: why: text`."""
    return read_session(bead)[1]


def read_session(bead: Bead) -> tuple[Session, tuple[str, ...]]:
    """The session and what could not be read of it.

    A doubtful hold holds, a doubtful count is 0, a doubtful request was not made, and a doubtful
    diagnostic is empty.
    """
    values: dict[str, Any] = {}
    problems: list[str] = []
    for name, text in bead.metadata.items():
        key = _BY_NAME.get(name)
        if key is None or not text or name == "state":
            continue
        try:
            values[key.field] = key.format.read(text)
        except Unreadable as doubt:
            values[key.field] = key.format.doubtful
            problems.append(f"{name}: {doubt}: {text[:80]!r}")
    values.update(_state(bead.metadata, values))
    if not values.get("name"):
        values["name"] = bead.id
        problems.append("session_name: missing; the id stands for it")
    values.setdefault("template", "")
    policy = _taken(values, _POLICY)
    diagnostics = _taken(values, _DIAGNOSTICS)
    session = Session(
        id=bead.id,
        version=bead.version,
        created_at=bead.created_at,
        policy=PolicyNote(**policy) if policy else _NO_POLICY,
        diagnostics=Diagnostics(**diagnostics) if diagnostics else _NO_DIAGNOSTICS,
        **values,
    )
    return session, tuple(problems)


_NO_POLICY: Final = PolicyNote()
_NO_DIAGNOSTICS: Final = Diagnostics()


def _taken(values: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    """Move the fields of a nested note out of `values`."""
    found = names & values.keys()
    return {name.partition(".")[2]: values.pop(name) for name in found}


def _state(metadata: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, Any]:
    """`state` with its older and foreign spellings; `foreign_state` says not to act on it."""
    word = metadata.get("state", "")
    if not word:
        # Lost or from an older tool: what else is written says which is the least surprise.
        if values.get("sleep_reason") or values.get("slept_at"):
            return {"state": State.ASLEEP}
        return {"state": State.AWAKE if values.get("woke_at") else State.CREATING}
    state = _STATE_WORDS.get(word)
    if state is None:
        return {"state": State.ASLEEP, "foreign_state": word}
    if word == "drained" and not values.get("sleep_reason"):
        return {"state": state, "sleep_reason": SleepReason.DRAINED}
    return {"state": state}


def texts_of(session: Session) -> dict[str, str]:
    """Every key of the session as text; "" where there is nothing to say."""
    texts = {}
    for name, value_of, form in _GETTERS:
        value = value_of(session)
        texts[name] = "" if value is None or value == form.empty else form.write(value)
    if session.foreign_state:
        texts["state"] = session.foreign_state
    return texts


def changes(old: Session, new: Session, metadata: Mapping[str, str]) -> dict[str, str]:
    """The keys to write so that the record says `new`; "" clears a key.

    Only what a decision changed is written: a key of another tool and a text that could not be
    read stay as they are, and nothing is written twice (R42).
    """
    if old is new:
        return {}
    before = texts_of(old)
    return {
        key: text
        for key, text in texts_of(new).items()
        if text != before[key] and text != metadata.get(key, "")
    }


def to_update(old: Session, new: Session, metadata: Mapping[str, str] | None = None) -> Update:
    """The write that leads from `old`, as it was read, to `new`; refused if somebody wrote between.

    Without `metadata` the record is taken to say what `old` says.
    """
    changed = changes(old, new, texts_of(old) if metadata is None else metadata)
    return Update(id=old.id, expect_version=old.version, metadata=changed)


def new_session(place: Place, *, now: datetime) -> NewBead:
    """The record of a place that is to have a session: `creating`, never started."""
    slot = "" if place.slot is None else str(place.slot)
    return NewBead(
        type=SESSION,
        title=place.name,
        labels=(SESSION_LABEL, f"agent:{place.template}"),
        metadata={
            "session_name": place.name,
            "template": place.template,
            "agent_name": f"{place.template}-{slot}" if slot else place.template,
            "pool_slot": slot,
            "pool_managed": "true" if slot else "",
            "configured_named_session": "true" if place.named else "",
            "configured_named_mode": place.named.value if place.named else "",
            "runtime": "" if place.runtime == "tmux" else place.runtime,
            "state": State.CREATING.value,
            "state_changed_at": time_text(now),
        },
    )
