"""The time a tick may spend on new probes: none is begun once the reserve would be touched.

Source: DESIGN §7 (PROBE-05..08, R33)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gascity.observe.clock import Clock

TICK_S: Final = 5.0
RESERVE_S: Final = 2.0
PROBE_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TickBudget:
    """`began` is the monotonic second at which the tick began."""

    clock: Clock
    began: float

    def admits_probe(self) -> bool:
        """Whether a probe begun now ends before the reserve for other work."""
        elapsed = self.clock.monotonic() - self.began
        return elapsed + PROBE_S <= TICK_S - RESERVE_S
