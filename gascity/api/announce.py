"""An open turn, announced to the controller for as long as this lives.

The announcement is one connection to the control socket, held open: whatever becomes of us, the
kernel ends it, and with it the turn. Nothing here waits, so an event loop and a loop over signals
can both keep it: `keep` once in a while notices that the controller went away, and tells the next
one. Standard library only, as every hot command.

Source: DESIGN §7, §13 "The control socket" (R48, R63)
"""

from __future__ import annotations

import json
import select
import socket
import time

from gascity.api import client
from gascity.api.protocol import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

KEEP_S: Final = 1.0  # how often to call `keep`; a controller waits for several of them
REFUSED_S: Final = 5.0  # until somebody who was refused asks again
RENEW_S: Final = 24 * 3600.0  # a controller believes no connection for longer than 25 hours
_MOST_BYTES: Final = 1 << 16


class Announcement:
    """One open turn of a session. It begins with the first `keep` that finds a controller.

    With an `owner` the session is pinned as long; that needs no token, and no place inside it.
    """

    def __init__(
        self, city: str, *, session: str, token: str = "", what: str = "", owner: str = ""
    ) -> None:
        told = {"session": session, "token": token, "what": what, "owner": owner}
        said = {"v": VERSION, "op": "turn", **told}
        self._city = city
        self._line = json.dumps(said).encode() + b"\n"
        self._socket: socket.socket | None = None
        self._heard = b""
        self._before: socket.socket | None = None  # what holds the turn until the new one does
        self._renew_at = 0.0
        self._not_before = 0.0
        self.is_open = False  # whether a controller said that it knows
        self.problem = ""  # why none does, for people

    def keep(self) -> None:
        """Announce it, or again where the controller was replaced; hear what it says. No waits."""
        if self._socket is not None:
            self._listen(self._socket)
        if self.is_open and time.monotonic() >= self._renew_at:
            self._before, self._socket, self.is_open = self._socket, None, False
        if self._socket is None and time.monotonic() >= self._not_before:
            self._announce()

    def wait_open(self, seconds: float) -> None:
        """Announce it, and give the controller so long to say that it knows, or what is wrong."""
        deadline = time.monotonic() + seconds
        self.keep()
        while self._socket is not None and not self.is_open:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._socket], [], [], left)[0]:
                return
            self._listen(self._socket)

    def close(self) -> None:
        """The turn is over."""
        for connection in (self._socket, self._before):
            if connection is not None:
                connection.close()
        self._socket, self._before, self._heard, self.is_open = None, None, b"", False

    def _announce(self) -> None:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(0)
        try:
            client.connect(connection, self._city)
            client.check_peer(connection)
            connection.sendall(self._line)
        except client.ControlError as problem:
            connection.close()
            self._put_off(problem.what)
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
            connection.close()
            self.problem = "no controller is running"
        except OSError as problem:
            connection.close()
            self.problem = str(problem.strerror or problem)
        else:
            self._socket, self.problem = connection, ""

    def _listen(self, connection: socket.socket) -> None:
        try:
            heard = connection.recv(_MOST_BYTES)
        except BlockingIOError:
            return
        except OSError:
            heard = b""
        self._heard += heard
        *lines, self._heard = self._heard.split(b"\n")
        for line in lines:
            self._answer(_object(line))
        if not heard or len(self._heard) > _MOST_BYTES:
            self.close()

    def _answer(self, reply: dict[str, Any]) -> None:
        if reply.get("ok") is not True and self._before is not None and self._socket is not None:
            self._socket.close()
            self._socket, self._before, self._heard = self._before, None, b""
            self.is_open, self._renew_at = True, time.monotonic() + REFUSED_S
        elif reply.get("ok") is not True:
            self.close()
            self._put_off(str(reply.get("what") or "refused"))
        elif reply.get("open") is True:
            self.is_open, self._renew_at = True, time.monotonic() + RENEW_S
            if self._before is not None:
                self._before.close()
                self._before = None
        else:  # it was open for as long as one may be: the next `keep` announces it anew
            self.close()

    def _put_off(self, problem: str) -> None:
        self.problem = problem
        self._not_before = time.monotonic() + REFUSED_S


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
