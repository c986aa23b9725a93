"""Every interleaving of a drain, each played once: a tree of what came, in order, and where.

A node is a history: what came, each at a position, in order. Its children add one thing at the same
position or later. Positions that nobody can tell apart are one; see `stage`.

Source: R1 of the reliability targets (RACE-01..08, L8, S1..S10)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from functools import partial
from zlib import crc32

from gascity.testing.facts import name_of
from gascity.testing.script import Moment
from tests.interleavings.comings import (
    ENDS,
    EVERYTHING,
    FAULTS,
    FIRST,
    STOPS,
    Coming,
    changes_of,
    clear,
    faults_at,
    is_told_apart,
    may_end_here,
    quiet,
)
from tests.interleavings.scenes import DB, about_to_sleep, faults, heard, story
from tests.interleavings.stage import Stage, counted_tokens

DEATH = "acknowledged, then crash"
ARRIVES = frozenset((*FIRST, *ENDS))
History = tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One history, played: the moments of its tick, what was looked at between them, its faults."""

    history: History
    moments: tuple[Moment, ...]
    seen: tuple[frozenset[str], ...]
    wrong: tuple[str, ...]
    state: Hashable = None

    @property
    def calls(self) -> tuple[tuple[str, str, str, bool, str], ...]:
        """What was called, in order, and what each answered."""
        return tuple((m.when, m.call, m.of, m.failed, str(m.value)) for m in self.moments)


@dataclass(slots=True)
class Play:
    """Plays histories of one kind of session. `ends` keeps how each state settled."""

    kind: str
    ends: dict[Hashable, tuple[str, ...]] = field(default_factory=dict)
    played: int = 0
    settled: int = 0
    failed: list[str] = field(default_factory=list)

    def play(self, history: History) -> Played:
        """One history to its end."""
        self.played += 1
        with counted_tokens(), heard() as logged:
            stage = Stage.on(about_to_sleep(self.kind))
            stage.inspector.busy_at = {DB: 0.0}
            stage.begin()
            script = stage.script
            script.begin()
            for position, name in history:
                deed = partial(EVERYTHING[name].deed, stage)
                script.due.setdefault(position, []).append(deed)
            self._tick(stage)
            moments, seen = tuple(script.log), tuple(script.seen)
            state = stage.state()
            wrong = self._judged(stage, history, moments)
        found = (*wrong, *logged)
        if found:
            again = f'.venv/bin/python -m tests.interleavings play {self.kind} "{said(history)}"'
            self.failed.append(f"{found[0]}\n  {again}\n{story(stage)}")
        return Played(history=history, moments=moments, seen=seen, wrong=found, state=state)

    def _tick(self, stage: Stage) -> None:
        """The tick of the drain, and the first ones of every controller that follows a dead one."""
        stage.tick()
        while stage.is_dead:
            stage.restart()
            stage.tick()

    def _judged(
        self, stage: Stage, history: History, moments: tuple[Moment, ...]
    ) -> tuple[str, ...]:
        found = [] if not history or history[-1][0] < len(moments) else ["a cut was not reached"]
        doubt = quiet(stage)
        if not found and not doubt and is_due_at_once(history, moments) and not stage.runs(DB):
            found.append("not running at the end of that same tick")
        found += stage.overseer.violations
        if found:
            return tuple(found)
        state = stage.state()
        known = self.ends.get(state)
        if known is None:
            self.settled += 1
            known = self.ends[state] = tuple(settle(stage, doubt))
        return known


def settle(stage: Stage, doubt: bool) -> Iterator[str]:
    """Bring it to rest; what is wrong with where it rests."""
    stage.judges()
    stage.inspector.busy_at = {}
    if doubt:
        stage.clock.advance(2)
        stage.tick(2)
        clear(stage)
    for _ in range(4):
        stage.clock.advance(2)
        stage.tick()
    yield from faults(stage)
    yield from stage.inspector.broken
    plan = stage.controller.snapshot().plan
    for bead in stage.records().sessions():
        decision = plan.decisions.get(bead.id) if plan is not None else None
        if decision is None or not decision.verdict:
            yield f"X1: {name_of(bead)}: nothing says how it stands and why"


LASTS = {
    "work",
    "a wait that is met",
    "a wait with a note",
    "a message that wakes",
    "gc attach",
    "gc wake",
    "a pin",
    "work for a dependent",
    "gc attach to a dependent",
    "a pin on a dependent",
}
HARMLESS = {"a message that wakes nobody", "somebody attaches", "a question", "another window"}


def is_due_at_once(history: History, moments: tuple[Moment, ...]) -> bool:
    """Whether it must run at the end of the tick: a wake came before the commit, and only such."""
    names = {name for _, name in history}
    if not names & LASTS or not names <= LASTS | HARMLESS:
        return False
    committed = [n for n, one in enumerate(moments) if one.call == "save asleep" and one.of == DB]
    first = min(position for position, name in history if name in LASTS)
    return not committed or first < committed[-1]


def said(history: History) -> str:
    """The history in the words that `python -m tests.interleavings play` takes."""
    return "; ".join(f"{name} @ {position}" for position, name in history)


def history_of(text: str) -> History:
    """What `said` says, read back.

    Raises:
        ValueError: it names nothing that may come about, or no position.
    """
    found = []
    for one in filter(None, text.split("; ")):
        name, _, position = one.rpartition(" @ ")
        if name not in EVERYTHING:
            raise ValueError(f"{name!r} never comes about; one of: {', '.join(EVERYTHING)}")
        found.append((int(position), name))
    return tuple(found)


def story_of(one: Played) -> str:
    """Every moment with its number, and what came there."""
    came: dict[int, list[str]] = {}
    for position, name in one.history:
        came.setdefault(position, []).append(name)
    lines = []
    for number, moment in enumerate(one.moments):
        lines.append(f"{number:4} {moment}")
        lines += [f"     ---- {name}" for name in came.get(number, [])]
    return "\n".join(lines)


def children(one: Played, *, arrivals: int, last: int) -> Iterator[tuple[int, Coming]]:
    """Everything that may come next, each at every position that can be told apart."""
    names = [name for _, name in one.history]
    came = frozenset(names)
    comings: list[Coming] = []
    if arrivals:
        comings += FIRST.values()
        comings += [end for end in ENDS.values() if end.undoes in came and end.name not in came]
    # A controller that dies of the fault is followed through what comes while it is dead.
    end = last + 1 if names and names[-1] == DEATH else len(one.moments)
    for coming in comings:
        changes = changes_of(coming, came)
        for position in range(last, end):
            if position == last or is_told_apart(one.seen[position], changes):
                yield position, coming
    has_outcome = not came.isdisjoint(STOPS)
    has_fault = not came.isdisjoint(FAULTS)
    for position in range(last, len(one.moments)):
        moment = one.moments[position]
        if not has_outcome and may_end_here(moment):
            yield from ((position, outcome) for outcome in STOPS.values())
            has_outcome = True
        if not has_fault:
            yield from ((position, FAULTS[name]) for name in faults_at(moment))


@dataclass(slots=True, kw_only=True)
class Walk:
    """A part of the tree: how many arrivals, which one first, with faults of the store or without.

    `part` (n, of): of the histories of two arrivals, one in so many, with all that begins with it.
    """

    play: Play
    arrivals: int
    first: str = ""
    faults: bool = True
    part: tuple[int, int] = (0, 1)
    stands_for: int = 0
    by_arrivals: Counter[int] = field(default_factory=Counter)

    def below(self, history: History = ()) -> None:
        """Play this history and every one that begins with it."""
        one = self.play.play(history)
        came = [name for _, name in history if name in ARRIVES]
        self.by_arrivals[len(came)] += 1
        left = self.arrivals - len(came)
        last = history[-1][0] if history else 0
        wanted = 1 if self.first and not came else len(FIRST)
        self.stands_for += 1 if not left else (len(one.moments) - last) * wanted
        for position, coming in children(one, arrivals=left, last=last):
            if coming.name in ARRIVES and self.first and not came and coming.name != self.first:
                continue
            if coming.name in FAULTS and not self.faults:
                continue
            longer = (*history, (position, coming.name))
            if coming.name in ARRIVES and len(came) == 1 and not self._is_ours(longer):
                continue
            self.below(longer)

    def _is_ours(self, history: History) -> bool:
        number, parts = self.part
        return crc32(said(history).encode()) % parts == number


__all__ = ["Play", "Played", "Walk", "history_of", "said", "story_of"]
