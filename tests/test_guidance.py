"""What people are told about rolling idle sleep out, held against the product."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from gascity.beads.keys import KEYS
from gascity.beads.record import session_of, to_update
from gascity.decide.tick import decide
from gascity.model.session import SleepIntent, SleepReason, State
from gascity.testing.builders import NOON, a_city, agent, asleep, awake, cold
from gascity.testing.builders import a_world as world_of

DOCS = Path(__file__).parent.parent / "docs"


def page(name: str) -> str:
    return " ".join((DOCS / name).read_text(encoding="utf-8").split())


def test_a_window_is_asked_for_where_only_a_clock_is_left() -> None:
    """The policy page says that `timed_only` workers begin with 30s and what 0s risks (ROLL-11)."""
    said = page("how-to/choose-a-keep-warm-policy.md")
    assert "begin with `30s`" in said
    assert "`0s` there means" in said


def test_a_cold_session_uses_no_word_that_an_older_controller_does_not_know() -> None:
    """State and reason are the ecosystem's; what is new is extra keys it ignores (ROLL-15)."""
    assert {str(state) for state in State} <= {
        "creating", "awake", "asleep", "suspended", "quarantined"
    }  # fmt: skip
    old_words = {"state", "sleep_reason", "generation", "instance_token", "detached_at"}
    assert old_words <= {key.name for key in KEYS}


def test_an_older_controller_that_wakes_a_sleeper_is_believed() -> None:
    """Coming back up a version, what runs is adopted and nothing is stopped for it (ROLL-15)."""
    from gascity.testing.builders import running

    plan = decide(world_of(a_city(agent("mayor")), cold("mayor"), seen=running()))
    [after] = plan.changes.values()
    assert (after.state, after.sleep_intent) == (State.AWAKE, SleepIntent.NONE)
    assert plan.actions == ()


def test_what_is_not_promised_is_said() -> None:
    """Restart-on-idle stays, a fresh agent comes back fresh, slots stay slots (ROLL-17)."""
    assert "idle_timeout" in page("how-to/migrate-from-idle-timeout.md")
    assert "discard" in page("how-to/attach-to-a-sleeper.md")
    assert "realized" in page("concepts/pools.md")


def test_every_blocker_is_in_the_reference() -> None:
    """A row for each word that `gc why` can end, and for those that vary (BLK-01..07)."""
    from gascity.act.requests_why import ENDS

    said = (DOCS / "reference" / "blockers.md").read_text(encoding="utf-8")
    rows = "\n".join(line for line in said.splitlines() if line.startswith("| `"))
    words = set(
        re.findall(r"`([a-z_]+)`", "\n".join(row.split("|")[1] for row in rows.splitlines()))
    )
    assert words == set(ENDS)
    assert "`draining:<reason>`" in rows


def test_the_controller_sleeps_a_session_that_never_heard_of_it() -> None:
    """No order, hook or word of the agent takes part in the decision (ROLL-18)."""
    from gascity.model.plan import Drain
    from gascity.testing.builders import running

    plan = decide(world_of(a_city(agent("mayor")), awake("mayor"), seen=running(idle_s=600)))
    assert [type(action) for action in plan.actions] == [Drain]


def test_a_record_without_our_keys_is_read_and_kept() -> None:
    """What another tool wrote is neither lost nor written over (ROLL-15, META-22)."""
    from gascity.beads.bead import SESSION, Bead

    theirs = {"session_name": "mayor", "template": "mayor", "state": "asleep", "mc_note": "kept"}
    bead = Bead(id="gc-1", type=SESSION, metadata=theirs, created_at=NOON, updated_at=NOON)
    session = session_of(bead)
    assert (session.state, session.sleep_reason) == (State.ASLEEP, SleepReason.NONE)
    update = to_update(session, replace(session, state=State.AWAKE), bead.metadata)
    assert update.metadata == {"state": "awake"}
    assert asleep(SleepReason.NONE).state is State.ASLEEP
