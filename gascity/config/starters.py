"""What `gc init` writes: a small commented city that sleeps, in two tempers.

The windows exist because they stand in the file; the product applies none of them by itself.

Source: DESIGN §2, §R (CFG-19, CFG-20, CFG-21)
"""

from __future__ import annotations

import json
from typing import Final

STARTERS: Final = ("full", "timed-only")

_WINDOWS: Final = {"full": "0s", "timed-only": "30s"}
_WHY: Final = {
    "full": """\
# Nobody attaches to these: cold as soon as they are safely idle. Right where sessions show a safe
# moment to stop, as on tmux.""",
    "timed-only": """\
# Nobody attaches to these. A window, because only a clock guards their work: where a runtime shows
# no safe moment to stop, a short pause in the output must not end it.""",
}

_TEXT: Final = """\
# A city: agents, and how long each stays warm when nobody needs it.
# `gc config validate` checks this file, `gc config explain AGENT` says where a window comes from.

[workspace]
name = {name}
# The agent CLI of every agent that names no other: claude, codex, gemini, copilot, opencode, ...
provider = "claude"

# How long a session may be idle before it goes cold, by the way it is used. A class that is left
# out stays warm for ever, as does an agent that says sleep_after_idle = "off".
[session_sleep]
# People attach, and the conversation comes back at the next wake.
interactive_resume = "60s"
# People attach, but each start is a new conversation: asleep would mean forgotten.
interactive_fresh = "off"
{why}
noninteractive = "{window}"

# Someone to talk to: `gc attach mayor`.
[[agent]]
name = "mayor"

# Works on what it is given and needs no terminal: `gc sling worker "a title"`.
[[agent]]
name = "worker"
attach = false

# More to try:
#
# [[agent]]
# name = "watch"
# start_command = "./watch.sh"      # any program; it is handed to /bin/sh
# sleep_after_idle = "off"          # never cold, whatever the defaults say
#
# [[rigs]]
# name = "app"                      # a repository; its agents say dir = "app"
# path = "../app"
# [rigs.session_sleep]
# interactive_resume = "5m"         # longer here than in the rest of the city
"""


def starter_toml(starter: str, name: str) -> str:
    """The text of a new `city.toml`.

    Args:
        starter: One of `STARTERS`: workers at once, or after a window.
        name: The name of the city.
    """
    quoted = json.dumps(name, ensure_ascii=False)
    return _TEXT.format(name=quoted, why=_WHY[starter], window=_WINDOWS[starter])
