"""A look at the city's tmux server from the command line, and the way into a session on it.

Used where no controller can be asked. Nothing is started, stopped or typed into (R44, R65).

Source: DESIGN §8 (R10, R37, R65, R67)
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from pathlib import Path

from gascity.config.load import load_city
from gascity.daemon.hosts import Hosts
from gascity.model.session import Session
from gascity.model.world import Truth
from gascity.runtimes.base import Ability, Listing, Runtime, RuntimeUnreachable, Watch
from gascity.runtimes.tmux import TmuxRuntime, default_socket


def runtime_of(city: Path) -> TmuxRuntime | None:
    """The tmux runtime of the city, not yet asked; None when its configuration does not load."""
    loaded = load_city(city).city
    if loaded is None:
        return None
    socket = loaded.session.socket or default_socket(loaded.name, city)
    return TmuxRuntime(socket, city=str(city))


def look(city: Path, watches: Collection[Watch]) -> Listing | str | None:
    """What the server says of these sessions; a text when that is not certain; None: no city."""
    runtime = runtime_of(city)
    return _asked(runtime, watches) if runtime is not None else None


def _asked(runtime: Runtime, watches: Collection[Watch]) -> Listing | str:
    async def ask() -> Listing:
        try:
            return await runtime.list(watches)
        finally:
            await runtime.close()

    try:
        return asyncio.run(ask())
    except RuntimeUnreachable as doubt:
        return str(doubt)


def attach_argv(city: Path, session: Session) -> list[str] | None:
    """The command that attaches to the session, or None when it is not seen running (R65).

    A runtime whose sessions nobody can attach to is asked nothing.
    """
    loaded = load_city(city).city
    if loaded is None:
        return None
    runtime = Hosts(loaded).get(session.runtime)
    if runtime is None or Ability.ATTACH not in runtime.abilities:
        return None
    watch = Watch(name=session.name, token=session.instance_token)
    seen = _asked(runtime, [watch])
    sighting = seen.sightings.get(session.name) if isinstance(seen, Listing) else None
    if sighting is None or sighting.truth is not Truth.RUNNING:
        return None
    return list(runtime.attach_command(session.name))
