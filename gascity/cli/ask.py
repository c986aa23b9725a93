"""The one way from a command to the controller: ask, or follow a stream, and name what failed.

Source: DESIGN "The control socket" (R71); surface "Command line"
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from gascity.api import client
from gascity.cli.failure import (
    DONE, FAILED, NO_CONTROLLER, REFUSED, TIMED_OUT, Failure, NoController,
)  # fmt: skip

# Outcome words of the controller -> exit code; any other word is a success.
OUTCOMES: Final = {
    "refused": REFUSED,
    "blocked": REFUSED,
    "timed_out": TIMED_OUT,
    "failed": FAILED,
}


def ask(city: Path, op: str, **fields: Any) -> dict[str, Any]:
    """The controller's one answer.

    Raises:
        NoController: nobody holds the lock.
        Failure: refused, invalid, hung; with the exit code that was sent.
    """
    try:
        return dict(client.call(city, op, **fields))
    except client.ControlError as error:
        raise _failure(error) from None


def follow(city: Path, op: str, **fields: Any) -> Iterator[dict[str, Any]]:
    """The controller's answers, one after the other; raises as `ask` does."""
    try:
        for reply in client.stream(city, op, **fields):
            yield dict(reply)
    except client.ControlError as error:
        raise _failure(error) from None


def exit_of(reply: dict[str, Any]) -> int:
    """The exit code of a final answer: the one it names, else the one of its outcome word."""
    if isinstance(reply.get("exit"), int):
        return int(reply["exit"])
    return OUTCOMES.get(str(reply.get("outcome", "")).replace("-", "_").replace(" ", "_"), DONE)


def _failure(error: client.ControlError) -> Failure:
    if error.exit == NO_CONTROLLER:
        return NoController(error.what, error.do)
    return Failure(error.what, error.do, exit=error.exit)
