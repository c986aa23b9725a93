"""Texts that want to be commands: seeded, endless, each able to leave a mark where it runs.

Whatever executes part of one creates the marker file, whose appearance fails the test.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

CASES: Final = 10_000  # of each path in CI

_WRAPPED: Final = (
    "{0}", "$({0})", "`{0}`", "#({0})", "##({0})", "###({0})", ";{0}", "\n{0}\n", "\r\n{0}\r\n",
    "|{0}", "||{0}", "&{0}&", "&&{0}", "'{0}'", '"{0}"', "';{0};'", '";{0};"', "'$({0})'",
    "${{IFS}}$({0})", "<({0})", "\\;{0}", "\\\n{0}", "\0{0}", "{{{0}}}", "}};{0};{{",
    "\x1b]0;{0}\x07",
    "; run-shell '{0}'", "\nrun-shell '{0}'\n", "' ; run-shell '{0}' ; '",
    '" ; run-shell "{0}" ; "',
    "}} ; run-shell '{0}' ; {{", "\n%if 1\nrun-shell '{0}'\n%endif\n", "if-shell '{0}' ''",
    "#{{?1,#({0}),}}", "#{{E:#({0})}}", "#{{T:@x}}#({0})", "#[fg=red]#({0})",
    "%H#({0})", "~{0}", "~root",
    "-f{0}", "--", "-c {0}", "=x:", "$HOME", "${{HOME}}", "*", "?", "[a-z]*", "!!", "^x^y",
    "\\$({0})", "\\`{0}\\`", "\\047;{0};\\047", "\\u0027;{0}", "$'\\n{0}\\n'",
    "\u2028{0}", "\x85{0}",
    "{{{{.Agent}}}}", "{{home.__class__}}", "é{0}", "\U0001f600", "\u202e{0}", "x" * 300,
)  # fmt: skip


def texts(marker: Path, seed: int, count: int = CASES) -> Iterator[str]:
    """`count` texts, the same for the same seed."""
    chance = random.Random(seed)
    commands = (f"touch {marker}", f"touch${{IFS}}{marker}", f">{marker}", f": > {marker}")
    shapes = [one.format(command) for one in _WRAPPED for command in commands]
    for _ in range(count):
        parts = [chance.choice(shapes) for _ in range(chance.choice((1, 1, 2, 3)))]
        text = "".join(parts)
        if chance.random() < 0.3:
            at = chance.randrange(len(text) + 1)
            text = text[:at] + chance.choice("'\"`$\\;#{}()\n \t%~") + text[at:]
        yield text


def chunks(items: Iterator[str], size: int) -> Iterator[list[str]]:
    """The items in lists of `size`."""
    batch: list[str] = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
