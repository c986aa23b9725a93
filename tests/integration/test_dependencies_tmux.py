"""A chain of real sessions on real tmux: up in order for work at its end, cold again after it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.city import (
    RealCity,
    agent,
    city_toml,
    needs_tmux,
    real_city,
    running_city,
)
from tests.polling import wait_until

pytestmark = [*needs_tmux, pytest.mark.slow]

WORKS = ("--works", "--poll", "0.3", "--job", "2")
CHAIN = city_toml(
    agent("a", "--boot", "0.5", attach=False),
    agent("b", "--boot", "0.5", attach=False, depends_on=["a"]),
    agent("c", *WORKS, attach=False, depends_on=["b"]),
    sleep={"noninteractive": "0s"},
)


@pytest.fixture(scope="module")
def city() -> Iterator[RealCity]:
    """The chain, cold."""
    with running_city(CHAIN) as one:
        for name in "abc":
            one.wait_cold(name)
        yield one


def sling(city: RealCity, target: str) -> str:
    """A job for a session; its id."""
    return str(city.ask("sling", target=target, title="job")["bead"]["id"])


def test_work_for_the_last_brings_the_chain_up_in_order_and_lets_it_go(city: RealCity) -> None:
    """a, b, c come up in order, stay while c works, and are cold after (DEP-01, DEP-05..09)."""
    seen = city.seq()
    job = sling(city, "c")
    city.wait_event("session.woke", "c", after=seen)
    woke = city.events("session.woke", after=seen)
    assert [one["subject"] for one in woke] == ["a", "b", "c"]
    assert [one["payload"]["reason"] for one in woke] == ["dependency", "dependency", "work"]
    held = city.wait("a", lambda one: "dependency" in one["blockers"], what="held by c")
    assert held["dependency"] == {"dependents": ["b"], "roots": ["c:work"]}
    closed = wait_until(
        lambda: [e for e in city.events("bead.closed", after=seen) if e["subject"] == job],
        timeout_s=30,
        what="the job is closed",
    )[0]
    for name in "cba":
        city.wait_cold(name)
    stopped = city.events("session.stopped", after=seen)
    assert sorted(one["subject"] for one in stopped) == ["a", "b", "c"], "each stopped once"
    assert min(one["seq"] for one in stopped) > closed["seq"]
    starts = city.seq()
    city.patrol(10)
    assert city.events("session.woke", after=starts) == []


def test_a_suspended_dependency_is_named_to_whoever_asks(city: RealCity) -> None:
    """c's work does not wake a suspended a; status and `gc why` say whom it waits for (R22)."""
    assert city.gc("suspend", "a").code == 0
    city.wait_state("a", "suspended")
    job = sling(city, "c")
    city.patrol(3)
    assert city.hosted() == []
    held = {name: city.session(name)["held_back"] for name in "bc"}
    assert held["b"] == "waits for a, which is suspended by operator"
    assert held["c"].startswith("waits for b")
    assert "suspended by operator" in city.gc("why", "b").out
    assert city.gc("resume", "a").code == 0
    wait_until(lambda: city.ask("bead", id=job)["bead"]["status"] == "closed", timeout_s=40)
    for name in "cba":
        city.wait_cold(name)


@pytest.mark.timeout(120)
def test_a_work_query_that_gives_no_answer_keeps_the_chain_as_it_is() -> None:
    """Failing, hanging, or babbling without end: nobody sleeps on that account (R9, R61, R69)."""
    toml = city_toml(
        agent("a", attach=False),
        agent("c", attach=False, depends_on=["a"], work_query="sh ./query.sh"),
        sleep={"noninteractive": "0s"},
        daemon='check_timeout = "1s"',
    )
    with real_city(toml) as city:

        def say(script: str) -> None:
            new = city.path / "query.new"
            new.write_text(script + "\n", encoding="utf-8")
            new.replace(city.path / "query.sh")

        say("echo []")
        city.start()
        for name in "ac":
            city.wait_cold(name)
        for script in ("exit 3", "sleep 600", "yes"):
            say("echo job-1")
            for name in "ac":
                city.wait_up(name)
            say(script)
            for name in "ac":
                city.wait(name, lambda one: one["blockers"] == ["demand_unknown"], what="doubtful")
            city.patrol(5)
            assert {one["state"] for one in city.sessions().values()} == {"awake"}, script
            say("echo []")
            for name in "ca":
                city.wait_cold(name)
