"""Who is asked for, as read from the store and from commands."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from gascity.beads.bead import BLOCKED, CLOSED, IN_PROGRESS, OPEN, TASK
from gascity.beads.memory import MemoryStore
from gascity.beads.notices import Mode, new_message
from gascity.beads.store import Batch, NewBead, Update
from gascity.beads.work import new_wait
from gascity.model.city import Agent, City, Pool
from gascity.model.reading import Known, Reading, Unclear
from gascity.model.session import Session
from gascity.model.world import Demand
from gascity.observe.demand import foreign_store, read_demand
from gascity.testing.builders import NOON, a_session

pytestmark = pytest.mark.anyio

MAYOR = a_session("mayor")
SLOT = replace(a_session("worker-1"), template="worker", slot=1)
CITY = City(
    name="c",
    path="/c",
    agents={
        "mayor": Agent(identity="mayor", name="mayor"),
        "worker": Agent(identity="worker", name="worker", pool=Pool(max=3)),
    },
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def task(**fields: object) -> NewBead:
    return NewBead(type=TASK, id="t-1", title="do it", **fields)  # type: ignore[arg-type]


async def demand(*beads: NewBead, city: City = CITY, **more: object) -> Demand:
    store = MemoryStore()
    await store.apply(Batch(creates=beads), now=NOON)
    sessions: list[Session] = [MAYOR, SLOT]
    return await read_demand(store, city, sessions, now=NOON, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [MAYOR.id, "mayor"])
@pytest.mark.parametrize("status", [OPEN, IN_PROGRESS])
async def test_assigned_work_belongs_to_its_session(name: str, status: str) -> None:
    """By id, by name or by agent; ready or in progress (R19, F01)."""
    found = await demand(task(assignee=name, status=status))
    assert found.work == {MAYOR.id: Known(("t-1",))}


async def test_work_routed_to_a_fixed_agent_is_its_sessions() -> None:
    """Nobody's work, routed to an agent with one session, wakes that session (R19)."""
    found = await demand(task(metadata={"gc.routed_to": "mayor"}))
    assert found.work == {MAYOR.id: Known(("t-1",))}


@pytest.mark.parametrize(
    "where", [{"assignee": "worker"}, {"metadata": {"gc.routed_to": "worker"}}]
)
async def test_the_name_of_a_pool_means_the_pool(where: dict[str, object]) -> None:
    """As assignee or as route, it is no slot's own work (R19, R20)."""
    found = await demand(task(**where))
    assert found.routed == {"worker": Known(("t-1",))}
    assert found.work == {}


async def test_work_assigned_to_a_slot_is_that_slots() -> None:
    """`<pool>-<n>` is the slot (R20)."""
    found = await demand(task(assignee="worker-1"))
    assert found.work == {SLOT.id: Known(("t-1",))}


@pytest.mark.parametrize(
    "fields",
    [
        {"status": BLOCKED},
        {"status": CLOSED},
        {"metadata": {"defer_until": "2026-03-01T12:00:01.000000Z"}},
    ],
)
async def test_blocked_and_deferred_work_wakes_nobody(fields: dict[str, object]) -> None:
    """Only what could be worked on now counts (R19)."""
    found = await demand(task(assignee="mayor", **fields))
    assert found.work == {}


async def test_work_behind_an_open_blocker_waits_for_it() -> None:
    """Closing the blocker makes it workable (R19)."""
    store = MemoryStore()
    first = NewBead(type=TASK, id="t-0", title="first")
    then = task(assignee="mayor", blocked_by=("t-0",))
    await store.apply(Batch(creates=(first, then)), now=NOON)
    assert (await read_demand(store, CITY, [MAYOR], now=NOON)).work == {}
    await store.apply(Batch(updates=(Update(id="t-0", status=CLOSED),)), now=NOON)
    assert (await read_demand(store, CITY, [MAYOR], now=NOON)).work == {MAYOR.id: Known(("t-1",))}


async def test_a_wait_is_pending_until_its_time_and_ready_from_then_on() -> None:
    """A wait that is due wakes, one that is not is a wake source (R46, R66)."""
    due = NOON + timedelta(minutes=1)
    wait = replace(new_wait(MAYOR, until=due), id="w-1")
    store = MemoryStore()
    await store.apply(Batch(creates=(wait,)), now=NOON)
    before = await read_demand(store, CITY, [MAYOR], now=NOON)
    assert (before.waits, before.pending_waits) == ({}, frozenset({MAYOR.id}))
    after = await read_demand(store, CITY, [MAYOR], now=due)
    assert (after.waits, after.pending_waits) == ({MAYOR.id: Known(("w-1",))}, frozenset())


async def test_the_revision_moves_with_every_write_to_work() -> None:
    """A commit can insist that no work came since its last look (S2)."""
    store = MemoryStore()
    before = (await read_demand(store, CITY, [], now=NOON)).revision
    await store.apply(Batch(creates=(task(),)), now=NOON)
    assert (await read_demand(store, CITY, [], now=NOON)).revision != before


async def test_an_unreadable_store_is_unclear_demand() -> None:
    """A failed read is never "no work" (R9, F12)."""
    store = MemoryStore()
    store.broken = True
    found = await read_demand(store, CITY, [MAYOR], now=NOON)
    assert found.unclear


class TestElsewhere:
    """R61: work that is kept where we cannot read it."""

    async def test_a_foreign_store_makes_every_session_doubtful(self) -> None:
        """Nobody is slept or trimmed on its account (R61)."""
        found = await demand(foreign="work is in .beads/")
        doubt = Unclear("work is in .beads/")
        assert found.work == {MAYOR.id: doubt, SLOT.id: doubt}
        assert found.routed == {"worker": doubt}

    async def test_an_agent_with_a_work_query_is_clear_all_the_same(self) -> None:
        """Its own query answers for it (R61)."""

        class Says:
            def desired(self, identity: str) -> Reading[int]:
                return Known(0)

            def has_work(self, identity: str) -> Reading[bool]:
                return Known(True)  # noqa: FBT003

        asked = replace(CITY.agents["mayor"], work_query="echo work")
        city = replace(CITY, agents={**CITY.agents, "mayor": asked})
        found = await demand(city=city, foreign="work is in .beads/", answers=Says())
        assert found.work[MAYOR.id] == Known(("work_query",))
        assert found.work[SLOT.id] == Unclear("work is in .beads/")

    @pytest.mark.parametrize(
        ("provider", "folder", "variable", "foreign"),
        [
            ("", False, "", False),
            ("", True, "", True),
            ("", False, "bd", True),
            ("bd", False, "", True),
            ("gascity", True, "bd", False),
        ],
    )
    def test_who_keeps_the_work_is_told_by_config_folder_and_environment(
        self, provider: str, folder: bool, variable: str, foreign: bool
    ) -> None:
        """`[beads] provider = "gascity"` ends the doubt (R61)."""
        city = replace(CITY, beads_provider=provider)
        environment = {"GC_BEADS": variable} if variable else {}
        said = foreign_store(city, has_beads_folder=folder, environment=environment)
        assert bool(said) is foreign

    async def test_work_of_our_own_store_wakes_beside_the_doubt(self) -> None:
        """What is known to be wanted still holds when the rest is unclear (R9)."""
        found = await demand(task(assignee="mayor"), foreign="work is in .beads/")
        assert found.work[MAYOR.id] == Known(("t-1",))
        assert found.work[SLOT.id] == Unclear("work is in .beads/")


async def test_a_wait_for_a_message_is_ready_when_that_was_delivered() -> None:
    """R66: any record that somebody closes can be waited for."""
    message = replace(new_message(MAYOR, "x", mode=Mode.QUEUE), id="m-1")
    wait = replace(new_wait(SLOT, bead_ids=("m-1",)), id="w-1")
    assert (await demand(message, wait)).waits == {}
    assert (await demand(replace(message, status=CLOSED), wait)).waits == {SLOT.id: Known(("w-1",))}


async def test_work_in_progress_is_known_by_session_blocked_or_not() -> None:
    """R68: what a session that goes away leaves behind."""
    other = NewBead(type=TASK, id="t-0", title="first")
    taken = task(assignee="worker-1", status=IN_PROGRESS, blocked_by=("t-0",))
    assert (await demand(other, taken)).in_progress == {SLOT.id: ("t-1",)}
    assert (await demand(task(assignee="worker-1"))).in_progress == {}


async def test_the_next_moment_is_the_earliest_date_of_work_or_waits() -> None:
    """R80: deferred work and waits alike."""
    later, sooner = NOON + timedelta(hours=2), NOON + timedelta(hours=1)
    deferred = task(metadata={"defer_until": later.isoformat()})
    assert (await demand(deferred)).next_moment == later
    wait = replace(new_wait(MAYOR, until=sooner), id="w-1")
    assert (await demand(deferred, wait)).next_moment == sooner
    assert (await demand(task())).next_moment is None
