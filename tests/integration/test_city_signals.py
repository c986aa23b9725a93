"""A stand-in agent that calls its hooks, in a real city: what they say changes blockers at once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.city import Entry, RealCity, agent, city_toml, needs_tmux, running_city

pytestmark = [*needs_tmux, pytest.mark.slow]


@pytest.fixture(scope="module")
def city() -> Iterator[RealCity]:
    """One tells what it is told to, one has hooks; only a signal brings a patrol soon."""
    toml = city_toml(
        agent("told", sleep_after_idle="1h"),
        agent("hooked", "--hooks", sleep_after_idle="1h"),
        agent("quiet", sleep_after_idle="3s"),
        patrol="1h",
    )
    with running_city(toml) as one:
        for name in ("told", "hooked", "quiet"):
            one.wait_up(name)
        yield one


def has(word: str) -> object:
    """Whether a session is kept awake by something of that name."""
    return lambda one: word in one["blockers"]


def lacks(word: str) -> object:
    return lambda one: word not in one["blockers"]


def test_each_signal_changes_the_blockers_at_once(city: RealCity) -> None:
    """Turn, question with its words, background work; patrols are an hour apart (R15, R79)."""

    def tell(event: str, holds: object, what: str) -> Entry:
        city.type("told", f"tell {event}")
        return city.wait("told", holds, what=what)  # type: ignore[arg-type]

    tell("prompt-submitted", has("turn_open"), "in a turn")
    tell("permission-asked --what=permission '--question=run it?'", has("pending"), "asking")
    [wake] = (
        city.why("told")["why"]["hard_wakes"]
        if "why" in city.why("told")
        else city.why("told")["hard_wakes"]
    )
    assert "run it?" in str(wake)
    tell("permission-answered", lacks("pending"), "answered")
    tell("background-started --what=npm", has("background"), "with work in the background")
    tell("background-ended --what=npm", lacks("background"), "without it")
    tell("turn-ended", lacks("turn_open"), "out of its turn")


def test_an_agent_with_hooks_tells_all_by_itself(city: RealCity) -> None:
    """A turn that it works, and a dialog that it shows (R15)."""
    city.type("hooked", "work 600")
    city.wait("hooked", has("turn_open"), what="in a turn")  # type: ignore[arg-type]
    city.tmux("send-keys", "-t", "=hooked:", "Escape")
    city.type("hooked", "permission")
    city.wait("hooked", has("pending"), what="asking")  # type: ignore[arg-type]
    city.tmux("send-keys", "-t", "=hooked:", "1")
    city.wait("hooked", lacks("pending"), what="answered")  # type: ignore[arg-type]


def test_a_lost_begin_lets_no_busy_session_sleep(city: RealCity) -> None:
    """Hooks said that the turn is over; the screen shows that it goes on (R15)."""
    city.type("quiet", "tell turn-ended")
    city.type("quiet", "work 600")
    city.wait("quiet", has("idle_boundary"), what="seen busy")  # type: ignore[arg-type]
    shown = city.gc("doctor", "screens", "--session", "quiet", "--json").json
    assert (shown["verdict"], shown["rule"]) == ("busy", "generic.busy")
    city.patrol(5)
    assert city.session("quiet")["state"] == "awake"
    city.tmux("send-keys", "-t", "=quiet:", "Escape")
    city.wait_cold("quiet", within_s=40)
