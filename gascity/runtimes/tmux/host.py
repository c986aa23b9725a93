"""One tmux host: looks at it, and says for certain whether a server or a session is absent.

Source: DESIGN §8 (R10, R37, R67)
"""

from __future__ import annotations

import os
from collections.abc import Callable

from gascity.runtimes.base import RuntimeUnreachable
from gascity.runtimes.tmux.client import TmuxClient, prepare_folder, socket_path
from gascity.runtimes.tmux.format import LOOK, Host, read_host
from gascity.runtimes.tmux.server import ServerId, lost

EMPTY = Host(server_pid=0)


class TmuxHost:
    """The server behind one socket; `server` is the last one seen, for the controller to store."""

    def __init__(
        self,
        socket: str,
        *,
        known_server: ServerId | None,
        on_server: Callable[[ServerId], None],
        deadline_s: float,
    ) -> None:
        self.client = TmuxClient(socket_path(socket, os.environ), deadline_s=deadline_s)
        self.server = known_server
        self._on_server = on_server

    async def look(self) -> Host:
        """Everything on the server; empty when there certainly is none.

        Raises:
            RuntimeUnreachable: no certain answer.
        """
        reply = await self.client.call(*LOOK)
        if reply.is_no_server:
            if self.lost_server:
                raise RuntimeUnreachable(self.lost_server)
            return EMPTY
        if reply.code != 0:
            raise RuntimeUnreachable(f"tmux failed: {reply.err.strip() or reply.code}")
        host = read_host(reply.out)
        self._meet(host.server_pid)
        return host

    def _meet(self, pid: int) -> None:
        """Remember the server that answers, unless an earlier one still runs somewhere."""
        known = self.server
        if known is not None and known.pid != pid and known.is_alive:
            return
        met = ServerId.of(self.client.socket, pid)
        if met is not None and met != known:
            self.server = met
            self._on_server(met)

    @property
    def lost_server(self) -> str:
        """Why nothing on this socket proves absence; empty when the known server is gone."""
        if self.server is None or not self.server.is_alive:
            return ""
        return lost(self.server, self.client.socket)

    def doubt(self, host: Host) -> str:
        """Why a session that is not on `host` may still run elsewhere; empty when it cannot."""
        if self.server is None or self.server.pid == host.server_pid:
            return ""
        return self.lost_server

    def prepare(self) -> None:
        """Make room for the socket of a new server."""
        prepare_folder(self.client.socket)
