"""What hooks say, weighed: how long it holds, and when screen and processes know better.

Signals only ever keep awake. A turn that was opened and never closed, a question whose answer was
never told and background work that ended unsaid stop counting after a while, sooner where the
screen shows otherwise. That a turn was closed says nothing by itself.

Source: DESIGN §8 (R15, R63, R79)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from gascity.model.plan import Blocker, Cause, HardWake
from gascity.model.session import Session
from gascity.model.signals import Heard, Signal, SignalKind, Turn
from gascity.model.world import ScreenVerdict, Sighting, Truth, World

TURN_AGAINST_SCREEN: Final = timedelta(minutes=5)
"""How long an open turn holds after its last signal while the screen shows an idle prompt."""
TURN_UNSEEN: Final = timedelta(minutes=30)
"""The same where the screen says neither busy nor idle, or there is none."""
ASKED_AGAINST_SCREEN: Final = timedelta(seconds=30)
ASKED_UNSEEN: Final = timedelta(hours=12)
WORK_AGAINST_SCREEN: Final = timedelta(minutes=30)
WORK_UNSEEN: Final = timedelta(hours=12)
MOST_WORK: Final = 20

_NO_DIALOG: Final = frozenset(
    {ScreenVerdict.IDLE, ScreenVerdict.BUSY, ScreenVerdict.BACKGROUND, ScreenVerdict.DRAFT}
)


def hear(before: Heard | None, said: Signal) -> Heard:
    """What is known after one more signal. One that comes late changes nothing but the clock."""
    heard = before if before is not None and before.token == said.token else None
    if heard is None:
        heard = Heard(token=said.token, at=said.at)
    if said.seq and said.seq <= heard.seq:
        return heard
    heard = replace(heard, at=said.at, seq=said.seq or heard.seq)
    if _is_nested(heard, said):
        return heard
    conversation = said.conversation or heard.conversation
    heard = replace(heard, source=said.source, conversation=conversation)
    if said.items is not None:
        heard = replace(heard, work=said.items[:MOST_WORK], work_at=said.at)
    match said.kind:
        case SignalKind.TURN_OPEN if not said.is_sub:
            since = heard.turn_at if heard.turn is Turn.OPEN else said.at
            return replace(_answered(heard), turn=Turn.OPEN, turn_at=since)
        case SignalKind.TURN_CLOSE if not said.is_sub:
            return replace(_answered(heard), turn=Turn.CLOSED, turn_at=said.at)
        case SignalKind.PENDING:
            asked = said.what or "choice"
            return replace(heard, asked=asked, question=said.question, asked_at=said.at)
        case SignalKind.PENDING_CLEAR:
            return _answered(heard)
        case SignalKind.WORK_BEGIN | SignalKind.WORK_END:
            return _one_work(heard, said)
        case SignalKind.GONE:
            return Heard(token=said.token, at=said.at, seq=heard.seq, source=said.source)
        case _:
            return heard


def _is_nested(heard: Heard, said: Signal) -> bool:
    """An agent that runs inside this one's turn has hooks, too, and a conversation of its own."""
    is_other = bool(said.conversation) and said.conversation != heard.conversation
    return is_other and bool(heard.conversation) and heard.turn is Turn.OPEN


def _answered(heard: Heard) -> Heard:
    return replace(heard, asked="", question="", asked_at=None) if heard.asked else heard


def _one_work(heard: Heard, said: Signal) -> Heard:
    name = said.what or "task"
    others = tuple(one for one in heard.work or () if one != name)
    work = (*others, name)[-MOST_WORK:] if said.kind is SignalKind.WORK_BEGIN else others
    return replace(heard, work=work, work_at=said.at)


def is_heard(session: Session) -> bool:
    """Whether hooks of this very run have spoken: then its questions are told (CAP-20)."""
    return bool(session.instance_token) and session.heard_from == session.instance_token


def heard_now(session: Session, world: World) -> Heard | None:
    """What hooks of the present run said; nothing of a run that is over (R63)."""
    heard = world.memory.heard.get(session.id)
    if heard is None or heard.token != session.instance_token:
        return None
    return heard if world.sighting(session.id).truth is Truth.RUNNING else None


def question_wake(session: Session, world: World) -> HardWake | None:
    """The question that the hooks told, unless the screen told it already (R79)."""
    heard = heard_now(session, world)
    if heard is None or not _asks(heard, world.sighting(session.id), world.now):
        return None
    return HardWake(cause=Cause.PENDING, details=(heard.asked, heard.question))


def signal_blockers(session: Session, world: World) -> list[Blocker]:
    """An open turn, and background work, as hooks told them."""
    heard = heard_now(session, world)
    if heard is None:
        return []
    seen, now = world.sighting(session.id), world.now
    found = []
    if _is_in_turn(heard, seen, now):
        found.append(Blocker(name="turn_open", detail=f"said by {heard.source or 'a hook'}"))
    if heard.work and _works(heard, seen, now):
        found.append(Blocker(name="background", detail=", ".join(heard.work)))
    return found


def signals_end_at(session: Session, world: World) -> Iterator[datetime]:
    """The instants at which what hooks said stops counting by time alone (R80)."""
    heard = heard_now(session, world)
    if heard is None:
        return
    seen = world.sighting(session.id)
    if heard.turn is Turn.OPEN:
        yield heard.at + _turn_holds(seen)
    if heard.asked_at is not None:
        yield heard.asked_at + _question_holds(seen)
    if heard.work_at is not None and heard.work:
        yield heard.work_at + _work_holds(seen)


def _is_in_turn(heard: Heard, seen: Sighting, now: datetime) -> bool:
    if heard.turn is not Turn.OPEN:
        return False
    return seen.screen is ScreenVerdict.BUSY or now - heard.at < _turn_holds(seen)


def _asks(heard: Heard, seen: Sighting, now: datetime) -> bool:
    if not heard.asked or heard.asked_at is None or seen.screen is ScreenVerdict.PENDING:
        return False
    return now - heard.asked_at < _question_holds(seen)


def _works(heard: Heard, seen: Sighting, now: datetime) -> bool:
    return heard.work_at is not None and now - heard.work_at < _work_holds(seen)


def _turn_holds(seen: Sighting) -> timedelta:
    return TURN_AGAINST_SCREEN if seen.screen is ScreenVerdict.IDLE else TURN_UNSEEN


def _question_holds(seen: Sighting) -> timedelta:
    return ASKED_AGAINST_SCREEN if seen.screen in _NO_DIALOG else ASKED_UNSEEN


def _work_holds(seen: Sighting) -> timedelta:
    return WORK_AGAINST_SCREEN if seen.screen is ScreenVerdict.IDLE else WORK_UNSEEN
