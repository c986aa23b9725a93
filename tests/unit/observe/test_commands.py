"""Commands of the config: bounded whatever they do."""

from __future__ import annotations

import os
import time

import anyio
import pytest

from gascity.observe.commands import run_command
from gascity.runtimes.bounded import OUTPUT_MOST, Ran
from tests.polling import wait_until


def run(command: str, *, deadline_s: float = 5.0) -> Ran:
    async def main() -> Ran:
        return await run_command(command, cwd="/", env=dict(os.environ), deadline_s=deadline_s)

    return anyio.run(main)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_good_command_says_its_output_and_status() -> None:
    """The plain case (R9)."""
    assert run("echo 3; exit 4") == Ran(code=4, out="3\n")


def test_a_hung_command_is_cut_off_with_its_whole_group() -> None:
    """No process is left behind by one that ignores TERM (R69)."""
    ran = run("trap '' TERM; sleep 600 & echo $!; wait", deadline_s=0.3)
    assert ran.code is None
    assert "no answer within" in ran.problem
    child = int(ran.out)
    wait_until(lambda: not alive(child), timeout_s=5)


def test_a_child_that_holds_the_output_does_not_delay_the_answer() -> None:
    """The answer is there when the command ends, and the child ends with it (R69)."""
    began = time.monotonic()
    ran = run("sleep 600 & echo $!", deadline_s=60)
    assert time.monotonic() - began < 30
    assert ran.problem == ""
    wait_until(lambda: not alive(int(ran.out)), timeout_s=5)


def test_a_flood_is_capped() -> None:
    """One that prints without end costs neither memory nor its deadline (R69)."""
    ran = run("yes", deadline_s=60)
    assert ran.problem == f"printed over {OUTPUT_MOST} bytes"
    assert ran.out == ""


@pytest.mark.parametrize("cwd", ["/nowhere-at-all"])
def test_a_command_that_cannot_run_is_a_problem(cwd: str) -> None:
    """A missing folder is no answer, not an exception (R9)."""

    async def main() -> Ran:
        return await run_command("true", cwd=cwd, env={}, deadline_s=1)

    assert "cannot run" in anyio.run(main).problem
