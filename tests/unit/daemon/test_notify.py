"""Readiness and watchdog for a service manager."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from gascity.daemon.notify import tell_manager


def test_the_manager_hears_the_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One datagram to the socket in NOTIFY_SOCKET."""
    address = tmp_path / "n"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(address))
        listener.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", str(address))
        tell_manager("READY=1")
        assert listener.recv(64) == b"READY=1"


@pytest.mark.parametrize("address", ["", "/nowhere/at/all", "@nobody-listens-here"])
def test_nobody_listening_is_no_fault(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller without a manager, or with a dead one, goes on."""
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    tell_manager("WATCHDOG=1")
