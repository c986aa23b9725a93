"""`gc status` text: the four renderings of the design, the columns, one line an entry."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gascity.report.lines import details, lines


def entry(name: str, state: str, **over: Any) -> dict[str, Any]:
    """One session as `gc status --json` shows it."""
    policy = {"effective": "60s", "source": "workspace_default", "adjustment": ""}
    base: dict[str, Any] = {
        "name": name,
        "state": state,
        "sleep_reason": "",
        "policy": policy | over.pop("policy", {}),
        "capability": {"class": "full", "adjustment": ""} | over.pop("capability", {}),
        "blockers": [],
        "masked_by": "",
        "config_wake_suppressed": False,
    }
    return base | over


MAYOR = entry("mayor", "awake", blockers=["attached"])
WORKER = entry(
    "worker-1",
    "asleep",
    sleep_reason="idle",
    policy={"effective": "0s", "source": "rig_override"},
    config_wake_suppressed=True,
)
POLECAT = entry(
    "polecat", "awake", policy={"effective": "off", "adjustment": "fresh-agent-default"}
)
API = entry("api", "awake", policy={"source": "agent"}, masked_by="idle_timeout:30s")


DESIGN = """\
mayor     awake    sleep=60s(source=workspace_default capability=full blockers=attached)
worker-1  asleep   reason=idle sleep=0s(source=rig_override suppressed=yes)
polecat   awake    sleep=off(source=workspace_default adjustment=fresh-agent-default)
api       awake    sleep=60s(masked_by=idle_timeout:30s source=agent capability=full)
""".splitlines()


@pytest.mark.parametrize(
    ("one", "text"),
    list(zip((MAYOR, WORKER, POLECAT, API), DESIGN, strict=True)),
    ids=["blocked", "asleep", "off", "masked"],
)
def test_the_design_renders_exactly(one: dict[str, Any], text: str) -> None:
    """The four renderings come out letter by letter (STAT-05, STAT-06, STAT-07, STAT-08)."""
    assert lines([one]) == [text]


def test_the_four_together_keep_their_columns() -> None:
    """None of the four widens a column, so together they look as they do alone (STAT-09)."""
    assert lines([MAYOR, WORKER, POLECAT, API]) == DESIGN


def test_longer_names_and_states_widen_the_column_for_all() -> None:
    """Two spaces separate columns whatever their width; all lines widen together (STAT-09)."""
    got = lines([MAYOR, entry("a-much-longer-name", "quarantined")])
    assert got[0].startswith("mayor               awake        sleep=")
    assert got[1].startswith("a-much-longer-name  quarantined  sleep=")


def test_a_suspended_session_says_so_in_its_state() -> None:
    """Suspension is a state of its own, told apart from idle sleep (STAT-01, STAT-02)."""
    line = lines([entry("mayor", "suspended", sleep_reason="suspended")])[0]
    assert line.split()[:2] == ["mayor", "suspended"]
    assert "reason=" not in line


def test_capability_is_named_only_where_it_matters() -> None:
    """A sleeper's capability and that of an `off` session say nothing (STAT-09)."""
    assert "capability" not in details(WORKER)
    assert "capability" not in details(POLECAT)
    assert "capability=full" in details(MAYOR)


def test_keep_warm_is_left_to_why() -> None:
    """`keep_warm` is no news; other blockers stay, joined by commas (STAT-03)."""
    shown = details(entry("mayor", "awake", blockers=["keep_warm", "attached", "work"]))
    assert shown.endswith("blockers=attached,work)")
    assert "blockers" not in details(entry("mayor", "awake", blockers=["keep_warm"]))


def test_an_unclear_look_is_visible() -> None:
    """A look that failed closed is named beside the policy's own adjustment (STAT-10)."""
    doubtful = entry(
        "mayor",
        "awake",
        policy={"adjustment": "no-resume"},
        capability={"adjustment": "unclear:attached"},
    )
    assert "adjustment=no-resume,unclear:attached" in details(doubtful)


def test_colours_leave_the_text_as_it_is() -> None:
    """Painted lines are the plain ones once the colours are taken out (STAT-09)."""
    entries = [MAYOR, WORKER, entry("a-much-longer-name", "quarantined")]
    painted = lines(entries, colour=True)
    assert [re.sub(r"\x1b\[\d+m", "", line) for line in painted] == lines(entries)
    assert all("\x1b[" in line for line in painted)


def test_control_characters_cannot_break_the_table() -> None:
    r"""A name or blocker with an escape, a newline or a bidi mark is shown escaped (STAT-09)."""
    nasty = entry("a\x1b[2J\nb\u202e", "awake", blockers=["x\ny"])
    [line] = lines([nasty])
    assert line.isprintable()
    assert r"a\x1b[2J\nb\u202e" in line


words = st.text(max_size=12)
entries = st.fixed_dictionaries(
    {
        "name": words,
        "state": words | st.sampled_from(["awake", "asleep"]),
        "sleep_reason": words,
        "policy": st.none()
        | st.fixed_dictionaries({}, optional={"effective": words, "source": words}),
        "capability": st.none() | st.fixed_dictionaries({"class": words | st.none()}),
        "blockers": st.lists(words, max_size=3),
        "masked_by": words,
        "config_wake_suppressed": st.booleans(),
    }
)


@given(st.lists(entries, max_size=5), st.booleans())
def test_every_entry_is_one_line(many: list[dict[str, Any]], colour: bool) -> None:
    """Whatever a decision holds, it renders on exactly one line (STAT-09)."""
    got = lines(many, colour=colour)
    assert len(got) == len(many)
    assert all(len(line.splitlines()) == 1 for line in got)
