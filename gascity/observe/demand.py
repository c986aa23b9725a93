"""Who is asked for, read from the store: work, waits and routed beads, indexed by who they name.

A demand that cannot be read is unclear, never none (R9, R61). Cost is linear in open work beads.

Source: DESIGN §5 (R18..R20, R61)
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol

from gascity.beads.bead import IN_PROGRESS, MESSAGE, TASK, WAIT, Bead
from gascity.beads.store import Query, Store, StoreUnavailable
from gascity.beads.work import ROUTE, is_actionable, is_ready, next_moment
from gascity.model.city import City
from gascity.model.reading import Known, Reading, Unclear
from gascity.model.roster import session_name
from gascity.model.session import Session
from gascity.model.world import Demand
from gascity.observe.notices import read_notices

NOT_ASKED: Final = Unclear("its command was not asked yet")


class Answers(Protocol):
    """What commands of the config said last; see `observe.checks`."""

    def desired(self, identity: str) -> Reading[int]:
        """The count a pool's check printed."""
        ...

    def has_work(self, identity: str) -> Reading[bool]:
        """Whether an agent's work query found work."""
        ...


async def read_demand(
    store: Store,
    city: City,
    sessions: Sequence[Session],
    *,
    now: datetime,
    foreign: str = "",
    answers: Answers | None = None,
) -> Demand:
    """The demand for these sessions, as of one moment of the store.

    Args:
        foreign: Why work of this city is kept elsewhere and cannot be read, or "" (R61).
        answers: What pool checks and work queries said; without it they were not asked.
    """
    revision = store.demand_revision
    try:
        tasks = await store.query(Query(type=TASK))
        messages = await store.query(Query(type=MESSAGE))
        waits = await store.query(Query(type=WAIT))
    except StoreUnavailable as problem:
        return Demand(unclear=str(problem), revision=revision)
    live = {bead.id: bead for bead in (*tasks, *messages, *waits)}
    work, routed = _work(tasks, live, city, sessions, now) if tasks else ({}, {})
    notices = read_notices(waits, messages, live, now)
    elsewhere = _elsewhere(city, foreign, answers)
    return Demand(
        # What the embedded store knows holds beside any doubt about the rest (R9).
        work=_by_session(elsewhere, city, sessions) | _known(work),
        waits=_known(notices.waking),
        routed={name: said for name, said in elsewhere.items() if _pool(city, name)}
        | _known(routed),
        pool_checks=_checks(city, answers),
        pending_waits=notices.pending,
        notices=notices.told,
        interrupted=notices.interrupted,
        lapsed=notices.lapsed,
        in_progress=_in_progress(tasks, city, sessions),
        next_moment=next_moment(live.values(), now),
        revision=revision,
    )


def _elsewhere(
    city: City, foreign: str, answers: Answers | None
) -> dict[str, Reading[tuple[str, ...]]]:
    """{agent: its work} where the embedded store does not say: a work query's, or nobody's word."""
    found: dict[str, Reading[tuple[str, ...]]] = {}
    for identity, agent in city.agents.items():
        if agent.work_query:
            said = answers.has_work(identity) if answers is not None else NOT_ASKED
            found[identity] = (
                Known(("work_query",) * said.value) if isinstance(said, Known) else said
            )
        elif foreign:
            found[identity] = Unclear(foreign)
    return found


def _by_session(
    elsewhere: Mapping[str, Reading[tuple[str, ...]]], city: City, sessions: Sequence[Session]
) -> dict[str, Reading[tuple[str, ...]]]:
    """The same for each session; of a pool only its doubt concerns every slot (R20)."""
    found: dict[str, Reading[tuple[str, ...]]] = {}
    for session in sessions:
        said = elsewhere.get(session.template)
        if said is not None and not (_pool(city, session.template) and isinstance(said, Known)):
            found[session.id] = said
    return found


def _by_pool(
    elsewhere: Mapping[str, Reading[tuple[str, ...]]], city: City
) -> dict[str, Reading[tuple[str, ...]]]:
    """The same for pools: work that any slot may take."""
    return {identity: said for identity, said in elsewhere.items() if _pool(city, identity)}


def _checks(city: City, answers: Answers | None) -> dict[str, Reading[int]]:
    """{pool: the count its own check wants}."""
    return {
        identity: answers.desired(identity) if answers is not None else NOT_ASKED
        for identity, agent in city.agents.items()
        if agent.pool is not None and agent.pool.check
    }


def _pool(city: City, identity: str) -> bool:
    agent = city.agents.get(identity)
    return agent is not None and agent.pool is not None


def _known(found: Mapping[str, list[str]]) -> dict[str, Reading[tuple[str, ...]]]:
    return {key: Known(tuple(ids)) for key, ids in found.items()}


def _work(
    tasks: Sequence[Bead],
    live: Mapping[str, Bead],
    city: City,
    sessions: Sequence[Session],
    now: datetime,
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """({session id: its actionable work}, {pool: ready work that any slot may take})."""
    pools = {name for name, agent in city.agents.items() if agent.pool is not None}
    by_word = _names(sessions, pools)
    work: dict[str, list[str]] = defaultdict(list)
    routed: dict[str, list[str]] = defaultdict(list)
    for bead in tasks:
        if not is_actionable(bead, live, now):
            continue
        wanted = bead.assignee or bead.metadata.get(ROUTE, "")
        if wanted in pools:
            if is_ready(bead, live, now):
                routed[wanted].append(bead.id)
            continue
        for session_id in by_word.get(wanted) or by_word.get(session_name(wanted), ()):
            work[session_id].append(bead.id)
    return work, routed


def _names(sessions: Sequence[Session], pools: set[str]) -> dict[str, tuple[str, ...]]:
    """{word a bead may name: session ids}: id, session name, and the agent of a fixed session."""
    found: dict[str, list[str]] = defaultdict(list)
    for session in sessions:
        words = {session.id, session.name}
        if session.slot is None and session.template not in pools:
            words.add(session.template)
        for word in words:
            found[word].append(session.id)
    return {word: tuple(ids) for word, ids in found.items()}


def _in_progress(
    tasks: Sequence[Bead], city: City, sessions: Sequence[Session]
) -> dict[str, tuple[str, ...]]:
    """{session id: what it has taken and not finished}, blocked and deferred work included."""
    taken = [bead for bead in tasks if bead.status == IN_PROGRESS and bead.assignee]
    if not taken:
        return {}
    pools = {name for name, agent in city.agents.items() if agent.pool is not None}
    by_word = _names(sessions, pools)
    found: dict[str, tuple[str, ...]] = {}
    for bead in taken:
        word = bead.assignee
        for session_id in by_word.get(word) or by_word.get(session_name(word), ()):
            found[session_id] = (*found.get(session_id, ()), bead.id)
    return found


def foreign_demand(city: City) -> str:
    """Why this city's work is kept where we cannot read it, as its folder looks now, or ""."""
    has_folder = (Path(city.path) / ".beads").is_dir()
    return foreign_store(city, has_beads_folder=has_folder, environment=os.environ)


def foreign_store(city: City, *, has_beads_folder: bool, environment: Mapping[str, str]) -> str:
    """Why this city's work is kept where we cannot read it, or "" (R61).

    `[beads] provider = "gascity"` in the config ends the doubt.
    """
    if city.beads_provider == "gascity":
        return ""
    if city.beads_provider:
        return f"work is kept by [beads] provider = {city.beads_provider!r}, which is not read"
    if environment.get("GC_BEADS"):
        return f"work is kept by GC_BEADS={environment['GC_BEADS']}, which is not read"
    if has_beads_folder:
        return "work is kept in .beads/, which is not read"
    return ""
