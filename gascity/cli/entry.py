"""Where `gc` begins: a hook's word goes straight to the controller, everything else to the table.

Agents call `gc agent-event` at every step they take, and wait for it: it loads no parser.

Source: surface "Command line"
"""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command of this process; its exit code."""
    words = sys.argv[1:]
    if words[:1] == ["agent-event"] and not {"-h", "--help"} & set(words):
        from gascity.cli.agent_event import tell

        return tell(words[1:])
    from gascity.cli.main import main as table

    return table(words)
