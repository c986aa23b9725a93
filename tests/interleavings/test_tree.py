"""Every interleaving of a drain: all that may come, once and twice, at every cut.

Cuts that nobody can tell apart are played once; that they are one is proven here as well.
"""

from __future__ import annotations

import os

import pytest

from gascity.decide.drain import Phase, Verdict
from tests.interleavings.__main__ import KINDS, main
from tests.interleavings.comings import CRASH, FIRST, changes_of, is_told_apart
from tests.interleavings.test_seeded_mistakes import leads
from tests.interleavings.tree import Play, Walk, history_of

PAIRS = tuple(int(number) for number in os.environ.get("PAIRS", "0/40").split("/"))
"""Which part of all pairs, of how many: 0/1 is all of them."""

OPEN = (
    (
        "headless",
        "a pin on a dependent @ 1; its host goes down @ 3",
        "S2: db: asleep: idle through dependency",
    ),
    (
        "interactive",
        "somebody starts another run of it @ 99; removed from the config @ 106",
        "EVT: db: an intent ended and nothing says how",
    ),
)
"""Faults that are known and not mended: kind, history, what is wrong. See docs/reliability.md."""


def is_open(kind: str, failure: str) -> bool:
    """Whether this failure is one of the known: the same two things came, the same is wrong."""
    why, again, *_ = failure.splitlines()
    came = {name for _, name in history_of(again.split('"')[1])}
    return any(
        (kind, why) == (known, wrong) and came == {name for _, name in history_of(history)}
        for known, history, wrong in OPEN
    )


def all_below(
    kind: str, *, arrivals: int, first: str, faults: bool, part: tuple[int, int] = (0, 1)
) -> None:
    """Play this part of the tree; fail with what failed, each with the line that plays it again."""
    play = Play(kind)
    walk = Walk(play=play, arrivals=arrivals, first=first, faults=faults, part=part)
    walk.below()
    print(f"{play.played} interleavings for {walk.stands_for}, {len(play.failed)} violations")
    failed = [one for one in play.failed if not is_open(kind, one)]
    heads = ["\n".join(one.splitlines()[:2]) for one in failed]
    assert not heads, "\n".join([f"{len(heads)} interleavings fail", *heads[:20], failed[0]])


def test_a_wake_at_every_cut_that_can_be_told_apart() -> None:
    """RACE-01..04, S1, S2: the smallest part of the tree, at every run."""
    all_below("interactive", arrivals=1, first="work", faults=False)


@pytest.mark.parametrize(("kind", "history", "wrong"), OPEN)
def test_a_known_fault_is_still_there(kind: str, history: str, wrong: str) -> None:
    """RACE-04: whoever mends one takes it off the list, and the tree looks for it again."""
    play = Play(kind)
    play.play(history_of(history))
    assert play.failed[0].splitlines()[0] == wrong


def test_a_failure_names_the_line_that_plays_it_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """TEST-16: the tree finds a seeded mistake, and its line shows the same one again."""
    leads(Phase.RECORD, Verdict.WOKEN, Phase.STOP)(monkeypatch)
    play = Play("interactive")
    Walk(play=play, arrivals=1, first="work", faults=False).below()
    why, again, *_ = play.failed[0].splitlines()
    assert why.startswith("S1: db: stopped through work")
    words = again.split(maxsplit=5)
    assert words[:4] == [".venv/bin/python", "-m", "tests.interleavings", "play"]
    assert main(["play", words[4], words[5].strip('"')]) == 1
    assert why in capsys.readouterr().out
    monkeypatch.undo()
    assert main(["play", words[4], words[5].strip('"')]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", FIRST)
def test_one_arrival_with_every_outcome_and_every_fault(first: str, kind: str) -> None:
    """RACE-01..08, DRAIN-01..16, R9, R28, R34, R35, R75, D4: × every end of a stop and a write."""
    all_below(kind, arrivals=1, first=first, faults=True)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", FIRST)
def test_two_arrivals_with_every_outcome(first: str, kind: str) -> None:
    """RACE-01..08, L8, S1..S10: two of them, in every order, × every end of a stop."""
    all_below(kind, arrivals=2, first=first, faults=False, part=(PAIRS[0], PAIRS[1]))


@pytest.mark.slow
@pytest.mark.parametrize("first", FIRST)
def test_cuts_that_are_played_as_one_are_one(first: str) -> None:
    """HARN-03: at cuts that cannot be told apart the same is done and the same remains."""
    play = Play("interactive")
    undisturbed = play.play(())
    changes = changes_of(FIRST[first], ())
    last = play.play(((0, first),))
    for position in range(1, len(undisturbed.moments)):
        one = play.play(((position, first),))
        if not is_told_apart(undisturbed.seen[position], changes):
            assert one.calls[position:] == last.calls[position:] or first == CRASH.name
            assert one.state == last.state, f"{first} @ {position}"
        last = one
