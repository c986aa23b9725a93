"""How a command ends badly: what went wrong, what to do about it, and the exit code.

Source: surface "Command line"
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DONE = 0
FAILED = 1
USAGE = 2
REFUSED = 3
TIMED_OUT = 4
NO_CONTROLLER = 5
INTERRUPTED = 130


class Failure(Exception):
    """Ends the command; printed as `gc <command>: <what>; <do>` with the exit code `exit`.

    `reply` is the controller's whole answer, when it was the one that refused.
    """

    def __init__(
        self, what: str, do: str = "", *, exit: int = FAILED, reply: dict[str, Any] | None = None
    ) -> None:
        super().__init__(what)
        self.what = what
        self.do = do
        self.exit = exit
        self.reply = reply or {}

    def __str__(self) -> str:
        return f"{self.what}; {self.do}" if self.do else self.what


class NoController(Failure):
    """Nobody holds the city's controller lock, so nobody can be asked (R71)."""

    def __init__(self, what: str = "no controller is running", do: str = "") -> None:
        super().__init__(what, do or "start one with `gc start`", exit=NO_CONTROLLER)
