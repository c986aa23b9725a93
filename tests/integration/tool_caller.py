"""A stand-in agent with a tool server: `call NAME JSON` calls a tool and goes on at its prompt.

A program of its own, started in sessions. It is a client of `gc mcp` over stdin and stdout, by
hand, and looks idle while a call is open: nothing but the open turn can keep its session up. Each
line it was told is added to `told.txt` in its city, with the answers of its calls.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from gascity.testing.agent import StandIn
from gascity.testing.agent_options import options_from

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "stand-in", "version": "1"},
}


class Caller(StandIn):
    """The stand-in, and a thread that hears the server."""

    def __init__(self) -> None:
        super().__init__(options=options_from(sys.argv[1:], os.environ))
        command = [*shlex.split(os.environ["GC_BIN"]), "mcp"]
        self.server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.calls = 0
        self.say(method="initialize", id=0, params=HELLO)
        self.say(method="notifications/initialized")
        threading.Thread(target=self.hear, daemon=True).start()

    def do(self, line: str) -> None:
        """Do one line; those about tools here."""
        name, _, rest = line.strip().partition(" ")
        if name == "call":
            tool, _, arguments = rest.partition(" ")
            self.calls += 1
            params = {"name": tool, "arguments": json.loads(arguments)}
            self.say(method="tools/call", id=self.calls, params=params)
        elif name == "cancel":
            self.say(method="notifications/cancelled", params={"requestId": self.calls})
        elif name == "drop":
            self.server.kill()
        else:
            note(f"told: {line}")
            super().do(line)

    def say(self, **message: Any) -> None:
        """Send one message."""
        assert self.server.stdin is not None
        self.server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.server.stdin.flush()

    def hear(self) -> None:
        """Note every answer to a call."""
        assert self.server.stdout is not None
        for line in self.server.stdout:
            answer = json.loads(line)
            if answer.get("id"):
                note(f"answer: {answer['result']['content'][0]['text']}")


def note(text: str) -> None:
    """Add a line to what the test reads."""
    name = os.environ["GC_SESSION_NAME"]
    with (Path(os.environ["GC_CITY"]) / "told.txt").open("a", encoding="utf-8") as told:
        told.write(f"{name} {text}\n")


if __name__ == "__main__":
    sys.exit(Caller().run())
