"""Who needs a session, read from bare records by code of its own."""

from __future__ import annotations

from datetime import timedelta

import pytest

from gascity.beads.bead import Bead
from gascity.testing.clock import NOON
from gascity.testing.facts import Records, below

LATER, EARLIER = (NOON + timedelta(hours=n) for n in (1, -1))
EDGES = {"app": ("db",), "web": ("app",), "db": ()}


def a_bead(bead_id: str, kind: str = "session", **fields: object) -> Bead:
    """A record with everything else at its default."""
    return Bead(id=bead_id, type=kind, created_at=NOON, updated_at=NOON, **fields)  # type: ignore[arg-type]


def a_session(name: str, **metadata: str) -> Bead:
    """A session's record."""
    said = {"session_name": name, "template": name, **metadata}
    return a_bead(f"gc-{name}", metadata=said)


def needs(*beads: Bead, name: str = "db") -> set[str]:
    """What is asked of a session in these records."""
    return set(Records(beads, NOON, EDGES).needs(name))


def note(until: object) -> str:
    """A request that ends then."""
    return f'{{"expires_at":"{until}"}}'


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (a_bead("t", "task", assignee="db"), {"work"}),
        (a_bead("w", "gate", metadata={"session_id": "gc-db", "state": "ready"}), {"wait"}),
        (a_bead("w", "gate", metadata={"session_id": "gc-db", "due_at": str(EARLIER)}), {"wait"}),
        (a_bead("w", "gate", metadata={"session_id": "gc-db", "due_at": str(LATER)}), set()),
        (a_bead("t", "task", assignee="web"), {"dependency"}),
        (a_bead("t", "task", assignee="nobody"), set()),
    ],
)
def test_demand_is_read_from_work_waits_and_dependents(asked: Bead, found: set[str]) -> None:
    """R18, R19, R27: own demand by its word, a dependent's at every level as dependency."""
    assert needs(a_session("db"), a_session("app"), a_session("web"), asked) == found


def test_requests_count_until_they_expire() -> None:
    """R18, ATT-05: an intent or pin that has lapsed asks for nothing."""
    assert needs(a_session("db", attach_intent=note(LATER))) == {"operator"}
    assert needs(a_session("db", wake_request=note(EARLIER))) == set()
    assert needs(a_session("db", pins=f"[{note(LATER)}]")) == {"pin"}
    assert needs(a_session("db"), a_session("web", pins=f"[{note(LATER)}]")) == {"dependency"}


def test_what_is_held_asks_for_nothing() -> None:
    """R26: a suspended session is not needed, and needs nobody."""
    work = a_bead("t", "task", assignee="web")
    held = a_session("web", suspended_at=str(EARLIER))
    assert needs(a_session("db"), held, work) == set()
    assert needs(held, work, name="web") == set()


def test_dependents_are_found_at_every_level() -> None:
    """DEP-05: web stands on app stands on db; nobody stands on web."""
    assert below("db", EDGES) == {"app", "web"}
    assert below("web", EDGES) == set()
