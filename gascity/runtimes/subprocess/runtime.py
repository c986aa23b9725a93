"""The subprocess adapter: a session is a process group under a keeper, known by its folder.

Nobody can attach to such a session or type into it. Its clock is what it prints: a session that
prints nothing has none, and never sleeps by the clock alone (CAP-21).

Source: DESIGN §8 (R10, R28, R37, R63, R69; CAP-11, CAP-21)
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NoReturn

from anyio import to_thread

from gascity.model.reading import Known, Unsupported
from gascity.model.world import Sighting, Support, Truth
from gascity.runtimes import processes
from gascity.runtimes.base import (
    Ability,
    Listing,
    RuntimeUnreachable,
    Spec,
    StartFailed,
    Stopped,
    Unable,
    Watch,
)
from gascity.runtimes.ending import Hunt
from gascity.runtimes.starting import check, environment
from gascity.runtimes.subprocess import keeper
from gascity.runtimes.subprocess.records import Run, boot, printed_at, read_run, tail

LOG_BYTES: Final = 1024 * 1024
UP_S: Final = 5.0  # within which a keeper says that its command runs
STANDSTILL_S: Final = 1.0  # a silent program that old counts as ready (R66)
_SETTLE_S: Final = 0.05  # a command that cannot run ends within this time


class SubprocessRuntime:
    """Sessions as processes, each with a folder of its name below `folder`.

    `city` is the city's mark. Of what a session prints at most twice `log_bytes` are kept.
    """

    def __init__(self, folder: Path, *, city: str, log_bytes: int = LOG_BYTES) -> None:
        self._folder = folder
        self._city = city
        self._log_bytes = log_bytes
        self._seen: dict[str, Run] = {}
        self._keepers: list[subprocess.Popen[bytes]] = []

    @property
    def kind(self) -> str:
        """The word in `session = "..."`."""
        return "subprocess"

    @property
    def support(self) -> Support:
        """What it prints is a clock; nothing says whether it stands at a boundary (CAP-21)."""
        return Support(
            activity_clock=True,
            idle_boundary=False,
            pending_signal=False,
            attachment_signal=False,
            screen=False,
        )

    @property
    def abilities(self) -> frozenset[Ability]:
        """No terminal: nothing to attach to, nothing to type into."""
        return frozenset({Ability.PEEK, Ability.INTERRUPT, Ability.EXIT_STATUS, Ability.OUTLIVE})

    async def list(self, watches: Collection[Watch]) -> Listing:
        """A sighting of every watched session; starts no process."""
        self._reap()
        return Listing(sightings=await to_thread.run_sync(self._look, tuple(watches)))

    def _look(self, watches: Collection[Watch]) -> dict[str, Sighting]:
        self._reach()
        return {watch.name: self._sighting(watch.name) for watch in watches}

    def _reach(self) -> None:
        """Be sure that a record that is not there does not exist.

        Raises:
            RuntimeUnreachable: the folder is there and cannot be looked into.
        """
        try:
            os.listdir(self._folder)  # noqa: PTH208  only whether it can be read
        except FileNotFoundError:
            return
        except OSError as problem:
            why = f"{self._folder} cannot be read: {problem.strerror}"
            raise RuntimeUnreachable(why) from None

    def _sighting(self, name: str) -> Sighting:
        try:
            run = read_run(self._folder / name)
        except RuntimeUnreachable as doubt:
            return Sighting.unknown(str(doubt))
        if run is None:
            return self._without_record(name)
        if run.city != self._city:
            return Sighting.unknown(f"{self._folder / name} belongs to {run.city}")
        alive = run.alive
        if not alive:
            self._seen.pop(name, None)
            return Sighting(
                truth=Truth.STOPPED,
                attached=Known(0),
                pending=Known(None),
                exit=run.exit,
                token=run.token,
            )
        self._seen[name] = run
        at = printed_at(self._folder / name, run)
        now = time.time()
        return Sighting(
            truth=Truth.RUNNING,
            attached=Unsupported(),
            activity=Known(None if at is None else datetime.fromtimestamp(min(at, now), UTC)),
            pending=Unsupported(),
            ready=at is not None or now - run.began >= STANDSTILL_S,
            token=run.token,
            detail="" if len(alive) == 2 else "its keeper is gone",
        )

    def _without_record(self, name: str) -> Sighting:
        """A record that is gone proves nothing while what it told of still runs (R10)."""
        before = self._seen.get(name)
        if before is not None and (alive := before.alive):
            return Sighting.unknown(
                f"its record is gone, and its process {alive[0].pid} still runs"
            )
        self._seen.pop(name, None)
        return Sighting.stopped()

    async def start(self, spec: Spec) -> None:
        """Start a keeper and its command; what an earlier run of that name left goes first."""
        check(spec)
        await to_thread.run_sync(self._reach)
        before = read_run(self._folder / spec.name)
        if before is not None:
            if before.alive:
                raise StartFailed(f"{spec.name} runs already")
            await Hunt(roots=(), token=before.token, spare=()).end(0.5)
        await to_thread.run_sync(self._launch, spec)

    def _launch(self, spec: Spec) -> None:
        home = self._folder / spec.name
        try:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            (home / keeper.RECORD).unlink(missing_ok=True)
        except OSError as problem:
            raise RuntimeUnreachable(f"{home} cannot be written: {problem.strerror}") from None
        child = self._spawn(spec)
        self._keepers.append(child)
        order = {
            "folder": str(home),
            "limit": self._log_bytes,
            "command": spec.command,
            "record": {
                "token": spec.token,
                "city": spec.city,
                "session": spec.session_id,
                "boot": boot(),
                "began": time.time(),
            },
        }
        assert child.stdin is not None
        assert child.stdout is not None
        with child.stdout, contextlib.suppress(BrokenPipeError):
            with child.stdin:
                child.stdin.write(json.dumps(order).encode())
            _await_up(child)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=_SETTLE_S)
            ended = read_run(home)
            (home / keeper.RECORD).unlink(missing_ok=True)
            # What it printed may hold a secret, and this text is stored.
            raise StartFailed(f"it ended at once ({ended.exit if ended else 'no trace'})")

    def _spawn(self, spec: Spec) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                [sys.executable, "-I", "-S", keeper.__file__],
                cwd=spec.work_dir,
                env=environment(spec),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as problem:
            raise StartFailed(f"no process for it: {problem.strerror}") from None

    async def stop(self, name: str, *, token: str, grace_s: float) -> Stopped:
        """End everything of the run with this token, its group and whatever went off on its own."""
        await to_thread.run_sync(self._reach)
        home = self._folder / name
        run = read_run(home)
        ours = run if run is not None and (run.city, run.token) == (self._city, token) else None
        if run is not None and ours is None and run.alive:
            return Stopped()
        done = await Hunt(roots=ours.alive if ours else (), token=token, spare=()).end(grace_s)
        self._reap()
        if ours is not None and not done.left:
            self._seen.pop(name, None)
            (home / keeper.RECORD).unlink(missing_ok=True)
        return done

    async def peek(self, name: str, *, lines: int) -> str:
        """The last lines it printed."""
        run = read_run(self._folder / name)
        return tail(self._folder / name, lines) if run is not None else ""

    async def send(self, name: str, text: str, *, token: str) -> None:
        """Its input is empty for good.

        Raises:
            Unable: always.
        """
        self._no_terminal(name)

    async def interrupt(self, name: str, *, token: str) -> None:
        """SIGINT to every process of its group."""
        run = read_run(self._folder / name)
        if run is None or (run.city, run.token) != (self._city, token) or not run.alive:
            raise RuntimeUnreachable(f"no run of {name} carries that token")
        group = [one for one in processes.table().values() if one.group == run.agent[0]]
        for one in group:
            if (held := processes.Held.take(one)) is not None:
                held.send(signal.SIGINT)
                held.close()

    def attach_command(self, name: str) -> tuple[str, ...]:
        """There is no terminal to attach to."""
        return ()

    async def close(self) -> None:
        """Keepers go on; those that ended are reaped."""
        self._reap()
        for child in self._keepers:
            child.returncode = 0  # it is nobody's child to wait for any more
        self._keepers.clear()

    def _reap(self) -> None:
        self._keepers = [child for child in self._keepers if child.poll() is None]

    def _no_terminal(self, name: str) -> NoReturn:
        raise Unable(f"{name} runs in {self.kind}, which has no terminal")


def _await_up(child: subprocess.Popen[bytes]) -> None:
    """Return once the command runs.

    Raises:
        RuntimeUnreachable: the keeper gave no sign in time.
    """
    assert child.stdout is not None
    ready, _, _ = select.select([child.stdout], [], [], UP_S)
    if not ready:
        raise RuntimeUnreachable(f"its keeper said nothing within {UP_S:g} s")
