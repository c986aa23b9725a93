"""Ask one runtime about many sessions, bounded; the only place where its faults become readings.

Source: DESIGN §8 (CAP-13, CAP-14, R9, R10, R34)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import anyio

from gascity.model.world import Sighting
from gascity.runtimes.base import Listing, Runtime, RuntimeUnreachable, Watch

LOOK_TIMEOUT_S: Final = 4.0
"""How long one look at one runtime may take; its own deadlines are shorter."""


async def read_runtime(
    runtime: Runtime, watches: Collection[Watch], *, timeout_s: float = LOOK_TIMEOUT_S
) -> Listing:
    """A sighting for every watched name. Never raises for the world's faults.

    Whoever got no certain answer is unknown, with the reason.
    """
    if not watches:
        return Listing(sightings={})
    try:
        with anyio.fail_after(timeout_s):
            listing = await runtime.list(watches)
    except TimeoutError:
        return _unknown(watches, f"{runtime.kind} gave no answer within {timeout_s:g}s")
    except RuntimeUnreachable as problem:
        return _unknown(watches, str(problem))
    missing = [watch for watch in watches if watch.name not in listing.sightings]
    if not missing:
        return listing
    filled: Mapping[str, Sighting] = {
        **listing.sightings,
        **_unknown(missing, f"{runtime.kind} said nothing about it").sightings,
    }
    return Listing(sightings=filled, foreign=listing.foreign)


def _unknown(watches: Collection[Watch], why: str) -> Listing:
    return Listing(sightings={watch.name: Sighting.unknown(why) for watch in watches})
