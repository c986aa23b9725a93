"""Lengths of time on the command line, in the grammar of the configuration (R1)."""

from __future__ import annotations

from gascity.cli.failure import USAGE, Failure


def seconds_of(text: str, option: str) -> float:
    """The seconds of `90s`, `1h30m`, `500ms`.

    Raises:
        Failure: not a length of time; names the option and what to write (exit 2).
    """
    from gascity.config.durations import parse_duration

    try:
        span = parse_duration(text)
    except ValueError as error:
        raise Failure(
            f"{option} {text!r}: {error}", "write it as 90s or 1h30m", exit=USAGE
        ) from None
    return span.seconds
