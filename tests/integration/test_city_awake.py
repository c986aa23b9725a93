"""What keeps a real session awake: each blocker over many patrols, and `gc why` names it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import pytest

from tests.integration.city import (
    RealCity,
    agent,
    city_toml,
    needs_tmux,
    running_city,
)
from tests.polling import wait_until
from tests.terminal import Terminal

pytestmark = [*needs_tmux, pytest.mark.slow]

# {session: (what its stand-in does at once, the blocker that `gc why` must name)}
HELD: Final = {
    "busy": (("--first", "work 600"), "idle_boundary"),
    "asks": (("--first", "permission"), "pending"),
    "plans": (("--first", "plan"), "pending"),
    "inbox": (("--first", "unknown"), "idle_boundary"),
    "draft": ((), "idle_boundary"),
    "child": ((), "background"),
    "ghost": ((), "background"),
    "editor": (("--first", "fg sleep 600"), "idle_boundary"),
    "one": ((), "attached"),
    "two": ((), "attached"),
}
WATCHED: Final = "watched"  # a control-mode client looks at it: that is nobody
PATROLS: Final = 60


@pytest.fixture(scope="module")
def city() -> Iterator[RealCity]:
    """Ten sessions, each held by something else, and one that only a program watches."""
    agents = [agent(name, *options) for name, (options, _) in HELD.items()]
    toml = city_toml(*agents, agent(WATCHED), sleep={"interactive_resume": "1s"})
    with running_city(toml) as one:
        yield one


@pytest.fixture(scope="module")
def visits(city: RealCity) -> Iterator[dict[str, list[Terminal]]]:
    """People at terminals, keys typed, children left: what a stand-in cannot do by itself."""
    for name in ("draft", "child", "ghost", "one", "two", WATCHED):
        city.gc("pin", name)
        city.wait_up(name)
    terminals = {
        "one": [city.attach_directly("one")],
        "two": [city.attach_directly("two"), city.attach_directly("two", "-u")],
    }
    watcher = city.attach_directly(WATCHED, "-C")
    for name, shown in (("draft", "draft"), ("child", "child"), ("ghost", "ghost")):
        assert wait_until(lambda name=name: "❯" in city.screen(name)), shown
    city.type("draft", "half a thought", enter=False)
    # Helpers come up with their agent; what starts later is work.
    wait_until(lambda: min(_age_s(city, one) for one in ("child", "ghost")) > 3.5, timeout_s=15)
    city.type("child", "background 600")
    city.type("ghost", "setsid 600")
    wait_until(lambda: sorted(city.clients()) == ["one", "two", "two", WATCHED])
    wait_until(lambda: "started" in city.screen("child") and "started" in city.screen("ghost"))
    for name in ("draft", "child", "ghost", "one", "two", WATCHED):
        city.gc("unpin", name)
    yield terminals
    for terminal in [*terminals["one"], *terminals["two"], watcher]:
        terminal.hang_up()


def _age_s(city: RealCity, name: str) -> float:
    since = datetime.fromisoformat(str(city.session(name)["since"]))
    return (datetime.now(UTC) - since).total_seconds()


def test_none_of_them_ever_sleeps(city: RealCity, visits: dict[str, list[Terminal]]) -> None:
    """Over many patrols after every window closed nobody is drained but the one nobody needs.

    A control-mode client is nobody (IDLE-01, WAKE-24, WAKE-25, BLK-01..04, R12, R15, R79).
    """
    city.wait_cold(WATCHED)
    for name, (_, blocker) in HELD.items():
        city.wait(name, lambda one, b=blocker: b in one["blockers"], what=f"held by {blocker}")
    pids = {name: set(city.tree(name)) for name in HELD}
    seen = city.seq()
    city.patrol(PATROLS)
    for name in HELD:
        assert city.session(name)["state"] == "awake", city.told(name)
        assert pids[name] <= set(city.tree(name))
    # Whoever stands still is not reported again; a screen that counts seconds does move (R42).
    assert {one["subject"] for one in city.events(after=seen)} <= {"busy"}, city.told("busy")
    assert {one["subject"] for one in city.events("session.stopped")} == {WATCHED}


@pytest.mark.parametrize("name", sorted(HELD))
def test_why_names_what_holds_it(
    city: RealCity, visits: dict[str, list[Terminal]], name: str
) -> None:
    """`gc why --json` and the status name the same blocker (BLK-07, STAT-03, STAT-11)."""
    blocker = HELD[name][1]
    city.wait(name, lambda one: blocker in one["blockers"], what=f"held by {blocker}")
    why = city.why(name)
    assert blocker in [one["name"] for one in why["blockers"]], why


def test_it_sleeps_when_the_last_person_left(
    city: RealCity, visits: dict[str, list[Terminal]]
) -> None:
    """One of two leaves: still attached. The other leaves: it sleeps (R12, IDLE-02, IDLE-05)."""
    first, second = visits["two"]
    first.type("\x02d")
    assert first.end() == 0
    wait_until(lambda: city.clients().count("two") == 1)
    city.patrol(10)
    assert "attached" in city.session("two")["blockers"]
    second.type("\x02d")
    assert second.end() == 0
    visits["two"].clear()
    city.wait_cold("two")


def test_it_sleeps_once_the_question_is_answered(
    city: RealCity, visits: dict[str, list[Terminal]]
) -> None:
    """An answered question, a sent draft, an ended child hold nothing any more (L3, R79)."""
    city.type("asks", "1")
    city.type("draft", "")
    for pid, line in city.tree("child").items():
        if line == "sleep 600":
            os.kill(pid, 15)
    for name in ("asks", "draft", "child"):
        city.wait_cold(name)
