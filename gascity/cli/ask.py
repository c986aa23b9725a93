"""The one way from a command to the controller: ask, or follow a stream, and name what failed.

Source: DESIGN §13 "The control socket" (R71); surface "Command line"
"""

from __future__ import annotations

from gascity.api import client
from gascity.cli.failure import NO_CONTROLLER, Failure, NoController

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def ask(city: str, op: str, **fields: Any) -> dict[str, Any]:
    """The controller's one answer.

    Raises:
        NoController: nobody holds the lock.
        Failure: refused, invalid, hung; with the exit code and the object that were sent.
    """
    try:
        return client.call(city, op, **fields)
    except client.ControlError as error:
        raise _failure(error) from None


def follow(city: str, op: str, **fields: Any) -> Iterator[dict[str, Any]]:
    """The controller's answers, one after the other; raises as `ask` does."""
    try:
        yield from client.stream(city, op, **fields)
    except client.ControlError as error:
        raise _failure(error) from None


def plain(reply: dict[str, Any]) -> dict[str, Any]:
    """What an answer says, without the words of the protocol; for --json."""
    return {key: value for key, value in reply.items() if key not in {"v", "ok", "end", "exit"}}


def _failure(error: client.ControlError) -> Failure:
    if error.exit == NO_CONTROLLER:
        return NoController(error.what, error.do)
    return Failure(error.what, error.do, exit=error.exit, reply=error.reply)
