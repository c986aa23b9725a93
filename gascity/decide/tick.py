"""One picture of the city in, one plan out. Read this first.

The stages of a patrol, in the order of the design; each is a pure function of the module it comes
from.

Source: DESIGN §X (NORM-01..07, DEP-08, POOL-18)
"""

from __future__ import annotations

from gascity.decide.assemble import assemble, judge_all, plan_all_pools
from gascity.decide.normalize import normalize
from gascity.decide.roster import roster
from gascity.decide.wake import hard_wakes
from gascity.model.plan import Plan
from gascity.model.world import World


def decide(world: World) -> Plan:
    """Turn one picture of the city into one plan. No I/O, no clock, no logging."""
    clean = normalize(world)
    places = roster(clean)
    wakes = hard_wakes(clean)
    pools = plan_all_pools(clean, places, wakes)
    judged = judge_all(clean, places, wakes, pools)
    return assemble(clean, stored=world, places=places, wakes=wakes, pools=pools, judged=judged)
