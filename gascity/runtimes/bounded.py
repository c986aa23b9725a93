"""Run a program to its end, bounded: its own process group, a deadline, a cap on its output.

The answer is there as soon as the program itself has ended, whatever children it leaves holding its
output. Its group ends with it, and with the controller too, however that ends (E5); one that is to
leave something running says so.

Source: DESIGN §5, §8 (R9, R34, R69); reliability: hung and bad scripts
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO, Final

import anyio

OUTPUT_MOST: Final = 1024 * 1024
ERRORS_MOST: Final = 4096
_READS: Final = 16
_PR_SET_PDEATHSIG: Final = 1
# The kernel tells only the leader that the controller is gone; it ends its whole group, itself
# included, by the one number that cannot have become another's. What runs in a shell's background
# would lose its input, so that goes the long way.
_LEADER: Final = 'trap "kill -9 0" USR1; exec 3<&0; "$@" <&3 3<&- & wait $!; exit $?'
_LIBC: Final = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a program ended. `code` is None when it was cut off at its deadline."""

    code: int | None
    out: str
    problem: str = ""  # why there is no usable answer, "" when there is one
    err: str = ""  # the beginning of what it said on stderr, where that was asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is run: `argv`, never a shell's text, with its whole environment and input.

    `leaves` keeps what it started running when it ended well; such a program outlives us, too.
    `hears_errors` collects the beginning of its stderr.
    """

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    deadline_s: float
    stdin: bytes = b""
    leaves: bool = False
    hears_errors: bool = False


async def run(job: Job) -> Ran:
    """Run a program to its end or to its deadline, whichever comes first. Never raises."""
    with contextlib.ExitStack() as held:
        out = _Ear(held, OUTPUT_MOST)
        err = _Ear(held, ERRORS_MOST) if job.hears_errors else None
        child = _spawn(job, out, err)
        if isinstance(child, Ran):
            return child
        scope = anyio.CancelScope()
        is_good = False
        try:
            with anyio.move_on_after(job.deadline_s) as scope:
                await _listen(child, [out] if err is None else [out, err])
            is_good = not scope.cancelled_caught and not out.is_flooded
        finally:
            if not (job.leaves and is_good and _ended_well(child)):
                _end_group(child)
            _reap(child)
    said, errors = out.text, err.text if err is not None else ""
    if out.is_flooded:
        return Ran(code=child.returncode, out="", problem=f"printed over {OUTPUT_MOST} bytes")
    if scope.cancelled_caught:
        why = f"no answer within {job.deadline_s:g}s"
        return Ran(code=None, out=said, problem=why, err=errors)
    return Ran(code=child.returncode, out=said, err=errors)


class _Ear:
    """The reading end of one pipe, and what came through it; more than `most` bytes is a flood."""

    def __init__(self, held: contextlib.ExitStack, most: int) -> None:
        self.pipe, self.mouth = os.pipe()
        held.callback(os.close, self.pipe)
        os.set_blocking(self.pipe, False)
        self._most = most
        self._said = bytearray()

    @property
    def is_flooded(self) -> bool:
        return len(self._said) > self._most

    @property
    def text(self) -> str:
        return self._said[: self._most].decode("utf-8", "replace")

    def drain(self) -> bool:
        """Read what is there now, a flood not for ever; whether more may come."""
        for _ in range(_READS):
            try:
                part = os.read(self.pipe, 65536)
            except BlockingIOError:
                return True
            if not part:
                return False
            if not self.is_flooded:
                self._said += part
        return True


async def _listen(child: subprocess.Popen[bytes], ears: Sequence[_Ear]) -> None:
    """Collect what it prints until the program itself has ended, or has printed too much."""
    async with anyio.create_task_group() as group:

        async def collect(ear: _Ear, *, is_answer: bool) -> None:
            while ear.drain():
                if is_answer and ear.is_flooded:
                    group.cancel_scope.cancel()
                    return
                await anyio.wait_readable(ear.pipe)

        for number, ear in enumerate(ears):
            group.start_soon(partial(collect, ear, is_answer=number == 0))
        await _wait(child)
        group.cancel_scope.cancel()
    for ear in ears:
        ear.drain()


def _spawn(job: Job, out: _Ear, err: _Ear | None) -> subprocess.Popen[bytes] | Ran:
    """The running program, or why it does not run; closes our copies of the pipes' ends."""
    argv = [*job.argv] if job.leaves else ["/bin/sh", "-c", _LEADER, "sh", *job.argv]
    mouths = [out.mouth] if err is None else [out.mouth, err.mouth]
    try:
        with warnings.catch_warnings(), _input(job.stdin) as given:
            # What runs between fork and exec are two system calls that take no lock.
            warnings.simplefilter("ignore", DeprecationWarning)
            return subprocess.Popen(
                argv,
                cwd=job.cwd,
                env=dict(job.env),
                stdin=given,
                stdout=out.mouth,
                stderr=subprocess.DEVNULL if err is None else err.mouth,
                start_new_session=True,
                preexec_fn=None if job.leaves else partial(_die_with, os.getpid()),
            )
    except (OSError, ValueError) as problem:
        why = getattr(problem, "strerror", None) or str(problem)
        return Ran(code=None, out="", problem=f"cannot run: {why}")
    finally:
        for mouth in mouths:
            os.close(mouth)


def _input(text: bytes) -> contextlib.AbstractContextManager[IO[bytes] | int]:
    """A file with the input, so that a program that does not read it holds up nobody."""
    if not text:
        return contextlib.nullcontext(subprocess.DEVNULL)
    if hasattr(os, "memfd_create"):  # never on a disk: it may hold secrets
        file: IO[bytes] = os.fdopen(os.memfd_create("input"), "w+b")
    else:
        file = tempfile.TemporaryFile()  # noqa: SIM115  the caller closes it
    file.write(text)
    file.seek(0)
    return file


def _die_with(controller: int) -> None:
    """Ask the kernel to tell this process when the controller is gone; end if it is already."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGUSR1, 0, 0, 0)
    if os.getppid() != controller:
        os._exit(1)


async def _wait(child: subprocess.Popen[bytes]) -> None:
    """Return once the program itself has ended; it is not reaped yet."""
    watched = os.pidfd_open(child.pid)
    try:
        await anyio.wait_readable(watched)
    finally:
        os.close(watched)


def _ended_well(child: subprocess.Popen[bytes]) -> bool:
    """Whether it has ended with status 0; it is not reaped yet."""
    over = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return over is not None and over.si_code == os.CLD_EXITED and over.si_status == 0


def _end_group(child: subprocess.Popen[bytes]) -> None:
    """Kill whatever is left of its group; until it is reaped its number is nobody else's."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)


def _reap(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(timeout=1.0)
