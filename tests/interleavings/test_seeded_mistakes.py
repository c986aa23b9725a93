"""Each promise is broken on purpose, and the interleavings must notice.

A check that no mistake can fail proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from gascity.act import drain, perform
from gascity.decide import settle
from gascity.decide.drain import DRAIN, Effect, Phase, Verdict
from gascity.model.plan import Path
from gascity.runtimes.base import RuntimeUnreachable
from gascity.testing.script import AFTER, BEFORE, Cut
from tests.interleavings import test_restart as restart
from tests.interleavings.scenes import ARRIVALS, DB, OUTCOMES
from tests.interleavings.test_drain import play

Seed = Callable[[pytest.MonkeyPatch], None]


def leads(phase: Phase, verdict: Verdict, to: Phase) -> Seed:
    """The drain table says something else in one place."""

    def seed(patch: pytest.MonkeyPatch) -> None:
        wrong = replace(DRAIN[phase], **{verdict.value: to})
        patch.setitem(DRAIN, phase, wrong)  # type: ignore[arg-type]

    return seed


def performs(effect: Effect, how: Any) -> Seed:
    """An effect is done differently."""
    return lambda patch: patch.setitem(drain.PERFORM, effect, how)  # type: ignore[arg-type]


async def _nothing(_: object) -> bool:
    return True


async def _stop_any_run(walk: drain.DrainWalk) -> bool:
    session = walk.ports.records[walk.session_id]
    runtime = walk.ports.runtime("tmux")
    assert runtime is not None
    try:
        await runtime.stop(session.name, token="any", grace_s=1.0)
    except RuntimeUnreachable:
        return False
    return True


def _commit_blindly(patch: pytest.MonkeyPatch) -> None:
    honest = drain.write

    async def write(*args: Any, **checks: Any) -> Any:
        return await honest(*args)

    patch.setattr(drain, "write", write)


def _silent_abort(patch: pytest.MonkeyPatch) -> None:
    honest = drain._aborted

    def aborted(walk: Any) -> Any:
        return lambda session, now: (honest(walk)(session, now)[0], ())

    patch.setattr(drain, "_aborted", aborted)


def _launder(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(settle.PATHS, Path.AMBIGUOUS, settle.PATHS[Path.COMMIT])  # type: ignore[arg-type]


def _ignore_structure(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(perform.Performer, "structural", lambda self, session: "")


def at(when: Any, call: str, of: str = DB) -> Cut:
    """A cut of the undisturbed drain."""
    return Cut(when=when, call=call, of=of)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """A seeded mistake, the case that meets it, and the words of the promise it breaks."""

    name: str
    seed: Seed
    cut: Cut
    arrival: str = "nothing"
    outcome: str = "it stops"
    breaks: str
    dies: bool = False


PENDING, CONFIRMED = "save idle-stop-pending", "save idle-stop-confirmed"
MISTAKES = (
    Mistake(
        name="a wake after the intent is ignored",
        seed=leads(Phase.RECORD, Verdict.WOKEN, Phase.STOP),
        cut=at(AFTER, PENDING),
        arrival="work",
        breaks="S1",
    ),
    Mistake(
        name="a dependent's wake after the intent is ignored",
        seed=leads(Phase.RECORD, Verdict.WOKEN, Phase.STOP),
        cut=at(AFTER, PENDING),
        arrival="a pin on a dependent",
        breaks="S1",
    ),
    Mistake(
        name="a wake after the stop waits for the next tick",
        seed=leads(Phase.STOP, Verdict.WOKEN, Phase.RELEASE),
        cut=at(AFTER, "stop"),
        arrival="work",
        breaks="not running at the end of that same tick",
    ),
    Mistake(
        name="the commit checks nothing",
        seed=_commit_blindly,
        cut=at(BEFORE, "save asleep"),
        arrival="work",
        breaks="S2",
    ),
    Mistake(
        name="the commit checks its own record and demand only",
        seed=_commit_blindly,
        cut=at(BEFORE, "save asleep"),
        arrival="gc attach to a dependent",
        breaks="S2",
    ),
    Mistake(
        name="the intent is not saved",
        seed=performs(Effect.SAVE_PENDING, _nothing),
        cut=at(BEFORE, "wait_for_idle"),
        breaks="S3",
    ),
    Mistake(
        name="a stop that returned is believed",
        seed=leads(Phase.STOP, Verdict.RUNNING, Phase.CONFIRM),
        cut=at(BEFORE, "stop"),
        outcome="it still runs",
        breaks="S4",
    ),
    Mistake(
        name="a stop without outcome is believed",
        seed=leads(Phase.STOP, Verdict.FAILED, Phase.CONFIRM),
        cut=at(BEFORE, "stop"),
        outcome="stop raises",
        breaks="S4",
    ),
    Mistake(
        name="a pending intent is laundered",
        seed=_launder,
        cut=at(AFTER, "stop"),
        breaks="ambiguity events",
        dies=True,
    ),
    Mistake(
        name="another run is stopped",
        seed=performs(Effect.STOP_RUNTIME, _stop_any_run),
        cut=at(BEFORE, "stop"),
        breaks="S6",
    ),
    Mistake(
        name="an unclear attachment counts as none",
        seed=leads(Phase.RECORD, Verdict.UNSURE, Phase.STOP),
        cut=at(AFTER, PENDING),
        arrival="attachment unclear",
        breaks="S7",
    ),
    Mistake(
        name="unclear demand counts as none",
        seed=leads(Phase.CONFIRM, Verdict.UNSURE, Phase.COMMIT),
        cut=at(AFTER, CONFIRMED),
        arrival="demand unclear",
        breaks="S7",
    ),
    Mistake(
        name="a suspension is not seen by the drain",
        seed=_ignore_structure,
        cut=at(AFTER, PENDING),
        arrival="gc suspend",
        breaks="S10",
    ),
    Mistake(
        name="an aborted drain says nothing",
        seed=_silent_abort,
        cut=at(AFTER, PENDING),
        arrival="work",
        breaks="EVT",
    ),
)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: one.name)
def test_a_seeded_mistake_is_noticed(mistake: Mistake, monkeypatch: pytest.MonkeyPatch) -> None:
    """S1..S7, S10, DRAIN-06, EVT-03: the case passes as the code is, and fails with the mistake."""

    def found() -> str:
        arrival, outcome = ARRIVALS[mistake.arrival], OUTCOMES[mistake.outcome]
        if mistake.dies:
            return "\n".join(restart.play(mistake.cut, arrival, outcome))
        return "\n".join(play(mistake.cut, arrival, outcome))

    assert found() == ""
    mistake.seed(monkeypatch)
    assert mistake.breaks in found()
