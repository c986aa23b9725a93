"""Counts, order and disjointness of slot plans."""

from __future__ import annotations

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from gascity.decide.pools import Slot, plan_slots
from gascity.model.city import Pool

slots = st.lists(
    st.builds(
        Slot,
        number=st.integers(1, 12),
        is_awake=st.booleans(),
        is_held_by_need=st.booleans(),
        is_bearer=st.booleans(),
        is_doubtful=st.booleans(),
        can_wake=st.booleans(),
    ),
    unique_by=lambda slot: slot.number,
    max_size=8,
)
pools = st.builds(Pool, min=st.integers(0, 3), max=st.sampled_from((None, 3, 5)))
quick = hypothesis_settings(max_examples=150, deadline=None)


@quick
@given(
    slots,
    st.sampled_from((None, 0, 1, 3, 9)),
    st.integers(0, 1),
    st.integers(0, 4),
    pools,
)
def test_a_slot_plan_keeps_its_promises(
    given_slots: list[Slot], check: int | None, floor: int, ready: int, pool: Pool
) -> None:
    """Wake before create, trim only the spare, meet the count (POOL-04..POOL-18, R9, R21)."""
    plan = plan_slots(
        given_slots, check_desired=check, dependency_floor=floor, ready=ready, pool=pool
    )
    by_number = {slot.number: slot for slot in given_slots}
    lists = (*plan.serve, *plan.wake, *plan.create, *plan.trim)
    assert len(lists) == len(set(lists))
    assert not set(plan.create) & set(by_number)
    assert all(by_number[n].is_spare and not by_number[n].is_doubtful for n in plan.trim)
    assert all(not by_number[n].is_awake and by_number[n].can_wake for n in plan.wake)
    assert all(by_number[n].is_awake for n in plan.serve)
    needed = sum(slot.is_held_by_need for slot in given_slots)
    assert plan.effective_desired >= max(needed, floor)
    if check is None:
        assert plan.trim == ()
        assert len(plan.create) <= floor
    if plan.create and ready and check is not None:
        # Nothing is created while a sleeper that could serve is left asleep.
        left = [
            slot
            for slot in given_slots
            if not slot.is_awake and slot.can_wake and slot.number not in plan.wake
        ]
        assert not left
    if not ready:
        assert plan.wake == plan.serve == ()
    lowest = sorted(n for n, slot in by_number.items() if not slot.is_awake and slot.can_wake)
    kept = [n for n in lowest if n not in plan.trim]
    assert list(plan.wake) == kept[: len(plan.wake)]
