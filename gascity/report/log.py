"""Structured logs of the controller: JSON lines in a rotated file; readable on a terminal.

One place sets structlog up; everybody else asks for a logger here. Values of environments and pane
text are never handed to it (E8).

Source: DESIGN §13 (R74)
"""

from __future__ import annotations

import logging
import os
import sys
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, Final

import structlog

from gascity.report.table import safe

MAX_BYTES: Final = 4 * 1024 * 1024
KEEP: Final = 2
_ROOT: Final = "gascity"


class _SafeConsole(structlog.dev.ConsoleRenderer):
    """Readable lines of which no byte can move a cursor (E11); tracebacks keep their line ends."""

    def __call__(self, *args: Any) -> str:
        return "\n".join(map(safe, super().__call__(*args).split("\n")))


class PrivateFile(RotatingFileHandler):
    """A rotated file that is ours alone from its first byte, after every rotation too (E9)."""

    def _open(self) -> TextIOWrapper:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        file = os.open(self.baseFilename, flags, 0o600)
        if os.fstat(file).st_mode & 0o177:
            os.fchmod(file, 0o600)
        return os.fdopen(file, "a", encoding="utf-8")


def set_up(file: Path | None) -> None:
    """Log to `file` (rotated, 0600), or to stderr when there is none."""
    handler: logging.Handler
    readable = False
    if file is None:
        handler = logging.StreamHandler(sys.stderr)
        readable = sys.stderr.isatty()
    else:
        handler = PrivateFile(file, maxBytes=MAX_BYTES, backupCount=KEEP, encoding="utf-8")
    render: Any = (
        _SafeConsole(colors=False)
        if readable
        else structlog.processors.JSONRenderer(ensure_ascii=False)
    )
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                render,
            ]
        )
    )
    root = logging.getLogger(_ROOT)
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    root.propagate = False
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


def logger(part: str) -> Any:
    """The logger of one part of the program, for example `patrol`."""
    return structlog.get_logger(f"{_ROOT}.{part}", part=part)
