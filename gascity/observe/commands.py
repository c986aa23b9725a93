"""Run a command of the config, bounded; and which variables it does not inherit.

Source: DESIGN §5 (R9, R69); reliability: hung and bad scripts
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from gascity.runtimes.bounded import Job, Ran, run

# Variables that tell a program whose child it is: they belong to whoever started us (R69).
NOT_OURS: Final = re.compile(
    r"TMUX.*|CLAUDECODE|CLAUDE_CODE_(ENTRYPOINT|CHILD_SESSION|SESSION_ID)|CLAUDE_PID|NOTIFY_SOCKET"
    r"|LISTEN_.*|WATCHDOG_.*|GEMINI_CLI|COPILOT_CLI|CODEX_(THREAD_ID|SANDBOX.*)|QWEN_CODE"
    r"|GC_(CITY.*|SESSION.*|TEMPLATE|AGENT|ALIAS|RIG.*|DIR|BIN|INSTANCE_TOKEN|.*_EPOCH)"
    r"|_ARGCOMPLETE.*"
)


async def run_command(command: str, *, cwd: str, env: Mapping[str, str], deadline_s: float) -> Ran:
    """Run a shell command to its end or to its deadline, whichever comes first."""
    argv = ("/bin/sh", "-c", command)
    return await run(Job(argv=argv, cwd=cwd, env=env, deadline_s=deadline_s))
