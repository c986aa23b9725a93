"""A pool of real stand-in workers on real tmux: woken by work, each job done once, then cold.

Every worker writes a line to a journal when it begins a job and one when it has done it, so that
what was done is told by the workers and not by the controller.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.city import (
    Entry,
    RealCity,
    agent,
    city_toml,
    needs_tmux,
    real_city,
    running_city,
)
from tests.polling import wait_until

pytestmark = [*needs_tmux, pytest.mark.slow]

SLOTS = ("worker-1", "worker-2", "worker-3")
WORKS = ("--works", "--poll", "0.3", "--job", "1.5")
ROUND_S = 60.0


def pool(journal: Path, **keys: object) -> str:
    """A city with one pool of three whose slots sleep as soon as they are idle."""
    sizes: dict[str, object] = {"min_active_sessions": 3, "max_active_sessions": 3}
    worker = agent("worker", *WORKS, "--journal", str(journal), attach=False, **(sizes | keys))
    return city_toml(worker, sleep={"noninteractive": "0s"})


def lines(journal: Path) -> list[list[str]]:
    """[[begin or end, job, session]] in the order they were written."""
    text = journal.read_text(encoding="utf-8") if journal.exists() else ""
    return [line.split() for line in text.splitlines()]


def sling(city: RealCity, target: str, title: str) -> str:
    """Route a job; its id."""
    return str(city.ask("sling", target=target, title=title)["bead"]["id"])


def all_cold(city: RealCity) -> bool:
    """Whether all three slots are cold."""
    found = city.sessions()
    return set(found) == set(SLOTS) and all(
        (one["state"], one["sleep_reason"]) == ("asleep", "idle") for one in found.values()
    )


def play_round(city: RealCity, journal: Path, number: int) -> None:
    """Three jobs for three cold workers, and everything that must be true afterwards."""
    seen, before = city.seq(), len(lines(journal))
    jobs = [sling(city, "worker", f"job {number}.{n}") for n in range(3)]
    told = lambda: "\n".join(city.told(name) for name in SLOTS)  # noqa: E731
    done = lambda: sum(what == "end" for what, *_ in lines(journal)[before:]) >= 3  # noqa: E731
    try:
        wait_until(done, timeout_s=ROUND_S, what="three jobs done")
        wait_until(lambda: all_cold(city), timeout_s=ROUND_S, what="all cold again")
    except AssertionError as problem:
        raise AssertionError(f"round {number}: {problem}\n{told()}") from None
    events = city.events(after=seen)
    written = Counter((what, job) for what, job, _ in lines(journal)[before:])
    assert written == {(what, job): 1 for what in ("begin", "end") for job in jobs}
    assert {one["status"] for one in (city.ask("bead", id=job)["bead"] for job in jobs)} == {
        "closed"
    }
    woke = [one["subject"] for one in events if one["type"] == "session.woke"]
    assert sorted(woke) == sorted(SLOTS), "each of the three was woken, once"
    assert not [one for one in events if one["type"] in ("session.created", "session.crashed")]
    for what, job, name in lines(journal)[before:]:
        if what == "end":
            assert_slept_after(events, name, job)


def assert_slept_after(events: list[Entry], name: str, job: str) -> None:
    """The worker's stop came after the close of its job."""
    closed = [
        one["seq"] for one in events if one["type"] == "bead.closed" and one["subject"] == job
    ]
    slept = [
        one["seq"] for one in events if one["type"] == "session.stopped" and one["subject"] == name
    ]
    assert len(closed) == 1
    assert slept
    assert min(slept) > closed[0], f"{name} slept before {job} was closed"


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Where the workers write."""
    return tmp_path / "journal"


@pytest.fixture
def city(journal: Path) -> Iterator[RealCity]:
    """The pool, realized and cold."""
    with running_city(pool(journal)) as one:
        wait_until(lambda: all_cold(one), timeout_s=30, what="three cold slots")
        yield one


@pytest.mark.timeout(180)
def test_three_jobs_wake_three_workers_who_do_them_and_go_cold(
    city: RealCity, journal: Path
) -> None:
    """Two rounds: no job lost, none done twice, no slot beyond the pool, no sleep before the close.

    POOL-09, POOL-17, POOL-19, WAKE-15, WAKE-27, BLK-04, R18, R20.
    """
    assert city.hosted() == [], "a slot that nobody needs is realized and never started"
    for number in range(2):
        play_round(city, journal, number)
    [counts] = city.status()["pools"]
    assert counts == {
        "template": "worker",
        "desired": 3,
        "effective_desired": 3,
        "realized": 3,
        "awake": 0,
        "asleep": 3,
    }


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_twenty_rounds_lose_nothing(city: RealCity, journal: Path) -> None:
    """Twenty times the same: sixty jobs, each begun once and ended once (POOL-17, BLK-04)."""
    for number in range(20):
        play_round(city, journal, number)
    assert len(lines(journal)) == 120


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_burst_of_jobs_is_worked_off_by_the_pool_that_there_is(
    city: RealCity, journal: Path
) -> None:
    """Twelve jobs for three workers: all done once, no fourth slot, no restart (R20, R21, F04)."""
    seen = city.seq()
    jobs = {sling(city, "worker", f"job {n}") for n in range(12)}
    wait_until(
        lambda: {job for what, job, _ in lines(journal) if what == "end"} == jobs,
        timeout_s=120,
        what="twelve jobs done",
    )
    wait_until(lambda: all_cold(city), timeout_s=ROUND_S, what="all cold again")
    assert Counter(job for what, job, _ in lines(journal) if what == "begin") == dict.fromkeys(
        jobs, 1
    )
    assert city.events("session.created", "session.crashed", after=seen) == []
    woke = Counter(one["subject"] for one in city.events("session.woke", after=seen))
    assert woke == dict.fromkeys(SLOTS, 1), "nobody slept while there was work"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_killed_controller_loses_no_job(city: RealCity, journal: Path) -> None:
    """Killed while three work: the next one adopts them, and each job is done once (R37, F04)."""
    jobs = [sling(city, "worker", f"job {n}") for n in range(3)]
    wait_until(
        lambda: sum(what == "begin" for what, *_ in lines(journal)) == 3,
        timeout_s=30,
        what="three at work",
    )
    city.restart()
    wait_until(lambda: all_cold(city), timeout_s=ROUND_S, what="all cold again")
    written = Counter((what, job) for what, job, _ in lines(journal))
    assert {key: written[key] for key in written if key[0] == "begin"} == {
        ("begin", job): 1 for job in jobs
    }


def test_a_pool_without_a_minimum_comes_and_goes_with_its_work(journal: Path) -> None:
    """`min` 0 and no check: a slot a job, none left when it is done (POOL-07, POOL-23, R21)."""
    with running_city(pool(journal, min_active_sessions=0)) as city:
        seen = city.seq()
        jobs = {sling(city, "worker", f"job {n}") for n in range(2)}
        wait_until(
            lambda: {job for what, job, _ in lines(journal) if what == "end"} == jobs,
            timeout_s=ROUND_S,
            what="both jobs done",
        )
        wait_until(lambda: not city.sessions(), timeout_s=30, what="no slot left")
        for name, job in ((name, job) for what, job, name in lines(journal) if what == "end"):
            closed = [e["seq"] for e in city.events("bead.closed", after=seen)
                      if e["subject"] == job]  # fmt: skip
            gone = [e["seq"] for e in city.events("session.removed", session=name, after=seen)]
            assert closed[0] < gone[0]
        assert len(city.events("bead.closed", after=seen)) == 2


# -- a check of its own


CHECK = "sh ./check.sh"


def say(city: RealCity, script: str) -> None:
    """From now on this is what the check does."""
    new = city.path / "check.new"
    new.write_text(script + "\n", encoding="utf-8")
    new.replace(city.path / "check.sh")


@pytest.mark.timeout(120)
def test_a_check_that_fails_hangs_or_babbles_moves_nobody(journal: Path) -> None:
    """Nothing is slept, trimmed or created on that account; status says so; it recovers at once.

    R9, R69, F12, POOL-19.
    """
    toml = pool(journal, min_active_sessions=0, max_active_sessions=5, scale_check=CHECK)
    toml = toml.replace("[daemon]\n", '[daemon]\ncheck_timeout = "1s"\n')
    with real_city(toml) as city:
        say(city, "echo 2")
        city.start()
        wait_until(lambda: set(city.sessions()) == set(SLOTS[:2]), timeout_s=30, what="two slots")
        assert city.gc("pin", "worker-2", "--for", "1h").code == 0
        city.wait_up("worker-2")
        for script in ("exit 3", "sleep 600", "echo two"):
            say(city, script)
            wait_until(
                lambda: city.status()["pools"][0]["desired"] is None,
                timeout_s=20,
                what=f"{script!r} is unclear",
            )
            assert city.gc("unpin", "worker-2").code == 0
            city.patrol(3)
            held = city.session("worker-2")
            assert held["state"] == "awake", script
            assert "demand_unknown" in held["blockers"]
            assert set(city.sessions()) == set(SLOTS[:2])
            assert city.gc("pin", "worker-2", "--for", "1h").code == 0
            say(city, "echo 2")
            wait_until(
                lambda: city.status()["pools"][0]["desired"] == 2, timeout_s=20, what="clear again"
            )
        assert city.gc("unpin", "worker-2").code == 0
        city.wait_cold("worker-2")
        say(city, "echo 1")
        wait_until(lambda: set(city.sessions()) == {"worker-1"}, timeout_s=20, what="trimmed")
        say(city, "echo 4")
        wait_until(lambda: len(city.sessions()) == 4, timeout_s=20, what="four slots")
