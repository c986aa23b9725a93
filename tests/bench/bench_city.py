"""A real city on real tmux: what a settled patrol asks, how fast a wake is, what commands cost."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio

from gascity.config.apart import load_apart
from gascity.daemon.controller import Controller
from gascity.daemon.wiring import open_ports
from gascity.runtimes.tmux import TmuxRuntime
from tests.bench.measure import Measurement, counted, stopwatch, timed

SESSIONS = 100
SHELL = """sh -c 'printf "\\u276f "; read line'"""


def a_config(sessions: int) -> str:
    """Half of the agents are kept warm by no policy, half are headless and cold."""
    parts = ['[workspace]\nname = "bench"\n[session_sleep]\nnoninteractive = "0s"\n']
    for n in range(sessions):
        attach = "true" if n % 2 else "false"
        parts.append(
            f'[[agent]]\nname = "a{n:03}"\nattach = {attach}\nstart_command = {json.dumps(SHELL)}\n'
        )
    return "".join(parts)


def _gc(city: Path, *words: str) -> str:
    command = [sys.executable, "-m", "gascity", "--city", str(city), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


async def _patrols(folder: Path) -> list[Measurement]:
    """Settled patrols over real tmux, in this process."""
    loaded = load_apart(folder)
    assert loaded.city is not None
    (folder / ".gc").mkdir(mode=0o700, exist_ok=True)
    ports = await open_ports(loaded.city)
    runtime = ports.runtime("tmux")
    assert isinstance(runtime, TmuxRuntime)
    found: list[Measurement] = []
    try:
        async with anyio.create_task_group() as group:
            controller = Controller(ports)
            controller.open(group)
            while True:
                await controller.patrol_once()
                plan = controller.snapshot().plan
                if plan is not None and not plan.actions and not ports.memory.walks:
                    break
                await anyio.sleep(0.2)
            calls = runtime.calls
            with stopwatch(f"settled patrol over tmux, {SESSIONS} sessions") as watch:
                for _ in range(20):
                    began = time.perf_counter()
                    await controller.patrol_once()
                    watch.add(time.perf_counter() - began)
            found.append(watch.measurement())
            each = (runtime.calls - calls) / 20
            found.append(counted("tmux processes a settled patrol", each, unit="calls"))
            group.cancel_scope.cancel()
    finally:
        await ports.store.close()
        await anyio.run_process(["tmux", "-S", str(runtime.socket), "kill-server"], check=False)
    return found


def _running(folder: Path) -> Iterator[Measurement]:
    """The controller as a process of its own, asked by commands."""
    _gc(folder, "start")
    try:
        status = ("-m", "gascity", "--city", str(folder), "status")
        yield timed(
            f"gc status, {SESSIONS} sessions",
            lambda: subprocess.run([sys.executable, *status], check=True, capture_output=True),
            n=30,
        )
        pid = int((folder / ".gc" / "controller.lock").read_text().split()[0])
        rss = Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0]
        yield counted(f"controller RSS, {SESSIONS} sessions", int(rss) / 1024, unit="MiB")
        with stopwatch("wake request to runtime started") as watch:
            for n in range(0, 40, 2):
                _gc(folder, "wake", f"a{n:03}", "--no-wait")
                watch.add(_woken(folder, f"a{n:03}"))
        yield watch.measurement()
    finally:
        _gc(folder, "stop")


def _woken(folder: Path, name: str) -> float:
    """Seconds from the announced start to the runtime running, as the event tells."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        lines = _gc(folder, "events", "--json", "--type", "session.woke", "--session", name)
        events: list[dict[str, Any]] = [json.loads(line) for line in lines.splitlines()]
        if events:
            return float(events[-1]["payload"]["start_seconds"])
    raise TimeoutError(name)


def measurements() -> Iterator[Measurement]:
    """One city measured from inside, another from outside."""
    with tempfile.TemporaryDirectory(prefix="gcb-") as folder:
        path = Path(folder)
        (path / "city.toml").write_text(a_config(SESSIONS), encoding="utf-8")
        yield from anyio.run(_patrols, path)
    with tempfile.TemporaryDirectory(prefix="gcb-") as folder:
        path = Path(folder)
        (path / "city.toml").write_text(a_config(SESSIONS), encoding="utf-8")
        yield from _running(path)
