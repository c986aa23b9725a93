"""Hypothesis worlds: random cities with their records, readings and demand.

Only fields that decisions read are varied. Names are short, so that a falsifying example reads
well.

Source: DESIGN §X; style of tests: docs/TESTING.md
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from gascity.model.city import Agent, City, Pool, WakeMode
from gascity.model.duration import OFF, KeepWarm, seconds
from gascity.model.reading import Known, Reading, Unclear, Unsupported
from gascity.model.session import Session, SleepIntent, SleepReason, SleepRequest, State
from gascity.model.signals import Heard, Turn
from gascity.model.world import (
    Demand,
    Exit,
    Pending,
    Probe,
    ProbeResult,
    ScreenVerdict,
    Sighting,
    Support,
    World,
)
from gascity.testing.builders import (
    BLIND,
    FULL,
    STARTER,
    TIMED,
    a_city,
    a_note,
    a_pin,
    a_probe,
    a_session,
    a_world,
    agent,
    ago,
    ahead,
    awake,
    cold,
    running,
    stopped,
    unseen,
)

NAMES = ("a", "b", "c", "d")
WINDOWS: tuple[KeepWarm | None, ...] = (None, None, OFF, seconds(0), seconds(60))
DOUBT = Unclear("no answer")


@st.composite
def agents(draw: st.DrawFn, name: str, below: tuple[str, ...]) -> Agent:
    """One agent, fixed or pooled, that may depend on those named before it."""
    pool = draw(st.sampled_from((None, None, Pool(max=3), Pool(min=1, max=2, check="true"))))
    return agent(
        name,
        attach=draw(st.booleans()) and pool is None,
        wake_mode=draw(st.sampled_from(WakeMode)),
        sleep_after_idle=draw(st.sampled_from(WINDOWS)),
        idle_timeout=draw(st.sampled_from((None, None, None, seconds(30), seconds(600)))),
        suspended=draw(st.sampled_from((False, False, False, True))),
        depends_on=tuple(one for one in below if draw(st.booleans())),
        pool=pool,
    )


@st.composite
def cities(draw: st.DrawFn) -> City:
    """Up to four agents over an acyclic `depends_on`, with or without the starter policy."""
    names = NAMES[: draw(st.integers(1, len(NAMES)))]
    made = [draw(agents(name, names[:position])) for position, name in enumerate(names)]
    policy = draw(st.sampled_from((STARTER, STARTER, {})))
    return a_city(
        *made, session_sleep=policy, incomplete=draw(st.sampled_from((False, False, True)))
    )


@st.composite
def records(draw: st.DrawFn, name: str) -> Session:
    """A record in any state that a crash at any moment can leave."""
    session: Session = draw(st.sampled_from((awake, awake, cold, cold, a_session)))(name)
    over: dict[str, Any] = {}
    if draw(st.booleans()):
        over["sleep_intent"] = draw(st.sampled_from(SleepIntent))
    if session.state is State.ASLEEP and draw(st.booleans()):
        over["sleep_reason"] = draw(st.sampled_from(SleepReason))
        over["state"] = draw(st.sampled_from((State.ASLEEP, State.SUSPENDED, State.QUARANTINED)))
    if session.state is State.AWAKE and draw(st.integers(0, 3)) == 0:
        over["ready_at"] = None
    rare = draw(st.integers(0, 11))
    choices: dict[int, dict[str, Any]] = {
        0: {"pins": (a_pin(left=draw(st.sampled_from((-1, 60)))),)},
        1: {"attach_intent": a_note(left=draw(st.sampled_from((-1, 60))))},
        2: {"wake_request": a_note()},
        3: {"suspended_at": ago(9)},
        4: {"held_until": ahead(60)},
        5: {"quarantined_until": ahead(60)},
        6: {"exits": (ago(1), ago(0))},
        7: {"sleep_request": SleepRequest(by="ann", at=ago(5))},
        8: {"foreign_state": "frozen"},
        9: {"open_turn": draw(st.sampled_from(("t1", "t2")))},
    }
    return replace(session, **over, **choices.get(rare, {}))


@st.composite
def sightings(draw: st.DrawFn) -> Sighting:
    """Any reading a runtime may give of one session."""
    kind = draw(st.sampled_from(("running", "running", "stopped", "unseen")))
    if kind == "unseen":
        return unseen()
    if kind == "stopped":
        endings = (None, Exit(code=0), Exit(code=1), Exit(signal=9), Exit(host_gone=True))
        return stopped(exit=draw(st.sampled_from(endings)))
    asked = Pending(kind="permission")
    return running(
        idle_s=draw(st.sampled_from((0, 30, 60, 3600))),
        attached=draw(st.sampled_from((Known(0), Known(0), Known(1), DOUBT, Unsupported()))),
        pending=draw(st.sampled_from((Known(None), Known(None), None, Known(asked), DOUBT))),
        screen=draw(st.sampled_from((ScreenVerdict.IDLE, ScreenVerdict.IDLE, *ScreenVerdict))),
        token=draw(st.sampled_from(("t1", "t1", "t2"))),
    )


def readings(*values: Any) -> st.SearchStrategy[Any]:
    """A certain answer among the values, often none, sometimes doubt."""
    known = [Known(value) for value in values]
    return st.sampled_from((None, None, *known, DOUBT))


def hook_words() -> st.SearchStrategy[Heard]:
    """What the hooks of this run, or of another, said a while ago."""
    moments = st.sampled_from((ago(1), ago(200), ago(3_000), ago(90_000)))
    return st.builds(
        Heard,
        token=st.sampled_from(("t1", "t1", "t2")),
        at=moments,
        turn=st.sampled_from(Turn),
        turn_at=moments,
        asked=st.sampled_from(("", "permission")),
        asked_at=moments,
        work=st.sampled_from((None, (), ("npm start",))),
        work_at=moments,
    )


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A whole picture: a city, its records with gaps and strays, what is seen and asked for."""
    city = draw(cities())
    names: list[str] = []
    for owner in city.agents.values():
        if owner.pool is None:
            names += [owner.identity] if draw(st.integers(0, 4)) else []
        else:
            names += [f"{owner.identity}-{slot}" for slot in (1, 2, 3) if draw(st.booleans())]
    names += ["gone"] if draw(st.integers(0, 4)) == 0 else []
    supports: tuple[Reading[Support], ...] = (
        Known(FULL), Known(FULL), Known(TIMED), Known(BLIND), DOUBT,
    )  # fmt: skip
    probes: dict[str, Probe] = {
        name: a_probe(draw(st.sampled_from(ProbeResult)))
        for name in names
        if draw(st.integers(0, 3)) == 0
    }
    asked: dict[str, dict[str, Any]] = {"work": {}, "waits": {}, "routed": {}, "checks": {}}
    for name in names:
        asked["work"][name] = draw(readings(("w1",), ()))
        asked["waits"][name] = draw(readings(("t1",)))
    for template in city.agents:
        asked["routed"][template] = draw(readings(("r1",), ("r1", "r2")))
        asked["checks"][template] = draw(readings(0, 1, 3))
    given: dict[str, Any] = {
        key: {name: value for name, value in found.items() if value is not None}
        for key, found in asked.items()
    }
    return a_world(
        city,
        *[draw(records(name)) for name in names],
        seen={name: draw(sightings()) for name in names},
        support={name: draw(st.sampled_from(supports)) for name in names},
        probes=probes,
        turns={
            name: draw(st.sampled_from(("t1", "t1", "t2")))
            for name in names
            if draw(st.integers(0, 7)) == 0
        },
        turns_unsure_until=ahead(5) if draw(st.integers(0, 3)) == 0 else None,
        heard={name: draw(hook_words()) for name in names if draw(st.integers(0, 7)) == 0},
        missing=frozenset({"gone"} if draw(st.booleans()) else ()),
        writable=draw(st.sampled_from((True, True, True, False))),
        demand=Demand(unclear="no store") if draw(st.integers(0, 9)) == 0 else None,
        **given,
    )
