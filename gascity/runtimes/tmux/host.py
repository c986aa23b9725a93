"""One tmux host: looks at it, and says for certain whether a server or a session is absent.

Source: DESIGN §8 (R10, R37, R67)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from typing import Final

import anyio

from gascity.runtimes import processes
from gascity.runtimes.base import RuntimeUnreachable
from gascity.runtimes.screens import Screen
from gascity.runtimes.tmux.client import TmuxClient, nonce, prepare_folder, socket_path
from gascity.runtimes.tmux.format import (
    LOOK,
    Host,
    Hosted,
    Pane,
    capture_lines,
    read_captures,
    read_host,
)
from gascity.runtimes.tmux.server import ServerId, listener, lost

EMPTY: Final = Host(server_pid=0)
_REAPED_S: Final = 0.02


def unreaped_roots(host: Host, hosted: Hosted) -> list[processes.Process]:
    """The session's programs; the server's children, so that no pid is another's by now."""
    found = [processes.read(pane.pid) for pane in hosted.panes if not pane.is_reaped]
    return [one for one in found if one is not None and one.parent == host.server_pid]


def _has_ended(pane: Pane) -> bool:
    """Its end can be told: by the server, or by the kernel while the server has not reaped it."""
    one = None if pane.is_reaped else processes.read(pane.pid)
    return pane.is_reaped or (one is not None and one.is_over)


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
        self._asked_again: set[str] = set()

    async def screens(self, panes: Collection[Pane]) -> dict[str, tuple[Screen, int]]:
        """What these panes show, in one call, with the activity of their window; by pane id.

        Raises:
            RuntimeUnreachable: no certain answer.
        """
        if not panes:
            return {}
        word = nonce()
        reply = await self.client.script(*capture_lines(word, panes))
        return read_captures(word, reply.out)

    async def look(self) -> Host:
        """Everything on the server; empty when there certainly is none.

        Raises:
            RuntimeUnreachable: no certain answer.
        """
        reply = await self.client.call(*LOOK)
        if reply.is_cut_off:  # it ended while it was asked: who is there now?
            reply = await self.client.call(*LOOK)
        if reply.is_no_server:
            if self.lost_server:
                raise RuntimeUnreachable(self.lost_server)
            return EMPTY
        if reply.is_nobody_there:
            host = Host(server_pid=listener(self.client.socket))
        elif reply.code != 0:
            raise RuntimeUnreachable(f"tmux failed: {reply.err.strip() or reply.code}")
        else:
            host = read_host(reply.out)
        if host.server_pid:
            self._meet(host.server_pid)
        return host

    async def settled_look(self) -> Host:
        """Like `look`; asks once more when a pane has just died and its status is on the way."""
        host = await self.look()
        panes = [pane for one in host.sessions.values() for pane in one.panes]
        fresh = {one.id for one in panes if one.is_dead and not _has_ended(one)} - self._asked_again
        if not fresh:
            return host
        self._asked_again |= fresh  # old servers never tell a signal: once is enough
        await anyio.sleep(_REAPED_S)
        return await self.look()

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
