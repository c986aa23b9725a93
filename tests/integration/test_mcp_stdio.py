"""`gc mcp` as agents start it: a process, with the SDK's own client at its stdin and stdout."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.mcp_client import NOT_A_COUNT, TOO_LONG, converse
from tests.polling import wait_until
from tests.terminal import environment, gc

in_both_eras = pytest.mark.parametrize("era", ["legacy", "auto"])


def parameters(folder: Path) -> StdioServerParameters:
    """How the SDK's client starts the server: outside any city."""
    command, *words = gc("mcp")
    return StdioServerParameters(command=command, args=words, env=environment(folder))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A server with pipes, for what no well-behaved client would send."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        gc("mcp"), stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment(tmp_path)
    ) as process:
        yield process
        process.kill()


def send(server: subprocess.Popen[str], *messages: str | dict[str, Any]) -> None:
    """Write each message on a line of its own."""
    assert server.stdin
    for message in messages:
        server.stdin.write(message if isinstance(message, str) else json.dumps(message))
        server.stdin.write("\n")
    server.stdin.flush()


def answer(server: subprocess.Popen[str]) -> dict[str, Any]:
    """The next message of the server."""
    assert server.stdout
    message: dict[str, Any] = json.loads(server.stdout.readline())
    return message


def greeted(server: subprocess.Popen[str]) -> None:
    """Go through the handshake."""
    client = {"name": "by hand", "version": "1"}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    send(server, {"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello})
    assert answer(server)["result"]["serverInfo"]["name"] == "gascity"
    send(server, {"jsonrpc": "2.0", "method": "notifications/initialized"})


def call(number: int, arguments: str, *, meta: str = "{}") -> str:
    """A call of `sleep` as it goes over the wire."""
    params = f'{{"name": "sleep", "arguments": {arguments}, "_meta": {meta}}}'
    return f'{{"jsonrpc": "2.0", "id": {number}, "method": "tools/call", "params": {params}}}'


def test_what_only_a_client_by_hand_sends_is_refused_like_the_rest(
    server: subprocess.Popen[str],
) -> None:
    """Over-long integers, NaN, arguments that are no object: results all of them, and the server
    goes on (TOOL-13, TOOL-17..TOOL-19, R47, R58)."""
    table = {
        '{"seconds": ' + "9" * 5000 + "}": TOO_LONG,
        '{"seconds": -' + "9" * 5000 + "}": NOT_A_COUNT,
        '{"seconds": 1' + "0" * 30 + "}": TOO_LONG,
        '{"seconds": NaN}': NOT_A_COUNT,
        '{"seconds": 1e999}': NOT_A_COUNT,
        '{"seconds": 5.0}': NOT_A_COUNT,
        '{"seconds": true}': NOT_A_COUNT,
        "[5]": NOT_A_COUNT,
        "5": NOT_A_COUNT,
        '"5"': NOT_A_COUNT,
        "null": NOT_A_COUNT,
    }
    greeted(server)
    send(server, *(call(number, text) for number, text in enumerate(table)))
    answers = {one["id"]: one["result"] for one in (answer(server) for _ in table)}
    for number, error in enumerate(table.values()):
        assert answers[number]["content"] == [{"type": "text", "text": error}]
        assert answers[number]["isError"] is True
    send(server, "no JSON at all", call(99, '{"seconds": 0, "why": "tea"}'))
    assert answer(server)["result"]["content"][0]["text"] == "Slept for 0 second(s)."


@pytest.mark.slow
def test_the_end_of_stdin_is_the_end_of_all_calls(server: subprocess.Popen[str]) -> None:
    """A client that is gone leaves neither a timer nor a process (TOOL-29, R48)."""
    greeted(server)
    send(server, call(1, '{"seconds": 86400}'), call(2, '{"seconds": 0}'))
    assert answer(server)["id"] == 2, "the first is open by now"
    assert server.stdin
    server.stdin.close()
    assert server.wait(timeout=20) == 0
    assert server.stderr
    assert "Traceback" not in server.stderr.read()


@pytest.mark.slow
def test_a_client_that_no_longer_reads_is_gone(server: subprocess.Popen[str]) -> None:
    """An answer that nobody takes ends the server with its stdin, without a traceback (R48)."""
    greeted(server)
    assert server.stdin
    assert server.stdout
    server.stdout.close()
    send(server, call(1, '{"seconds": 0}'), call(2, '{"seconds": 86400}'))
    server.stdin.close()
    assert server.wait(timeout=20) == 0
    assert server.stderr
    assert "Traceback" not in server.stderr.read()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_at_once(server: subprocess.Popen[str], number: signal.Signals) -> None:
    """It holds nothing that would have to be put away."""
    greeted(server)
    send(server, call(1, '{"seconds": 86400}'), call(2, '{"seconds": 0}'))
    assert answer(server)["id"] == 2
    server.send_signal(number)
    assert server.wait(timeout=20) == -number


@pytest.mark.slow
@in_both_eras
def test_the_sdk_client_calls_it(era: str, tmp_path: Path) -> None:
    """0, 2, three at once, 86400 and cancel, refusals, progress (TOOL-06..TOOL-17, R47..R49)."""
    anyio.run(converse, stdio_client(parameters(tmp_path)), era)


@pytest.mark.slow
@in_both_eras
def test_a_killed_client_takes_the_server_with_it(era: str, tmp_path: Path) -> None:
    """kill -9 in the middle of a call: the kernel closes the pipe, and the server ends (R48)."""
    pid_file = tmp_path / "pid"
    target = f"echo $$ > {shlex.quote(str(pid_file))}; exec {shlex.join(gc('mcp'))}"
    command = [sys.executable, "-m", "tests.mcp_client", era, target, "86400"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment(tmp_path)
    ) as client:
        assert client.stdout
        assert client.stdout.readline() == "waiting\n"
        pid = int(pid_file.read_text())
        assert Path(f"/proc/{pid}").exists()
        client.send_signal(signal.SIGKILL)
    wait_until(lambda: has_ended(pid), timeout_s=20, what="the server ends")


def has_ended(pid: int) -> bool:
    """Whether the process is gone, or a zombie that nobody has asked after."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True
