"""The provider table of the design, row by row, out of what the real runtimes answer.

Where a runtime of ours gives more evidence than its row, the row is shown with that evidence
withheld, and beside it the real one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest

from gascity.decide.capability import resolve_capability
from gascity.model.plan import Capability, CapabilityClass
from gascity.model.reading import Known, Unsupported
from gascity.model.world import Sighting, Support
from gascity.testing.builders import awake
from tests.integration.rig import RuntimeRig, TmuxRig, opened
from tests.integration.rig_acp import AcpRig
from tests.integration.rig_exec import EXAMPLE, ExecRig
from tests.integration.rig_subprocess import SubprocessRig
from tests.polling import eventually

pytestmark = [pytest.mark.anyio, pytest.mark.tmux, pytest.mark.slow]
F, T, D = CapabilityClass.FULL, CapabilityClass.TIMED_ONLY, CapabilityClass.DISABLED
QUIET: Final = "exec sleep 600"


def plain(*ops: str) -> Callable[[RuntimeRig], None]:
    """Have the example script not know these operations."""

    def change(rig: RuntimeRig) -> None:
        assert isinstance(rig, ExecRig)
        rig.write(f'case $1 in {"|".join(ops)}) exit 2;; esac; exec {EXAMPLE} "$@"')

    return change


OPTIONAL: Final = ("is-attached", "pending", "wait-for-idle")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line: what runs, what is withheld of its evidence, and what that amounts to."""

    rig: type[RuntimeRig]
    kind: CapabilityClass
    activity: bool
    pending: bool
    boundary: bool
    attachment: bool
    command: str = ""
    before: Callable[[RuntimeRig], None] = lambda _: None
    withheld: frozenset[str] = frozenset()


ROWS: Final = {
    "CAP-18 tmux, pending withheld": Row(
        rig=TmuxRig, kind=F, activity=True, pending=False, boundary=True, attachment=True,
        withheld=frozenset({"pending_signal"}),
    ),
    "CAP-18 tmux": Row(
        rig=TmuxRig, kind=F, activity=True, pending=True, boundary=True, attachment=True
    ),
    "CAP-20 exec with activity": Row(
        rig=ExecRig, kind=T, activity=True, pending=False, boundary=False, attachment=False,
        before=plain(*OPTIONAL),
    ),
    "CAP-20 exec without": Row(
        rig=ExecRig, kind=D, activity=False, pending=False, boundary=False, attachment=False,
        before=plain(*OPTIONAL, "get-last-activity"),
    ),
    "CAP-20 exec with all operations": Row(
        rig=ExecRig, kind=F, activity=True, pending=True, boundary=True, attachment=True
    ),
    "CAP-21 subprocess": Row(
        rig=SubprocessRig, kind=D, activity=False, pending=False, boundary=False,
        attachment=False, command=QUIET,
    ),
    "CAP-21 subprocess that prints": Row(
        rig=SubprocessRig, kind=T, activity=True, pending=False, boundary=False, attachment=False
    ),
    "CAP-22 acp, its signals withheld": Row(
        rig=AcpRig, kind=D, activity=False, pending=False, boundary=False, attachment=False,
        withheld=frozenset({"activity_clock", "pending_signal", "idle_boundary"}),
    ),
    "CAP-22 acp": Row(
        rig=AcpRig, kind=F, activity=True, pending=True, boundary=True, attachment=False
    ),
}  # fmt: skip


@pytest.fixture
async def host(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[RuntimeRig]:
    """The runtime of one row, empty."""
    row: Row = request.param
    async with opened(row.rig(tmp_path)) as one:
        row.before(one)
        yield one


def evidence(row: Row, offered: Support, seen: Sighting) -> tuple[Support, Sighting]:
    """What the runtime offered and answered, less what the row withholds."""
    support = replace(offered, **dict.fromkeys(row.withheld, False))
    if "activity_clock" in row.withheld:
        seen = replace(seen, activity=Unsupported())
    if "pending_signal" in row.withheld:
        seen = replace(seen, pending=Unsupported())
    return support, seen


def amounts_to(row: Row, rig: RuntimeRig, seen: Sighting) -> Capability:
    """The capability that this evidence proves."""
    support, sighting = evidence(row, rig.runtime.support, seen)
    kind = rig.runtime.kind
    return resolve_capability(
        awake("worker", runtime=kind),
        support=Known(support),
        sighting=sighting,
        probe=None,
        runtime=kind,
    )


@pytest.mark.parametrize(
    ("row", "host"), [(row, row) for row in ROWS.values()], ids=list(ROWS), indirect=["host"]
)
async def test_each_row_comes_out_of_evidence(row: Row, host: RuntimeRig) -> None:
    """Class and signals of a session that runs (CAP-18, CAP-20, CAP-21, CAP-22)."""
    await host.start("worker", **({"command": row.command} if row.command else {}))
    wanted = (row.kind, row.activity, row.pending, row.boundary, row.attachment)

    async def proven() -> bool:
        found = amounts_to(row, host, await host.see("worker"))
        last[:] = [found]
        return wanted == (
            found.kind,
            found.has_activity_clock,
            found.has_pending_signal,
            found.has_idle_boundary,
            found.has_attachment_signal,
        )

    last: list[Capability] = []
    try:
        await eventually(proven)
    except AssertionError:
        raise AssertionError(f"{last}") from None
