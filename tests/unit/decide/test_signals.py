"""What hooks say: what one more signal changes, whom it keeps up, and for how long."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gascity.decide.drain import Phase, Verdict
from gascity.decide.relook import DrainContext, relook
from gascity.decide.signals import (
    ASKED_AGAINST_SCREEN,
    ASKED_UNSEEN,
    TURN_AGAINST_SCREEN,
    TURN_UNSEEN,
    WORK_AGAINST_SCREEN,
    hear,
)
from gascity.decide.tick import decide
from gascity.model.duration import seconds
from gascity.model.plan import Drain
from gascity.model.reading import Unsupported
from gascity.model.session import Session
from gascity.model.signals import Heard, Signal, SignalKind, Turn
from gascity.model.world import ScreenVerdict, World
from gascity.testing.builders import (
    NOON,
    TIMED,
    a_city,
    a_world,
    action_of,
    agent,
    awake,
    decided,
    decision_of,
    draining,
    headless,
    running,
)

CITY = a_city(agent(sleep_after_idle=seconds(0)), session_sleep={})
K = SignalKind


def said(kind: SignalKind, after_s: float = 0, **over: Any) -> Signal:
    """A signal of the run with token t1."""
    fields: dict[str, Any] = {"token": "t1", "kind": kind, "at": NOON + timedelta(seconds=after_s)}
    return Signal(**(fields | over))


def heard(*signals: Signal) -> Heard:
    """What is known after these signals."""
    known: Heard | None = None
    for one in signals:
        known = hear(known, one)
    assert known is not None
    return known


def world_with(
    known: Heard, *, session: Session | None = None, ago_s: float = 0, **seen: Any
) -> World:
    """An idle session whose window is over, so long after the signals."""
    now = NOON + timedelta(seconds=ago_s)
    shown: dict[str, Any] = {"screen": ScreenVerdict.IDLE, "now": now} | seen
    world = a_world(CITY, session or awake(), seen=running(**shown), now=now)
    memory = replace(world.memory, heard={"gc-mayor": known})
    return replace(world, memory=memory)


def blockers_of(world: World) -> tuple[str, ...]:
    return decision_of(decide(world), "mayor").blocker_names


@pytest.mark.parametrize(
    ("signals", "turn", "asked", "work"),
    [
        ([said(K.HERE)], Turn.UNSAID, "", None),
        ([said(K.TURN_OPEN)], Turn.OPEN, "", None),
        ([said(K.TURN_OPEN), said(K.TURN_CLOSE)], Turn.CLOSED, "", None),
        ([said(K.TURN_OPEN), said(K.PENDING, what="plan")], Turn.OPEN, "plan", None),
        ([said(K.PENDING), said(K.PENDING_CLEAR)], Turn.UNSAID, "", None),
        ([said(K.PENDING), said(K.TURN_OPEN)], Turn.OPEN, "", None),
        ([said(K.PENDING), said(K.TURN_CLOSE)], Turn.CLOSED, "", None),
        ([said(K.PENDING, is_sub=True), said(K.BEAT)], Turn.UNSAID, "choice", None),
        ([said(K.TURN_OPEN, is_sub=True)], Turn.UNSAID, "", None),
        ([said(K.TURN_OPEN), said(K.TURN_CLOSE, is_sub=True)], Turn.OPEN, "", None),
        ([said(K.TURN_CLOSE, items=("npm start",))], Turn.CLOSED, "", ("npm start",)),
        ([said(K.WORK, items=("a", "b")), said(K.TURN_CLOSE)], Turn.CLOSED, "", ("a", "b")),
        ([said(K.WORK, items=("a",)), said(K.WORK, items=())], Turn.UNSAID, "", ()),
        ([said(K.WORK_BEGIN, what="a"), said(K.WORK_BEGIN, what="b")], Turn.UNSAID, "", ("a", "b")),
        ([said(K.WORK_BEGIN, what="a"), said(K.WORK_END, what="a")], Turn.UNSAID, "", ()),
        ([said(K.TURN_OPEN), said(K.PENDING), said(K.GONE)], Turn.UNSAID, "", None),
    ],
)  # fmt: skip
def test_each_signal_changes_what_it_is_about(
    signals: list[Signal], turn: Turn, asked: str, work: tuple[str, ...] | None
) -> None:
    """Turn, question and background work, each by its own words (R15, R79)."""
    known = heard(*signals)
    assert (known.turn, known.asked, known.work) == (turn, asked, work)


def test_a_late_signal_changes_nothing() -> None:
    """Hooks run beside each other: the sender's order counts, not that of arrival (R15)."""
    known = heard(said(K.TURN_OPEN, seq=1), said(K.TURN_CLOSE, seq=3), said(K.TURN_OPEN, seq=2))
    assert known.turn is Turn.CLOSED


def test_another_run_begins_anew() -> None:
    """What the hooks of an earlier run said is gone with it (R63)."""
    known = heard(said(K.TURN_OPEN, seq=9), said(K.HERE, token="t2", seq=1))
    assert (known.token, known.turn) == ("t2", Turn.UNSAID)


def test_an_agent_inside_the_turn_says_nothing_of_the_turn() -> None:
    """One that the agent runs has the same hooks and token, and another conversation (R15)."""
    outer, inner = {"conversation": "a"}, {"conversation": "b"}
    known = heard(
        said(K.TURN_OPEN, **outer), said(K.TURN_OPEN, **inner), said(K.TURN_CLOSE, **inner)
    )
    assert (known.turn, known.conversation) == (Turn.OPEN, "a")
    known = heard(said(K.TURN_CLOSE, **outer), said(K.TURN_OPEN, **inner))
    assert (known.turn, known.conversation) == (Turn.OPEN, "b")


@pytest.mark.parametrize(
    ("signal", "blocker"),
    [
        (said(K.TURN_OPEN, source="UserPromptSubmit"), "turn_open"),
        (said(K.PENDING, what="permission", question="run it?"), "pending"),
        (said(K.TURN_CLOSE, items=("npm start",)), "background"),
    ],
)
def test_a_signal_keeps_an_idle_looking_session_awake(signal: Signal, blocker: str) -> None:
    """At once, with what was said, although the screen shows an empty prompt (R15, R79)."""
    world = world_with(heard(signal))
    plan = decide(world)
    assert blocker in decision_of(plan, "mayor").blocker_names
    assert action_of(plan, "mayor") is None


def test_a_question_of_a_hook_is_a_hard_wake_with_its_words() -> None:
    """`pending`, as if the screen had shown it: structured pending (R18, R79)."""
    world = world_with(heard(said(K.PENDING, what="permission", question="Bash: make")))
    [wake] = decision_of(decide(world), "mayor").hard_wakes
    assert (str(wake.cause), wake.details) == ("pending", ("permission", "Bash: make"))


def test_a_closed_turn_proves_nothing() -> None:
    """A lost `prompt submitted`: what the screen shows still counts (R15)."""
    for shown in (ScreenVerdict.BUSY, ScreenVerdict.UNKNOWN, ScreenVerdict.DRAFT):
        world = world_with(heard(said(K.TURN_CLOSE)), screen=shown)
        assert blockers_of(world) == ("idle_boundary",)
    assert isinstance(action_of(decide(world_with(heard(said(K.TURN_CLOSE)))), "mayor"), Drain)


def test_an_open_turn_ends_by_itself_where_the_screen_says_idle() -> None:
    """A lost `turn ended` does not keep the session up for ever (R15, R80)."""
    known, limit = heard(said(K.TURN_OPEN)), TURN_AGAINST_SCREEN.total_seconds()
    before = world_with(known, ago_s=limit - 1)
    assert blockers_of(before) == ("turn_open",)
    assert decide(before).next_due == NOON + TURN_AGAINST_SCREEN
    assert isinstance(action_of(decide(world_with(known, ago_s=limit)), "mayor"), Drain)


def test_any_signal_keeps_an_open_turn_alive() -> None:
    """It is the last word that ages, not the first (R15)."""
    known = heard(said(K.TURN_OPEN), said(K.BEAT, TURN_AGAINST_SCREEN.total_seconds() - 1))
    assert blockers_of(world_with(known, ago_s=TURN_AGAINST_SCREEN.total_seconds() + 1)) == (
        "turn_open",
    )


def test_an_open_turn_holds_longer_where_no_screen_speaks_against_it() -> None:
    """And as long as the screen shows a turn itself (R15)."""
    known = heard(said(K.TURN_OPEN))
    limit = TURN_UNSEEN.total_seconds()
    for ago_s, there in ((limit - 1, True), (limit, False)):
        world = world_with(known, ago_s=ago_s, screen=ScreenVerdict.UNKNOWN)
        assert ("turn_open" in blockers_of(world)) is there
    world = world_with(known, ago_s=99_999, screen=ScreenVerdict.BUSY)
    assert "turn_open" in blockers_of(world)


def test_a_question_whose_answer_was_not_told_ends_with_its_dialog() -> None:
    """A screen without a dialog outlives it; without a screen it waits for a person (R79)."""
    known, limit = heard(said(K.PENDING)), ASKED_AGAINST_SCREEN.total_seconds()
    assert blockers_of(world_with(known, ago_s=limit - 1)) == ("pending",)
    assert blockers_of(world_with(known, ago_s=limit)) == ()
    unseen = world_with(known, ago_s=ASKED_UNSEEN.total_seconds() - 1, screen=ScreenVerdict.UNKNOWN)
    assert "pending" in blockers_of(unseen)


def test_background_work_that_ended_unsaid_is_asked_about_elsewhere() -> None:
    """After a while the screen and the processes are believed (R15)."""
    known, limit = heard(said(K.TURN_CLOSE, items=("x",))), WORK_AGAINST_SCREEN.total_seconds()
    assert blockers_of(world_with(known, ago_s=limit - 1)) == ("background",)
    assert blockers_of(world_with(known, ago_s=limit)) == ()


def test_signals_of_another_run_keep_nobody_up() -> None:
    """Fenced by the instance token (R63)."""
    world = world_with(
        heard(
            said(K.TURN_OPEN, token="t0"),
        )
    )
    assert blockers_of(world) == ()


def test_a_signal_in_the_middle_of_a_drain_ends_it() -> None:
    """The re-look sees what the plan would see (R27, R35)."""
    session = draining()
    plain = world_with(heard(said(K.TURN_CLOSE)), session=session)
    context = DrainContext(
        fingerprint=decision_of(decide(plain), "mayor").fingerprint, generation=1
    )
    for signal in (said(K.TURN_OPEN), said(K.PENDING)):
        world = world_with(heard(signal), session=session)
        looked = relook(
            world, session.id, phase=Phase.RECORD, context=context, structural=lambda _: ""
        )
        assert looked.verdict is Verdict.WOKEN


def test_hooks_give_structured_pending() -> None:
    """Without a pending signal there is one once hooks of this run have spoken (CAP-20, R7)."""
    city = a_city(headless("mayor", sleep_after_idle=seconds(0)), session_sleep={})
    blind = replace(TIMED, pending_signal=False)
    seen = running(pending=Unsupported())
    for token, there in (("", False), ("t0", False), ("t1", True)):
        session = replace(awake(), heard_from=token)
        decision, _ = decided(a_world(city, session, seen=seen, support=blind))
        assert decision.capability.has_pending_signal is there
