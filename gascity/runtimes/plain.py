"""What a program printed, as plain lines: without what only a terminal understands.

Source: DESIGN §8 (R44)
"""

from __future__ import annotations

import re
from typing import Final

_CONTROLS: Final = re.compile(
    r"\x1b[\]P^_X].*?(?:\x07|\x1b\\|$)|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]?"
    r"|[\x00-\x08\x0b-\x1f\x7f]"
)


def last_lines(text: str, lines: int) -> str:
    """The last lines that show something, as plain text; all of them for `lines` <= 0."""
    shown = [plain_line(line) for line in text.split("\n")]
    while shown and not shown[-1].strip():
        shown.pop()
    return "\n".join(shown[-lines:] if lines > 0 else shown)


def plain_line(line: str) -> str:
    """What a terminal would show of a line that may have been drawn over several times."""
    return _CONTROLS.sub("", line.rstrip("\r").rpartition("\r")[2]).rstrip()
