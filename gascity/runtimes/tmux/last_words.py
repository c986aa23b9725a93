"""What a session that has ended said at last, as far as that changes what its end means.

Source: DESIGN §8 (R15, R41)
"""

from __future__ import annotations

from collections.abc import Mapping

from gascity.model.world import Limit
from gascity.runtimes.base import Watch
from gascity.runtimes.screens import Screen
from gascity.runtimes.screens.limits import last_words, limit_of
from gascity.runtimes.tmux.format import Hosted
from gascity.runtimes.tmux.look import Memory


def limit_at_end(
    watch: Watch,
    hosted: Hosted,
    screens: Mapping[str, tuple[Screen, int]],
    memory: Memory,
    now: float,
) -> Limit | None:
    """The provider's limit at which a session ended, or None.

    What its pane still shows counts; a full-screen program takes its screen along, so else what it
    showed when it was looked at last.
    """
    shown = screens.get(hosted.agent.id)
    said = last_words(shown[0], watch.screens, watch.own_rules) if shown else ""
    if said:
        return limit_of(said, since=now)
    frame = memory.frames.get(hosted.key)
    return frame.limit if frame is not None else None
