"""Run a command of the config, bounded: its own process group, a deadline, a cap on its output.

A command that leaves children behind, floods, hangs or ignores signals costs its deadline at most,
and its whole group ends with it. It dies with the controller (E5); sessions never do.

Source: DESIGN §5 (R9, R69); reliability: hung and bad scripts
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import anyio

OUTPUT_MOST: Final = 1024 * 1024
_PR_SET_PDEATHSIG: Final = 1
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
    with tempfile.TemporaryFile() as out:
        try:
            child = _spawn(command, cwd, env, out.fileno())
        except OSError as problem:
            return Ran(code=None, out="", problem=f"cannot run: {problem.strerror}")
        try:
            with anyio.move_on_after(deadline_s) as scope:
                await _wait(child)
        finally:
            _end_group(child)
        size = os.fstat(out.fileno()).st_size
        out.seek(0)
        text = out.read(OUTPUT_MOST).decode("utf-8", "replace")
    if scope.cancelled_caught:
        return Ran(code=None, out=text, problem=f"no answer within {deadline_s:g}s")
    if size > OUTPUT_MOST:
        return Ran(code=child.returncode, out="", problem=f"printed over {OUTPUT_MOST} bytes")
    return Ran(code=child.returncode, out=text)


def _spawn(command: str, cwd: str, env: Mapping[str, str], out: int) -> subprocess.Popen[bytes]:
    with warnings.catch_warnings():
        # What runs between fork and exec is one system call that takes no lock.
        warnings.simplefilter("ignore", DeprecationWarning)
        return subprocess.Popen(
            ["/bin/sh", "-c", command],
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )


def _die_with_parent() -> None:
    """Ask the kernel to kill this process when the controller is gone."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


async def _wait(child: subprocess.Popen[bytes]) -> None:
    """Return once the command itself has ended."""
    watched = os.pidfd_open(child.pid)
    try:
        await anyio.wait_readable(watched)
    finally:
        os.close(watched)
    child.wait()


def _end_group(child: subprocess.Popen[bytes]) -> None:
    """Kill whatever is left of its group, and reap it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(timeout=1.0)
