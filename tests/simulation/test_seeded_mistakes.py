"""Each promise is broken on purpose in the product, and simulated lives must find it by its name.

Where a mistake would need two things to meet within one step, the interleavings meet them instead:
`tests/interleavings/test_seeded_mistakes.py`. The table is in docs/reliability.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

import pytest

from gascity.act import drain
from gascity.beads import record
from gascity.daemon import Controller
from gascity.decide import (
    assemble,
    exits,
    idle,
    policy,
    pools,
    wake,
)
from gascity.decide.drain import DRAIN, Effect, Phase, Verdict
from gascity.runtimes.base import RuntimeUnreachable
from gascity.testing.drawn_lives import draw
from gascity.testing.simulated_life import live

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

Patch = pytest.MonkeyPatch
Seed = Callable[[Patch], None]
LIVES: Final = 40


def everywhere(patch: Patch, kept: Any, put: Any) -> None:
    """Put something in the place of a function, wherever the product has imported it."""
    for name, module in list(sys.modules.items()):
        if name.startswith("gascity.") and not name.startswith("gascity.testing"):
            for word, value in list(vars(module).items()):
                if value is kept:
                    patch.setattr(module, word, put)


def instead(kept: Any, make: Callable[[Any], Any]) -> Seed:
    """The mistake that a function of the product does something else: `make` is given the old."""
    return lambda patch: everywhere(patch, kept, make(kept))


def leads(phase: Phase, verdict: Verdict, to: Phase) -> Seed:
    """The drain table says something else in one place."""

    def seed(patch: Patch) -> None:
        wrong = replace(DRAIN[phase], **{verdict.value: to})
        patch.setitem(DRAIN, phase, wrong)  # type: ignore[arg-type]

    return seed


def performs(effect: Effect, how: Any) -> Seed:
    """An effect of a drain is done differently."""
    return lambda patch: patch.setitem(drain.PERFORM, effect, how)  # type: ignore[arg-type]


def both(*seeds: Seed) -> Seed:
    """Several at once, where one alone is caught by the other's work."""

    def seed(patch: Patch) -> None:
        for one in seeds:
            one(patch)

    return seed


async def _done(_: object) -> bool:
    return True


async def _stop_any_run(walk: Any) -> bool:
    session = walk.ports.records[walk.session_id]
    runtime = walk.ports.runtime(session.runtime)
    try:
        await runtime.stop(session.name, token="any", grace_s=1.0)
    except RuntimeUnreachable:
        return False
    return True


def _empty(_: Any) -> Any:
    return lambda *args, **over: []


def _nothing(_: Any) -> Any:
    return lambda *args: None


def _untold(honest: Any) -> Any:
    return lambda *args: replace(honest(*args), events=())


def _clears_foreign_keys(honest: Any) -> Any:
    def to_update(before: Any, after: Any, *rest: Any) -> Any:
        update = honest(before, after, *rest)
        return replace(update, metadata={**update.metadata, "other_tool": ""})

    return to_update


def _window(**over: Any) -> Callable[[Any], Any]:
    def make(honest: Any) -> Any:
        return lambda *args, **kwargs: replace(honest(*args, **kwargs), **over)

    return make


def _as_requested(honest: Any) -> Any:
    def effective(asked: Any, *args: Any) -> Any:
        return replace(honest(asked, *args), effective=asked.requested)

    return effective


def _shows_no_cause(honest: Any) -> Any:
    def make(*args: Any, **over: Any) -> Any:
        return replace(honest(*args, **over), hard_wakes=())

    return make


def _goes_on(patch: Patch) -> None:
    patch.setattr(Controller, "_break", lambda self, problem: None)


def _held_back(honest: Any) -> Any:
    return lambda session, now: timedelta(days=1 if session.failed_starts or session.exits else 0)


EFFECTIVE: Final = policy.effective_policy


@dataclass(frozen=True, slots=True)
class Mistake:
    """A promise, what is done wrong, and how; `first` is where the lives begin."""

    promise: str
    name: str
    seed: Seed
    first: int = 0


MISTAKES: Final = (
    Mistake("S1", "work keeps nobody up", instead(wake._bead_wake, _nothing), first=4),
    Mistake("S2", "work is not seen by the commit", instead(wake._bead_wake, _nothing), first=3),
    Mistake("S3", "the intent is not saved", performs(Effect.SAVE_PENDING, _done)),
    Mistake(
        "S4",
        "a stop is taken for done",
        both(
            performs(Effect.STOP_RUNTIME, _done),
            leads(Phase.STOP, Verdict.RUNNING, Phase.CONFIRM),
            leads(Phase.CONFIRM, Verdict.RUNNING, Phase.COMMIT),
        ),
    ),
    Mistake("S5", "a pending stop is committed", performs(Effect.SAVE_CONFIRMED, _done)),
    Mistake("S6", "whatever runs is stopped", performs(Effect.STOP_RUNTIME, _stop_any_run)),
    Mistake("S7", "doubt counts as no", instead(idle.doubt_blockers, _empty), first=7),
    Mistake(
        "S9", "a runtime that cannot tell is slept", instead(EFFECTIVE, _as_requested), first=4
    ),
    Mistake(
        "L1",
        "one failure keeps it down for long",
        instead(exits.restart_backoff, _held_back),
        first=10,
    ),
    Mistake("L2", "windows never close", instead(idle.keep_warm_window, _window(is_open=True))),
    Mistake(
        "A1", "nothing is ever trimmed", instead(pools._trimmed, lambda _: lambda *_: ()), first=5
    ),
    Mistake("X2", "no cause is shown", instead(assemble._decision, _shows_no_cause)),
    Mistake("X3", "an end is not told", instead(exits._exempt, _untold), first=1),
    Mistake(
        "D2", "unknown keys are cleared", instead(record.to_update, _clears_foreign_keys), first=2
    ),
    Mistake("D3", "a broken store is asked again", _goes_on),
    Mistake("T1", "windows never open", instead(idle.keep_warm_window, _window(is_open=False))),
)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: f"{one.promise}: {one.name}")
def test_a_seeded_mistake_is_found(mistake: Mistake, monkeypatch: pytest.MonkeyPatch) -> None:
    """S1..S7, S9, L1, L2, A1, X2, X3, D2, D3, T1: what passes without the mistake fails with it."""
    mistake.seed(monkeypatch)
    found: list[str] = []
    for seed in range(mistake.first, mistake.first + LIVES):
        found += live(draw(seed)).broken
        if any(wrong.startswith(f"{mistake.promise}:") for wrong in found):
            print(f"{mistake.promise} by seed {seed}")
            return
    pytest.fail(f"{mistake.promise} was not found; what was: {sorted(set(found))[:5]}")
