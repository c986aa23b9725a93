"""`gc agent-event KIND`: what an agent's own hook tells the controller. Silent, quick, exit 0.

Whatever goes wrong, the agent must not notice: nothing is printed, nothing waits longer than a
moment, and a controller that is not there is no error. The vendor's object comes on stdin or as the
last argument; what it says is put into words of no particular CLI by `agent_words`.

Source: DESIGN §8 (R15, R63); surface "Command line"
"""

from __future__ import annotations

import json
import os
import select
import socket
import time

from gascity.api import client
from gascity.api.protocol import VERSION
from gascity.cli.agent_words import said_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

DEADLINE_S = 0.05  # for all of it, once the interpreter is up
STDIN_S = 0.02  # how long an object may take to arrive
MOST_BYTES = 1 << 20
FEW_BYTES = 32 << 10


def configure(command: str, parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gc agent-event`."""
    parser.add_argument("kind", nargs="?", default="", help="the hook's name, or a word of ours")
    parser.add_argument("--what", default="", metavar="W", help="kind of a question: permission, …")
    parser.add_argument("--question", default="", metavar="Q", help="what is asked")
    parser.add_argument("object", nargs="?", default="", help="the vendor's object, as JSON")


def run(args: argparse.Namespace) -> int:
    """Tell the controller; 0, whatever comes of it."""
    words = [args.kind, *(word for word in (args.object,) if word)]
    options = [f"--{name}={value}" for name in ("what", "question") if (value := vars(args)[name])]
    return tell([*words, *options])


def tell(words: list[str]) -> int:
    """The same from bare words, without a parser: a hook has no time for one."""
    until = time.monotonic() + DEADLINE_S
    try:
        _tell(words, until)
    except Exception:  # noqa: BLE001  an agent must not notice, whatever happens here
        return 0
    return 0


def _tell(words: list[str], until: float) -> None:
    session = os.environ.get("GC_SESSION_ID") or os.environ.get("GC_SESSION_NAME")
    token, city = os.environ.get("GC_INSTANCE_TOKEN"), os.environ.get("GC_CITY")
    if not (session and token and city and words):
        return
    options: dict[str, str] = {}
    kind, rest = words[0], ""
    for word in words[1:]:
        name, given, value = word.partition("=")
        if name.startswith("--") and given:
            options[name[2:]] = value
        elif word.startswith("{"):
            rest = word
    payload = _object(rest) if rest else _object(_stdin(until))
    fields = said_by(kind, payload) | {key: options[key] for key in options if options[key]}
    fields |= {"session": session, "token": token, "seq": time.monotonic_ns() // 1000}
    _send(city, fields, until)


def _stdin(until: float) -> str:
    """What the hook was handed; "" when nothing comes at once."""
    if os.isatty(0):
        return ""
    until = min(until, time.monotonic() + STDIN_S)
    heard = b""
    while len(heard) < MOST_BYTES:
        ready, _, _ = select.select([0], [], [], max(0.0, until - time.monotonic()))
        if not ready or not (more := os.read(0, 1 << 16)):
            break
        heard += more
    return heard.decode("utf-8", "replace")


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text) if text.strip() else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _send(city: str, fields: dict[str, Any], until: float) -> None:
    line = json.dumps({"v": VERSION, "op": "signal", **fields}).encode()
    if len(line) > FEW_BYTES:
        return
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(max(0.001, until - time.monotonic()))
        client.connect(connection, os.path.realpath(city))
        client.check_peer(connection)
        connection.sendall(line + b"\n")
        connection.settimeout(max(0.001, until - time.monotonic()))
        connection.recv(1 << 12)  # so that whoever looks next sees what was said
    finally:
        connection.close()
