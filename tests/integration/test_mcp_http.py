"""`gc mcp --http`: several clients on one port of loopback, and who is not let in."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from gascity.tools.mcp_http import bound
from tests.mcp_client import NOT_A_COUNT, TOO_LONG, converse
from tests.polling import wait_until
from tests.terminal import environment, gc

LEFT = "its connection was closed"

in_both_eras = pytest.mark.parametrize("era", ["legacy", "auto"])


class Running:
    """A server on a free port, what it says on stderr, and requests by hand."""

    def __init__(self, folder: Path) -> None:
        self._said = folder / "stderr"
        with self._said.open("w") as stderr:
            self.process = subprocess.Popen(
                gc("mcp", "--http", "0"),
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                env=environment(folder),
            )
        assert self.process.stdout
        self.url = self.process.stdout.readline().strip()
        self.port = urlsplit(self.url).port or 0

    def said(self) -> str:
        """All it wrote to stderr so far."""
        return self._said.read_text()

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send it a signal; its exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout=20)

    def ask(self, method: str, body: str = "", **headers: str) -> tuple[int, str, dict[str, str]]:
        """One request: status, body, headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        path = named.pop("path", "/mcp")
        connection.request(method, path, body=body or None, headers=sent | named)
        response = connection.getresponse()
        answer = response.status, response.read().decode(), dict(response.getheaders())
        connection.close()
        return answer


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    """A server that was asked to take any port."""
    running = Running(tmp_path)
    yield running
    if running.process.poll() is None:
        running.process.kill()
        running.process.wait()
    assert running.process.stdout
    running.process.stdout.close()
    assert "Traceback" not in running.said()


HELLO = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "by hand", "version": "1"},
        },
    }
)


@pytest.mark.slow
def test_only_this_machine_and_this_port_are_let_in(server: Running) -> None:
    """A foreign Host is 421, a foreign Origin 403, another page of this machine too; the socket is
    bound to loopback alone."""
    here = f"127.0.0.1:{server.port}"
    for method in ("POST", "GET", "DELETE"):
        for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1", "localhost:1"):
            assert server.ask(method, HELLO, Host=host)[0] == 421, (method, host)
        for origin in ("http://evil.example", "http://localhost:1", "null", f"https://{here}"):
            assert server.ask(method, HELLO, Host=here, Origin=origin)[0] == 403, (method, origin)
    assert server.ask("POST", HELLO)[0] == 200
    assert server.ask("POST", HELLO, Host=f"localhost:{server.port}")[0] == 200
    assert server.ask("POST", HELLO, Origin=f"http://{here}")[0] == 200
    assert server.ask("POST", HELLO, path="/")[0] == 404
    assert server.ask("POST", HELLO, Content_Type="text/plain")[0] == 400
    assert server.ask("POST", HELLO[:-1] + " " * 2_000_000 + "}")[0] == 413
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", server.port), timeout=5)


@pytest.mark.slow
def test_what_only_a_client_by_hand_sends_is_refused_like_the_rest(server: Running) -> None:
    """An over-long integer and a list for arguments are results, not errors (TOOL-18, TOOL-19)."""
    _, _, headers = server.ask("POST", HELLO)
    session = {"Mcp_Session_Id": headers["mcp-session-id"]}
    ready = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert server.ask("POST", ready, **session)[0] == 202
    for arguments, error in {
        '{"seconds": ' + "9" * 100_000 + "}": TOO_LONG,
        '{"seconds": -' + "9" * 5000 + "}": NOT_A_COUNT,
        '{"seconds": NaN}': NOT_A_COUNT,
        "[5]": NOT_A_COUNT,
    }.items():
        params = f'{{"name": "sleep", "arguments": {arguments}}}'
        body = f'{{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {params}}}'
        status, text, _ = server.ask("POST", body, **session)
        [data] = [line for line in text.splitlines() if line.startswith("data: {")]
        result = json.loads(data.removeprefix("data: "))["result"]
        assert (status, result["content"][0]["text"], result["isError"]) == (200, error, True)


@pytest.mark.slow
@in_both_eras
def test_the_sdk_client_calls_it(era: str, server: Running) -> None:
    """0, 2, three at once, 86400 and cancel, refusals, progress (TOOL-06..TOOL-17, R47..R49)."""
    anyio.run(converse, server.url, era)
    assert server.end() == 0


@pytest.mark.slow
@in_both_eras
def test_a_killed_client_is_noticed_and_counted(era: str, server: Running, tmp_path: Path) -> None:
    """kill -9 in the middle of two calls: both end at once and are counted, also where the protocol
    itself would let them run to their end (TOOL-29, R48)."""
    command = [sys.executable, "-m", "tests.mcp_client", era, server.url, "86400", "86400"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment(tmp_path)
    ) as client:
        assert client.stdout
        assert client.stdout.readline() == "waiting\n"
        assert LEFT not in server.said()
        client.send_signal(signal.SIGKILL)
    wait_until(lambda: f"{LEFT} (2 so far)" in server.said(), timeout_s=20, what="both are counted")
    assert server.end() == 0


@pytest.mark.slow
@in_both_eras
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_tells_who_waits_and_ends(
    era: str, number: signal.Signals, code: int, server: Running
) -> None:
    """The caller learns that the server ended; the server does not wait for a day (R48)."""

    async def main() -> None:
        async with Client(server.url, mode=era) as client:
            waiting = anyio.Event()

            async def listen(progress: float, total: float | None, message: str | None) -> None:
                waiting.set()

            async def sleep() -> None:
                with pytest.raises(MCPError, match="the server ended the call"):
                    await client.call_tool("sleep", {"seconds": 86_400}, progress_callback=listen)

            async with anyio.create_task_group() as group:
                group.start_soon(sleep)
                await waiting.wait()
                server.process.send_signal(number)

    anyio.run(main)
    assert server.process.wait(timeout=20) == code


@pytest.mark.slow
def test_a_taken_port_is_named(tmp_path: Path) -> None:
    """The error says which port, and what to do."""
    with bound(0) as listener:
        port = listener.getsockname()[1]
        done = subprocess.run(
            gc("mcp", "--http", str(port)),
            capture_output=True,
            text=True,
            env=environment(tmp_path),
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == (
        f"gc mcp: port {port} on loopback: Address already in use; "
        "choose another port, or 0 for a free one\n"
    )


@pytest.mark.parametrize("port", ["65536", "-1", "http", "٨٠"])
def test_what_is_no_port_is_a_usage_error(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2, and what to write instead."""
    from gascity.cli.main import main

    assert main(["mcp", f"--http={port}"]) == 2
    assert "is no port; write 1 to 65535, or 0 for any" in capsys.readouterr().err
