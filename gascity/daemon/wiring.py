"""The only place that knows concrete runtimes and stores: a city's folder → its ports.

Source: DESIGN "The tree" (R61, R67, R72)
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from gascity.beads.mirror import EventMirror
from gascity.beads.sqlite import SqliteStore
from gascity.daemon.hosts import STATE, Hosts
from gascity.model.city import City
from gascity.observe.clock import SystemClock
from gascity.observe.demand import foreign_demand
from gascity.observe.ports import Ports
from gascity.runtimes.tmux import ServerId, forget_starts

DATABASE: Final = "gascity.db"
MIRROR: Final = "events.jsonl"
SERVER_NOTE: Final = "tmux_server"


async def open_ports(city: City) -> Ports:
    """The ports of a city on this machine: SQLite in `.gc/`, tmux on a server of its own.

    Raises:
        StoreUnavailable: the database cannot be opened.
    """
    folder = Path(city.path)
    state = folder / STATE
    store = await SqliteStore.open(state / DATABASE, mirror=EventMirror(state / MIRROR))
    known = _known_server(await store.get_note(SERVER_NOTE))
    seen: list[ServerId] = []
    forget_starts(city.path)
    runtimes = Hosts(city, known_server=known, on_server=seen.append)
    return Ports(
        store=store,
        clock=SystemClock(),
        runtimes=runtimes,
        why_absent=runtimes.why_absent,
        city=city,
        foreign_demand=foreign_demand(city),
        find_foreign=foreign_demand,
        notes=lambda: _server_notes(seen),
    )


def _server_notes(seen: list[ServerId]) -> dict[str, str]:
    """What to store about the tmux server since the last call; {note: text}."""
    if not seen:
        return {}
    latest = seen[-1]
    seen.clear()
    return {SERVER_NOTE: str(latest)}


def _known_server(text: str) -> ServerId | None:
    """The server an earlier controller stored; an unreadable note is none."""
    return ServerId.parse(text)
