"""Run a command of the config, bounded: its own process group, a deadline, a cap on its output.

A command that leaves children behind, floods, hangs or ignores signals costs its deadline at most,
and its whole group ends with it. The group dies with the controller too, however that ends (E5);
sessions never do.

Source: DESIGN §5 (R9, R69); reliability: hung and bad scripts
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

import anyio

OUTPUT_MOST: Final = 1024 * 1024
_PR_SET_PDEATHSIG: Final = 1
# The kernel tells only the leader that the controller is gone; it ends its whole group, itself
# included, by the one number that cannot have become another's.
_LEADER: Final = 'trap "kill -9 0" USR1; /bin/sh -c "$1" & wait $!; exit $?'
# Variables that tell a program whose child it is: they belong to whoever started us (R69).
NOT_OURS: Final = re.compile(
    r"TMUX.*|CLAUDECODE|CLAUDE_CODE_(ENTRYPOINT|CHILD_SESSION|SESSION_ID)|CLAUDE_PID|NOTIFY_SOCKET"
    r"|LISTEN_.*|WATCHDOG_.*|GEMINI_CLI|COPILOT_CLI|CODEX_(THREAD_ID|SANDBOX.*)|QWEN_CODE"
    r"|GC_(CITY.*|SESSION.*|TEMPLATE|AGENT|ALIAS|RIG.*|DIR|BIN|INSTANCE_TOKEN|.*_EPOCH)"
    r"|_ARGCOMPLETE.*"
)
_LIBC: Final = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a command ended. `code` is None when it was cut off at its deadline."""

    code: int | None
    out: str
    problem: str = ""  # why there is no usable answer, "" when there is one


async def run_command(command: str, *, cwd: str, env: Mapping[str, str], deadline_s: float) -> Ran:
    """Run a shell command to its end or to its deadline, whichever comes first.

    The answer is there as soon as the command itself has ended, whatever its children do.
    """
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    try:
        child = _spawn(command, cwd, env, write_end)
        if isinstance(child, Ran):
            return child
        said = bytearray()
        try:
            with anyio.move_on_after(deadline_s) as scope:
                await _listen(child, read_end, said)
        finally:
            _end_group(child)
    finally:
        os.close(read_end)
    text = said[:OUTPUT_MOST].decode("utf-8", "replace")
    if len(said) > OUTPUT_MOST:
        return Ran(code=child.returncode, out="", problem=f"printed over {OUTPUT_MOST} bytes")
    if scope.cancelled_caught:
        return Ran(code=None, out=text, problem=f"no answer within {deadline_s:g}s")
    return Ran(code=child.returncode, out=text)


async def _listen(child: subprocess.Popen[bytes], pipe: int, said: bytearray) -> None:
    """Collect what it prints until the command itself has ended, or has printed too much."""
    async with anyio.create_task_group() as group:

        async def collect() -> None:
            while _drain(pipe, said):
                await anyio.wait_readable(pipe)
            if len(said) > OUTPUT_MOST:
                group.cancel_scope.cancel()

        group.start_soon(collect)
        await _wait(child)
        group.cancel_scope.cancel()
    _drain(pipe, said)


def _drain(pipe: int, said: bytearray) -> bool:
    """Read what is there now; whether more may come."""
    while len(said) <= OUTPUT_MOST:
        try:
            part = os.read(pipe, 65536)
        except BlockingIOError:
            return True
        if not part:
            return False
        said += part
    return False


def _spawn(
    command: str, cwd: str, env: Mapping[str, str], write_end: int
) -> subprocess.Popen[bytes] | Ran:
    """The running command, or why it does not run; closes our copy of the pipe's end."""
    try:
        with warnings.catch_warnings():
            # What runs between fork and exec are two system calls that take no lock.
            warnings.simplefilter("ignore", DeprecationWarning)
            return subprocess.Popen(
                ["/bin/sh", "-c", _LEADER, "sh", command],
                cwd=cwd,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=write_end,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=partial(_die_with, os.getpid()),
            )
    except OSError as problem:
        return Ran(code=None, out="", problem=f"cannot run: {problem.strerror}")
    finally:
        os.close(write_end)


def _die_with(controller: int) -> None:
    """Ask the kernel to tell this process when the controller is gone; end if it is already."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGUSR1, 0, 0, 0)
    if os.getppid() != controller:
        os._exit(1)


async def _wait(child: subprocess.Popen[bytes]) -> None:
    """Return once the command itself has ended; it is not reaped yet."""
    watched = os.pidfd_open(child.pid)
    try:
        await anyio.wait_readable(watched)
    finally:
        os.close(watched)


def _end_group(child: subprocess.Popen[bytes]) -> None:
    """Kill whatever is left of its group, and reap it; until then its number is nobody else's."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(timeout=1.0)
