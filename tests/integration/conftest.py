"""Fixtures of the tests on real parts. RIGS is the list of runtimes under the contract."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest

from tests.integration.rig import RuntimeRig, TmuxRig, opened
from tests.integration.rig_acp import AcpRig
from tests.integration.rig_exec import ExecRig
from tests.integration.rig_fake import FakeRig
from tests.integration.rig_subprocess import SubprocessRig

RIGS: Final[dict[str, type[RuntimeRig]]] = {
    "acp": AcpRig,
    "exec": ExecRig,
    "fake": FakeRig,
    "subprocess": SubprocessRig,
    "tmux": TmuxRig,
}
QUICK: Final = frozenset({"fake", "tmux"})  # the others' share of the contract is slow


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of the contract runs on each runtime that does not declare to lack what it needs."""
    if "rig" not in metafunc.fixturenames:
        return
    needed = {name for mark in metafunc.definition.iter_markers("needs") for name in mark.args}
    fit = [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)
        for name, kind in sorted(RIGS.items())
        if not needed & kind.lacks
    ]
    metafunc.parametrize("rig", fit, indirect=True)


@pytest.fixture
def anyio_backend() -> str:
    """The loop that the product runs on."""
    return "asyncio"


@pytest.fixture
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[RuntimeRig]:
    """Each runtime in turn, on an empty host."""
    async with opened(RIGS[request.param](tmp_path)) as one:
        yield one


@pytest.fixture
async def tmux(tmp_path: Path) -> AsyncIterator[TmuxRig]:
    """Real tmux on a socket of its own."""
    async with opened(TmuxRig(tmp_path)) as one:
        assert isinstance(one, TmuxRig)
        yield one
