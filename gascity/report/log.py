"""Structured logs of the controller: JSON lines in a rotated file; readable on a terminal.

One place sets structlog up; everybody else asks for a logger here. Values of environments and pane
text are never handed to it (E8).

Source: DESIGN §13 (R74)
"""

from __future__ import annotations

import logging
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, Final

import structlog

MAX_BYTES: Final = 4 * 1024 * 1024
KEEP: Final = 2
_ROOT: Final = "gascity"


def set_up(file: Path | None) -> None:
    """Log to `file` (rotated, 0600), or to stderr when there is none."""
    handler: logging.Handler
    readable = False
    if file is None:
        handler = logging.StreamHandler(sys.stderr)
        readable = sys.stderr.isatty()
    else:
        file.touch(mode=0o600, exist_ok=True)
        handler = RotatingFileHandler(file, maxBytes=MAX_BYTES, backupCount=KEEP, encoding="utf-8")
    render: Any = (
        structlog.dev.ConsoleRenderer(colors=False)
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
