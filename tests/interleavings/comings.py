"""Everything that may come about at a cut: arrivals, ways a stop ends, faults of the store.

Each says what it changes, in the words in which a stage says what was looked at. Only that decides
which cuts are one to it.

Source: R1 of the reliability targets; RACE-01..08, R34, R75
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from gascity.act.save import Gone
from gascity.beads.store import Conflict, StoreUnavailable
from gascity.testing.script import AFTER, BEFORE, Moment
from tests.interleavings.scenes import ARRIVALS, DB, HARD, OUTCOMES, Arrival
from tests.interleavings.stage import ANYTHING, Stage, is_write

RUN: Final = frozenset({f"is_running {DB}"})
SHOWN: Final = frozenset({f"attached {DB}", f"pending {DB}"})
"""What goes with a run, where it is there at all."""
TIME: Final = frozenset({"now", "monotonic"})
CHANGES: Final[dict[str, frozenset[str]]] = {
    "work": frozenset({"task", "revision"}),
    "a wait that is met": frozenset({"gate", "revision"}),
    "a wait with a note": frozenset({"gate", "revision"}),
    "a message that wakes": frozenset({"message", "revision"}),
    "somebody attaches": frozenset({f"attached {DB}"}),
    "a question": frozenset({f"pending {DB}", f"activity {DB}"}),
    "gc attach": frozenset({"session"}),
    "gc wake": frozenset({"session"}),
    "a pin": frozenset({"session"}),
    "work for a dependent": frozenset({"task", "revision"}),
    "gc attach to a dependent": frozenset({"session"}),
    "a pin on a dependent": frozenset({"session"}),
    "attachment unclear": frozenset({f"attached {DB}"}),
    "pending unclear": frozenset({f"pending {DB}"}),
    "activity unclear": frozenset({f"activity {DB}"}),
    "runtime unclear": frozenset({f"is_running {DB}"}),
    "demand unclear": frozenset({"demand unclear"}),
    "host unreachable": frozenset({"host"}),
    "gc suspend": frozenset({"session"}),
    "suspended in the config": frozenset({"city"}),
    "removed from the config": frozenset({"city"}),
    "config drift": frozenset({"city"}),
    "policy off": frozenset({"city"}),
    "another window": frozenset({"city"}),
    "a message that wakes nobody": frozenset({"message", "revision"}),
    "activity": TIME | {f"activity {DB}"},
    "a turn opens": frozenset({"session", "turns"}),
    "it exits with 0": RUN,
    "it exits with 1": RUN,
    "somebody starts another run of it": RUN | {f"activity {DB}"},
    "its host goes down": RUN | {"is_running app", "host"},
    "the clock is set back": frozenset({"now"}),
    "the clock is set forward": frozenset({"now"}),
}
REFUSED: Final = (StoreUnavailable, Conflict, Gone)
"""What a person is told when the store takes nothing: then nothing has come about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coming:
    """One thing that may come about. `changes` is what a look would tell it by.

    `undoes` names the arrival that it takes back; without that one it is nothing.
    """

    name: str
    deed: Callable[[Stage], None]
    changes: frozenset[str]
    undoes: str = ""


def _arrival(one: Arrival) -> Coming:
    def deed(stage: Stage) -> None:
        if DB not in stage.config.agents or not stage.has(DB):
            return  # nobody is there to whom it could happen
        with suppress(*REFUSED):
            one.deed(stage)

    return Coming(name=one.name, deed=deed, changes=CHANGES[one.name])


def _end(one: Arrival) -> Coming:
    def deed(stage: Stage) -> None:
        if not stage.has(DB):
            return
        with suppress(*REFUSED):
            (one.passes or one.vanish)(stage)

    changes = CHANGES[one.name] if one.passes is not None else _gone(one.name)
    return Coming(name=f"{one.name}, over", deed=deed, changes=changes, undoes=one.name)


def _gone(name: str) -> frozenset[str]:
    """What the end of a hard wake changes: an answer is activity, a closed bead is demand."""
    return CHANGES[name] | ({f"activity {DB}"} if name == "a question" else frozenset())


def _die(stage: Stage) -> None:
    stage.script.crashed = True


CRASH: Final = Coming(name="controller crash", deed=_die, changes=frozenset())
EMPTY: Final = frozenset(CHANGES) - {"somebody attaches", "a question"} | {"controller crash"}
"""Arrivals that leave nobody attached and nothing asked."""
LEFT_OUT: Final = ("nothing", "a patrol passes by")
"""Arrivals that are no change of the world; `test_drain` plays them at every cut."""
PASSING: Final = tuple(one for one in ARRIVALS.values() if one.passes is not None)
"""What would hold everything for ever, did it not pass."""
FIRST: Final = {
    one.name: one
    for one in (*(_arrival(a) for a in ARRIVALS.values() if a.name not in LEFT_OUT), CRASH)
}
"""What may come of itself."""
ENDS: Final = {one.name: one for one in map(_end, (*HARD, *PASSING))}
"""What may come after something else came."""

STOPS: Final = {
    name: Coming(name=name, deed=OUTCOMES[name].begin, changes=frozenset())
    for name in ("stop raises", "stop is lost", "stop hangs", "it still runs")
}
"""Ways a stop may end badly, from the first stop on until the tick is over."""


def _full(stage: Stage) -> None:
    stage.memory.full = True


def _refuse(stage: Stage) -> None:
    stage.memory.fail_next = StoreUnavailable("I/O error; nothing was written")


FAULTS: Final = {
    "the write fails": Coming(name="the write fails", deed=_refuse, changes=frozenset()),
    "the disk is full": Coming(name="the disk is full", deed=_full, changes=frozenset()),
    "acknowledged, then crash": Coming(
        name="acknowledged, then crash", deed=_die, changes=frozenset()
    ),
}
"""What may go wrong with one write, or from one write on until the tick is over."""
EVERYTHING: Final = {**FIRST, **ENDS, **STOPS, **FAULTS}


def may_end_here(moment: Moment) -> bool:
    """Whether it is a stop that is about to be made."""
    return moment.when == BEFORE and moment.call == "stop"


def faults_at(moment: Moment) -> tuple[str, ...]:
    """What may go wrong with the store at this moment."""
    if not is_write(moment):
        return ()
    if moment.when == AFTER:
        return () if moment.failed else ("acknowledged, then crash",)
    return ("the write fails", "the disk is full")


def changes_of(coming: Coming, came: Collection[str]) -> frozenset[str]:
    """What it changes after all this came: the end of a run takes people and questions with it."""
    if coming.changes >= RUN and not EMPTY.issuperset(came):
        return coming.changes | SHOWN
    return coming.changes


def is_told_apart(seen: frozenset[str], changes: frozenset[str]) -> bool:
    """Whether it matters to the controller that these changed after what was seen, not before."""
    return ANYTHING in seen or not seen.isdisjoint(changes)


def quiet(stage: Stage) -> bool:
    """End everything that only goes wrong for a while; whether a doubt was among it."""
    one = stage.host.of(DB)
    doubt = bool(
        one.attached_unclear
        or one.pending_unclear
        or one.activity_unclear
        or one.unclear
        or stage.host.unreachable
        or stage.store.demand_unclear
        or stage.ports.memory.turns
    )
    one.stop_raises = one.stop_lost = ""
    one.stop_works = True
    stage.host.unhang()
    stage.memory.full, stage.memory.fail_next = False, None
    return doubt


def clear(stage: Stage) -> None:
    """Every doubt is over."""
    for one in PASSING:
        assert one.passes is not None
        if stage.has(DB):
            one.passes(stage)
