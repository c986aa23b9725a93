"""What every runtime asks of a start before it makes anything, and the environment it gives.

Source: DESIGN §8 (R63, R69)
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from gascity.runtimes.base import Spec, StartFailed

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")


def check(spec: Spec) -> None:
    """Refuse what certainly cannot be hosted.

    Raises:
        StartFailed: a name that hosts would change, a token it cannot carry, or no such work dir.
    """
    if not _NAME.fullmatch(spec.name):
        raise StartFailed(f"{spec.name!r} cannot be the name of a session")
    if not re.fullmatch(r"[A-Za-z0-9_.-]*", spec.token):
        raise StartFailed("the instance token holds other characters than letters and digits")
    if not Path(spec.work_dir).is_dir():
        raise StartFailed(f"no such work dir: {spec.work_dir}")
    if any("\0" in word for pair in spec.env.items() for word in pair) or "\0" in spec.command:
        raise StartFailed("the command or its environment holds a NUL character")


def environment(spec: Spec) -> dict[str, str]:
    """The given one; without the token nobody could tell the run's processes from another's."""
    return {**spec.env, "GC_INSTANCE_TOKEN": spec.token}
