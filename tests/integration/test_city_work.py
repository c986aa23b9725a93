"""Work in a real city: it wakes a sleeper, is worked off inside it, and holds it until closed."""

from __future__ import annotations

import pytest

from tests.integration.city import agent, city_toml, needs_tmux, running_city, types_of
from tests.polling import wait_until

pytestmark = [*needs_tmux, pytest.mark.slow]

TOML = city_toml(
    agent("worker", "--works", "--poll", "0.3", "--job", "1", attach=False),
    agent("idler", attach=False),
    sleep={"noninteractive": "0s"},
)


def test_slung_work_is_done_by_a_woken_sleeper() -> None:
    """Woken by its work, it claims and closes it with `gc hook`, and sleeps only after that.

    WAKE-15, WAKE-27, BLK-04, R18, R19.
    """
    with running_city(TOML) as city:
        for name in ("worker", "idler"):
            city.wait_cold(name)
        seen = city.seq()
        ran = city.gc("sling", "worker", "tidy", "up", "--json")
        bead = ran.json.get("id") or ran.json["bead"]["id"]
        woke = city.wait_event("session.woke", "worker", after=seen)
        assert woke["payload"]["reason"] == "work"
        city.wait("worker", lambda one: "work" in one["blockers"], what="held by its work")
        claimed = wait_until(lambda: _bead(city, bead)["status"] == "in_progress", timeout_s=20)
        assert claimed
        wait_until(lambda: _bead(city, bead)["status"] == "closed", timeout_s=20)
        [closed] = [one for one in city.events("bead.closed", after=seen) if bead in str(one)]
        stopped = city.wait_event("session.stopped", "worker", after=seen)
        assert stopped["seq"] > closed["seq"]
        assert types_of(city.events("session.woke", "session.crashed", after=woke["seq"])) == []
        # Work for one is nobody else's: the other one slept through it.
        assert city.events(session="idler", after=seen) == []


def _bead(city, bead: str) -> dict[str, object]:  # type: ignore[no-untyped-def]
    found = city.ask("bead", id=bead)["bead"]
    assert isinstance(found, dict)
    return found
