"""What every store promises, asked of each implementation in turn.

A new store joins by adding one opener to OPENERS.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import anyio
import pytest

from gascity.beads.bead import CLOSED, IN_PROGRESS, OPEN, SESSION, TASK, WAIT
from gascity.beads.memory import MemoryStore
from gascity.beads.mirror import EventMirror
from gascity.beads.sqlite import SqliteStore
from gascity.beads.store import (
    Batch,
    Conflict,
    EventQuery,
    NewBead,
    Query,
    Store,
    StoreUnavailable,
    Update,
    created,
)
from gascity.model.events import Event, EventType

pytestmark = pytest.mark.anyio

NOW: Final = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)


@pytest.fixture
def anyio_backend() -> str:
    """The loop that the product runs on."""
    return "asyncio"


class Opened:
    """A store that can be restarted: `store` is the running one."""

    def __init__(self, store: Store, again: Callable[[Store], Awaitable[Store]]) -> None:
        self.store = store
        self._again = again

    async def restart(self) -> Store:
        """Close it and open it again over what it kept."""
        self.store = await self._again(self.store)
        return self.store


async def open_memory(_: Path) -> Opened:
    async def again(store: Store) -> Store:
        assert isinstance(store, MemoryStore)
        return store.reopened()

    return Opened(MemoryStore(), again)


async def open_sqlite(folder: Path) -> Opened:
    def mirror() -> EventMirror:
        return EventMirror(folder / ".gc" / "events.jsonl")

    path = folder / ".gc" / "gascity.db"

    async def again(store: Store) -> Store:
        await store.close()
        return await SqliteStore.open(path, mirror=mirror())

    return Opened(await SqliteStore.open(path, mirror=mirror()), again)


OPENERS: Final = {"memory": open_memory, "sqlite": open_sqlite}


@pytest.fixture(params=OPENERS)
async def opened(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Opened]:
    """Each kind of store, empty."""
    made = await OPENERS[request.param](tmp_path)
    yield made
    await made.store.close()


@pytest.fixture
def store(opened: Opened) -> Store:
    """Each kind of store, for tests that do not restart it."""
    return opened.store


def task(title: str = "", **fields: object) -> NewBead:
    return NewBead(type=TASK, title=title, **fields)  # type: ignore[arg-type]


def woke(subject: str = "mayor", **fields: object) -> Event:
    return Event(**{"type": EventType.WOKE, "ts": NOW, "subject": subject, **fields})  # type: ignore[arg-type]


async def create(store: Store, *new: NewBead, now: datetime = NOW) -> tuple[str, ...]:
    return (await store.apply(Batch(creates=new), now=now)).created


async def test_a_new_record_reads_back_whole(opened: Opened) -> None:
    """Every field survives, also a restart; empty metadata is no metadata (D1)."""
    (other,) = await create(opened.store, task("first"))
    (made,) = await create(
        opened.store,
        NewBead(
            type=TASK,
            title="tä✓sk",
            status=IN_PROGRESS,
            labels=("a", "b"),
            assignee="mayor",
            priority=0,
            blocked_by=(other,),
            metadata={"k": "v", "nothing": ""},
        ),
    )
    before = await opened.store.get(made)
    after = await (await opened.restart()).get(made)
    assert before == after
    assert after is not None
    assert (after.title, after.status, after.labels) == ("tä✓sk", IN_PROGRESS, ("a", "b"))
    assert (after.assignee, after.priority, after.blocked_by) == ("mayor", 0, (other,))
    assert after.metadata == {"k": "v"}
    assert (after.created_at, after.updated_at, after.version) == (NOW, NOW, 1)


async def test_ids_are_short_and_never_used_again(opened: Opened) -> None:
    """Ids count in base 36 under their prefix, over closing and restarts, around chosen ones."""
    ids = await create(opened.store, *[task() for _ in range(36)])
    assert (ids[0], ids[9], ids[35]) == ("gc-1", "gc-a", "gc-10")
    await opened.store.apply(Batch(updates=(Update(id=ids[35], status=CLOSED),)), now=NOW)
    (chosen,) = await create(await opened.restart(), task(id="gc-13"))
    made = await create(opened.store, task(), NewBead(type=WAIT, prefix="w"))
    assert chosen == "gc-13"
    assert len({*ids, chosen, *made}) == 39
    assert made[1].startswith("w-")


async def test_a_chosen_id_that_exists_is_refused(store: Store) -> None:
    """Creating twice under one id is a conflict, closed or not, and writes nothing."""
    await create(store, task(id="t"))
    with pytest.raises(Conflict):
        await create(store, task(), task("second", id="t"))
    await store.apply(Batch(updates=(Update(id="t", status=CLOSED),)), now=NOW)
    with pytest.raises(Conflict):
        await create(store, task("third", id="t"))
    assert await store.query(Query(type=TASK)) == []


async def test_a_version_that_moved_is_a_conflict(store: Store) -> None:
    """Compare-and-set: the second writer of one version is refused and changes nothing (D1)."""
    (made,) = await create(store, task())
    first = Batch(updates=(Update(id=made, expect_version=1, metadata={"by": "a"}),))
    second = Batch(updates=(Update(id=made, expect_version=1, metadata={"by": "b"}),))
    applied = await store.apply(first, now=NOW)
    with pytest.raises(Conflict):
        await store.apply(second, now=NOW)
    bead = await store.get(made)
    assert bead is not None
    assert (bead.version, bead.metadata) == (2, {"by": "a"})
    assert applied.beads[made] == bead


async def test_a_batch_with_one_bad_update_writes_nothing(opened: Opened) -> None:
    """Records, updates and events of a refused batch are all absent (R43)."""
    (made,) = await create(opened.store, task())
    for bad in (Update(id="gone", title="x"), Update(id=made, expect_version=9)):
        with pytest.raises((KeyError, Conflict)):
            await opened.store.apply(
                Batch(
                    creates=(task("new"),),
                    updates=(Update(id=made, title="changed"), bad),
                    events=(woke(),),
                ),
                now=NOW,
            )
    store = await opened.restart()
    (bead,) = await store.query(Query())
    assert (bead.title, bead.version) == ("", 1)
    assert await store.events(EventQuery()) == []
    assert await store.last_seq() == 0
    assert await create(store, task()) == ("gc-2",)


async def test_a_payload_that_is_no_json_writes_nothing(store: Store) -> None:
    """A mistake in an event is raised to its author, and its batch leaves no trace (R43)."""
    for bad in (object(), float("nan")):
        with pytest.raises((TypeError, ValueError)):
            await store.apply(Batch(creates=(task(),), events=(woke(payload={"x": bad}),)), now=NOW)
    assert await store.query(Query()) == []
    assert await store.last_seq() == 0


async def test_metadata_is_merged_and_empty_clears(opened: Opened) -> None:
    """Keys that an update does not name stay; "" removes one (F43)."""
    (made,) = await create(opened.store, task(metadata={"a": "1", "b": "2", "foreign": "x"}))
    await opened.store.apply(
        Batch(updates=(Update(id=made, metadata={"a": "", "b": "3", "c": "4"}),)), now=NOW
    )
    bead = await (await opened.restart()).get(made)
    assert bead is not None
    assert bead.metadata == {"b": "3", "c": "4", "foreign": "x"}


async def test_two_updates_of_one_record_add_up(store: Store) -> None:
    """Within a batch the second update sees the first."""
    (made,) = await create(store, task())
    batch = Batch(
        updates=(
            Update(id=made, expect_version=1, metadata={"a": "1"}),
            Update(id=made, expect_version=2, metadata={"b": "2"}, priority=0),
        )
    )
    bead = (await store.apply(batch, now=NOW)).beads[made]
    assert (bead.metadata, bead.priority, bead.version) == ({"a": "1", "b": "2"}, 0, 3)


async def test_an_update_without_a_difference_is_no_write(store: Store) -> None:
    """Nothing new: version, time and demand revision stay as they are (R42)."""
    (made,) = await create(store, task(metadata={"a": "1"}))
    before, revision = await store.get(made), store.demand_revision
    same = Update(id=made, metadata={"a": "1", "b": ""}, status=OPEN, title="")
    applied = await store.apply(Batch(updates=(same,)), now=NOW + timedelta(hours=1))
    assert applied.beads[made] == before == await store.get(made)
    assert store.demand_revision == revision


async def test_closing_stamps_and_opening_again_clears(opened: Opened) -> None:
    """A closed record leaves the open ones but can be read; reopened it takes its old place."""
    ids = await create(opened.store, task("a"), task("b"), task("c"))
    later = NOW + timedelta(minutes=1)
    await opened.store.apply(Batch(updates=(Update(id=ids[0], status=CLOSED),)), now=later)
    store = await opened.restart()
    closed = await store.get(ids[0])
    assert closed is not None
    assert closed.closed_at == later
    assert [bead.id for bead in await store.query(Query())] == list(ids[1:])
    everything = await store.query(Query(include_closed=True))
    assert [bead.id for bead in everything] == list(ids)
    await store.apply(Batch(updates=(Update(id=ids[0], status=OPEN),)), now=later)
    assert [bead.id for bead in await store.query(Query())] == list(ids)
    reopened = await store.get(ids[0])
    assert reopened is not None
    assert reopened.closed_at is None
    await store.apply(Batch(updates=(Update(id=ids[0], metadata={"x": "y"}),)), now=later)
    assert [bead.id for bead in await store.query(Query())] == list(ids)


async def test_queries_filter_by_every_field(store: Store) -> None:
    """Type, status, label, assignee and exact metadata each narrow; a missing key matches ""."""
    session, mine, done = await create(
        store,
        NewBead(type=SESSION, labels=("gc:session",), metadata={"template": "w"}),
        task(assignee="w-1", status=IN_PROGRESS, metadata={"gc.routed_to": "w"}),
        task(status=CLOSED, labels=("gc:session",)),
    )

    async def found(query: Query) -> list[str]:
        return [bead.id for bead in await store.query(query)]

    assert await found(Query()) == [session, mine]
    assert await found(Query(type=SESSION)) == [session]
    assert await found(Query(statuses=(IN_PROGRESS,))) == [mine]
    assert await found(Query(statuses=(CLOSED,))) == [done]
    assert await found(Query(label="gc:session")) == [session]
    assert await found(Query(label="gc:session", include_closed=True)) == [session, done]
    assert await found(Query(assignee="w-1")) == [mine]
    assert await found(Query(metadata={"gc.routed_to": "w"})) == [mine]
    assert await found(Query(type=TASK, metadata={"gc.routed_to": ""})) == []
    assert await found(Query(metadata={"gc.routed_to": ""})) == [session]


async def test_demand_that_moved_is_a_conflict(opened: Opened) -> None:
    """A commit that insists on the demand it looked at is refused after new work (R28, F43)."""
    store = opened.store
    (session,) = await create(store, NewBead(type=SESSION))
    seen = store.demand_revision
    asleep = Batch(updates=(Update(id=session, metadata={"state": "asleep"}),), expect_demand=seen)
    (work,) = await create(store, task())
    assert store.demand_revision != seen
    with pytest.raises(Conflict):
        await store.apply(asleep, now=NOW)
    seen = store.demand_revision
    await store.apply(Batch(updates=(Update(id=session, title="x"),)), now=NOW)
    assert store.demand_revision == seen, "sessions are no demand"
    await store.apply(Batch(updates=(Update(id=work, status=CLOSED),)), now=NOW)
    assert store.demand_revision != seen
    seen = store.demand_revision
    await create(store, NewBead(type=WAIT))
    assert store.demand_revision != seen
    seen = store.demand_revision
    assert (await opened.restart()).demand_revision == seen
    await opened.store.apply(Batch(updates=asleep.updates, expect_demand=seen), now=NOW)


async def test_events_are_numbered_in_order_and_read_after(opened: Opened) -> None:
    """Numbers rise by one in commit order, over restarts; every filter narrows (R74)."""
    early = NOW - timedelta(hours=1)
    applied = await opened.store.apply(
        Batch(events=(woke("a", ts=early), woke("b", type="custom.kind", payload={"n": [1, "ü"]}))),
        now=NOW,
    )
    assert [event.seq for event in applied.events] == [1, 2]
    store = await opened.restart()
    (third,) = (await store.apply(Batch(events=(woke("a", message="m"),)), now=NOW)).events
    assert third.seq == 3

    async def seqs(query: EventQuery) -> list[int]:
        return [event.seq for event in await store.events(query)]

    assert await seqs(EventQuery()) == [1, 2, 3]
    assert await seqs(EventQuery(after=1)) == [2, 3]
    assert await seqs(EventQuery(limit=2)) == [1, 2]
    assert await seqs(EventQuery(subject="a")) == [1, 3]
    assert await seqs(EventQuery(types=(EventType.WOKE,), after=1)) == [3]
    assert await seqs(EventQuery(since=NOW)) == [2, 3]
    second = (await store.events(EventQuery(after=1)))[0]
    assert (second.type, second.payload, second.ts) == ("custom.kind", {"n": [1, "ü"]}, NOW)
    assert third == (await store.events(EventQuery(after=2)))[0]
    assert isinstance(third.type, EventType)


async def test_a_new_record_is_reported_with_its_id(store: Store) -> None:
    """An event can name a record that the same batch creates: one write, both durable (R43)."""
    await create(store, task())
    batch = Batch(creates=(task(), task()), events=(woke(created(1)), woke(created(0))))
    applied = await store.apply(batch, now=NOW)
    assert [event.subject for event in applied.events] == ["gc-3", "gc-2"]
    assert await store.events(EventQuery()) == list(applied.events)


async def test_pruning_forgets_the_oldest_and_numbers_go_on(opened: Opened) -> None:
    """By age and by size; even an empty log never numbers from 1 again (R74)."""
    store = opened.store
    for hours in range(6):
        at = NOW + timedelta(hours=hours)
        await store.apply(Batch(events=(woke(ts=at, message="x" * 1000),)), now=at)
    assert await store.prune_events(before=NOW + timedelta(hours=2), max_bytes=0) == 2
    assert (await store.oldest_seq(), await store.last_seq()) == (3, 6)
    assert await store.prune_events(before=NOW, max_bytes=2500) == 2
    assert await store.oldest_seq() == 5
    assert await store.prune_events(before=NOW, max_bytes=2500) == 0
    assert await store.prune_events(before=NOW + timedelta(days=1), max_bytes=0) == 2
    assert (await store.oldest_seq(), await store.last_seq()) == (0, 6)
    store = await opened.restart()
    (event,) = (await store.apply(Batch(events=(woke(),)), now=NOW)).events
    assert event.seq == 7


async def test_a_clock_that_stood_wrong_takes_no_young_event_along(store: Store) -> None:
    """Only the run of old events at the start goes by age, whatever stamps come later (R39)."""
    old = NOW - timedelta(days=400)
    for at in (old, NOW, old):
        await store.apply(Batch(events=(woke(ts=at),)), now=NOW)
    assert await store.prune_events(before=NOW - timedelta(days=30), max_bytes=0) == 1
    assert await store.oldest_seq() == 2


async def test_notes_keep_facts_about_the_city(opened: Opened) -> None:
    """A note is durable, replaced by writing again and forgotten with ""."""
    await opened.store.set_note("tmux.socket", "a")
    await opened.store.set_note("tmux.socket", "b")
    await opened.store.set_note("gone", "x")
    await opened.store.set_note("gone", "")
    store = await opened.restart()
    assert await store.get_note("tmux.socket") == "b"
    assert await store.get_note("gone") == ""
    assert await store.get_note("never") == ""


async def test_concurrent_writers_lose_nothing(store: Store) -> None:
    """Sixty writers of one record at once: every key is there, and so is every event (F43)."""
    (made,) = await create(store, task())

    async def write(number: int) -> None:
        update = Update(id=made, metadata={f"k{number}": "v"})
        await store.apply(Batch(updates=(update,), events=(woke(str(number)),)), now=NOW)

    async with anyio.create_task_group() as writers:
        for number in range(60):
            writers.start_soon(write, number)
    bead = await store.get(made)
    assert bead is not None
    assert bead.metadata == {f"k{number}": "v" for number in range(60)}
    assert bead.version == 61
    assert [event.seq for event in await store.events(EventQuery())] == list(range(1, 61))


async def test_concurrent_claims_have_one_winner(store: Store) -> None:
    """Of many claims of one version exactly one succeeds."""
    (made,) = await create(store, task())
    won: list[str] = []

    async def claim(who: str) -> None:
        try:
            update = Update(id=made, expect_version=1, assignee=who, status=IN_PROGRESS)
            await store.apply(Batch(updates=(update,)), now=NOW)
            won.append(who)
        except Conflict:
            pass

    async with anyio.create_task_group() as claims:
        for number in range(20):
            claims.start_soon(claim, f"w-{number}")
    bead = await store.get(made)
    assert bead is not None
    assert won == [bead.assignee]


async def test_a_cancelled_caller_leaves_no_half_batch(store: Store) -> None:
    """Whatever moment a caller is cancelled at, its batch is there whole or not at all (R43)."""
    (made,) = await create(store, task())
    for number in range(30):
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                update = Update(id=made, metadata={"n": str(number)})
                batch = Batch(updates=(update,), events=(woke(str(number)),))
                tasks.start_soon(lambda b=batch: store.apply(b, now=NOW))
                if number % 3:
                    await anyio.lowlevel.checkpoint()
                if number % 3 == 2:
                    await anyio.lowlevel.checkpoint()
                scope.cancel()
    events = await store.events(EventQuery())
    bead = await store.get(made)
    assert bead is not None
    assert bead.version == 1 + len(events)
    assert bead.metadata.get("n", "") == (events[-1].subject if events else "")


async def test_text_from_a_torn_screen_is_kept_readable(opened: Opened) -> None:
    """Half a character, a NUL and a line end neither fail the write nor break the reading."""
    await create(opened.store, task("a\udcff\x00b\n", metadata={"m": "\udcff\n"}))
    await opened.store.apply(
        Batch(events=(woke(message="\udcff", payload={"p": "\udcff"}),)), now=NOW
    )
    store = await opened.restart()
    (bead,) = await store.query(Query())
    assert bead.title == "a?\x00b\n"
    assert bead.metadata == {"m": "\udcff\n"}
    (event,) = await store.events(EventQuery())
    assert (event.message, event.payload) == ("?", {"p": "\udcff"})


async def test_a_closed_store_answers_no_more(opened: Opened) -> None:
    """After close every call is refused as unavailable; closing twice is fine."""
    await opened.store.close()
    await opened.store.close()
    with pytest.raises(StoreUnavailable):
        await opened.store.query(Query())
    with pytest.raises(StoreUnavailable):
        await create(opened.store, task())
    await opened.restart()
