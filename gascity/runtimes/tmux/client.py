"""Bounded calls to one tmux server, and how text is quoted for its command language.

A hung server keeps the output descriptors of its clients open, so waiting for end-of-file or for a
killed client can hang as well. Output goes to a file of ours, the exit is awaited by pidfd, and a
client that misses its deadline is killed and reaped later. At most one client runs per server.

Source: DESIGN §8 (R10, R45, R67)
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import subprocess
import tempfile
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import anyio

from gascity.runtimes.base import RuntimeUnreachable

OLDEST: Final = (3, 2)
_PLAIN: Final = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _./:=,@%+-"
)
_GONE: Final = re.compile(
    r"no server running on |error connecting to .*\((No such file or directory|Connection refused)"
)
_KEPT: Final = ("HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "LC_ALL", "LC_CTYPE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What one tmux client printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def is_no_server(self) -> bool:
        """Nobody listens on the socket."""
        return self.code != 0 and _GONE.search(self.err) is not None

    @property
    def is_nobody_there(self) -> bool:
        """A server answered, and it has no session at all."""
        return self.code != 0 and not self.out and self.err.strip() == "no current target"

    @property
    def is_cut_off(self) -> bool:
        """The server ended while it answered."""
        return self.code != 0 and ("server exited" in self.err or "lost server" in self.err)


class TmuxClient:
    """Calls to the server behind `socket`; `calls` counts the processes started so far."""

    def __init__(self, socket: Path, *, binary: str = "tmux", deadline_s: float = 2.5) -> None:
        self.socket = socket
        self.binary = binary
        self.deadline_s = deadline_s
        self.calls = 0
        self._turn = anyio.Lock()
        self._unreaped: list[subprocess.Popen[bytes]] = []
        self._is_checked = False

    @property
    def argv(self) -> tuple[str, ...]:
        """The words every call starts with; `-f` counts only for the call that boots the server."""
        return (self.binary, "-u", "-f", os.devnull, "-S", str(self.socket))

    async def call(self, *args: str, script: str = "") -> Reply:
        """Run one client; `script` is given to its standard input, never to its command line.

        Raises:
            RuntimeUnreachable: no answer within the deadline, no tmux, or one that is too old.
        """
        check_owner(self.socket)
        with anyio.move_on_after(self.deadline_s):
            async with self._turn:
                if not self._is_checked:
                    _check_version(await self._run((self.binary, "-V"), ""))
                    self._is_checked = True
                return await self._run((*self.argv, *args), script)
        raise RuntimeUnreachable(f"tmux gave no answer within {self.deadline_s:g} s")

    async def script(self, *lines: str) -> Reply:
        """Run commands of tmux's own language; a line that fails does not stop the next."""
        return await self.call("source-file", "-", script="".join(f"{line}\n" for line in lines))

    async def _run(self, argv: tuple[str, ...], script: str) -> Reply:
        self._reap()
        self.calls += 1
        with _file() as given, _file() as out, _file() as err:
            given.write(script.encode(errors="surrogateescape"))
            given.seek(0)
            client = self._spawn(argv, given, out, err)
            try:
                await _exited(client)
                return Reply(code=client.wait(), out=_text(out), err=_text(err))
            finally:
                if client.returncode is None:
                    client.kill()
                    self._unreaped.append(client)

    def _spawn(
        self, argv: tuple[str, ...], given: IO[bytes], out: IO[bytes], err: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                argv,
                stdin=given,
                stdout=out,
                stderr=err,
                env=client_environment(os.environ),
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            raise RuntimeUnreachable(f"tmux cannot be run: {error.strerror}") from error

    def _reap(self) -> None:
        self._unreaped = [client for client in self._unreaped if client.poll() is None]

    def close(self) -> None:
        """Reap what was killed earlier, without waiting for it."""
        self._reap()


async def _exited(client: subprocess.Popen[bytes]) -> None:
    """Wait until the process has ended, without waiting for its output."""
    if not hasattr(os, "pidfd_open"):
        while client.poll() is None:  # noqa: ASYNC110  nothing announces it
            await anyio.sleep(0.005)
        return
    pidfd = os.pidfd_open(client.pid)
    try:
        await anyio.wait_readable(pidfd)
    finally:
        os.close(pidfd)


def _file() -> IO[bytes]:
    """A file without a name; unlike a pipe it can neither fill up nor be held open by others."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("tmux"), "w+b")
    return tempfile.TemporaryFile()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _check_version(reply: Reply) -> None:
    found = reply.out.strip() or "nothing"
    match = re.search(r"(\d+)\.(\d+)", found)
    if match is None and "master" in found:
        return
    if match is None or (int(match[1]), int(match[2])) < OLDEST:
        raise RuntimeUnreachable(f"tmux 3.2 or newer is needed, found {found}")


def client_environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """What a tmux client, and with the first one the server, is given: the person, no secrets."""
    kept = {key: inherited[key] for key in _KEPT if key in inherited}
    ruling = kept.get("LC_ALL") or kept.get("LC_CTYPE") or kept.get("LANG") or ""
    if not re.search(r"utf-?8", ruling, re.IGNORECASE):
        kept["LC_ALL"] = "C.UTF-8"
    return kept | {"TERM": "xterm-256color"}


def quoted(text: str) -> str:
    """One word of tmux's command language, on one line whatever it holds."""
    return '"' + "".join(ch if ch in _PLAIN else _octal(ch) for ch in text) + '"'


def _octal(char: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in char.encode())


def literal(text: str) -> str:
    """`text` as it must be written where tmux expands formats."""
    return text.replace("#", "##")


def nonce() -> str:
    """A word that no pane can have printed."""
    return uuid.uuid4().hex


def socket_path(socket: str, environ: Mapping[str, str]) -> Path:
    """Where `tmux -L socket` puts its socket; a path is taken as it is."""
    if "/" in socket:
        return Path(socket)
    base = Path(environ.get("TMUX_TMPDIR") or "/tmp").resolve()
    return base / f"tmux-{os.getuid()}" / socket


def check_owner(socket: Path) -> None:
    """Refuse a server of somebody else: it would be told what is typed, and asked what runs (E2).

    Raises:
        RuntimeUnreachable: the socket is another user's.
    """
    try:
        owner = socket.lstat().st_uid
    except OSError:
        return
    if owner != os.geteuid():
        raise RuntimeUnreachable(f"{socket} belongs to user {owner}")


def prepare_folder(socket: Path) -> None:
    """Make the socket's folder as tmux itself would, and refuse one that others could write to.

    Raises:
        RuntimeUnreachable: it belongs to somebody else or is open to others.
    """
    folder = socket.parent
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700, parents=True)
    # Not through a link: in a shared folder anybody may have put one under a name he can guess.
    facts = folder.lstat()
    if folder.name.startswith("tmux-") and not stat.S_ISDIR(facts.st_mode):
        raise RuntimeUnreachable(f"{folder} is no folder of its own")
    if folder.name.startswith("tmux-") and (facts.st_uid != os.getuid() or facts.st_mode & 0o007):
        raise RuntimeUnreachable(f"{folder} is not ours alone")
