"""Where everybody must stand once nothing goes wrong any more: the other half of a simulated life.

Worked out from the config, the bare records and the host; it shares nothing with the rules.

Source: DESIGN §2, §5, §9 (R21, R26, R68, POL-18; L1, L2, L5, L6, L8, A1, A3 of the targets)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from gascity.beads.bead import MESSAGE, TASK, Bead
from gascity.model.city import Agent, City
from gascity.testing.facts import Records, name_of
from gascity.testing.inspector import window_of

if TYPE_CHECKING:
    from gascity.testing.simulated_city import SimulatedCity


def is_restless(city: City) -> bool:
    """Whether somebody is restarted for idleness again and again: its `idle_timeout` acts first."""
    for agent in city.agents.values():
        window = window_of(agent, city)
        if agent.idle_timeout and (window is None or agent.idle_timeout.seconds <= window):
            return True
    return False


def hold_on(records: Records, bead: Bead) -> bool:
    """Whether it may be down however much it is needed."""
    return records.is_held(bead) or bead.metadata.get("sleep_reason") == "drained"


def unmet(city: SimulatedCity) -> Iterator[str]:
    """Whoever is needed and does not run, and whoever is held and does (L1, R26)."""
    records = city.records()
    for bead in records.sessions():
        name = name_of(bead)
        if hold_on(records, bead):
            if records.is_held(bead) and city.runs(name):
                yield f"L6: {name} runs although it is held"
            continue
        needs = records.needs(name) - {"dependency"}
        if not needs or _leans_on_held(records, bead, city.ports.city):
            continue
        if not city.runs(name):
            yield f"L1: {name} does not run although it has {sorted(needs)}"
        for template in sorted(_below(bead.metadata.get("template", ""), city.ports.city)):
            if not any(city.runs(one) for one in _named(records, template)):
                yield f"L3: {name} has {sorted(needs)} and nobody of {template} runs"
    live = {name_of(bead) for bead in records.sessions()}
    for bead in records.beads:
        if bead.type == TASK and bead.status == "in_progress" and bead.assignee not in live:
            yield f"R68: {bead.id} is in the hands of {bead.assignee}, who is gone"


def _leans_on_held(records: Records, bead: Bead, city: City) -> bool:
    """Whether anything it stands on is held, or is not there."""
    template = bead.metadata.get("template", "")
    below = _below(template, city)
    held = {one.metadata["template"] for one in records.sessions() if records.is_held(one)}
    return bool(below & (held | records.suspended)) or not below | {template} <= set(city.agents)


def _below(template: str, city: City) -> set[str]:
    """Every template that this one stands on, at every level."""
    wanted, seen = [template], set[str]()
    while wanted:
        agent = city.agents.get(wanted.pop())
        for other in agent.depends_on if agent is not None else ():
            if other not in seen:
                seen.add(other)
                wanted.append(other)
    return seen


def _named(records: Records, template: str) -> list[str]:
    return [
        name_of(bead) for bead in records.sessions() if bead.metadata.get("template") == template
    ]


def misjudged(city: SimulatedCity) -> Iterator[str]:
    """Where the picture that is shown says nothing, or other causes than there are (X1, X2)."""
    plan, records = city.controller.snapshot().plan, city.records()
    for bead in records.sessions():
        name = name_of(bead)
        decision = plan.decisions.get(bead.id) if plan is not None else None
        if decision is None or not decision.verdict:
            yield f"X1: {name} stands there, and nothing says how and why"
            continue
        if records.is_held(bead):
            continue
        shown = {str(wake.cause) for wake in decision.hard_wakes} - {"dependency"}
        needs = set(records.needs(name)) - {"dependency"}
        if bead.metadata.get("pool_slot") and records.routed_to(bead.metadata["template"]):
            shown, needs = shown - {"work"}, needs - {"work"}  # any slot may take it
        if shown != needs:
            yield f"X2: {name} is shown with {sorted(shown)}, and has {sorted(needs)}"


def astray(city: SimulatedCity) -> Iterator[str]:
    """With nothing to do for anybody: who does not stand as the config says (L2, L8, A1, S9)."""
    records, config = city.records(), city.ports.city
    slots: Counter[str] = Counter()
    for bead in records.sessions():
        name, said = name_of(bead), bead.metadata
        agent = config.agents.get(said.get("template", ""))
        if agent is None:
            yield f"S8: {name} is still there, and its agent is not"
            continue
        slots[agent.identity] += 1
        yield from _out_of_place(city, records, bead, agent)
        for key in ("attach_intent", "wake_request", "sleep_intent", "stop_note"):
            if said.get(key):
                yield f"A3: {name} still carries {key} = {said[key]}"
    for identity, agent in config.agents.items():
        if identity in records.suspended:
            continue
        wanted = 1
        if agent.pool is not None:
            wanted = max(agent.pool.min, 1 if agent.pool.check else 0)
            wanted = min(wanted, agent.pool.max if agent.pool.max is not None else wanted)
        if slots[identity] != wanted and not _holds_slots(records, identity):
            yield f"A1: {identity} has {slots[identity]} sessions instead of {wanted}"


def _holds_slots(records: Records, identity: str) -> bool:
    """Whether a slot of it is held, which nobody trims."""
    return any(
        records.is_held(bead)
        for bead in records.sessions()
        if bead.metadata.get("template") == identity
    )


def _out_of_place(city: SimulatedCity, records: Records, bead: Bead, agent: Agent) -> Iterator[str]:
    name, said, runs = name_of(bead), bead.metadata, city.runs(name_of(bead))
    window = window_of(agent, city.ports.city)
    if hold_on(records, bead):
        if runs:
            yield f"L6: {name} runs although it is held"
        return
    timeout = agent.idle_timeout
    if timeout and (window is None or timeout.seconds <= window):
        return
    if window is not None and runs:
        yield f"L2: {name} runs, {window:g} s after nobody needed it any more"
    put_away = said.get("sleep_reason") in ("operator", "drained")
    if window is None and not runs and not put_away:
        yield f"L8: {name} is down ({said.get('state')}: {said.get('sleep_reason')})"
    if not runs and said.get("state") not in ("asleep", "creating"):
        yield f"S4: {name} does not run, and is recorded {said.get('state')}"
    if runs and said.get("state") != "awake":
        yield f"S4: {name} runs, and is recorded {said.get('state')}"


def mistold(city: SimulatedCity, told: list[str]) -> Iterator[str]:
    """Messages that were typed twice, or that lie about although their session is up (F26)."""
    typed = Counter(line for one in city.host.sessions.values() for line in one.heard)
    for text in told:
        if typed[text] > 1:
            yield f"F26: {text!r} was told {typed[text]} times"
    for bead in city.records().beads:
        name = bead.metadata.get("session_name", "")
        if bead.type == MESSAGE and bead.metadata.get("mode") == "wake" and city.runs(name):
            yield f"F26: {name} runs and was never told {bead.metadata.get('text')!r}"


def latest(records: Records) -> datetime | None:
    """The last moment at which a record changes by time alone, or None."""
    later = [
        datetime.fromisoformat(bead.metadata[key])
        for bead in records.beads
        for key in ("due_at", "defer_until", "expires_at")
        if bead.metadata.get(key)
    ]
    return max(later, default=None)
