"""The refusal that a request may end in.

Source: DESIGN §T (R25, R26)
"""

from __future__ import annotations


class Refused(Exception):
    """A request that changes nothing: why, what to do about it, and the exit code to end with."""

    def __init__(self, what: str, do: str = "", exit: int = 3) -> None:
        super().__init__(what)
        self.what = what
        self.do = do
        self.exit = exit
