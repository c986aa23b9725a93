"""The scripted store: cuts named by what is written, and refusals."""

from __future__ import annotations

import pytest

from gascity.beads.memory import MemoryStore
from gascity.beads.store import Batch, NewBead, Query, StoreBroken, StoreUnavailable, Update
from gascity.testing.clock import NOON, FakeClock, run_virtual
from gascity.testing.script import AFTER, Script
from gascity.testing.store import ScriptedStore, name_of

WORKER = NewBead(type="session", title="worker", metadata={"session_name": "worker"})


@pytest.mark.parametrize(
    ("metadata", "name"),
    [
        ({"sleep_intent": "idle-stop-pending"}, "save idle-stop-pending"),
        ({"sleep_intent": "idle-stop-confirmed"}, "save idle-stop-confirmed"),
        ({"sleep_intent": "", "state": "asleep"}, "save asleep"),
        ({"sleep_intent": ""}, "clear intent"),
        ({"state": "awake"}, "save awake"),
        ({"stop_note": "{}"}, "save stop note"),
        ({"ready_at": "2026-03-01T12:00:00Z"}, "save ready"),
        ({"blockers": "keep_warm"}, "save record"),
    ],
)
def test_a_save_is_named_by_the_lifecycle_word_it_sets(metadata: dict[str, str], name: str) -> None:
    """HARN-03: cuts carry the names a log would give them."""
    assert name_of(Update(id="gc-1", metadata=metadata)) == name


def test_every_call_is_a_cut_with_the_session_it_is_about() -> None:
    """HARN-01: reads and writes are announced, with their session."""
    script = Script()
    store = ScriptedStore(MemoryStore(), script)

    async def use() -> None:
        made = await store.apply(Batch(creates=(WORKER,)), now=NOON)
        [bead_id] = made.created
        await store.get(bead_id)
        await store.query(Query(type="task"))

    run_virtual(FakeClock(), use)
    assert [(moment.call, moment.of) for moment in script.log if moment.when == AFTER] == [
        ("create", "worker"),
        ("get", "worker"),
        ("query task", ""),
    ]


def test_a_refused_save_leaves_no_trace_and_the_next_one_works() -> None:
    """R75: a write that fails is told as failed, once."""
    memory = MemoryStore()
    store = ScriptedStore(memory, Script(), refuse={"create": StoreUnavailable("disk full")})

    async def save() -> None:
        await store.apply(Batch(creates=(WORKER,)), now=NOON)

    with pytest.raises(StoreUnavailable, match="disk full"):
        run_virtual(FakeClock(), save)
    assert memory.commits == 0
    run_virtual(FakeClock(), save)
    assert memory.commits == 1


def test_a_broken_store_stays_broken_until_it_is_opened_again() -> None:
    """R75: as the real one, it answers nothing after a failed fsync; the records are there."""
    memory = MemoryStore()
    store = ScriptedStore(memory, Script())

    async def save() -> None:
        await store.apply(Batch(creates=(WORKER,)), now=NOON)

    async def ask() -> int:
        return len(await store.query(Query(type="session")))

    memory.fail_next = StoreBroken("fsync")
    for call in (save, save, ask):
        with pytest.raises(StoreBroken, match="fsync"):
            run_virtual(FakeClock(), call)
    store = ScriptedStore(memory, Script())
    run_virtual(FakeClock(), save)
    assert run_virtual(FakeClock(), ask) == 1


def test_demand_alone_can_be_unreadable() -> None:
    """R9: work and waits give no answer while the records do."""
    store = ScriptedStore(MemoryStore(), Script(), demand_unclear="locked")

    async def ask(kind: str) -> int:
        return len(await store.query(Query(type=kind)))

    assert run_virtual(FakeClock(), ask, "session") == 0
    for kind in ("task", "gate"):
        with pytest.raises(StoreUnavailable, match="locked"):
            run_virtual(FakeClock(), ask, kind)
