"""Load a city in a process of its own, so that the long-lived controller stays small.

Parsing and typing a config needs a library that would stay in memory for ever after; the result is
a handful of frozen values, which come back over a pipe.

Source: DESIGN §13 (performance), §1 (R6)
"""

from __future__ import annotations

import copyreg
import pickle
import subprocess
import sys
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from gascity.config.problems import LoadResult, Problem, Severity

LOAD_S: Final = 60.0


def load_apart(folder: Path) -> LoadResult:
    """What `load_city` says of this folder; a load that dies or hangs is an error too."""
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "gascity.config.apart", str(folder)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LOAD_S,
            check=True,
        )
        result = pickle.loads(done.stdout)
    except (subprocess.SubprocessError, OSError, pickle.UnpicklingError, EOFError) as problem:
        return _failed(folder, problem)
    assert isinstance(result, LoadResult)
    return result


def _failed(folder: Path, problem: Exception) -> LoadResult:
    said = getattr(problem, "stderr", b"") or b""
    last = said.decode("utf-8", "replace").strip().splitlines()[-1:] or [str(problem)]
    error = Problem(
        severity=Severity.ERROR,
        file=str(folder / "city.toml"),
        what=f"could not be loaded: {last[0]}",
        remedy="see `gc config validate`",
    )
    return LoadResult(city=None, problems=(error,), files=("city.toml",))


def freeze(values: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    """A read-only mapping again, at the other end of the pipe."""
    return MappingProxyType(values)


def answer(folder: str) -> None:
    """The child's part: load, and hand the result to whoever asked."""
    from gascity.config.load import load_city

    copyreg.pickle(MappingProxyType, lambda mapping: (freeze, (dict(mapping),)))
    sys.stdout.buffer.write(pickle.dumps(load_city(Path(folder))))


if __name__ == "__main__":
    # By its full name: what is pickled here must be found by that name over there.
    from gascity.config import apart

    apart.answer(sys.argv[1])
