"""Tell a service manager how it stands, over the socket that it names in NOTIFY_SOCKET.

Source: DESIGN §13; sd_notify(3)
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress


def tell_manager(state: str) -> None:
    """Send one state such as `READY=1` or `WATCHDOG=1`; silent when nobody listens."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    path = "\0" + address[1:] if address.startswith("@") else address
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(state.encode(), path)
