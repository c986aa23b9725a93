"""Waits and messages in a fake city: on time, once, in order, whatever dies in between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from functools import cache

import pytest

from gascity.beads.bead import CLOSED, Bead
from gascity.beads.notices import Mode
from gascity.model.city import Pool
from gascity.model.duration import seconds
from gascity.model.events import Event
from gascity.model.session import SleepReason, State
from gascity.model.world import Exit, ScreenVerdict
from gascity.runtimes.base import RuntimeUnreachable
from gascity.testing.city import FakeCity
from gascity.testing.people import at_once
from gascity.testing.records import a_city, agent, headless
from tests.interleavings.scenes import cuts_of, report, story

WINDOW_S = 30
CONFIG = a_city(agent("mayor", sleep_after_idle=seconds(WINDOW_S)), session_sleep={})
PATROL_S = CONFIG.daemon.patrol_interval.seconds


@pytest.fixture
def city() -> Iterator[FakeCity]:
    """A city whose mayor went cold."""
    with asleep().fork() as found:
        yield found


@cache
def asleep() -> FakeCity:
    """Never use it itself: fork it."""
    found = FakeCity(CONFIG)
    found.tick(2)
    found.clock.advance(WINDOW_S + 1)
    found.tick()
    assert found.session("mayor").is_cold
    return found


@cache
def awake() -> FakeCity:
    """A city whose mayor is up and idle inside its window. Never use it itself: fork it."""
    found = FakeCity(CONFIG)
    found.tick(2)
    return found


def typed(city: FakeCity) -> list[str]:
    return city.host.of("mayor").typed


def bead(city: FakeCity, bead_id: str) -> Bead:
    found = at_once(city.memory.get(bead_id))
    assert found is not None
    return found


def ends(city: FakeCity, bead_id: str) -> list[str]:
    """How the log says that a notice ended."""
    told = [event for event in city.events("bead.closed") if event.subject == bead_id]
    return [str(event.payload["state"]) for event in told]


def starts(city: FakeCity) -> int:
    return city.host.of("mayor").starts


def woke(city: FakeCity) -> list[Event]:
    return city.events("session.woke")


# -- waits ------------------------------------------------------------------------------------


def test_a_wait_wakes_its_session_on_time_and_not_a_patrol_late(city: FakeCity) -> None:
    """R80, F15: a wait of 90 s is 90 s; its note is typed once the session is ready (R66)."""
    wait = city.remind("mayor", in_s=90, note="look at the build")
    begun = city.clock.now()
    city.live(89)
    assert not city.runs("mayor")
    city.live(3)
    assert typed(city) == ["look at the build"]
    assert 90 <= (woke(city)[-1].ts - begun).total_seconds() < 92
    assert woke(city)[-1].payload["reasons"] == ["wait"]
    assert (bead(city, wait).status, ends(city, wait)) == (CLOSED, ["delivered"])


def test_a_wait_fires_once(city: FakeCity) -> None:
    """F15: told once, the session goes cold again and stays so for hours."""
    city.remind("mayor", in_s=90, note="look")
    before = starts(city)
    city.live(4 * 3600)
    assert (typed(city), starts(city) - before) == (["look"], 1)
    assert city.session("mayor").is_cold
    assert city.overseer.violations == []


def test_a_wait_survives_restarts(city: FakeCity) -> None:
    """F15: the timer is in the store, not in any process."""
    city.remind("mayor", in_s=3600, note="look")
    for _ in range(5):
        city.live(300)
        city.restart()
    assert not city.runs("mayor")
    city.live(3600 - 5 * 300 + 3)
    assert typed(city) == ["look"]


def test_a_wait_that_was_missed_fires_at_once_after_the_downtime(city: FakeCity) -> None:
    """F15: due while no controller ran; the first patrol of the next one acts on it."""
    city.remind("mayor", in_s=60, note="late")
    city.clock.advance(7200)
    city.restart()
    city.live(2)
    assert typed(city) == ["late"]


@pytest.mark.parametrize(("down_s", "told"), [(0, "waited 1m30s"), (7265, "waited 2h1m")])
def test_a_wait_can_tell_how_long_it_really_took(city: FakeCity, down_s: int, told: str) -> None:
    """R38, R49: from the record to the keys, the time included in which no controller ran."""
    since = city.clock.now()
    city.remind("mayor", in_s=90, note="look", tells_elapsed=True)
    city.clock.advance(down_s)
    city.restart()
    city.live(95)
    assert typed(city) == [f"look ({told}, since {since:%Y-%m-%dT%H:%M:%SZ})"]


def test_a_wait_outlives_the_machine(city: FakeCity) -> None:
    """R49, REC-15: down over the due time with all that ran on it; told by the next boot."""
    since = city.clock.now()
    city.remind("mayor", in_s=90, note="look", tells_elapsed=True)
    city.host.go_down()
    city.clock.advance(3 * 86_400)
    city.restart()
    city.live(10)
    assert typed(city) == [f"look (waited 3d, since {since:%Y-%m-%dT%H:%M:%SZ})"]
    city.live(3600)
    assert (len(typed(city)), city.session("mayor").is_cold) == (1, True)


def test_a_wait_without_a_note_wakes_and_types_nothing(city: FakeCity) -> None:
    """R66: a pure timer ends when its session was up and ready once."""
    wait = city.remind("mayor", in_s=60)
    city.live(70)
    assert (typed(city), ends(city, wait), city.runs("mayor")) == ([], ["delivered"], True)
    city.live(3600)
    assert city.session("mayor").is_cold


def test_a_program_that_ends_at_once_is_started_once_for_a_wait() -> None:
    """F15, R56: a patrol agent that does its round and leaves: no crash, no second start."""
    deacon = headless("deacon", sleep_after_idle=seconds(0))
    with FakeCity(a_city(deacon, session_sleep={})) as city:
        city.tick(2)
        assert city.session("deacon").is_cold
        city.host.of("deacon").ready_at_once = False
        city.script.always("after", "start", lambda: city.exit("deacon", 0))
        for round_ in range(1, 8):
            wait = city.remind("deacon", in_s=60)
            city.live(600)
            assert city.host.of("deacon").starts == round_
            assert ends(city, wait) == ["delivered"]
            assert city.session("deacon").is_cold
        assert city.events("session.crashed") == []


def test_nobody_is_slept_in_the_moment_it_is_told() -> None:
    """F21, F26: a window of 0 s leaves time to begin with what was said."""
    deacon = headless("mayor", sleep_after_idle=seconds(0))
    with FakeCity(a_city(deacon, session_sleep={})) as city:
        city.tick(2)
        city.tell("mayor", "hello")

        heard: list[float] = []

        def begin_to_work() -> None:
            if heard and city.clock.monotonic() - heard[0] >= 1.5:
                city.host.of("mayor").screen = ScreenVerdict.BUSY

        city.script.after("send", lambda: heard.append(city.clock.monotonic()))
        city.script.always("before", "list", begin_to_work)
        city.live(60)
        assert (city.runs("mayor"), typed(city)) == (True, ["hello"])


def test_a_wait_is_no_reason_to_be_awake_before_it_is_due() -> None:
    """F15: the session sleeps meanwhile, and status can name what will wake it."""
    with awake().fork() as city:
        city.remind("mayor", in_s=3600, note="look")
        city.live(WINDOW_S + PATROL_S)
        assert city.session("mayor").is_cold
        plan = city.controller.snapshot().plan
        assert plan is not None
        assert "wait" in plan.decisions[city.session("mayor").id].wake_sources


def test_an_expired_wait_is_written_down_once_and_wakes_nobody(city: FakeCity) -> None:
    """R42: one write, one event, however many patrols follow."""
    other = city.give("nobody")
    wait = city.await_beads("mayor", other, note="x", expires_s=60)
    city.live(3600)
    assert (ends(city, wait), bead(city, wait).metadata["state"]) == (["expired"], "expired")
    assert (city.runs("mayor"), typed(city)) == (False, [])


def test_a_wait_for_beads_fires_when_they_are_closed(city: FakeCity) -> None:
    """R66: at the close, without waiting for a patrol."""
    other = city.give("nobody")
    city.await_beads("mayor", other, note="merged")
    city.live(600)
    assert not city.runs("mayor")
    city.finish(other)
    city.live(2)
    assert typed(city) == ["merged"]


# -- messages ---------------------------------------------------------------------------------


def test_a_message_that_wakes_is_delivered_after_readiness(city: FakeCity) -> None:
    """F26: stored, woken, ready, told; in seconds, not patrols."""
    city.host.of("mayor").ready_at_once = False
    message = city.tell("mayor", "hello")
    city.live(2)
    assert (city.runs("mayor"), typed(city)) == (True, [])
    city.host.of("mayor").ready = True
    city.live(3)
    assert (typed(city), ends(city, message)) == (["hello"], ["delivered"])
    assert "hello" not in "".join(str(event) for event in city.events())


def test_a_queued_message_wakes_nobody_and_is_told_at_the_next_wake(city: FakeCity) -> None:
    """F26: it lies there for hours, and is not lost."""
    city.tell("mayor", "hello", mode=Mode.QUEUE)
    city.live(3600)
    assert (city.runs("mayor"), typed(city)) == (False, [])
    city.wake("mayor")
    city.live(3)
    assert typed(city) == ["hello"]


def test_messages_and_notes_are_told_in_the_order_they_were_given(city: FakeCity) -> None:
    """F26: oldest first, whatever their kind."""
    city.tell("mayor", "one", mode=Mode.QUEUE)
    city.clock.advance(1)
    city.remind("mayor", note="two")
    city.clock.advance(1)
    city.tell("mayor", "three")
    city.tell("mayor", "four", mode=Mode.QUEUE)
    city.live(10)
    assert typed(city) == ["one", "two", "three", "four"]


def test_a_busy_session_is_told_when_it_is_at_its_prompt_and_not_slept_before() -> None:
    """F26: no turn is broken into, and what is undelivered holds the session up (R66)."""
    with awake().fork() as city:
        city.host.of("mayor").screen = ScreenVerdict.BUSY
        city.tell("mayor", "hello", mode=Mode.QUEUE)
        city.live(900)
        assert (city.runs("mayor"), typed(city)) == (True, [])
        city.host.of("mayor").screen = ScreenVerdict.IDLE
        city.live(6)
        assert typed(city) == ["hello"]


@pytest.mark.parametrize("screen", [one for one in ScreenVerdict if one is not ScreenVerdict.IDLE])
def test_nothing_is_typed_into_a_screen_that_is_no_prompt(screen: ScreenVerdict) -> None:
    """R15, R79: a question would be answered, a draft sent, a program driven."""
    with awake().fork() as city:
        city.host.of("mayor").screen = screen
        city.tell("mayor", "yes")
        city.live(120)
        assert typed(city) == []


def test_a_question_that_comes_up_between_two_lines_is_not_answered_by_the_second() -> None:
    """R79: each line is preceded by a look of its own."""
    with awake().fork() as city:
        city.tell("mayor", "one")
        city.tell("mayor", "two")
        city.script.after("send", lambda: city.ask("mayor"))
        city.live(120)
        assert typed(city) == ["one"]
        city.answer("mayor")
        city.live(6)
        assert typed(city) == ["one", "two"]


def test_a_session_that_exits_is_told_when_it_is_up_again() -> None:
    """F26: a crash loses no message that was not begun."""
    with awake().fork() as city:
        city.host.of("mayor").screen = ScreenVerdict.BUSY
        city.tell("mayor", "hello")
        city.live(5)
        city.exit("mayor", 1)
        city.live(60)
        assert typed(city) == ["hello"]
        assert starts(city) == 2


def test_a_session_that_ends_while_it_is_told_leaves_an_unclear_message() -> None:
    """F26: nobody can say whether it was read, and that is what is said."""
    with awake().fork() as city:
        message = city.tell("mayor", "bye")
        city.script.after("send", lambda: city.exit("mayor", 1))
        city.live(60)
        assert ends(city, message) == ["unclear"]
        assert typed(city) == []


def test_a_runtime_that_does_not_answer_leaves_an_unclear_message() -> None:
    """R9: typed or not, it is not typed again."""
    with awake().fork() as city:

        def fail() -> None:
            raise RuntimeUnreachable("no answer")

        message = city.tell("mayor", "hello")
        city.script.before("send", fail)
        city.live(60)
        assert (ends(city, message), typed(city)) == (["unclear"], [])


def delivery(kind: str) -> FakeCity:
    """A city in which two messages are about to be delivered."""
    found = (asleep() if kind == "asleep" else awake()).fork()
    found.begin()
    found.tell("mayor", "one")
    found.tell("mayor", "two", mode=Mode.QUEUE)
    return found


@pytest.mark.parametrize("kind", ["asleep", "awake"])
def test_a_crash_at_any_cut_of_a_delivery_repeats_nothing_and_hides_nothing(kind: str) -> None:
    """F26, HARN-04: typed at most once, in order; not typed only if it is reported as unclear."""
    with delivery(kind) as city:
        found = cuts_of(city, lambda: city.tick(3))
        assert typed(city) == ["one", "two"]
    report(_crashed(kind, cut) for cut in found)


def _crashed(kind: str, cut: object) -> list[str]:
    with delivery(kind) as city:
        ids = {
            one.metadata["text"]: one.id for one in city.records().beads if one.type == "message"
        }
        city.script.at(cut, city.script.die)  # type: ignore[arg-type]
        city.tick(3)
        city.restart()
        for _ in range(4):
            city.clock.advance(2)
            city.tick()
        wrong = []
        for text, bead_id in ids.items():
            told = typed(city).count(text)
            how = ends(city, bead_id)
            if told > 1 or (told == 0 and how != ["unclear"]) or len(how) != 1:
                wrong.append(f"{text!r} was typed {told} times and ended {how}")
        if sorted(typed(city)) != typed(city):
            wrong.append(f"out of order: {typed(city)}")
        wrong += city.overseer.violations
        return [f"{cut} | {kind}: {why}\n{story(city)}" for why in wrong]


# -- pins, releases ---------------------------------------------------------------------------


def test_a_lease_that_is_renewed_keeps_its_session_and_one_that_is_not_ends(city: FakeCity) -> None:
    """R18, R80: a short pin that is renewed; it holds no longer than its lease."""
    for _ in range(4):
        city.pin("mayor", for_s=600)
        city.live(180)
        assert city.runs("mayor")
    city.live(600 - 180 - 5)
    assert city.runs("mayor")
    city.live(60)
    assert city.session("mayor").is_cold


def released(city: FakeCity) -> list[Event]:
    return city.events("bead.released")


def test_work_of_a_removed_session_goes_back_once() -> None:
    """R68: in the batch that closes its record, and never before it is stopped."""
    config = a_city(agent("mayor"), agent("poet"), session_sleep={})
    with FakeCity(config) as city:
        city.tick(2)
        job = city.give("poet")
        city.take("poet", job)
        wait, message = city.remind("poet", in_s=60), city.tell("poet", "x", mode=Mode.QUEUE)
        city.host.of("poet").screen = ScreenVerdict.BUSY
        city.tick()
        city.configure(a_city(agent("mayor"), session_sleep={}))
        for _ in range(4):
            city.clock.advance(2)
            city.tick()
        assert not city.has("poet")
        task = bead(city, job)
        assert (task.status, task.assignee) == ("open", "")
        assert task.metadata["gc.routed_to"] == "poet"
        assert [(one.subject, one.payload["session"]) for one in released(city)] == [(job, "poet")]
        gone = city.events("session.removed")[0]
        assert abs(gone.seq - released(city)[0].seq) <= 3
        assert (ends(city, wait), ends(city, message)) == (["canceled"], ["failed"])


def test_work_of_a_session_that_still_runs_is_not_released() -> None:
    """R68: a stop that did not work gives nothing back."""
    config = a_city(agent("mayor"), agent("poet"), session_sleep={})
    with FakeCity(config) as city:
        city.tick(2)
        job = city.give("poet")
        city.take("poet", job)
        city.host.of("poet").stop_works = False
        city.configure(a_city(agent("mayor"), session_sleep={}))
        for _ in range(4):
            city.clock.advance(2)
            city.tick()
        assert (bead(city, job).status, released(city)) == ("in_progress", [])
        city.host.of("poet").stop_works = True
        city.clock.advance(2)
        city.tick(2)
        assert len(released(city)) == 1


def quarantined(city: FakeCity) -> str:
    """The mayor takes a job and fails until it is quarantined; the id of the job."""
    city.tick(2)
    job = city.give("mayor")
    city.take("mayor", job)
    city.host.of("mayor").ends_at_once = Exit(code=1)
    city.exit("mayor", 1)
    for _ in range(12):
        city.tick()
        if city.session("mayor").state is State.QUARANTINED:
            return job
        city.clock.advance(70)
    raise AssertionError(f"not quarantined: {city.session('mayor')}")


def test_work_of_a_quarantined_session_goes_back_once() -> None:
    """R68: as soon as it is certainly stopped; it is somebody else's then."""
    with FakeCity(CONFIG) as city:
        job = quarantined(city)
        city.tick(3)
        assert (bead(city, job).status, bead(city, job).assignee) == ("open", "")
        assert [one.subject for one in released(city)] == [job]
        assert released(city)[0].payload["reason"] == "quarantined"
        assert city.session("mayor").sleep_reason is SleepReason.QUARANTINE


@pytest.mark.parametrize("doubt", ["runtime", "demand"])
def test_nothing_is_released_in_doubt(doubt: str) -> None:
    """R9, R68: unclear truth or demand releases nothing; clear again, it happens once."""
    with FakeCity(CONFIG) as city:
        city.tick(2)
        job = city.give("mayor")
        city.take("mayor", job)
        city.exit("mayor", 1)

        def quarantine() -> None:
            until = city.clock.now() + timedelta(hours=1)
            city.change(
                "mayor",
                lambda one, _: (
                    replace(one, state=State.QUARANTINED, quarantined_until=until),
                    (),
                ),
            )

        quarantine()
        if doubt == "runtime":
            city.host.of("mayor").unclear = "no answer"
        else:
            city.store.demand_unclear = "locked"
        city.tick(3)
        assert released(city) == []
        city.host.of("mayor").unclear = city.store.demand_unclear = ""
        city.tick(3)
        assert len(released(city)) == 1


def test_a_crash_around_a_release_releases_once() -> None:
    """R43, R68: the change and its event are one write."""
    for when in ("before", "after"):
        with FakeCity(CONFIG) as city:
            city.script.crash(when, "save task")  # type: ignore[arg-type]
            job = quarantined(city)
            city.tick(2)
            city.restart()
            city.tick(3)
            assert (when, bead(city, job).status, len(released(city))) == (when, "open", 1)


def test_what_a_quarantined_slot_held_is_done_by_another() -> None:
    """R20, R68: open again and routed to the pool, it wakes the next slot."""
    worker = headless("worker", sleep_after_idle=seconds(0), pool=Pool(min=2, max=2))
    with FakeCity(a_city(worker, session_sleep={})) as city:
        city.tick(3)
        job = city.give("worker")
        city.tick()
        assert city.runs("worker-1")
        city.take("worker-1", job)
        city.host.of("worker-1").ends_at_once = Exit(code=1)
        city.exit("worker-1", 1)
        for _ in range(12):
            city.tick()
            if city.session("worker-1").state is State.QUARANTINED:
                break
            city.clock.advance(70)
        city.tick(2)
        assert [one.subject for one in released(city)] == [job]
        assert city.runs("worker-2")
        city.take("worker-2", job)
        city.finish(job)
        city.tick(2)
        assert (bead(city, job).status, city.session("worker-2").is_cold) == (CLOSED, True)
