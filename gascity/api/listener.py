"""The socket itself: a private folder, a private file, and lines in and out of one connection.

Source: DESIGN §13 "The control socket" (E1, E2, E3)
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import struct
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import anyio

from gascity.api.client import SUN_PATH_MAX
from gascity.api.protocol import MAX_LINE_BYTES, SOCKET_NAME

BACKLOG: Final = 128
SPARE_BYTES: Final = 4096  # what may follow the line before it counts as abuse
PART_S: Final = 1.0  # how long a refused client may take to read why
SEND_S: Final = 10.0  # a client that takes longer to read one object is hung up on


class UnsafeFolder(Exception):
    """The folder the socket would stand in is not ours alone; the text says what to do."""


class ClientLeft(Exception):
    """The other side hung up, or stopped reading."""


class TooLong(Exception):
    """A line without an end within the limit."""


@contextlib.contextmanager
def listening(city: Path) -> Iterator[socket.socket]:
    """The bound, listening socket of a city. The caller holds `controller.lock`.

    A socket file that a dead controller left is replaced; at the end only our own file is removed.

    Raises:
        UnsafeFolder: `.gc` or the city is a link or another user's, or a file is in the way.
    """
    folder = city / ".gc"
    _check_private(city, folder)
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    server = socket.socket(socket.AF_UNIX)
    server.settimeout(0)
    try:
        _remove_stale(opened)
        _bind(server, folder, opened)
        mine = os.stat(SOCKET_NAME, dir_fd=opened, follow_symlinks=False)
        server.listen(BACKLOG)
        try:
            yield server
        finally:
            with contextlib.suppress(FileNotFoundError):
                now = os.stat(SOCKET_NAME, dir_fd=opened, follow_symlinks=False)
                if (now.st_dev, now.st_ino) == (mine.st_dev, mine.st_ino):
                    os.unlink(SOCKET_NAME, dir_fd=opened)
    finally:
        server.close()
        os.close(opened)


def _check_private(city: Path, folder: Path) -> None:
    for path in (city, folder):
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode) or not stat.S_ISDIR(found.st_mode):
            raise UnsafeFolder(f"{path} is not a folder of its own; make it one")
        if found.st_uid not in (os.geteuid(), 0):
            raise UnsafeFolder(f"{path} belongs to uid {found.st_uid}; start it as that user")
    if folder.lstat().st_uid != os.geteuid():
        raise UnsafeFolder(f"{folder} is not ours; remove it or start as its owner")
    if stat.S_IMODE(folder.lstat().st_mode) != 0o700:
        folder.chmod(0o700)


def _remove_stale(folder: int) -> None:
    try:
        found = os.stat(SOCKET_NAME, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise UnsafeFolder(f".gc/{SOCKET_NAME} is not a socket; move it away")
    os.unlink(SOCKET_NAME, dir_fd=folder)


def _bind(server: socket.socket, folder: Path, opened: int) -> None:
    """Bind under a mask that leaves nobody else in, however long the path is."""
    path = str(folder / SOCKET_NAME)
    before = os.umask(0o077)
    try:
        if len(os.fsencode(path)) <= SUN_PATH_MAX:
            server.bind(path)
        elif Path(f"/proc/self/fd/{opened}").exists():
            server.bind(f"/proc/self/fd/{opened}/{SOCKET_NAME}")
        else:
            here = os.open(".", os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fchdir(opened)
                server.bind(SOCKET_NAME)
            finally:
                os.fchdir(here)
                os.close(here)
    finally:
        os.umask(before)
    os.chmod(SOCKET_NAME, 0o600, dir_fd=opened)


def peer_uid(connection: socket.socket) -> int:
    """The user at the other end, as the kernel vouches for it.

    Raises:
        OSError: the kernel does not say.
    """
    if hasattr(socket, "SO_PEERCRED"):
        size = struct.calcsize("3i")
        answer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        return int(struct.unpack("3i", answer)[1])
    if sys.platform == "darwin":  # LOCAL_PEERCRED: version, uid, number of groups, groups
        answer = connection.getsockopt(0, 1, 76)
        return int(struct.unpack_from("II", answer)[1])
    raise OSError("this system does not say who is at the other end of a socket")


def encoded(reply: Mapping[str, Any]) -> bytes:
    """One object as a line."""
    return json.dumps(reply, separators=(",", ":"), allow_nan=False).encode() + b"\n"


class Line:
    """One connection: a line in, objects out, and a way to notice that the client left."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(0)
        self._socket = connection

    async def read(self) -> bytes:
        """The first line without its end, or what came before the client closed its side.

        Raises:
            TooLong: no end within 64 KiB.
            ClientLeft: it hung up without a word.
        """
        found = bytearray()
        while True:
            try:
                more = self._socket.recv(MAX_LINE_BYTES)
            except BlockingIOError:
                await anyio.wait_readable(self._socket)
                continue
            except OSError as problem:
                raise ClientLeft from problem
            found += more
            line, end, _ = found.partition(b"\n")
            if len(line) >= MAX_LINE_BYTES:
                raise TooLong
            if end or (not more and line):
                return bytes(line)
            if not more:
                raise ClientLeft

    async def gone(self, spare: int = SPARE_BYTES) -> None:
        """Return once the client hung up, or said `spare` more bytes than it may say."""
        while spare > 0:
            try:
                more = self._socket.recv(spare)
                if not more:
                    return
                spare -= len(more)
            except BlockingIOError:
                await anyio.wait_readable(self._socket)
            except OSError:
                return

    async def send(self, data: bytes) -> None:
        """Send a whole line.

        Raises:
            ClientLeft: it hung up, or did not read for ten seconds.
        """
        left = memoryview(data)
        with anyio.move_on_after(SEND_S) as patience:
            while left:
                try:
                    left = left[self._socket.send(left) :]
                except BlockingIOError:
                    await anyio.wait_writable(self._socket)
                except OSError as problem:
                    raise ClientLeft from problem
        if left or patience.cancelled_caught:
            raise ClientLeft

    def send_now(self, data: bytes) -> None:
        """Send what fits without waiting; the rest is lost."""
        with contextlib.suppress(OSError):
            self._socket.send(data)

    async def part(self) -> None:
        """End the answer, let the client read it, and hang up.

        Closing while something it said is unread would make the kernel reset the connection, and
        the client would read that instead of the answer. Bounded in bytes and time.
        """
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        with anyio.move_on_after(PART_S):
            await self.gone(spare=MAX_LINE_BYTES)
        self._socket.close()

    def close(self) -> None:
        """Hang up at once."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        self._socket.close()
