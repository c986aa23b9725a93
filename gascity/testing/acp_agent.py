"""A stand-in for an agent that speaks the Agent Client Protocol: JSON lines by hand, no library.

`python -m gascity.testing.acp_agent` answers prompts as the stand-in at a terminal answers what is
typed: `work S`, `permission`, `background S`, `flood N`, `exit N`; anything else is told back. Its
conversations are files of `ACP_HOME`, so that they can be loaded again; without one it loads none.

Source: DESIGN §8 (CAP-22)
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final

_OPTIONS: Final = (
    {"optionId": "once", "name": "Allow", "kind": "allow_once"},
    {"optionId": "always", "name": "Always allow", "kind": "allow_always"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
)


class StandIn:
    """The agent's side of one connection, a thread for each prompt."""

    def __init__(self, home: str) -> None:
        self.home = Path(home) if home else None
        self.cancelled = threading.Event()
        self.answers: dict[int, Any] = {}
        self.answered = threading.Condition()
        self.lock = threading.Lock()
        self.asked = 0

    def run(self) -> None:
        """Answer until the input ends."""
        for line in sys.stdin.buffer:
            message = json.loads(line)
            if "method" not in message:
                with self.answered:
                    self.answers[message["id"]] = message.get("result")
                    self.answered.notify_all()
            elif message["method"] == "session/cancel":
                self.cancelled.set()
            elif message["method"] == "session/prompt":
                self.cancelled.clear()
                threading.Thread(target=self.prompt, args=(message,), daemon=True).start()
            else:
                self.answer(message)

    def send(self, **fields: Any) -> None:
        """Write one message."""
        with self.lock:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **fields}) + "\n")
            sys.stdout.flush()

    def answer(self, message: dict[str, Any]) -> None:
        """Everything but prompts."""
        given = message.get("params") or {}
        if message["method"] == "initialize":
            able = {"loadSession": self.home is not None}
            self.send(id=message["id"], result={"protocolVersion": 1, "agentCapabilities": able})
        elif message["method"] == "session/new":
            self.send(id=message["id"], result={"sessionId": f"talk-{os.getpid()}"})
        elif message["method"] == "session/load" and self.file(given["sessionId"]).is_file():
            for text in self.file(given["sessionId"]).read_text(encoding="utf-8").splitlines():
                self.update(given["sessionId"], "user_message_chunk", text)
            self.send(id=message["id"], result={})
        else:
            self.send(id=message["id"], error={"code": -32602, "message": "no such thing"})

    def file(self, talk: str) -> Path:
        """Where a conversation is kept."""
        return (self.home or Path("/nonexistent")) / talk

    def update(self, talk: str, kind: str, text: str) -> None:
        """Something happens in the turn."""
        content = {"type": "text", "text": text}
        said = {"sessionId": talk, "update": {"sessionUpdate": kind, "content": content}}
        self.send(method="session/update", params=said)

    def prompt(self, message: dict[str, Any]) -> None:
        """One turn."""
        talk = message["params"]["sessionId"]
        text = message["params"]["prompt"][0]["text"]
        if self.home is not None:
            with self.file(talk).open("a", encoding="utf-8") as file:
                file.write(f"{text}\n")
        self.do(talk, text)
        reason = "cancelled" if self.cancelled.is_set() else "end_turn"
        self.send(id=message["id"], result={"stopReason": reason})

    def do(self, talk: str, text: str) -> None:
        """What the prompt asks for."""
        word, _, rest = text.partition(" ")
        if word == "work":
            deadline = time.monotonic() + float(rest or 3)
            while time.monotonic() < deadline and not self.cancelled.wait(0.1):
                self.update(talk, "agent_thought_chunk", "…")
        elif word == "permission":
            answer = self.ask(talk)
            self.update(talk, "agent_message_chunk", f"● answered {json.dumps(answer)}")
        elif word == "background":
            subprocess.Popen(["sleep", rest or "600"], stdin=subprocess.DEVNULL)
            self.update(talk, "agent_message_chunk", "● started in the background")
        elif word == "flood":
            for number in range(int(rest)):
                self.update(talk, "agent_message_chunk", f"{number}\n")
        elif word == "exit":
            os._exit(int(rest or 0))
        else:
            self.update(talk, "agent_message_chunk", f"● done: {text}")

    def ask(self, talk: str) -> Any:
        """Ask for permission and wait for the answer."""
        self.asked += 1
        number = self.asked
        call = {"toolCallId": "c1", "title": "npm run release: do you want to proceed?"}
        said = {"sessionId": talk, "toolCall": call, "options": list(_OPTIONS)}
        self.send(id=number, method="session/request_permission", params=said)
        with self.answered:
            self.answered.wait_for(lambda: number in self.answers)
            return self.answers[number]


if __name__ == "__main__":
    StandIn(os.environ.get("ACP_HOME", "")).run()
