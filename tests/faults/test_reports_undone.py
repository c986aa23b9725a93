"""Each field report again, with what prevents it taken away: its test must fail.

A copy of the product gets one edit, and the test that docs/reliability.md names for the report runs
against that copy. An edit that no longer fits says so: then the fix has moved.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

ROOT: Final = Path(__file__).resolve().parents[2]
TICK: Final = "tests/unit/decide/test_tick.py"


@dataclass(frozen=True, slots=True)
class Undone:
    """`old` in `file` becomes `new`; `test` must notice."""

    report: str
    file: str
    old: str
    new: str
    test: str


UNDONE: Final = (
    Undone(
        "F01",
        "decide/wake.py",
        "found = [_bead_wake(Cause.WORK, world.demand.work.get(session.id))]",
        "found: list[HardWake | None] = []",
        f"{TICK}::test_no_idle_computation_touches_work_in_progress",
    ),
    Undone(
        "F02",
        "decide/wake.py",
        "found.append(_operator_wake(session, world.now))",
        "pass",
        "tests/unit/decide/test_wake.py::test_every_cause_wakes_a_cold_session_and_is_named",
    ),
    Undone(
        "F03",
        "decide/pools.py",
        "wake=tuple(cold[: max(0, goal - awake)]) if ready else (),",
        "wake=(),",
        f"{TICK}::test_ready_work_wakes_a_sleeping_slot_not_a_sibling",
    ),
    Undone(
        "F04",
        "decide/pools.py",
        "is_held_by_need=bool(own),",
        "is_held_by_need=False,",
        "tests/unit/decide/test_pools.py::test_a_worker_that_claimed_its_work_is_inside_the_count",
    ),
    Undone(
        "F05",
        "decide/idle.py",
        '    ScreenVerdict.BACKGROUND: "background",\n',
        "",
        f"{TICK}::test_a_background_child_keeps_it_awake_and_restarts_the_clock",
    ),
    Undone(
        "F06",
        "decide/idle.py",
        "    found += turn_blockers(session, world.memory)\n",
        "",
        "tests/unit/decide/test_turns.py::test_an_open_turn_blocks_sleep",
    ),
    Undone(
        "F07",
        "decide/idle.py",
        '    ScreenVerdict.UNKNOWN: "idle_boundary",\n',
        "",
        f"{TICK}::test_a_dialog_nobody_knows_is_not_idle",
    ),
    Undone(
        "F09",
        "runtimes/tmux/look.py",
        "if new.text == old.text or new.seen <=",
        "if new.seen <=",
        "tests/integration/test_tmux_screens.py::test_a_repaint_is_not_activity",
    ),
    Undone(
        "F12",
        "decide/pools.py",
        "return max(0, reading.value) if isinstance(reading, Known) else None",
        "return max(0, reading.value) if isinstance(reading, Known) else 0",
        "tests/unit/decide/test_doubt.py",
    ),
    Undone(
        "F17",
        "decide/idle.py",
        "        session.detached_at,\n        session.woke_at,\n        session.ready_at,\n",
        "",
        f"{TICK}::test_a_wake_counts_from_the_wake_not_from_the_old_age",
    ),
    Undone(
        "F19",
        "decide/structural.py",
        "if working and not (bead == working and count >= MAX_DEFERRALS):",
        "if False:",
        f"{TICK}::test_work_defers_the_restart_on_idle",
    ),
    Undone(
        "F20",
        "decide/wake.py",
        "if latched or place.named is NamedMode.ON_DEMAND:",
        "if place.named is NamedMode.ON_DEMAND:",
        f"{TICK}::test_a_watchdog_that_leaves_is_not_started_again",
    ),
    Undone(
        "F21",
        "decide/idle.py",
        "return seen.truth is Truth.RUNNING and session.was_started and session.ready_at is None",
        "return False",
        f"{TICK}::test_a_zero_window_never_ends_a_start",
    ),
    Undone(
        "F23",
        "decide/exits.py",
        "if seen.limit is not None:\n        return ExitClass.RATE_LIMIT",
        "",
        "tests/unit/decide/test_limits.py::test_an_exit_at_a_limit_is_no_crash",
    ),
    Undone(
        "F28",
        "decide/policy.py",
        'return f"idle_timeout:{agent.idle_timeout}"',
        'return ""',
        f"{TICK}::test_both_knobs_give_one_event_and_say_which_acts",
    ),
    Undone(
        "F30",
        "runtimes/tmux/format.py",
        "if not server_pid or ended != server_pid:",
        "if not server_pid:",
        "tests/unit/runtimes/test_tmux_parts.py::test_a_garbled_answer_is_unclear",
    ),
    Undone(
        "F31",
        "decide/fingerprint.py",
        '"depends_on": sorted(depends_on),',
        '"depends_on": list(depends_on),',
        "tests/unit/decide/test_fingerprint.py::test_the_order_of_dependencies_does_not_matter",
    ),
    Undone(
        "F32",
        "decide/structural.py",
        "return not any(blocker.name in DRIFT_WAITS_FOR for blocker in blockers)",
        "return True",
        f"{TICK}::test_a_drift_restart_never_takes_a_session_in_use",
    ),
    Undone(
        "F37",
        "decide/capability.py",
        "return sighting.activity.value is not None",
        "return True",
        "tests/unit/decide/test_capability.py",
    ),
    Undone(
        "F40",
        "decide/exits.py",
        "failed_starts=_recent(session.failed_starts, settings, now),",
        "failed_starts=(),",
        "tests/unit/decide/test_exits.py::test_a_failed_start_has_a_count_of_its_own",
    ),
    Undone(
        "F45",
        "decide/starts.py",
        "return (not asked, since, order.get(session.template, 0), session.name)",
        "return (not asked, world.now, order.get(session.template, 0), session.name)",
        "tests/unit/decide/test_starts.py::test_whoever_waited_longest_goes_first",
    ),
    Undone(
        "F48",
        "daemon/config_watch.py",
        "self.problem = text\n",
        "self.problem = ''\n",
        "tests/unit/daemon/test_config_watch.py",
    ),
    Undone(
        "F51",
        "act/requests_wake.py",
        "if now >= note.expires_at or at >= until:",
        "if now >= note.expires_at and at >= until:",
        "tests/unit/act/test_operate_wake.py::test_a_timeout_says_what_is_seen_and_takes_nothing_back",
    ),
    Undone(
        "F53",
        "decide/drain.py",
        "P.STOP:    Step(E.STOP_RUNTIME,    P.CONFIRM, P.RESTART, P.RELEASE, P.END,   P.END, ",
        "P.STOP:    Step(E.STOP_RUNTIME,    P.CONFIRM, P.RESTART, P.RELEASE, P.END,   P.CONFIRM, ",
        "tests/unit/decide/test_drain.py::test_a_stop_that_returned_is_no_proof",
    ),
    Undone(
        "F58",
        "decide/pools.py",
        "missing = max(0, effective - len(slots)) if check_desired is not None else 0",
        "missing = max(0, effective - awake) if check_desired is not None else 0",
        f"{TICK}::test_the_floor_of_a_pool_does_not_swing",
    ),
)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The product and its tests in a folder of their own."""
    folder = tmp_path_factory.mktemp("undone")
    for name in ("gascity", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("config", "docs", "examples"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


@pytest.mark.parametrize("undone", UNDONE, ids=lambda one: one.report)
def test_a_fix_that_is_taken_away_is_missed(copy: Path, undone: Undone) -> None:
    """The named test of the report fails without what prevents it (R14)."""
    file = copy / "gascity" / undone.file
    text = file.read_text(encoding="utf-8")
    assert text.count(undone.old) == 1, f"{undone.file} has no such line any more: {undone.old}"
    file.write_text(text.replace(undone.old, undone.new), encoding="utf-8")
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", undone.test],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
    finally:
        file.write_text(text, encoding="utf-8")
    assert done.returncode == 1, f"{done.returncode}: {done.stdout[-2000:]}"
    assert "failed" in done.stdout
