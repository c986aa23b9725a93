"""The parts of an interleaving: a city about to sleep, what may arrive, how a stop may end.

A case is (cut, arrival, outcome). Cuts are not chosen: they are every call, before and after, of a
drain that nobody disturbs.

Source: DESIGN §H (HARN-03); the cuts of RACE-01..08
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from structlog.testing import capture_logs

from gascity.act.save import Gone
from gascity.beads.bead import MESSAGE, TASK, WAIT
from gascity.beads.notices import Mode
from gascity.beads.store import Conflict, StoreUnavailable
from gascity.model.city import City, NamedMode, NamedSession
from gascity.model.duration import OFF, seconds
from gascity.model.session import SleepIntent, State
from gascity.testing.city import FakeCity
from gascity.testing.hosted import FULL, TIMED_ONLY
from gascity.testing.records import a_city, agent, headless
from gascity.testing.script import AFTER, Cut

DB, APP = "db", "app"
LAST_OF_LOOK = "query gate"
WINDOW = seconds(30)
Deed = Callable[[FakeCity], Awaitable[None] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """Something that happens at a cut. `lasts`: it is a hard wake that stays.

    `passes` ends a doubt that would hold everything for ever; it comes after the tick. `vanish`
    takes a hard wake away again.
    """

    name: str
    deed: Deed
    lasts: bool = False
    passes: Deed | None = None
    vanish: Deed = lambda _: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How the world answers the drain: set before the tick, undone after it."""

    name: str
    begin: Deed
    end: Deed = lambda _: None


# -- the city ---------------------------------------------------------------------------------


def the_config(*, kind: str = "interactive") -> City:
    """A database that sleeps after 30 s, and an application, started on demand, that needs it."""
    make = agent if kind == "interactive" else headless
    return a_city(
        make(DB, sleep_after_idle=WINDOW),
        agent(APP, depends_on=(DB,)),
        named_sessions=(NamedSession(identity=APP, template=APP, mode=NamedMode.ON_DEMAND),),
        session_sleep={},
    )


@cache
def about_to_sleep(kind: str = "interactive") -> FakeCity:
    """The city at the tick in which the idle database drains. Never use it itself: fork it."""
    support = FULL if kind == "interactive" else TIMED_ONLY
    city = FakeCity(the_config(kind=kind), support=support)
    city.tick()
    city.wake(DB)
    city.tick(2)
    city.clock.advance(WINDOW.seconds + 1)
    assert city.session(DB).state is State.AWAKE
    assert city.runs(DB)
    return city


@cache
def cuts(outcome: str = "it stops", kind: str = "interactive") -> tuple[Cut, ...]:
    """Every cut of the tick in which the database drains undisturbed under this outcome."""
    with about_to_sleep(kind).fork() as city:
        city.begin()
        OUTCOMES[outcome].begin(city)
        return cuts_of(city, city.tick)


def cuts_of(city: FakeCity, act: Callable[[], None]) -> tuple[Cut, ...]:
    """Every call, before and after, of what `act` makes the controller do."""
    begun = len(city.script.log)
    act()
    seen: Counter[tuple[str, str, str]] = Counter()
    found = []
    for moment in city.script.log[begun:]:
        key = (moment.when, moment.call, moment.of)
        seen[key] += 1
        found.append(Cut(when=moment.when, call=moment.call, of=moment.of, nth=seen[key]))
    return tuple(found)


def around_effects(found: tuple[Cut, ...]) -> tuple[Cut, ...]:
    """The cuts around effects, and one at the end of each look: what every run plays."""
    return tuple(
        cut
        for cut in found
        if cut.call in ("wait_for_idle", "stop", "start")
        or cut.call.startswith(("save", "clear"))
        or (cut.when == AFTER and cut.call == LAST_OF_LOOK)
    )


# -- arrivals ---------------------------------------------------------------------------------


def _attach(city: FakeCity) -> None:
    if city.runs(DB):
        city.attach(DB)


def _ask(city: FakeCity) -> None:
    if city.runs(DB):
        city.ask(DB)


def _begin_turn(city: FakeCity) -> None:
    if city.runs(DB):
        city.begin_turn(DB)


def _touch(city: FakeCity) -> None:
    city.clock.advance(1)
    city.touch(DB)


def _policy(value: object) -> Deed:
    def configure(city: FakeCity) -> None:
        owner = replace(city.config.agents[DB], sleep_after_idle=value)  # type: ignore[arg-type]
        city.configure(replace(city.config, agents={**city.config.agents, DB: owner}))

    return configure


def _reconfigure(**fields: object) -> Deed:
    def configure(city: FakeCity) -> None:
        owner = replace(city.config.agents[DB], **fields)  # type: ignore[arg-type]
        city.configure(replace(city.config, agents={**city.config.agents, DB: owner}))

    return configure


def _remove(city: FakeCity) -> None:
    rest = {name: one for name, one in city.config.agents.items() if name != DB}
    rest[APP] = replace(rest[APP], depends_on=())
    city.configure(replace(city.config, agents=rest))


def _lie(**fields: object) -> Deed:
    def lie(city: FakeCity) -> None:
        for name, value in fields.items():
            setattr(city.host.of(DB), name, value)

    return lie


def _replace_run(city: FakeCity) -> None:
    city.host.of(DB).end()
    city.begin_elsewhere(DB)


def _unclear_demand(city: FakeCity) -> None:
    city.store.demand_unclear = "the table is locked"


def _clear_demand(city: FakeCity) -> None:
    city.store.demand_unclear = ""


async def _patrol(city: FakeCity) -> None:
    with city.script.onstage():
        await city.controller.patrol_once()


def _finish_all(city: FakeCity) -> None:
    for bead in city.records().beads:
        if bead.type in (TASK, WAIT, MESSAGE):
            city.finish(bead.id)


def _hard(name: str, deed: Deed, vanish: Deed, *, lasts: bool = True) -> Arrival:
    return Arrival(name=name, deed=deed, vanish=vanish, lasts=lasts)


HARD = (
    _hard("work", lambda city: _ignore(city.give(DB)), _finish_all),
    _hard("a wait that is met", lambda city: _ignore(city.remind(DB)), _finish_all),
    _hard("a wait with a note", lambda city: _ignore(city.remind(DB, note="look")), _finish_all),
    _hard("a message that wakes", lambda city: _ignore(city.tell(DB, "hello")), _finish_all),
    _hard("somebody attaches", _attach, lambda city: city.attach(DB, 0), lasts=False),
    _hard("a question", _ask, lambda city: city.answer(DB), lasts=False),
    _hard("gc attach", lambda city: city.want_to_attach(DB), lambda city: city.withdraw(DB)),
    _hard("gc wake", lambda city: city.wake(DB), lambda city: city.withdraw(DB)),
    _hard("a pin", lambda city: city.pin(DB), lambda city: city.withdraw(DB)),
    _hard("work for a dependent", lambda city: _ignore(city.give(APP)), _finish_all),
    _hard(
        "gc attach to a dependent",
        lambda city: city.want_to_attach(APP),
        lambda city: city.withdraw(APP),
    ),
    _hard("a pin on a dependent", lambda city: city.pin(APP), lambda city: city.withdraw(APP)),
)

DOUBT = (
    Arrival(
        name="attachment unclear",
        deed=_lie(attached_unclear="no answer"),
        passes=_lie(attached_unclear=""),
    ),
    Arrival(
        name="pending unclear",
        deed=_lie(pending_unclear="no screen"),
        passes=_lie(pending_unclear=""),
    ),
    Arrival(
        name="activity unclear",
        deed=_lie(activity_unclear="no answer"),
        passes=_lie(activity_unclear=""),
    ),
    Arrival(name="runtime unclear", deed=_lie(unclear="no answer"), passes=_lie(unclear="")),
    Arrival(name="demand unclear", deed=_unclear_demand, passes=_clear_demand),
    Arrival(
        name="host unreachable",
        deed=lambda city: setattr(city.host, "unreachable", "timed out"),
        passes=lambda city: setattr(city.host, "unreachable", ""),
    ),
)

STRUCTURAL = (
    Arrival(name="gc suspend", deed=lambda city: city.suspend(DB)),
    Arrival(name="suspended in the config", deed=_reconfigure(suspended=True)),
    Arrival(name="removed from the config", deed=_remove),
    Arrival(name="config drift", deed=_reconfigure(start_command="agent --new")),
)

OTHER = (
    Arrival(
        name="a message that wakes nobody",
        deed=lambda city: _ignore(city.tell(DB, "hello", mode=Mode.QUEUE)),
    ),
    Arrival(name="nothing", deed=lambda _: None),
    Arrival(name="policy off", deed=_policy(OFF)),
    Arrival(name="another window", deed=_policy(seconds(60))),
    Arrival(name="activity", deed=_touch),
    Arrival(name="a turn opens", deed=_begin_turn, passes=lambda city: city.end_turn(DB)),
    Arrival(name="it exits with 0", deed=lambda city: city.exit(DB, 0)),
    Arrival(name="it exits with 1", deed=lambda city: city.exit(DB, 1)),
    Arrival(name="somebody starts another run of it", deed=_replace_run),
    Arrival(name="its host goes down", deed=lambda city: city.host.go_down()),
    Arrival(name="the clock is set back", deed=lambda city: city.clock.step(-3600)),
    Arrival(name="the clock is set forward", deed=lambda city: city.clock.step(3600)),
    Arrival(name="a patrol passes by", deed=_patrol),
)

ARRIVALS = {one.name: one for one in (*HARD, *DOUBT, *STRUCTURAL, *OTHER)}


def _ignore(_: str) -> None:
    """A deed answers nothing."""


# -- how the world answers --------------------------------------------------------------------


def _refuse(name: str) -> Outcome:
    def begin(city: FakeCity) -> None:
        city.store.refuse[name] = StoreUnavailable("disk full")

    return Outcome(
        name=f"{name} is refused", begin=begin, end=lambda city: city.store.refuse.clear()
    )


OUTCOMES = {
    one.name: one
    for one in (
        Outcome(name="it stops", begin=lambda _: None),
        Outcome(name="stop raises", begin=_lie(stop_raises="no answer"), end=_lie(stop_raises="")),
        Outcome(name="stop is lost", begin=_lie(stop_lost="no answer"), end=_lie(stop_lost="")),
        Outcome(
            name="stop hangs", begin=_lie(stop_hangs=True), end=lambda city: city.host.unhang()
        ),
        Outcome(name="it still runs", begin=_lie(stop_works=False), end=_lie(stop_works=True)),
        _refuse("save idle-stop-pending"),
        _refuse("save idle-stop-confirmed"),
        _refuse("save asleep"),
    )
}


STOPS = OUTCOMES["it stops"]


# -- what must be true in the end -------------------------------------------------------------


def faults(city: FakeCity) -> Iterator[str]:
    """What is wrong with where the database stands, judged from what is true now."""
    yield from city.overseer.violations
    if DB not in city.config.agents:
        if city.has(DB) or city.runs(DB):
            yield f"removed, yet {'it runs' if city.runs(DB) else 'its record is open'}"
        return
    session = city.session(DB)
    stands = f"{session.state}/{session.sleep_reason or '-'}, {'runs' if city.runs(DB) else 'down'}"
    if session.sleep_intent is not SleepIntent.NONE:
        yield f"an intent is left: {session.sleep_intent} ({stands})"
    if session.suspended_at is not None or city.config.agents[DB].suspended:
        if city.runs(DB) or session.state is not State.SUSPENDED:
            yield f"suspended, yet {stands}"
        return
    one = city.host.of(DB)
    needs = set(city.records().needs(DB))
    needs |= {"attached"} if one.attached else set()
    needs |= {"pending"} if one.pending else set()
    is_up = city.runs(DB) and session.state is State.AWAKE
    is_cold = not city.runs(DB) and session.is_cold
    if needs and not is_up:
        yield f"needed by {', '.join(sorted(needs))}, yet {stands}"
    if not is_up and not is_cold:
        yield f"neither awake nor cold: {stands}"
    if is_up and one.token != session.instance_token:
        yield "it runs under another token than its record"


HARMLESS = (StoreUnavailable, Conflict, Gone)


@contextlib.contextmanager
def heard() -> Iterator[list[str]]:
    """What the controller logs as a fault of its own while inside; the world's faults are none."""
    found: list[str] = []
    with capture_logs() as lines:
        yield found
    for line in lines:
        if line["log_level"] == "error" and not isinstance(line.get("exc_info"), HARMLESS):
            found.append(f"{line['event']}: {line.get('exc_info')!r}")


def story(city: FakeCity, *, tail: int = 40) -> str:
    """The end of the log and every event, for a failure."""
    log = "\n".join(f"    {moment}" for moment in city.script.log[-tail:])
    said = "\n".join(
        f"    {event.type} {event.subject}: {event.message}" for event in city.events()
    )
    return f"  calls:\n{log}\n  events:\n{said}"


def report(played: Iterable[list[str]]) -> None:
    """Fail with one line for each case that failed, and the story of the first."""
    failed = [found for found in played if found]
    heads = [one[0].splitlines()[0] for one in failed]
    assert not failed, "\n".join([f"{len(failed)} cases fail", *heads, failed[0][0]])
