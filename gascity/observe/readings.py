"""Ask one runtime about many sessions, bounded; the only place where its faults become readings.

Source: DESIGN §8 (CAP-13, CAP-14, R9, R10, R34)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

import anyio

from gascity.model.world import Sighting, Truth
from gascity.runtimes.base import Listing, Runtime, RuntimeUnreachable, Watch

LOOK_TIMEOUT_S: Final = 4.0
"""How long one look at one runtime may take; its own deadlines are shorter."""
SHORT_S: Final = 0.5  # how long for one that was hung just now
HUNG_S: Final = 1.0  # what looks longer than that and brings nothing is hung
TIRED_S: Final = 15.0


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


@dataclass(slots=True)
class Patience:
    """How long a look at several runtimes waits for each: for a hung one, only once in a while.

    One that gave nobody an answer in the whole time is given `SHORT_S` seconds for a time, so that
    a patrol of the others is not held up by each of its looks (R34). Times are monotonic seconds.
    """

    _tired_until: dict[str, float] = field(default_factory=dict)

    def seconds(self, kind: str, now: float) -> float:
        """How long to wait for it."""
        return SHORT_S if now < self._tired_until.get(kind, 0.0) else LOOK_TIMEOUT_S

    def note(self, kind: str, listing: Listing, *, began: float, now: float) -> None:
        """How that went."""
        if any(one.truth is not Truth.UNKNOWN for one in listing.sightings.values()):
            self._tired_until.pop(kind, None)
        elif now - began >= HUNG_S:
            self._tired_until[kind] = now + TIRED_S


def _unknown(watches: Collection[Watch], why: str) -> Listing:
    return Listing(sightings={watch.name: Sighting.unknown(why) for watch in watches})
