"""Recorded ticks decided again: every difference between what was decided then and now.

The rules come in from outside, so that a test may bring changed ones. The same facts that a
recording holds are made of the new plan, and compared name by name.

Source: DESIGN §X (NORM-07), §11 (R73)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from gascity.model.plan import Plan
from gascity.model.world import World
from gascity.report.ticks import Facts, Skipped, Tick, outcome_of

CITY: Final = ""  # whose facts are about no session
ABSENT: Final = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One fact of one session (`session_id` "" for the city) that is decided otherwise now."""

    line: int
    at: str
    session_id: str
    name: str
    fact: str
    then: Any
    now: Any


@dataclass(slots=True)
class Replayed:
    """What a replay found. `unknown` and `absent` count fields of other versions, by name."""

    ticks: int = 0
    decisions: int = 0
    versions: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    unknown: Counter[str] = field(default_factory=Counter)
    absent: Counter[str] = field(default_factory=Counter)
    names: dict[str, str] = field(default_factory=dict)  # {session id: name} of all that were seen

    @property
    def is_same(self) -> bool:
        """Whether everything could be read and is decided as it was; torn lines are no doubt."""
        return not self.differences and all(one.torn for one in self.skipped)


def replay(
    ticks: Iterable[Tick | Skipped],
    decide: Callable[[World], Plan],
    *,
    only: Callable[[str, str], bool] | None = None,
) -> Replayed:
    """Decide every tick again.

    Args:
        only: Whether a session of this id and name is asked for; the city is left out then.
    """
    found = Replayed()
    for tick in ticks:
        if isinstance(tick, Skipped):
            found.skipped.append(tick)
            continue
        found.ticks += 1
        found.versions[tick.version] += 1
        found.unknown.update(tick.found.unknown.keys())
        found.absent.update(tick.found.absent)
        found.names.update({key: one.name for key, one in tick.world.sessions.items()})
        _compare(tick, decide, only, found)
    return found


def _compare(
    tick: Tick,
    decide: Callable[[World], Plan],
    only: Callable[[str, str], bool] | None,
    found: Replayed,
) -> None:
    then: dict[str, Facts] = dict(tick.decisions)
    now = _decided(tick.world, decide)
    fault = now.pop("fault")
    if tick.fault != fault:
        found.differences.append(_difference(tick, CITY, "fault", tick.fault, fault))
    if tick.fault or fault:
        return
    for session_id in dict.fromkeys([*then, *now["decisions"]]):
        if only is not None and not only(session_id, found.names.get(session_id, "")):
            continue
        found.decisions += 1
        pair = then.get(session_id), now["decisions"].get(session_id)
        found.differences += _facts_apart(tick, session_id, *pair)
    if only is None:
        found.differences += _facts_apart(tick, CITY, tick.city, now["city"])


def _decided(world: World, decide: Callable[[World], Plan]) -> dict[str, Any]:
    """The outcome as a recording would hold it; a fault in the rules is an outcome too."""
    try:
        return outcome_of(decide(world))
    except Exception as fault:  # noqa: BLE001 - whatever it is, it is what is to be compared
        return outcome_of(fault)


def _facts_apart(
    tick: Tick, session_id: str, then: Facts | None, now: Facts | None
) -> list[Difference]:
    """Every fact that both versions speak of; one that only one of them knows is no difference."""
    if then is None or now is None:
        sides = [ABSENT if side is None else "decided" for side in (then, now)]
        return [_difference(tick, session_id, "decision", *sides)]
    found = []
    for fact in [name for name in then if name in now]:
        before, after = _comparable(then[fact], now[fact])
        if before != after:
            found.append(_difference(tick, session_id, fact, before, after))
    return found


def _comparable(then: Any, now: Any) -> tuple[Any, Any]:
    """Both sides of a nested fact with the names that both know."""
    if not (isinstance(then, dict) and isinstance(now, dict)):
        return then, now
    shared = then.keys() & now.keys()
    return {k: then[k] for k in then if k in shared}, {k: now[k] for k in then if k in shared}


def _difference(tick: Tick, session_id: str, fact: str, then: Any, now: Any) -> Difference:
    session = tick.world.sessions.get(session_id)
    return Difference(
        line=tick.line,
        at=tick.world.now.isoformat(),
        session_id=session_id,
        name=session.name if session is not None else session_id,
        fact=fact,
        then=then,
        now=now,
    )
