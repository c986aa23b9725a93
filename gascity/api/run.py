"""Run one city: take its lock, load it, open its ports, serve its socket, patrol until told to end.

Source: DESIGN §13 (R36, R37, R70, R71, R75)
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import anyio

from gascity.api.listener import UnsafeFolder
from gascity.api.lock import ControllerLock, LockHeld
from gascity.api.protocol import EXIT_DONE, EXIT_FAILED, EXIT_REFUSED, EXIT_USAGE
from gascity.api.server import Server
from gascity.beads.store import StoreBroken, StoreUnavailable
from gascity.config.apart import load_apart
from gascity.config.problems import LoadResult
from gascity.daemon.config_watch import ConfigWatch
from gascity.daemon.controller import Controller
from gascity.daemon.recorder import TickRecorder
from gascity.daemon.wiring import open_ports
from gascity.model.city import City
from gascity.report.log import logger, set_up

LOG: Final = "controller.log"
log = logger("run")


def run_city(path: Path, *, ready: Callable[[], None]) -> int:
    """Run the city in this process until it is told to end; the exit code.

    `ready` is called once, after the first good patrol with the socket open.
    """
    state = path / ".gc"
    try:
        lock = ControllerLock(path).acquire()
    except LockHeld as held:
        return _say(f"{held}", "see `gc status`", EXIT_REFUSED)
    except OSError as problem:
        return _say(f"cannot lock {state}: {problem}", "see `gc doctor`", EXIT_REFUSED)
    with lock:
        result = load_apart(path)
        if result.city is None:
            sys.stderr.writelines(f"{error}\n" for error in result.errors)
            return _say("the config has errors", "fix them, see `gc config validate`", EXIT_USAGE)
        set_up(None if sys.stderr.isatty() else state / LOG)
        try:
            return anyio.run(_live, result.city, result, lock, ready)
        except StoreUnavailable as problem:
            log.error("store", problem=str(problem))
            return _say(f"the store: {problem}", "see `gc doctor`", EXIT_FAILED)
        except UnsafeFolder as problem:
            return _say(f"{problem}", "see `gc doctor`", EXIT_REFUSED)


async def _live(
    city: City, result: LoadResult, lock: ControllerLock, ready: Callable[[], None]
) -> int:
    """The life of one controller."""
    ports = await open_ports(city)
    recorder = TickRecorder(Path(city.path) / ".gc")
    ports.record = recorder.record
    config = ConfigWatch(Path(city.path))
    config.remember(result)
    controller = Controller(ports, config=config)
    server = Server(controller, report=_report)
    try:
        async with anyio.create_task_group() as group:
            await group.start(partial(server.serve, lock=lock), Path(city.path))
            group.start_soon(_obey_signals, controller)
            log.info("controller started", city=city.name, pid=os.getpid())
            await controller.run(ready=ready)
            group.cancel_scope.cancel()
    except BaseExceptionGroup as faults:
        unsafe = faults.subgroup(UnsafeFolder)
        if unsafe is not None:
            raise leaf(unsafe) from None
        if faults.subgroup(StoreBroken) is None:
            raise
        log.error("the store is broken; ended at once", problem=repr(faults.exceptions[0]))
        return EXIT_FAILED
    finally:
        with anyio.CancelScope(shield=True):
            for runtime in ports.runtimes.values():
                await runtime.close()
            await ports.store.close()
        recorder.close()
    log.info("controller ended")
    return EXIT_DONE


def leaf(group: BaseExceptionGroup[Exception]) -> Exception:
    """The first fault that is not itself a group."""
    first = group.exceptions[0]
    return leaf(first) if isinstance(first, BaseExceptionGroup) else first


async def _obey_signals(controller: Controller) -> None:
    """TERM and INT end the controller and leave sessions running (R37); HUP reads the config."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        async for number in signals:
            if number == signal.SIGHUP:
                controller.reload()
            else:
                controller.stop(sessions=False)


def _report(op: str, problem: BaseException) -> None:
    log.error("request failed", op=op, problem=repr(problem), exc_info=problem)


def _say(what: str, do: str, code: int) -> int:
    sys.stderr.write(f"gc start: {what}; {do}\n")
    return code
