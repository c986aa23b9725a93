"""The tests on each mutant: collected and measured once, then a fork for each mutant.

The first run says how long each test takes and which lines it runs. A mutant in the body of a
function meets the tests that run its line, the short ones first; one in a table, which no line of
a test runs, meets its module's own tests and then all.
"""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import coverage
import hypothesis
import pytest
from _pytest.runner import runtestprotocol

from tests.mutants.draw import ROOT, Mutant
from tests.mutants.places import change_body, change_import, change_table

QUIET: Final = (
    *("-q", "-p", "no:cacheprovider", "-m", "not slow"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # hypothesis is imported before it
)
MUTE: Final = ("-o", "addopts=--import-mode=importlib", "-p", "no:terminal")
ENDS: Final = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED)
BROKEN: Final = 70
MOST_S: Final = 8.0
"""The tests that run a line are cut off here: of a busy line the longest properties fall out."""


class Fate(StrEnum):
    """What became of a mutant. A test that never ends has noticed it."""

    KILLED = "killed"
    TIMEOUT = "timeout"
    SURVIVED = "survived"


Told = Callable[[Mutant, Fate], None]


@dataclass(slots=True)
class Running:
    """A child: the mutant it tries and when it is given up."""

    mutant: Mutant
    until: float


@dataclass(slots=True)
class Pool:
    """Children, as many at once as there are jobs."""

    jobs: int
    told: Told
    running: dict[int, Running] = field(default_factory=dict)

    def start(self, mutant: Mutant, seconds: float, work: Callable[[], bool]) -> None:
        """Fork and try `mutant`: `work` says whether a test failed."""
        while len(self.running) >= self.jobs:
            self._reap()
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            _try(work, seconds)
        until = time.monotonic() + 30 + 10 * seconds
        self.running[child] = Running(mutant=mutant, until=until)

    def finish(self) -> None:
        """Wait for all."""
        while self.running:
            self._reap()

    def _reap(self) -> None:
        for child, one in list(self.running.items()):
            gone, status = os.waitpid(child, os.WNOHANG)
            if not gone:
                if time.monotonic() > one.until:
                    os.kill(child, signal.SIGKILL)
                continue
            del self.running[child]
            self.told(one.mutant, _fate(one.mutant, status))
            return
        time.sleep(0.003)


def _fate(mutant: Mutant, status: int) -> Fate:
    if os.WIFSIGNALED(status):
        if os.WTERMSIG(status) in (signal.SIGKILL, signal.SIGXCPU):
            return Fate.TIMEOUT
        return Fate.KILLED
    code = os.WEXITSTATUS(status)
    if code == BROKEN:
        raise RuntimeError(f"{mutant.name}: could not be put in place")
    return Fate.KILLED if code else Fate.SURVIVED


def _try(work: Callable[[], bool], seconds: float) -> None:
    """In the child: never returns."""
    code = BROKEN
    try:
        gc.disable()
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        most = int(10 + 5 * seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))
        code = int(work())
    finally:
        os._exit(code)


class Loop:
    """A pytest plugin that runs the collected tests once, and then again for each mutant."""

    def __init__(self, mutants: Sequence[Mutant], tests: Sequence[str], pool: Pool) -> None:
        self.mutants = mutants
        self.tests = tests
        self.pool = pool
        self.took: list[float] = []
        self.runs: dict[str, dict[int, set[int]]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """In place of pytest's own loop."""
        if session.testsfailed:
            raise session.Interrupted("the tests could not be collected")
        self._measure(session.items)
        gc.collect()
        gc.freeze()
        self._try_nothing(session.items)
        for mutant in self.mutants:
            if mutant.is_in_body:
                self._try_body(mutant, session.items)
            else:
                self._try_table(mutant, session.items)
        self.pool.finish()
        return True

    def _measure(self, items: Sequence[pytest.Item]) -> None:
        files = sorted({str(mutant.file) for mutant in self.mutants})
        cov = coverage.Coverage(data_file=None, include=files, config_file=False)
        cov.start()
        for i, item in enumerate(items):
            cov.switch_context(str(i))
            began = time.process_time()
            following = items[i + 1] if i + 1 < len(items) else None
            for report in runtestprotocol(item, log=False, nextitem=following):
                if report.failed:
                    raise RuntimeError(f"{item.nodeid} fails without a mutant\n{report.longrepr}")
            self.took.append(time.process_time() - began)
        cov.stop()
        data = cov.get_data()
        for file in files:
            found = data.contexts_by_lineno(file)
            self.runs[file] = {
                line: {int(one) for one in contexts if one} for line, contexts in found.items()
            }

    def _try_nothing(self, items: Sequence[pytest.Item]) -> None:
        """A fork in which nothing was changed must pass, else every mutant would seem noticed."""
        child = os.fork()
        if child == 0:
            _try(lambda: _one_fails(items[:: max(1, len(items) // 100)]), sum(self.took))
        _, status = os.waitpid(child, 0)
        if status != 0:
            raise RuntimeError("the tests fail in a fork without a mutant")

    def _try_body(self, mutant: Mutant, items: Sequence[pytest.Item]) -> None:
        """With the tests that run its lines, its own and the short ones first, to a bound."""
        by_line = self.runs[str(mutant.file)]
        meets = set().union(*(by_line.get(line, set()) for line in mutant.lines))
        chosen: list[pytest.Item] = []
        spent = 0.0
        own = f"test_{mutant.file.stem}.py"
        for i in sorted(meets, key=lambda i: (items[i].path.name != own, self.took[i])):
            spent += self.took[i]
            if chosen and spent > MOST_S:
                break
            chosen.append(items[i])

        def fails() -> bool:
            change_body(mutant)
            return _one_fails(chosen)

        if chosen:
            self.pool.start(mutant, spent, fails)
        else:
            self.pool.told(mutant, Fate.SURVIVED)

    def _try_table(self, mutant: Mutant, items: Sequence[pytest.Item]) -> None:
        """With its module's own tests, then with all of them and everything imported afresh."""
        own = (f"test_{mutant.file.stem}.py", "test_tables.py")
        chosen = [item for item in items if item.path.name in own]

        def fails() -> bool:
            try:
                fits = change_table(mutant)
            except Exception:  # noqa: BLE001 - importing it would raise the same
                return True
            if fits and _one_fails(chosen):
                return True
            change_import(mutant)
            code = pytest.main(["-x", *MUTE, *QUIET[1:], *self.tests])
            assert code in ENDS, code
            return code != pytest.ExitCode.OK

        self.pool.start(mutant, sum(self.took), fails)


def _one_fails(items: Sequence[pytest.Item]) -> bool:
    return any(
        report.failed
        for item in items
        for report in runtestprotocol(item, log=False, nextitem=None)
    )


@contextlib.contextmanager
def steady() -> Iterator[None]:
    """Random tests draw the same each time, and do not search for the smallest failure."""
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile(
        "mutants", derandomize=True, database=None, phases=phases, print_blob=False
    )
    hypothesis.settings.load_profile("mutants")
    with contextlib.chdir(ROOT):
        yield


def try_all(mutants: Sequence[Mutant], tests: Sequence[str], jobs: int, told: Told) -> None:
    """Try each mutant with the fast ones of `tests`; `told` hears the fate of each.

    Raises:
        RuntimeError: A test fails without a mutant, or a mutant does not fit the code.
    """
    with steady():
        loop = Loop(mutants, tests, Pool(jobs=jobs, told=told))
        code = pytest.main([*QUIET, *tests], plugins=[loop])
        if code != pytest.ExitCode.OK:
            raise RuntimeError(f"the tests ended with {code!r}")
