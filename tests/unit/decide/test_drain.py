"""The drain table, by walking every path through it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product

import pytest

from gascity.decide.drain import DRAIN, LAST, SHOWN, STOP_ASKED, Effect, Phase, Verdict, follow

Walk = tuple[tuple[Phase, Verdict], ...]


def walks(phase: Phase = Phase.PROBE, done: Walk = ()) -> Iterator[Walk]:
    """Every sequence of (phase, verdict after it) from a phase to the end."""
    assert len(done) < 12, "a walk that does not end"
    for verdict in Verdict:
        step = (*done, (phase, verdict))
        following = follow(phase, verdict)
        if following is Phase.END:
            yield step
        else:
            yield from walks(following, step)


EVERY = list(walks())
RESUMED = [walk for verdict in Verdict for walk in walks(follow(Phase.RECORD, verdict))]


def effects(walk: Walk) -> list[Effect]:
    return [DRAIN[phase].effect for phase, _ in walk]


def test_every_walk_ends() -> None:
    """Whatever the looks say, each walk comes to its end (DRAIN-01..07)."""
    assert len(EVERY) > 30


def test_every_phase_has_a_row_and_a_word() -> None:
    """The table and the shown words are total over phases and verdicts (R28)."""
    assert set(DRAIN) == set(SHOWN) == set(Phase)
    for phase, verdict in product(Phase, Verdict):
        assert follow(phase, verdict) in Phase


def test_each_phase_does_one_thing() -> None:
    """Every effect has its phase; only giving the intent up is done from two (DRAIN-01..07)."""
    assert {phase: step.effect for phase, step in DRAIN.items()} == {
        Phase.PROBE: Effect.WAIT_FOR_IDLE,
        Phase.RECORD: Effect.SAVE_PENDING,
        Phase.STOP: Effect.STOP_RUNTIME,
        Phase.CONFIRM: Effect.SAVE_CONFIRMED,
        Phase.COMMIT: Effect.SAVE_ASLEEP,
        Phase.ABORT: Effect.CLEAR_INTENT,
        Phase.RESTART: Effect.CLEAR_AND_START,
        Phase.RELEASE: Effect.CLEAR_INTENT,
        Phase.END: Effect.NOTHING,
    }


def test_nothing_is_stopped_without_a_durable_note() -> None:
    """A crash after the stop finds idle-stop-pending on disk (DRAIN-02, DRAIN-04)."""
    for walk in EVERY:
        done = effects(walk)
        if Effect.STOP_RUNTIME in done:
            before = done[: done.index(Effect.STOP_RUNTIME)]
            assert before == [Effect.WAIT_FOR_IDLE, Effect.SAVE_PENDING]


def test_nothing_is_committed_without_a_confirmed_stop() -> None:
    """Asleep is written only after the stop was seen and saved as confirmed (DRAIN-07, F53)."""
    for walk in EVERY:
        done = effects(walk)
        if Effect.SAVE_ASLEEP in done:
            before = walk[: done.index(Effect.SAVE_ASLEEP)]
            assert before[-1] == (Phase.CONFIRM, Verdict.CLEAR)
            assert (Phase.STOP, Verdict.CLEAR) in before


def test_only_a_clear_look_leads_from_one_effect_to_the_next() -> None:
    """Each re-look must speak for going on; a runtime up before its stop does (R28)."""
    for walk in EVERY:
        for (_, verdict), (after, _) in pairwise(walk):
            if after in (Phase.RECORD, Phase.STOP):
                assert verdict in (Verdict.CLEAR, Verdict.RUNNING)
            if after in (Phase.CONFIRM, Phase.COMMIT):
                assert verdict is Verdict.CLEAR


@pytest.mark.parametrize("phase", sorted(STOP_ASKED))
def test_a_wake_after_the_stop_restarts(phase: Phase) -> None:
    """Once a stop was asked for, a hard wake clears the intent and starts again (DRAIN-06)."""
    assert follow(phase, Verdict.WOKEN) is Phase.RESTART
    assert DRAIN[Phase.RESTART].effect is Effect.CLEAR_AND_START


@pytest.mark.parametrize(
    ("phase", "after"), [(Phase.PROBE, Phase.END), (Phase.RECORD, Phase.ABORT)]
)
def test_a_wake_before_the_stop_leaves_it_running(phase: Phase, after: Phase) -> None:
    """Before the stop a hard wake ends the attempt, with no stop (DRAIN-03, RACE-01..03)."""
    assert follow(phase, Verdict.WOKEN) is after


@pytest.mark.parametrize("phase", [Phase.RECORD, Phase.STOP, Phase.CONFIRM])
def test_a_structural_change_takes_the_session_over(phase: Phase) -> None:
    """Drift, suspension, trim and removal end the idle path (DRAIN-12..DRAIN-16)."""
    assert follow(phase, Verdict.TAKEN) is Phase.RELEASE


@pytest.mark.parametrize("phase", sorted(STOP_ASKED))
def test_doubt_after_the_stop_commits_nothing(phase: Phase) -> None:
    """An unclear look completes no drain; the next patrol takes it up (DRAIN-11)."""
    assert follow(phase, Verdict.UNSURE) is Phase.END


def test_a_stop_that_returned_is_no_proof() -> None:
    """A runtime still running after its stop is never confirmed (R28, F53)."""
    assert follow(Phase.STOP, Verdict.RUNNING) is Phase.END
    assert follow(Phase.CONFIRM, Verdict.RUNNING) is Phase.RELEASE


def test_a_failed_effect_ends_the_walk() -> None:
    """What could not be done leads nowhere (R75)."""
    assert {follow(phase, Verdict.FAILED) for phase in Phase} == {Phase.END}


def test_a_resumed_walk_has_the_same_guarantees() -> None:
    """After a restart the walk begins with the look that follows the saved note (REC-02)."""
    for walk in RESUMED:
        done = effects(walk)
        assert Effect.WAIT_FOR_IDLE not in done
        assert Effect.SAVE_PENDING not in done
        if Effect.SAVE_ASLEEP in done:
            assert Effect.SAVE_CONFIRMED in done[: done.index(Effect.SAVE_ASLEEP)]


def test_the_last_phases_lead_nowhere_but_to_a_restart() -> None:
    """After a last phase nothing goes on, except that a late wake restarts a commit (RACE-04)."""
    for phase, verdict in product(LAST, Verdict):
        late = phase is Phase.COMMIT and verdict is Verdict.WOKEN
        assert follow(phase, verdict) is (Phase.RESTART if late else Phase.END)
